"""One browser, one server and one folder of tiny runs for all tests of pages; where no browser is, the end says so."""

import shutil

import pytest
from browser import MISSING, NOT_RUN, Browser
from serving import served


@pytest.fixture(scope="session")
def chromium(tmp_path_factory):
    if MISSING:
        pytest.skip(NOT_RUN)
    made = Browser(str(tmp_path_factory.mktemp("profile")))
    yield made
    made.close()


@pytest.fixture
def browser(chromium):
    """Its console must stay silent."""
    yield chromium
    assert chromium.complaints() == []


@pytest.fixture(scope="session")
def runs(finished_run, tmp_path_factory):
    """A searched classifier, one with a metric of its choice on the same images, and an autoencoder; all are weak."""
    from replab import api

    folder = tmp_path_factory.mktemp("runs")
    shutil.copytree(finished_run.folder, folder / finished_run.id)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("replab.report.write.draw", lambda *given: [])  # the first one's figures are enough
        api.run("mlp", limit=150, params={"widths": [8]}, lr=3e-3, epochs=3, metric=["macro-f1"], runs=folder)
        api.run("vae", limit=120, params={"latent": 12}, lr=1e-3, epochs=1, runs=folder)
    return folder


@pytest.fixture(scope="session")
def page(runs):
    """(address, token) of `replab view` over them."""
    return served(runs)


@pytest.fixture(scope="session")
def classifier(runs):
    return of_model(runs, lambda recipe: recipe.metric)


@pytest.fixture(scope="session")
def autoencoder(runs):
    return of_model(runs, lambda recipe: recipe.model == "vae")


def of_model(runs, wanted):
    from replab import api

    return next(run for run in map(api.Run, api.Record.all(runs)) if wanted(run.chosen))


@pytest.fixture
def altered(classifier, tmp_path, monkeypatch):
    """A copy of the classifier to alter, and a call that then writes its report again, without its figures."""
    from replab import api
    from replab.report import write as report

    monkeypatch.setattr(report, "draw", lambda *given, **named: [])
    shutil.copytree(classifier.folder, tmp_path / classifier.id)
    run = api.load_run(classifier.id, tmp_path)
    return run, lambda: report.write(run.record)
