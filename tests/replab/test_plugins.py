"""Packages that bring models, data, tasks, trackers and packs by entry points: listed unimported, used, skipped."""

import os
import subprocess
import sys
from textwrap import dedent

import pytest

PACKAGE = {
    "demo/__init__.py": "import os\nos.makedirs(os.environ['IMPORTED'], exist_ok=True)\n",
    "demo/models.py": '''
        """Models of a package that is installed beside replab"""

        from torch import nn

        from replab import register


        @register
        def demo_linear(image):
            """One linear layer"""
            return nn.Sequential(nn.Flatten(), nn.Linear(64, image.classes))


        @register
        def demo_other(image):
            """Another one"""
            return demo_linear(image)
    ''',
    "demo/more.py": '''
        """Data, a task and a tracker"""

        import numpy as np

        from replab.data.images import Dataset, Images
        from replab.tasks.classify import Classify


        def halves(*, size, seed):
            """Black or white"""
            labels = np.arange(40) % 2
            pixels = np.zeros((40, 1, 8, 8), np.uint8)
            pixels[labels == 1] = 255
            images = Images(pixels, labels, ("black", "white"), (0.5,), (0.5,))
            return Dataset("halves", images, images, "always the same")


        class Twice(Classify):
            """A loss that is counted twice"""

            entry_name = "twice"

            def losses(self, model, batch):
                for part, loss, logs in super().losses(model, batch):
                    yield part, 2 * loss, {**logs, "loss": 2 * loss}


        class Told:
            """Counts epochs"""

            def __init__(self, folder, recipe):
                self.path = folder / "told.txt"

            def hear(self, event):
                if event.kind == "epoch":
                    self.path.write_text(str(event.facts["epoch"]))
    ''',
    "demo/published/__init__.py": "",
    "demo/published/toy.toml": """
        [source]
        title = "A toy of a plugin"

        [[row]]
        id = "toy/linear"
        recipe = { model = "demo-linear", data = "halves-of-demo", lr = 0.1, epochs = 1 }
        figures = [{ measure = "test_accuracy", published = 100.0 }]
    """,
    "demo-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n",
    "demo-1.0.dist-info/entry_points.txt": """
        [replab.models]
        all = demo.models
        missing = demo.nowhere
        mlp = demo.models:demo_linear

        [replab.data]
        halves-of-demo = demo.more:halves

        [replab.tasks]
        twice = demo.more:Twice

        [replab.trackers]
        told = demo.more:Told

        [replab.packs]
        toy = demo.published
        gone = demo.no_packs
    """,
    "broken.py": '"""A plugin that needs what is not there"""\nimport not_installed\n\ndef broken_model(image): ...\n',
    "broken-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n",
    "broken-1.0.dist-info/entry_points.txt": "[replab.models]\nbroken-model = broken:broken_model\n",
}


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """replab(*words) → (exit code, stdout, stderr) in a process that has the packages."""
    folder = tmp_path_factory.mktemp("plugins")
    for name, text in PACKAGE.items():
        (folder / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "site" / name).write_text(dedent(text).lstrip("\n"))

    def replab(*words):
        environment = os.environ | {"PYTHONPATH": str(folder / "site"), "IMPORTED": str(folder / "imported")}
        command = [sys.executable, "-m", "replab", *map(str, words)]
        done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    replab.folder = folder
    return replab


def test_listing_imports_none_and_names_what_is_skipped(installed):
    code, out, err = installed("models")
    assert code == 0
    assert "One linear layer (of demo)" in out
    assert "A plugin that needs what is not there (of broken)" in out
    assert "the plugin missing = 'demo.nowhere' of demo is skipped: ModuleNotFoundError: No module named" in err
    assert "the plugin mlp = 'demo.models:demo_linear' of demo is skipped: there is a model named 'mlp' already" in err
    assert "halves-of-demo" in installed("datasets")[1]
    assert not (installed.folder / "imported").exists()


def test_one_that_does_not_import_is_named(installed):
    code, _, err = installed("run", "broken-model", "--lr", 1, "--epochs", 1)
    assert code == 2
    last = err.splitlines()[-1]
    assert "the model 'broken-model' comes from broken, which does not import (ModuleNotFoundError: No mod" in last
    assert "update or uninstall it" in last


@pytest.mark.parametrize("backend", ["torch", "mytorch"])
def test_all_are_used(installed, backend):
    code, out, err = installed(
        "run", "demo-linear", "--data", "halves-of-demo", "--task", "twice", "--track", "told", "--lr", 0.1,
        "--epochs", 2, "--runs", backend, "--backend", backend,
    )  # fmt: skip
    assert code == 0, err
    (run,) = (installed.folder / backend).iterdir()
    assert (run / "told.txt").read_text() == "2"
    assert "100.00%" in out


def test_packs(installed):
    code, out, err = installed("replicate", "--list")
    assert code == 0
    assert "toy/linear" in out
    assert "the plugin gone = 'demo.no_packs' of demo is skipped: ModuleNotFoundError" in err
