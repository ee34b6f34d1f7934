"""Every test starts from the same random state, and finds recording switched on."""

import pytest

import mytorch


@pytest.fixture(autouse=True)
def _fresh_state():
    assert mytorch.is_grad_enabled()
    yield
    assert mytorch.is_grad_enabled(), "a test left recording switched off"
