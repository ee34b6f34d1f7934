"""A short sample of the faults; `make faults` tries them all, all_faults.py says what they are."""

import pytest
from all_faults import Campaign

NAME = "search and train"


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    return Campaign(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("fault", ["SIGKILL", "ENOSPC", "EIO", "EINTR"])
def test_a_fault_is_one_line_and_the_run_ends_as_if_there_had_been_none(campaign, fault):
    count = campaign.operations(NAME, fault)
    assert count > 50
    for at in sorted(campaign.draw.sample(range(1, count + 1), 2)):
        assert campaign.fault(NAME, fault, at) == "identical", campaign.failures


def test_a_power_cut_leaves_what_can_be_gone_on_with(campaign):
    facts, found = campaign.power_cuts(NAME, 8)
    assert facts["states"] > 50
    assert dict(found) == {"identical": 8}, campaign.failures
