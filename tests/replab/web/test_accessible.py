"""What a screen reader is told: the role and name of each page's main controls, by Chromium's accessibility tree."""

import pytest

PAGES = {  # address → controls that must be there, by role and name
    "": [("heading", "Runs"), ("searchbox", "Filter"), ("button", "Compare"), ("region", "Runs"), ("table", "")],
    "start": [("combobox", "model"), ("textbox", "learning rate"), ("button", "Measure the cost"), ("button", "Start")],
    "compare?run={mlp}": [("heading", "Comparison"), ("region", "Table of results"), ("columnheader", "accuracy")],
    "runs/{mlp}": [
        ("navigation", "Sections"), ("region", "Confusion matrix"), ("combobox", "Sort by"), ("button", "test"),
        ("link", "Explore: try this model"), ("region", "Accuracy by class"),
    ],
    "runs/{mlp}/explore": [
        ("button", "Clear"), ("button", "Image file"), ("button", "Place them"), ("status", ""),
        ("image", "Paper to draw on. Arrow keys draw a line, with Shift they move the pen. Or choose a file below."),
    ],
    "runs/{vae}/explore": [("spinbutton", "Seed"), ("button", "Another point"), ("slider", "z1")],
    "ledger": [("region", "Published and measured"), ("region", "Claims"), ("button", "verdict")],
    "catalogue": [("region", "Table of models"), ("button", "cnn"), ("button", "digits")],
}  # fmt: skip
CONTROLS = ("button", "link", "checkbox", "combobox", "textbox", "searchbox", "slider", "spinbutton", "image", "region")


@pytest.mark.parametrize("path", PAGES)
def test_controls_have_roles_and_names(browser, page, path, classifier, autoencoder):
    (address, token), wanted = page, PAGES[path]
    path = path.format(mlp=classifier.id, vae=autoencoder.id)
    browser.open(f"{address}{path}{'&' if '?' in path else '?'}token={token}")
    if "vae" in path:
        browser.wait(lambda: browser.all("#sliders input"))
    told = browser.accessible()
    for role, name in wanted:
        assert any(r == role and name in n for r, n in told), (role, name, told)
    assert not [role for role, name in told if role in CONTROLS and not name.strip()], "a control without a name"
    assert {"banner", "navigation", "main"} <= {role for role, _ in told}
