"""Distances between sets of images against closed forms, and the table of a real run."""

from __future__ import annotations

import numpy as np
import pytest

from replab import api
from replab.explain import fidelity

RNG = np.random.default_rng(0)


def test_frechet_distance_of_known_gaussians():
    a = RNG.standard_normal((20_000, 3))
    b = RNG.standard_normal((20_000, 3)) * 2 + [1, 0, 0]
    assert fidelity.frechet_distance(a, b) == pytest.approx(1 + 3 * (2 - 1) ** 2, rel=0.05)
    assert fidelity.frechet_distance(a, a) == pytest.approx(0, abs=1e-6)


def test_kernel_distance_by_hand_and_about_zero_for_one_distribution():
    a, b = np.array([[1.0], [2.0]]), np.array([[0.0], [3.0]])
    k = lambda x, y: (x * y + 1) ** 3  # noqa: E731
    expected = k(1, 2) + k(0, 3) - 2 * np.mean([k(1, 0), k(1, 3), k(2, 0), k(2, 3)])
    assert fidelity.kernel_distance(a, b) == pytest.approx(expected)
    same = [fidelity.kernel_distance(RNG.standard_normal((200, 4)), RNG.standard_normal((200, 4))) for _ in range(10)]
    assert abs(np.mean(same)) < 0.02
    assert fidelity.kernel_distance(RNG.standard_normal((200, 4)), RNG.standard_normal((200, 4)) + 1) > 0.5


def test_density_and_coverage():
    real = RNG.standard_normal((300, 2))
    density, coverage = fidelity.density_coverage(real, RNG.standard_normal((300, 2)))
    assert density == pytest.approx(1, abs=0.25)
    assert coverage > 0.9
    assert fidelity.density_coverage(real, np.zeros((300, 2)))[1] < 0.2  # one point covers little
    assert fidelity.density_coverage(real, real + 100) == (0, 0)


def test_nearest_and_blur():
    assert fidelity.nearest(np.array([[0.0, 3.0]]), np.array([[0.0, 0.0], [4.0, 3.0]])).tolist() == [3.0]
    flat = np.full((1, 1, 8, 8), 7, np.uint8)
    assert (fidelity.blurred(flat) == 7).all()
    dot = np.zeros((1, 1, 9, 9), np.uint8)
    dot[0, 0, 4, 4] = 250
    assert fidelity.blurred(dot)[0, 0, 2:7, 2:7].tolist() == [[10] * 5] * 5


@pytest.fixture(scope="module")
def a_vae(tmp_path_factory):
    return api.run("vae", limit=150, lr=1e-3, epochs=1, params={"latent": 4}, runs=tmp_path_factory.mktemp("vae"))


def test_samples_stand_between_floor_and_ceilings(a_vae, finished_run, replab):
    runs = a_vae.folder.parent
    code, out, err = replab("fidelity", a_vae.id, "--by", finished_run.folder, "--n", 100, "--runs", runs)
    assert code == 0, err
    found = a_vae.record.read_json("fidelity.json", {})
    assert found["by"] == finished_run.id
    assert found["by_accuracy"] == finished_run.metrics["accuracy"]
    assert len(found["by_weights_sha256"]) == 64
    rows = found["rows"]
    floor, made, noise = (rows[k] for k in ("real test (floor)", "samples", "noise (ceiling)"))
    assert floor["Fréchet"] < made["Fréchet"]
    assert floor["Fréchet"] < noise["Fréchet"]
    assert floor["memorised"] == 1
    assert "mlp" in out
    assert "FID" not in out


def test_what_cannot_be_compared_is_refused(a_vae, finished_run, refuses, a_run):
    runs, by = a_vae.folder.parent, finished_run.folder
    assert "n must be at least 10, got 1" in refuses("fidelity", a_vae.id, "--by", by, "--n", 1, runs=runs)
    assert "no linear head" in refuses("fidelity", a_vae.id, "--by", a_vae.id, "--n", 20, runs=runs)
    a_run.record.write_json("input.json", a_run.input | {"data": "mnist"})
    said = refuses("fidelity", a_vae.id, "--by", a_run.folder, runs=runs)
    assert f"run {a_vae.id} learned data digits, run {a_run.id} mnist; train the classifier on the same" in said


def test_generate_is_seeded_and_refuses_what_it_cannot(a_vae, finished_run, replab, refuses, tmp_path):
    from PIL import Image

    runs = a_vae.folder.parent
    assert np.array_equal(a_vae.generate(5, seed=1), a_vae.generate(5, seed=1))
    assert not np.array_equal(a_vae.generate(5, seed=1), a_vae.generate(5, seed=2))
    code, out, err = replab("generate", a_vae.id, "--n", 6, "--out", tmp_path / "grid.png", "--runs", runs)
    assert code == 0, err
    assert "6 images" in out
    with Image.open(tmp_path / "grid.png") as picture:
        assert np.asarray(picture).std() > 5
    assert "is not told classes, got '3'" in refuses("generate", a_vae.id, "--class", "3", runs=runs)
    assert "n must be at least 1, got 0" in refuses("generate", a_vae.id, "--n", 0, runs=runs)
    assert "--out must end in .png, got a.jpg" in refuses("generate", a_vae.id, "--out", "a.jpg", runs=runs)
    said = refuses("generate", finished_run.id, runs=finished_run.folder.parent)
    assert "mlp, which makes no images" in said
    assert "names no classes" in refuses("predict", a_vae.id, tmp_path / "grid.png", runs=runs)


def test_a_class_by_name_and_training_on_samples(tmp_path, finished_run, refuses):
    run = api.run("cvae", limit=100, lr=1e-3, epochs=1, params={"latent": 4, "samples": 1}, runs=tmp_path, quiet=True)
    seven, eight = run.generate(3, label="7"), run.generate(3, label="8")
    assert not np.array_equal(seven, eight)
    judged = fidelity.judge(run, api.load_run(finished_run.folder), n=60)
    assert set(judged["trained_on"]) == {"samples", "real"}
    assert all(0 <= share <= 1 for share in judged["trained_on"].values())
    assert "trained on labelled samples alone" in "\n".join(fidelity.lines(judged))
    assert "no class named 'seven'" in refuses("generate", run.id, "--class", "seven", runs=tmp_path)


def test_a_sweep_is_a_run_a_value_and_one_figure(tmp_path, replab, refuses):
    from PIL import Image

    words = ["--set", "latent=3", "--limit", 60, "--lr", "1e-3", "--epochs", 1, "--out", tmp_path / "sweep.png"]
    code, out, err = replab("sweep", "vae", "--set", "beta=0.1,10", *words, "--runs", tmp_path / "runs", "-q")
    assert code == 0, err
    found = api.all_runs(tmp_path / "runs")
    assert sorted(run.chosen.params["beta"] for run in found) == [0.1, 10]
    assert "beta=0.1" in out
    with Image.open(tmp_path / "sweep.png") as picture:
        assert np.asarray(picture.convert("L")).std() > 5
    assert "sweep needs exactly one --set KEY=VALUE,VALUE, got 0" in refuses("sweep", "vae", "--set", "beta=1")
    assert "got -1" in refuses("sweep", "vae", "--set", "beta=1,-1", *words, "--runs", tmp_path / "none")
    assert not (tmp_path / "none").exists()  # said before the first value's run
