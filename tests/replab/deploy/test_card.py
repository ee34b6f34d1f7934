"""The model card: read back by the Hub's own reader, and what is published with it is enough to predict."""

import fnmatch
import shutil

import pytest
from huggingface_hub import ModelCard

from replab import api
from replab.deploy.card import SHARED
from replab.deploy.public import card
from replab.errors import RunError


def test_the_hub_reads_the_results(replab, a_run):
    code, out, err = replab("card", a_run.id, "--runs", a_run.folder.parent)
    assert code == 0, err
    assert f"hf upload USER/NAME {a_run.folder} . --include 'README.md'" in out
    page = ModelCard.load(a_run.folder / "README.md")
    known = page.data
    assert (known.library_name, known.pipeline_tag, known.model_name) == ("replab", "image-classification", a_run.id)
    accuracy = next(result for result in known.eval_results if result.metric_type == "accuracy")
    assert accuracy.metric_value == pytest.approx(a_run.metrics["accuracy"], abs=1e-6)
    assert "95 % interval" in accuracy.metric_name
    assert (accuracy.dataset_name, accuracy.dataset_split) == ("digits", "test")
    for words in ("## Data", "## Metrics", "95 % interval", "## Audit", "are also training images", "## Limits"):
        assert words in page.text


def test_what_is_published_is_enough_to_predict_and_holds_no_image(a_run, tmp_path, replab):
    (a_run.folder / "README.md").write_text(card(a_run))
    shared = tmp_path / "downloaded"
    shared.mkdir()
    for file in a_run.folder.iterdir():
        if any(fnmatch.fnmatch(file.name, pattern) for pattern in SHARED):
            shutil.copy(file, shared)
    assert not list(shared.glob("*.npz"))
    image = a_run.predictions["mistake_pixels"][0]
    assert api.load_run(shared).predict(image) == a_run.predict(image)


def test_an_unfinished_run_has_no_card(a_run):
    (a_run.folder / "metrics.json").unlink()
    with pytest.raises(RunError, match="is not finished"):
        card(a_run)
