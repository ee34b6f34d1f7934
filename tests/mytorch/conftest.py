"""Every test starts from one random state, and leaves recording switched on as it found it."""

import pytest

import mytorch


@pytest.fixture(autouse=True)
def _fresh_state():
    mytorch.manual_seed(0)
    yield
    assert mytorch.is_grad_enabled(), "a test left recording switched off"
