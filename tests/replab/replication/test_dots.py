"""The picture of published against measured: which rows it shows, and that it is written for both pages."""

from pathlib import Path

from replab.replication import dots, ledger, results
from replab.replication.packs import published

RESULTS = Path(__file__).parents[3] / "results"


def test_each_row_that_can_be_compared_once():
    known, entries = published(), results.read(RESULTS)
    shown, others = dots.rows(known, entries)
    assert len({row["id"] for row in shown}) == len(shown) > 10
    assert all(row["verdict"] not in dots.NO_PAIR and row["n"] and row["unit"] == "%" for row in shown)
    measured = {line["id"] for line in ledger.lines(known, entries) if line["n"] and line["settings"] == ledger.FIXED}
    assert len(shown) + others == len(measured)


def test_it_is_written_for_light_and_dark_pages(tmp_path):
    paths = dots.write(RESULTS, tmp_path / "dots.png")
    assert [path.name for path in paths] == ["dots.png", "dots-dark.png"]
    assert paths[0].read_bytes() != paths[1].read_bytes()
    assert all(path.read_bytes()[:4] == b"\x89PNG" for path in paths)
