"""doctor and demo: what a newcomer types first."""

import pytest

from replab.cli.welcome import demo, doctor


def test_doctor_says_where_things_are_and_cleans(replab, tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "cache"))
    for name, count in (("data/MNIST/raw", 3000), ("cache/decoded/set-1", 2_500_000), ("cache/weights", 1000)):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "file").write_bytes(b"0" * count)
    code, out, err = replab("doctor", "--runs", tmp_path / "runs")
    assert code == 0, err
    assert f"{tmp_path / 'data'} ($REPLAB_DATA)" in out
    assert "MNIST (3 kB)" in out
    assert "2.5 MB; replab doctor --clean removes it" in out
    assert "free for runs in" in out
    code, out, _ = replab("doctor", "--clean", "--runs", tmp_path / "runs")
    assert f"removed: {tmp_path / 'cache' / 'decoded'} (2.5 MB)" in out
    assert not (tmp_path / "cache" / "decoded").exists()
    assert (tmp_path / "cache" / "weights" / "file").is_file()  # a download


@pytest.mark.parametrize(("count", "text"), [(0, "0 B"), (1500, "2 kB"), (3.2e9, "3.2 GB"), (5e12, "5.0 TB")])
def test_sizes(count, text):
    assert doctor.written(count) == text


def test_the_tour_shows_every_step_and_survives_its_mistake(replab, in_tmp, monkeypatch):
    steps = [demo.STEPS[i] for i in (2, 5)]  # the runs of the others are tried by the README's test
    monkeypatch.setattr(demo, "STEPS", steps)
    code, out, err = replab("demo", "--folder", "tour", "--no-pause")
    assert code == 0, err
    assert "[1/2]" in out
    assert "$ replab leaderboard --runs tour/runs" in out
    assert "replab: no model named 'cnnn'. Did you mean 'cnn'?" in out
    assert (in_tmp / "tour" / "seven.png").is_file()
