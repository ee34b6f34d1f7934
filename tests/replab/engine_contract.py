"""What every engine must keep, and a small model whose process dies while it trains when a test wants it to."""

from collections import deque
from hashlib import sha256
from pathlib import Path

from replab.data.split import split_for_search
from replab.records.events import Events
from replab.search.engines.base import Job
from replab.search.stopping import Standings
from replab.search.work import Work
from replab.settings.recipe import Recipe
from replab.training.prepare import prepare

NET = """
import os, signal, sys, time, torch
from torch import nn

if "pytest" not in sys.modules:  # nobody reads the reports of a worker's runs
    from replab.report import write as report
    report.write = lambda *args: None

class Deadly(nn.Module):
    # files of the folder $DEADLY say what happens: `kill-…` and `huge-…`, once each; `hold`, as long as it is there
    def forward(self, x):
        folder = os.environ.get("DEADLY")
        orders = os.listdir(folder) if folder and self.training else []
        if "hold" in orders and torch.is_grad_enabled():
            open(os.path.join(folder, f"held-{os.getpid()}"), "w").close()
            while os.path.exists(os.path.join(folder, "hold")):
                time.sleep(0.02)
        for order in sorted(orders) if torch.is_grad_enabled() else []:
            if order.startswith(("kill", "huge")):
                try:
                    os.remove(os.path.join(folder, order))
                except FileNotFoundError:  # another worker was faster
                    continue
                if order.startswith("huge"):
                    torch.empty(2**60)  # more than any machine has
                os.kill(os.getpid(), signal.SIGKILL)
        return x

def build(image, hidden=8):
    print("a model that talks while it is built")
    # dropout draws numbers, BatchNorm keeps statistics
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.2), nn.Flatten(),
                         nn.Linear(144, hidden), Deadly(), nn.Linear(hidden, image.classes))

def doubled(logits, target):
    # shows on how many threads it is computed
    return torch.get_num_threads() * nn.functional.cross_entropy(logits, target, reduction="none")

def shade(x, generator, black):
    return black + (x - black) * torch.rand(len(x), 1, 1, 1, generator=generator)
"""
SEARCH = {"trials": 5, "max_epochs": 3, "patience": 2, "fraction": 1.0, "min_validation": 30, "batch": 4}
SETTINGS = {"limit": 120, "batch_size": 16, "augment": ("flip", "crop=1"), "search": SEARCH}
STANDARD = {"protocol": "standard", "limit": 120, "batch_size": 16, "epochs": 20,
            "search": {"fraction": 1.0, "min_validation": 30}}  # fmt: skip
JOBS = [Job(n, {"lr": 10.0 ** -(n + 1)}) for n in range(3)]
FILES = ("recipe.toml", "study.jsonl", "asked.json", "rates.json", "chosen.toml", "epochs.jsonl", "model.safetensors",
         "metrics.json")  # fmt: skip


class Heard(list):
    def hear(self, event):
        self.append(event)


def written(folder):
    """The model, as a user would name it."""
    path = Path(folder) / "net.py"
    path.write_text(NET)
    return f"{path}:build"


def work_of(model, **settings):
    experiment = prepare(Recipe(model=model).replace(**{**SETTINGS, **settings}))
    return Work(experiment, *split_for_search(experiment.data.train, experiment.recipe.search, experiment.recipe.seed))


def in_order(done):
    return sorted((one.result for one in done), key=lambda trial: trial.number)


def keeps_the_contract(crew, expected):
    done = list(crew.run(deque(JOBS), Events(heard := Heard())))
    assert in_order(done) == expected
    assert all(one.seconds > 0 and one.where for one in done)
    epochs = [(e.facts["trial"], e.facts["epoch"]) for e in heard if e.kind == "epoch"]
    assert sorted(epochs) == [(t.number, n + 1) for t in expected for n in range(len(t.losses))]
    # the same workers go on, and compare with what they are given
    behind = [Job(9, JOBS[0].params, Standings(expected).bars(), most=1)]
    (again,) = crew.run(deque(behind), Events())
    assert again.result.losses == expected[0].losses[:1]
    assert list(crew.run(deque(), Events())) == []
    # what is added while others run is run too
    growing, found = deque(JOBS[:1]), []
    for done in crew.run(growing, Events()):
        found.append(done.result)
        growing.extend(JOBS[len(found) : len(found) + 1])
    assert found == expected


def survives_lost_workers(crew, expected, orders):
    """SIGKILL from within, and an allocation that fails, in the middle of an epoch."""
    for order in ("kill-one", "huge-one"):
        (orders / order).touch()
    assert in_order(crew.run(deque(JOBS), Events(heard := Heard()))) == expected
    assert not list(orders.iterdir())
    assert sum("was lost" in e.facts.get("text", "") for e in heard) == 2


def hashes(folder):
    """Of everything that a run's numbers are in."""
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in map(Path(folder).joinpath, FILES)
             if path.is_file()}  # fmt: skip
    assert found.keys() >= {"study.jsonl", "chosen.toml", "epochs.jsonl", "model.safetensors", "metrics.json"}
    return found
