"""report.html in a real browser: opened from disk, without a network, with a silent console."""

import base64
import io

import numpy as np
import pytest
from PIL import Image

from replab.records.values import Values


@pytest.fixture
def page(browser, classifier):
    browser.offline(True)
    browser.open((classifier.folder / "report.html").as_uri())
    yield browser
    browser.offline(False)


def pixels_of(browser, canvas) -> np.ndarray:
    browser.wait(lambda: canvas.get_attribute("data-ready"))
    url = browser.run("return arguments[0].toDataURL()", canvas)
    with Image.open(io.BytesIO(base64.b64decode(url.partition(",")[2]))) as picture:
        return np.asarray(picture.convert("L"))


def test_a_confusion_cell_shows_exactly_the_images_that_belong_there(page, classifier):
    values = Values(classifier.record)
    answers, test = values.answers, classifier.reopened().data.test
    cells = page.all(".matrix button")
    assert sum(int(cell.text) for cell in cells) == len(test)
    wrong = [cell for cell in cells if cell.get_attribute("data-true") != cell.get_attribute("data-answer")]
    for cell in (max(wrong, key=lambda cell: int(cell.text)), wrong[0], cells[0]):
        page.run("arguments[0].scrollIntoView({block: 'center'})", cell)
        cell.click()
        true, answer = (int(cell.get_attribute(f"data-{name}")) for name in ("true", "answer"))
        there = np.flatnonzero((answers.labels == true) & (answers.predicted == answer))
        assert int(cell.text) == len(there)
        shown = page.all("#cell .thumb")
        numbers = [int(thumb.get_attribute("data-number")) for thumb in shown]
        assert len(set(numbers)) == len(numbers) == min(len(there), 12)
        assert set(numbers) <= set(there)
        surest = there[np.argsort(-answers.confidence[there], kind="stable")][: len(numbers)]
        assert set(numbers) == set(surest)
        for thumb, number in zip(shown, numbers):
            seen = pixels_of(page, thumb.find_element("css selector", "canvas"))
            np.testing.assert_array_equal(seen, test.pixels[number, 0])


def test_mistakes_sort_by_confidence_and_open_their_maps(page):
    def shares() -> list[float]:
        return [float(text.replace(" · maps", "").split()[-2]) for text in page.texts("#mistake-images .thumb")]

    assert shares() == sorted(shares(), reverse=True)
    page.one("#mistake-order option[value=unsure]").click()
    assert shares() == sorted(shares())
    page.one("#mistake-order option[value=sure]").click()
    first = page.one("#mistake-images .thumb")
    assert "maps" in first.text
    page.click("#mistake-images .thumb")
    assert len(page.all("#closer[open] canvas")) > 1
    page.one("#closer button").click()


def test_every_kept_mistake_within_the_cost_has_a_map(page, classifier):
    kept = Values(classifier.record).examples
    mistakes = page.all("#mistake-images .thumb")
    mapped = [thumb for thumb, text in zip(mistakes, page.texts("#mistake-images .thumb")) if "maps" in text]
    cost = 37  # passes: an mlp has occlusion alone
    assert len(mapped) == min(len(mistakes), max(12, 2 * classifier.input["test_images"] // cost))
    last = mapped[-1]
    assert int(last.get_attribute("data-number")) in kept.map_index
    page.run("arguments[0].scrollIntoView({block: 'center'})", last)
    last.click()
    canvas = page.all("#closer[open] canvas")[1]
    page.wait(lambda: canvas.get_attribute("data-ready"))
    pixels = page.run("return [...arguments[0].getContext('2d').getImageData(0, 0, 112, 112).data]", canvas)
    assert len(set(pixels[1::4])) > 20
    page.one("#closer button").click()


def test_the_structure_is_drawn(page, classifier):
    boxes = [box.text for box in page.all(".diagram .box b")]
    assert boxes == ["Flatten", "Linear 64→8 · ReLU", "Linear 8→10"]
    assert f"{8 * 10 + 10:,} parameters" in page.one(".diagram").text


def test_charts_are_read_and_zoomed_by_keys_and_by_mouse(page):
    plot = page.one("#curves .plot")
    plot.send_keys("")
    page.run("arguments[0].dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowRight', bubbles: true}))", plot)
    readout = page.one("#curves .readout").text
    assert readout.startswith("epoch 1: ")
    assert "train" in readout
    from selenium.webdriver import ActionChains

    page.run("arguments[0].scrollIntoView({block: 'center'})", plot)
    width = plot.size["width"]
    drag = ActionChains(page.driver).move_to_element_with_offset(plot, -width // 4, 0).click_and_hold()
    drag.move_by_offset(width // 2, 0).release().perform()
    assert page.one("#curves .chart-title button").is_displayed()
    page.one("#curves .chart-title button").click()
    assert not page.one("#curves .chart-title button").is_displayed()


def test_tables_sort(page):
    def column() -> list[str]:
        return page.texts("#classes tbody td:nth-child(3)")

    page.click("#classes thead th:nth-child(3) button")
    assert column() == sorted(column(), key=lambda text: float(text.rstrip("%")))
    page.click("#classes thead th:nth-child(3) button")
    assert column() == sorted(column(), key=lambda text: -float(text.rstrip("%")))


def test_a_class_called_script_is_only_a_name(browser, altered):
    run, write = altered
    names = ["</script><script>document.title='taken'</script>", '<img src=x onerror="document.title=1">']
    run.record.write_json("input.json", {**run.input, "classes": [*names, *run.input["classes"][2:]]})
    write()
    browser.open((run.folder / "report.html").as_uri())
    browser.click(".matrix button")
    assert browser.driver.title == "mlp on digits · replab"
    assert browser.all("#classes tbody th")[0].text == names[0]
    assert not browser.all("img[src=x]")


def test_the_slider_shows_the_samples_of_each_epoch(browser, altered):
    from replab.figures.samples import png

    run, write = altered
    kept = {epoch: png(np.full((4, 1, 8, 8), 20 * epoch, np.uint8)) for epoch in (1, 2, 5)}
    for epoch, data in kept.items():
        run.record.write_bytes(f"samples/epoch-{epoch:04d}.png", data)
    write()
    browser.open((run.folder / "report.html").as_uri())
    for place, (epoch, data) in enumerate(kept.items()):
        script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
        browser.run(script, browser.one("#frame"), place)
        assert browser.one("#frame-epoch").text == str(epoch)
        assert browser.one("#frame-image").get_attribute("src").endswith(base64.b64encode(data).decode())


def test_a_walk_goes_from_one_image_to_another(browser, altered):
    run, write = altered
    walk = np.arange(16, dtype=np.uint8).repeat(64).reshape(16, 1, 8, 8) * 10
    more = {"interpolation": walk, "originals": walk[:2], "reconstructions": walk[2:4]}
    run.record.write_predictions({**run.predictions, **more})
    write()
    browser.open((run.folder / "report.html").as_uri())
    script = "arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('input'))"
    for step in (0, 3, 7):
        browser.run(script, browser.one("#walk"), step)
        seen = [pixels_of(browser, canvas) for canvas in browser.all("#walks canvas")]
        np.testing.assert_array_equal(seen, walk[[step, 8 + step], 0])
    seen = [pixels_of(browser, canvas) for canvas in browser.all("#reconstructions canvas")]
    np.testing.assert_array_equal(seen, walk[[0, 2, 1, 3], 0])


@pytest.mark.parametrize("width", [390, 1024, 1440])
def test_nothing_is_wider_than_the_window(page, width):
    page.resize(width, 900)
    assert page.run("return document.documentElement.scrollWidth") <= width
    page.resize(1200, 900)
