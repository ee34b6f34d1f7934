"""report.html: one bounded file that fetches nothing and in which names are only names."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

from replab.records import verify
from replab.records.values import Values, examples
from replab.report.page import assets, charts
from replab.report.write import write

EVIL = [
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(2)>",
    '"><b>',
    "{{ 7*7 }}",
    "\u2028line",
    "&amp;",
]


class Page(HTMLParser):
    """Tags with their attributes, and the text of the data block."""

    def __init__(self, text: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.scripts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        if self.tags and self.tags[-1][0] == "script":
            self.scripts.append(data)

    @property
    def data(self) -> dict:
        return json.loads(next(text for text in self.scripts if text.startswith("{")))


def page_of(run) -> Page:
    return Page((run.folder / "report.html").read_text(encoding="utf-8"))


@pytest.fixture
def odd(a_run):
    """A finished run whose 2,000 classes are named to break a page, with thousands of epochs and test images."""
    record, rng, n, classes = a_run.record, np.random.default_rng(0), 6000, 2000
    labels = rng.integers(0, classes, n)
    logits = np.zeros((n, classes), np.float16)
    logits[np.arange(n), np.where(rng.random(n) < 0.5, rng.integers(0, classes, n), labels)] = 9
    names = [EVIL[i % len(EVIL)] + str(i) + "x" * 3000 * (i == 7) for i in range(classes)]
    record.write_json("input.json", {**a_run.input, "classes": names, "test_images": n})
    record.write_predictions({"logits": logits.astype(np.float32), "labels": labels})
    chosen = examples.choose(labels, logits.argmax(1), rng.random(n), (300, 200))
    examples.write(record, chosen, rng.integers(0, 256, (len(chosen), 3, 300, 200)).astype(np.uint8))
    row = a_run.epochs[-1]
    record.write_lines("epochs.jsonl", [{**row, "epoch": i + 1, "train_loss": float("inf")} for i in range(5000)])
    write(record)
    return a_run


def test_every_run_writes_one_and_verify_knows_it(finished_run):
    page = page_of(finished_run)
    assert page.data["curves"][0]["title"] == "loss"
    assert "report.html" in (finished_run.folder / "manifest.jsonl").read_text()
    assert not verify.verify(finished_run.record).problems


def test_it_fetches_nothing(finished_run):
    for tag, attributes in page_of(finished_run).tags:
        for name in ("src", "href", "action", "srcset"):
            assert (attributes.get(name) or "#").startswith(("#", "data:image/")), (tag, attributes)
        assert not any(name.startswith("on") or name == "style" for name in attributes), (tag, attributes)
    policy = next(a["content"] for t, a in page_of(finished_run).tags if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_the_policy_names_the_script_and_the_style_that_are_there(finished_run):
    text = (finished_run.folder / "report.html").read_text(encoding="utf-8")
    script = re.search(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    css = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert script
    assert css
    for inside in (script[1], css[1]):
        assert assets.digest(inside).replace("+", "&#43;") in text.replace("+", "&#43;").replace("&#39;", "'")


def test_names_are_only_names(odd):
    page = page_of(odd)
    assert sum(tag == "script" for tag, _ in page.tags) == 2  # the script and the data
    assert not [a for tag, a in page.tags if tag == "img" and a.get("src") == "x"]
    assert all(len(name) <= 200 for name in page.data["classes"].values())
    assert any(name.startswith("</script><script>") for name in page.data["classes"].values())


def test_it_is_bounded(odd):
    assert (odd.folder / "report.html").stat().st_size < 5_000_000
    page = page_of(odd)
    assert sum(tag == "button" for tag, _ in page.tags) < 40 * 40 + 20
    assert (
        max(len(series["points"]) for chart in page.data["curves"] for series in chart["series"]) <= charts.POINTS + 1
    )
    assert len(page.data["examples"]["items"]) <= examples.MOST


def test_each_kept_image_is_the_test_image_it_says(finished_run):
    values = Values(finished_run.record)
    test = finished_run.reopened().data.test
    np.testing.assert_array_equal(values.examples.pixels, test.pixels[values.examples.index])
    for number, label, answer, share in page_of(finished_run).data["examples"]["items"]:
        assert label == test.labels[number]
        assert answer == values.answers.predicted[number]
        assert share == pytest.approx(values.answers.confidence[number], abs=1e-5)


def test_every_cell_has_an_image_while_there_is_room():
    rng = np.random.default_rng(1)
    labels, predicted = rng.integers(0, 10, (2, 5000))
    kept = examples.choose(labels, predicted, rng.random(5000), (28, 28))
    assert len(kept) == len(set(kept)) == examples.MOST
    assert len(set(zip(labels[kept], predicted[kept]))) == 100
    counts = np.bincount(labels[kept] * 10 + predicted[kept])
    assert counts.max() <= examples.PER_CELL


def test_the_surest_of_a_cell_are_kept():
    labels, predicted, surety = np.zeros(40, int), np.ones(40, int), np.linspace(0, 1, 40)
    kept = examples.choose(labels, predicted, surety, (28, 28))
    assert list(kept) == list(range(28, 40))


def test_a_line_keeps_its_last_epoch():
    rows = [{"epoch": i + 1, "loss": float(i)} for i in range(4321)]
    points = charts.line(rows, "loss")
    assert len(points) <= charts.POINTS + 1
    assert points[-1] == (4321.0, 4320.0)
    assert charts.line([{"epoch": 1, "loss": float("nan")}], "loss") == [(1.0, None)]


def test_a_run_without_examples_shows_its_mistakes(a_run):
    (a_run.folder / "examples.npz").unlink()
    write(a_run.record)
    items = page_of(a_run).data["examples"]["items"]
    assert sorted(item[0] for item in items) == sorted(a_run.predictions["mistake_index"])


def test_test_images_that_were_evaluated_once_are_one_point():
    rows = [{"epoch": 1, "train_loss": 2.0}, {"epoch": 2, "train_loss": 1.0}]
    (chart,) = charts.curves(rows, {"loss": 1.5, "accuracy": 0.5})
    assert [series["name"] for series in chart["series"]] == ["train", "test, at the end"]
    assert chart["series"][1]["points"] == [(2.0, 1.5)]
    (chart,) = charts.curves([{**row, "test_loss": 3.0} for row in rows], {"loss": 1.5})
    assert [series["name"] for series in chart["series"]] == ["train", "test"]
