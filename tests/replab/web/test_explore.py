"""The explore page in a real browser: a drawing, a file, a walk in latent space, points with their images."""

import base64
import io
import json

import numpy as np
import pytest
from PIL import Image

from replab import api
from replab.errors import DataError, ReplabError
from replab.web.app import Site
from replab.web.explore import shown
from replab.web.workshop import Workshop

MODEL = "from torch import nn\n\n\ndef build(image):\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"


def opened(browser, page, run):
    address, token = page
    browser.open(f"{address}runs/{run.id}/explore?token={token}")


def answers(browser) -> int:
    return int(browser.one("#answer").get_attribute("data-ready") or 0)


def probabilities(browser) -> dict[str, float]:
    items = "[...document.querySelectorAll('#probabilities li')]"
    return dict(browser.run(f"return {items}.map(li => [li.children[0].textContent, Number(li.dataset.share)])"))


def sent_file(browser) -> bytes:
    """The image that was sent, as Save would save it."""
    url = browser.wait(
        lambda: (browser.one("#save").get_attribute("href") or "").partition("data:image/png;base64,")[2]
    )
    return base64.b64decode(url)


def canvas_pixels(browser, selector: str) -> np.ndarray:
    canvas = browser.wait(lambda: next(iter(browser.all(f"{selector}[data-ready]")), None))
    url = browser.run("return arguments[0].toDataURL()", canvas)
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
        return np.asarray(picture.convert("L"))


def test_a_drawn_digit_is_answered_as_replab_predict_does(browser, page, classifier, replab, tmp_path):
    from selenium.webdriver import ActionChains

    opened(browser, page, classifier)
    paper = browser.one("#paper")
    stroke = ActionChains(browser.driver).move_to_element_with_offset(paper, 0, -80).click_and_hold()
    stroke.move_by_offset(10, 80).move_by_offset(-10, 80).release().perform()
    browser.wait(lambda: answers(browser) == 1, 60)
    drawn = tmp_path / "drawn.png"
    drawn.write_bytes(sent_file(browser))
    code, out, _ = replab("predict", classifier.id, drawn, "--json", "--runs", classifier.folder.parent)
    assert code == 0
    said = json.loads(out)
    assert len(said["probabilities"]) == 10
    assert probabilities(browser) == pytest.approx(said["probabilities"], abs=1e-9)
    assert browser.one("#predict-status").text.startswith(said["label"])
    assert canvas_pixels(browser, "#taken canvas").max() > 100
    assert browser.wait(lambda: [m.text for m in browser.all("#maps figcaption b")], 60) == ["occlusion"]


def test_a_dropped_file_is_sent_as_it_is(browser, page, classifier, replab, tmp_path):
    number = int(np.flatnonzero(classifier.predictions["labels"] == 3)[0])
    file = tmp_path / "three.png"
    Image.fromarray(classifier.reopened().data.test.pixels[number, 0]).save(file)
    opened(browser, page, classifier)
    browser.one("#file").send_keys(str(file))
    browser.wait(lambda: answers(browser) == 1, 60)
    _, out, _ = replab("predict", classifier.id, file, "--json", "--runs", classifier.folder.parent)
    assert probabilities(browser) == pytest.approx(json.loads(out)["probabilities"], abs=1e-9)
    logits = classifier.predictions["logits"][number]
    assert browser.one("#predict-status").text.startswith(classifier.input["classes"][logits.argmax()])


def test_a_slider_moves_the_pixels(browser, page, autoencoder):
    opened(browser, page, autoencoder)
    ready = lambda: int(browser.one("#walk-image").get_attribute("data-ready") or 0)  # noqa: E731
    browser.wait(lambda: ready() == 1, 60)
    before = canvas_pixels(browser, "#walk-image canvas")
    np.testing.assert_array_equal(before, autoencoder.generate(1, seed=0)[0, 0])
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input', {bubbles: true}))"
    slider = browser.one("#sliders input")
    number = int(slider.get_attribute("data-number"))
    spread = autoencoder.predictions["mean"].std(0)
    assert number == spread.argmax()
    browser.run(script, slider, -float(slider.get_attribute("value")) + 2)
    browser.wait(lambda: ready() == 2)
    assert (canvas_pixels(browser, "#walk-image canvas") != before).any()
    assert len(browser.all("#sliders input")) == 10
    browser.click("#more-sliders")
    assert len(browser.all("#sliders input")) == 12


@pytest.mark.parametrize("which", ["classifier", "autoencoder"])
def test_points_show_their_images(browser, page, request, which):
    run = request.getfixturevalue(which)
    opened(browser, page, run)
    browser.click("#points-make")
    plot = browser.wait(lambda: next(iter(browser.all("#points .plot")), None), 60)
    press = "arguments[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))"
    browser.run(press, plot)
    number = int(browser.one("#points .readout").text.split(":")[0].rpartition(" ")[2])
    test = run.reopened().data.test
    np.testing.assert_array_equal(canvas_pixels(browser, ".closer-point canvas"), test.pixels[number, 0])
    marks = browser.run("return document.querySelectorAll('#points .mark, #points .cross').length")
    assert marks == len(test)


@pytest.mark.parametrize("which", ["classifier", "autoencoder"])
def test_points_of_a_run_whose_data_is_gone(which, request, monkeypatch):
    """Its folder keeps some test images: they are placed, or at least have their pictures."""
    run = request.getfixturevalue(which)
    test = run.reopened().data.test

    def gone(self, model=None):
        raise DataError("no such folder")

    monkeypatch.setattr(api.Run, "reopened", gone)
    answer = Workshop().points(run.record)
    assert "is not there" in answer["note"]
    pictured = [(number, place) for *_, number, place in answer["points"] if place >= 0]
    assert len(pictured) >= 5
    seen = pixels_of_sprite(answer["images"])
    for number, place in pictured:
        np.testing.assert_array_equal(seen[place], test.pixels[number, 0])


def pixels_of_sprite(sprite) -> np.ndarray:
    """(N, H, W)."""
    with Image.open(io.BytesIO(base64.b64decode(sprite["url"].partition(",")[2]))) as picture:
        whole = np.asarray(picture.convert("L"))
    height, width = sprite["height"], sprite["width"]
    cut = whole.reshape(whole.shape[0] // height, height, whole.shape[1] // width, width).swapaxes(1, 2)
    return cut.reshape(-1, height, width)


def test_without_the_token_it_is_only_looked_at(browser, page, classifier):
    browser.driver.delete_all_cookies()
    browser.open(f"{page[0]}runs/{classifier.id}/explore")
    assert "without its token" in browser.one("main").text
    assert not browser.all("meta[name=replab-token]")
    assert not browser.one("#points-make").is_enabled()


def test_what_is_no_image_is_refused(runs, classifier):
    workshop = Workshop()
    for data in (b"", b"GIF89a", b"%!PS-Adobe", b"\x89PNG\r\n\x1a\n" + bytes(100)):
        with pytest.raises(ReplabError, match="cannot be read"):
            workshop.predict(classifier.record, data)
    for place in ({"z": [1.0]}, {"z": [float("nan")] * 12}, {"z": "x"}, {"z": [1e9] * 12}):
        with pytest.raises(ReplabError, match="from -8 to 8"):
            workshop.walk(next(r for r in api.Record.all(runs) if r.recipe().model == "vae"), place)


def test_few_models_are_kept(runs, classifier):
    workshop = Workshop()
    for record in api.Record.all(runs):
        workshop.run(record)
    assert len(workshop._runs) == 2 < len(list(api.Record.all(runs)))
    assert workshop.run(classifier.record) is workshop.run(classifier.record)


def test_a_users_own_file_is_run_only_where_the_page_was_told_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("replab.report.write.draw", lambda *given, **named: [])  # its figures are not looked at
    (tmp_path / "mine.py").write_text(MODEL)
    run = api.run("mine.py:build", limit=60, lr=1e-3, epochs=1, runs=tmp_path / "runs")
    (tmp_path / "mine.py").write_text("raise SystemExit('it was imported')")
    content = shown(run.record, frozenset())
    assert content["trust"]
    assert "not run because somebody looked" in content["fault"]
    site = Site(tmp_path / "runs", tmp_path)
    page = site.rendered(None, "explore.html", run=run.id, title="", **content).body.decode()
    assert f"replab view --trust {run.id}" in page
    pixels = np.zeros((8, 8), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    with pytest.raises(ReplabError, match="not run because somebody looked"):
        Workshop().predict(run.record, file.getvalue())
    trusting = Workshop(frozenset({run.id}))
    assert trusting.predict(run.record, file.getvalue())["label"] == run.predict(pixels).label
