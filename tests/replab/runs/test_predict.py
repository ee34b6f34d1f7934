"""Predictions for files, folders and globs, as text, CSV and JSON."""

import io
import json
import sys

import pytest
import torch
from PIL import Image

from replab.api import load_run
from replab.errors import DataError
from replab.runs import predict
from replab.runs.predict import image_files
from replab.runs.predictor import Predictor


@pytest.fixture
def pictures(tmp_path, finished_run):
    images = finished_run.predictions["mistake_pixels"][:5]
    (tmp_path / "some").mkdir()
    for i, image in enumerate(images):
        Image.fromarray(image[0]).save(tmp_path / f"some/{i}.png")
    (tmp_path / "some/notes.txt").write_text("not a picture")
    return tmp_path / "some", [finished_run.predict(image) for image in images]


def test_a_folder_a_glob_and_names_from_standard_input(replab, finished_run, pictures, monkeypatch):
    folder, expected = pictures
    runs = finished_run.folder.parent
    for words in ([folder], [folder / "*.png"], sorted(folder.glob("*.png")), ["-"]):
        monkeypatch.setattr(sys, "stdin", io.StringIO("".join(f"{p}\n" for p in sorted(folder.glob("*.png")))))
        code, out, _ = replab("predict", finished_run.id, *words, "--runs", runs, "--json")
        said = [json.loads(line) for line in out.splitlines()]
        assert code == 0
        assert [one["label"] for one in said] == [one.label for one in expected]
        for one, other in zip(said, expected):
            assert one["probabilities"] == pytest.approx(other.probabilities, abs=1e-6)


def test_csv_has_as_many_classes_as_asked_for(replab, finished_run, pictures):
    folder, expected = pictures
    _, out, _ = replab("predict", finished_run.id, folder, "--runs", finished_run.folder.parent, "--csv", "--top", 2)
    head, *lines = [line.split(",") for line in out.splitlines()]
    assert head == ["path", "label", "probability", "label2", "probability2"]
    assert [line[1] for line in lines] == [one.label for one in expected]


def test_what_is_not_there_is_named(tmp_path, refuses, finished_run):
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="has no image files"):
        image_files([str(tmp_path / "empty")])
    with pytest.raises(DataError, match="no file matches"):
        image_files([str(tmp_path / "*.png")])
    runs = finished_run.folder.parent
    assert "cannot be combined" in refuses("predict", finished_run.id, "x.png", "--csv", "--json", runs=runs)
    assert "--top must be at least 1, got 0" in refuses("predict", finished_run.id, "x.png", "--top", 0, runs=runs)


def test_models_side_by_side_say_the_same_in_the_same_order(finished_run, pictures, monkeypatch):
    folder, expected = pictures
    monkeypatch.setattr(predict, "PIECE", 1)
    files = sorted(map(str, folder.glob("*.png"))) * 4
    run = load_run(finished_run.folder)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    found = list(predict.predict_files(run, files))
    assert [name for name, _ in found] == files
    for (_, one), other in zip(found, expected * 4, strict=True):
        assert one.label == other.label
        assert one.probabilities == pytest.approx(other.probabilities, abs=1e-6)
    monkeypatch.setattr(Predictor, "for_many", lambda self: 1 / 0)  # a model that cannot be copied
    assert [one.label for _, one in predict.predict_files(run, files)] == [one.label for _, one in found]


def test_a_broken_file_stops_after_those_before_it(finished_run, pictures, monkeypatch):
    folder, expected = pictures
    monkeypatch.setattr(predict, "PIECE", 1)
    files = [*sorted(map(str, folder.glob("*.png"))), str(folder / "notes.txt")]
    answers = predict.predict_files(load_run(finished_run.folder), files)
    assert [next(answers)[1].label for _ in range(5)] == [one.label for one in expected]
    with pytest.raises(DataError, match=r"notes.txt cannot be read: not an image"):
        next(answers)
