"""A short sample of the faults; `make faults` tries them all, all_faults.py says what they are."""

import json
import os

import disk
import pytest
from all_faults import FAULTS, Campaign, forked

NAME = "search and train"


def sample(top, note):
    """In a process of its own, forked from this one, which has everything imported."""
    campaign = Campaign(top)
    found = {fault: campaign.some_faults(NAME, [fault], 2) for fault in FAULTS}
    _, found["power cut"] = campaign.power_cuts(NAME, step=20)
    failures = list(campaign.failures)
    disk.Recorder.flush_file = lambda self, path: None  # as if nothing called fsync on a file
    _, unflushed = campaign.power_cuts(NAME, step=60)
    note.write_text(json.dumps({"found": found, "failures": failures, "unflushed": unflushed}))


@pytest.fixture(scope="module")
def tried(tmp_path_factory):
    folder = tmp_path_factory.mktemp("faults")
    child = forked(sample, folder, folder / "note.json")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads((folder / "note.json").read_text())


@pytest.mark.parametrize("fault", [*FAULTS, "power cut"])
def test_what_happens_is_one_line_and_the_run_ends_as_if_it_had_not(tried, fault):
    found = tried["found"][fault]
    assert found == {"identical": sum(found.values())}, tried["failures"]
    assert sum(found.values()) >= 2


def test_the_sample_would_notice_files_that_are_not_flushed(tried):
    assert set(tried["unflushed"]) != {"identical"}
