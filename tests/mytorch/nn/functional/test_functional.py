"""The package as a whole: what it does not have it names."""

import pytest

import mytorch


def test_unknown_functions_are_named():
    with pytest.raises(NotImplementedError, match=r"torch\.nn\.functional\.ctc_loss_of_another_kind"):
        _ = mytorch.nn.functional.ctc_loss_of_another_kind
    assert not hasattr(mytorch.nn.functional, "ctc_loss_of_another_kind")
