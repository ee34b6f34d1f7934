"""Everything that is added by one file is added here: into a copy of the package, and used from the command line.

The entries have effects that nothing else has (weights that are all zero, a loss of exactly ln 2), so that a test sees
that its entry did the work.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest
from safetensors.numpy import load_file

import replab

FILES = {
    "models/zoo/thin.py": '''
        """One linear layer without a bias: an image of zeros gives logits of zero"""

        from torch import nn

        from replab.models.registry import register


        @register
        def thin(image):
            pixels = image.channels * image.height * image.width
            return nn.Sequential(nn.Flatten(), nn.Linear(pixels, image.classes, bias=False))
    ''',
    "data/sources/stripes.py": '''
        """Black above white, or white above black"""

        import numpy as np

        from replab.data.images import Dataset, Images
        from replab.data.source import source


        @source
        def stripes(*, size, seed):
            labels = np.arange(40) % 2
            pixels = np.zeros((40, 1, 8, 8), np.uint8)
            pixels[labels == 0, :, :4] = 255
            pixels[labels == 1, :, 4:] = 255
            images = Images(pixels, labels, ("above", "below"), (0.0,), (1.0,))
            return Dataset("stripes", images, images, "always the same")
    ''',
    "training/optimizers/forgetful.py": '''
        """Sets every parameter to zero at each step"""

        from replab.settings.choices import optimizer


        @optimizer
        def forgetful(lib, params, *, lr, weight_decay, momentum, **options):
            class Forgetful(lib.optim.SGD):
                def step(self, closure=None):
                    for group in self.param_groups:
                        for parameter in group["params"]:
                            parameter.data.zero_()

            return Forgetful(params, lr=lr)
    ''',
    "training/halving.py": '''
        """Half the rate of the step before"""

        from replab.settings.choices import schedule


        @schedule
        def halving(step, total, lr):
            return lr * 0.5**step
    ''',
    "data/augment/blank.py": '''
        """Images of zeros"""

        from replab.settings.choices import augmentation


        @augmentation
        def blank(x, generator, black):
            return 0 * x
    ''',
    "models/pretrained/constant.py": '''
        """Every weight of thin the same: constant:0.25"""

        import torch

        from replab.models.pretrained.weights import Weights, weights


        @weights
        def constant(value):
            return Weights(f"constant {value}", {"1.weight": torch.full((2, 64), float(value))}, f"constant {value}")
    ''',
    "tasks/losses/flat.py": '''
        """Cross-entropy, and one more"""

        from replab.tasks.losses import loss


        @loss
        def flat(lib, logits, target):
            return lib.nn.functional.cross_entropy(logits, target, reduction="none") + 1
    ''',
    "tasks/metrics/first_class.py": '''
        """The share of images that are said to be of the first class"""

        from replab.tasks.metrics import metric


        @metric
        def first_class(logits, labels):
            return float((logits.argmax(1) == 0).mean())
    ''',
    "figures/blue.py": '''
        """A picture that is blue all over"""

        from matplotlib.figure import Figure

        from replab.figures.figure import figure


        @figure
        def blue(values):
            return Figure(facecolor="blue")
    ''',
    "tasks/average.py": '''
        """The picture that is nearest to all images: a family of its own, in this file and that of its model"""

        from matplotlib.figure import Figure

        from replab.settings.choices import task
        from replab.tasks.base import Task


        @task
        class Average(Task):
            def losses(self, model, batch):
                loss = self.error(model, batch)
                yield "model", loss, {"loss": loss}

            def error(self, model, batch):
                return ((model(batch.x) - batch.x) ** 2).flatten(1).sum(1)

            def outputs(self, model, batch):
                return {"loss": self.error(model, batch)}

            def measure(self, outputs, labels):
                return {"loss": float(outputs["loss"].mean())}

            @classmethod
            def section(cls, values):
                return [("distance from the average", f"{values.metrics['loss']:.1f}")]

            @classmethod
            def figures(cls, values):
                return {"average": lambda: Figure(facecolor="grey")}
    ''',
    "models/zoo/canvas.py": '''
        """One picture, the same for every image"""

        import torch
        from torch import nn

        from replab.models.registry import register


        @register(task="average")
        class Canvas(nn.Module):
            def __init__(self, image):
                super().__init__()
                self.picture = nn.Parameter(torch.zeros(image.channels, image.height, image.width))

            def forward(self, x):
                return self.picture.expand_as(x)
    ''',
    "records/trackers/tally.py": '''
        """How many events of each kind there were"""

        import json
        from collections import Counter

        from replab.records.trackers.base import tracker


        @tracker
        class Tally:
            def __init__(self, folder, recipe):
                self.path, self.kinds = folder / "tally.json", Counter(model=recipe["model"] == "thin")

            def hear(self, event):
                self.kinds[event.kind] += 1
                self.path.write_text(json.dumps(self.kinds))
    ''',
    "replication/packs/toy.toml": """
        [source]
        title = "A toy"
        hardware = "none"
        tolerance = { accuracy = 1.0, loss = 0.1 }

        [source.recipe]
        data = "stripes"
        lr = 0.1
        epochs = 2

        [[row]]
        id = "toy/thin"
        recipe = { model = "thin", optimizer = "sgd" }
        parameters = 128
        figures = [{ measure = "test_accuracy", published = 100.0 }]

        [[claim]]
        id = "toy/claim"
        words = "stripes are easy"
        control = "itself"
        checks = [{ runs = ["toy/thin"], control = ["toy/thin"], expect = "within", margin = 1.0 }]
    """,
}

COMMANDS = {
    "models": "models",
    "datasets": "datasets",
    "forgetful": "run thin --data stripes --optimizer forgetful --schedule halving --lr 1 --epochs 2"
    " --batch-size 20 --track tally",
    "blank": "run thin --data stripes --augment blank --weights constant:0.25 --lr 0.1 --epochs 1"
    " --loss flat --metric first-class",
    "average": "run canvas --data stripes --optimizer sgd --lr 0.25 --epochs 1",
    "search": "run canvas --data stripes --optimizer sgd --fast",
    "replicate": "replicate toy/thin",
}  # fmt: skip

RUNNER = """
import contextlib, io, json, sys, traceback
from replab.cli import main
from replab.report import write as report
draw, printed = report.draw, {}
for name, words in json.load(sys.stdin).items():
    sys.argv = ["replab", *words]
    report.draw = draw if name in ("blank", "average") else lambda *_: []  # each would take seconds
    out, code = io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        try:
            main()
        except SystemExit as end:
            code = end.code
        except Exception:
            code = traceback.format_exc()
    printed[name] = [code or 0, out.getvalue()]
json.dump(printed, sys.__stdout__)
"""


class Used:
    """What the commands printed, and the folders of the runs they made."""

    def __init__(self, printed: dict[str, tuple[int, str]], folder: Path):
        self.printed, self.folder = printed, folder

    def output(self, name: str) -> str:
        code, text = self.printed[name]
        assert code == 0, f"{code}\n{text}"
        return text

    def run(self, name: str) -> Path:
        self.output(name)
        (recipe,) = (self.folder / name).glob("*/recipe.toml")
        return recipe.parent

    def rows(self, name: str) -> list[dict[str, float]]:
        return [json.loads(line) for line in (self.run(name) / "epochs.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def used(tmp_path_factory):
    """The commands above, in one process, by a copy of the package that has the files above."""
    folder = tmp_path_factory.mktemp("one-file")
    package = folder / "src" / "replab"
    shutil.copytree(Path(replab.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, text in FILES.items():
        assert (package / name).parent.is_dir(), f"no room for {name}"
        (package / name).write_text(dedent(text).lstrip())
    commands = {
        name: [*line.split(), *(["--runs", str(folder / name)] if line.startswith(("run", "replicate")) else [])]
        for name, line in COMMANDS.items()
    }
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=json.dumps(commands), cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(folder / "src")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Used(json.loads(done.stdout), folder)


def test_a_model(used):
    assert "thin" in used.output("models")
    assert "One linear layer without a bias" in used.output("models")
    assert json.loads((used.run("blank") / "facts.json").read_text())["parameters"] == 128


def test_a_data_source(used):
    assert "Black above white" in used.output("datasets")
    seen = json.loads((used.run("blank") / "input.json").read_text())
    assert (seen["data"], seen["classes"], seen["train_images"]) == ("stripes", ["above", "below"], 40)


def test_an_optimizer(used):
    (weight,) = load_file(used.run("forgetful") / "model.safetensors").values()
    assert not weight.any()


def test_a_schedule(used):
    rates = [row["lr"] for row in used.rows("forgetful")]  # of each epoch's last step, two steps per epoch
    assert rates in ([0.5, 0.125], [1.0, 0.25])


def test_an_augmentation(used):
    assert used.rows("blank")[0]["train_accuracy"] == 0.5  # a blank image is of the first class


def test_a_loss(used):
    assert used.rows("blank")[0]["train_loss"] == pytest.approx(math.log(2) + 1, abs=1e-6)
    assert used.rows("blank")[0]["test_loss"] > 1


def test_a_metric(used):
    metrics = json.loads((used.run("blank") / "metrics.json").read_text())
    assert metrics["first_class"] in (0.0, 0.5, 1.0)
    assert [row["test_first_class"] for row in used.rows("blank")] == [metrics["first_class"]]
    assert "first class" in used.output("blank")


def test_a_figure(used):
    drawn = (used.run("blank") / "figures" / "blue.png").read_bytes()
    assert drawn.startswith(b"\x89PNG")
    assert "figures/blue.png" in (used.run("blank") / "report.md").read_text()


def test_a_task_and_its_model(used):
    """A family that neither classifies nor reconstructs is trained, searched, measured, reported and drawn."""
    (picture,) = load_file(used.run("average") / "model.safetensors").values()
    np.testing.assert_allclose(
        picture, 0.25, rtol=1e-6
    )  # half of the images are white at each place: a step of 0.25 · 2 · 0.5
    assert used.rows("average")[0]["test_loss"] == pytest.approx(32 * 0.25**2 + 32 * 0.75**2, rel=1e-6)
    assert "distance from the average  20.0" in used.output("average")
    assert "![average](figures/average.png)" in (used.run("average") / "report.md").read_text()
    assert (used.run("average") / "figures" / "average.png").is_file()
    assert (used.run("search") / "study.jsonl").is_file()


def test_a_weight_source(used):
    (weight,) = load_file(used.run("blank") / "model.safetensors").values()
    np.testing.assert_array_equal(weight, 0.25)  # images of zeros have no gradient: they stay as they began


def test_an_event_subscriber(used):
    tally = json.loads((used.run("forgetful") / "tally.json").read_text())
    assert (tally["model"], tally["epoch"]) == (1, 2)
    assert tally["stage"] >= 1


def test_a_ledger_pack(used):
    assert "stripes are easy" in (used.folder / "results" / "LEDGER.md").read_text()
    (row,) = (used.folder / "results" / "rows.jsonl").read_text().splitlines()
    assert json.loads(row)["values"]["test_accuracy"][0] == 100.0
    assert "toy/thin" in used.output("replicate")
    assert "100.00 %" in used.output("replicate")
