"""The package as a whole: what it does not have it names."""

import pytest

import mytorch


def test_unknown_functions_are_named():
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.functional\.grid_sample"):
        _ = mytorch.nn.functional.grid_sample
    assert not hasattr(mytorch.nn.functional, "grid_sample")
