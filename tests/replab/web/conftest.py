"""One browser for all tests of pages; where there is none, the end of the tests says so."""

import pytest
from browser import MISSING, NOT_RUN, Browser


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if MISSING:
        pytest.skip(NOT_RUN)
    made = Browser(str(tmp_path_factory.mktemp("profile")))
    yield made
    made.close()


@pytest.fixture
def browser(chromium):
    """Its console must stay silent."""
    yield chromium
    assert chromium.complaints() == []
