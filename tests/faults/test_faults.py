"""A short sample of the faults; `make faults` tries them all, all_faults.py says what they are."""

import json
import os

import disk
import pytest
from all_faults import FAULTS, Campaign, forked

NAME = "search and train"


def sample(top, note, flushed=True):
    """In a process of its own, forked from this one, which has everything imported."""
    campaign, found = Campaign(top), {}
    if flushed:
        found = {fault: campaign.some_faults(NAME, [fault], 2) for fault in FAULTS}
    else:
        disk.Recorder.flush_file = lambda self, path: None  # as if nothing called fsync on a file
    facts, found["power cut"] = campaign.power_cuts(NAME, step=9 if flushed else 30)
    note.write_text(json.dumps({"found": found, "facts": facts, "failures": campaign.failures}))


def outcome(tmp_path, **more):
    child = forked(sample, tmp_path, tmp_path / "note.json", *more.values())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    return json.loads((tmp_path / "note.json").read_text())


@pytest.fixture(scope="module")
def safe(tmp_path_factory):
    return outcome(tmp_path_factory.mktemp("faults"))


@pytest.mark.parametrize("fault", [*FAULTS, "power cut"])
def test_what_happens_is_one_line_and_the_run_ends_as_if_it_had_not(safe, fault):
    found = safe["found"][fault]
    assert found == {"identical": sum(found.values())}, safe["failures"]
    assert sum(found.values()) >= 2


def test_the_sample_would_notice_files_that_are_not_flushed(tmp_path):
    assert outcome(tmp_path, flushed=False)["failures"]
