"""The peers' side: fastai, Lightning with Optuna, skorch and a bare loop on the same network and images.

Runs in an environment of its own (make peers). Images are tensors in memory, normalised once: what a careful user does,
and faster than decoding them in every epoch. Prints one line of JSON: seconds (imports and reading apart) and accuracy.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.simplefilter("ignore")
BATCH = 128
if not torch.cuda.is_available():  # PyPI's torchvision is a CUDA build, which other packages import by the way
    for operator in ("nms", "qnms"):
        torch.library.define(f"torchvision::{operator}", "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def network(name: str, x: torch.Tensor, classes: int = 10) -> nn.Module:
    """cnn as people write it, the ReLU before the pool (the zoo's is the same function); others are the zoo's own."""
    if name != "cnn":
        from replab.data.images import ImageSpec
        from replab.models.registry import MODELS

        channels, height, width = x.shape[1:]
        return MODELS.get(name)(ImageSpec(channels, height, width, classes))
    layers: list[nn.Module] = []
    for fan_in, fan_out in ((3, 32), (32, 64), (64, 128)):
        layers += [nn.Conv2d(fan_in, fan_out, 3, padding=1), nn.BatchNorm2d(fan_out), nn.ReLU(), nn.MaxPool2d(2)]
    head = [nn.Flatten(), nn.Linear(2048, 512), nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, 10)]
    return nn.Sequential(*layers, *head)


def images(path: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """(training images, labels, test images, labels), normalised by the training images."""
    found = np.load(path)
    x, test = (torch.from_numpy(found[name]).float() / 255 for name in ("x", "x_test"))
    mean, std = x.mean((0, 2, 3), keepdim=True), x.std((0, 2, 3), keepdim=True)
    y, y_test = (torch.from_numpy(found[name]).long() for name in ("y", "y_test"))
    return (x - mean) / std, y, (test - mean) / std, y_test


def accuracy(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    model.eval()
    with torch.inference_mode():
        right = sum(int((model(a).argmax(1) == b).sum()) for a, b in zip(x.split(500), y.split(500)))
    return right / len(y)


def flip_and_crop(x: torch.Tensor, pad: int = 4) -> torch.Tensor:
    """On a whole batch: half of the images mirrored, each shifted by up to `pad` pixels."""
    x = torch.where(torch.rand(len(x), 1, 1, 1) < 0.5, x.flip(3), x)
    padded = nn.functional.pad(x, (pad,) * 4)
    size = x.shape[-1]
    top, left = torch.randint(0, 2 * pad + 1, (2, len(x)))
    return padded.unfold(2, size, 1).unfold(3, size, 1)[torch.arange(len(x)), :, top, left]


def learner(model: nn.Module, x: torch.Tensor, y: torch.Tensor, augmented: bool):
    from fastai.callback.core import Callback, CancelValidException
    from fastai.data.core import DataLoaders
    from fastai.data.load import DataLoader as FastLoader
    from fastai.learner import Learner

    class Augment(Callback):
        def before_batch(self) -> None:
            if self.training and augmented:
                self.learn.xb = (flip_and_crop(self.xb[0]),)

    class NotWatched(Callback):
        """Validation after each epoch would cost fastai time that replab's default does not spend."""

        def before_validate(self) -> None:
            raise CancelValidException

    data = TensorDataset(x, y)
    loaders = DataLoaders(FastLoader(data, BATCH, shuffle=True, drop_last=True), FastLoader(data, BATCH))
    loss, callbacks = nn.CrossEntropyLoss(), [Augment(), NotWatched()]
    quiet = Learner(loaders, model, loss_func=loss, cbs=callbacks, path=tempfile.gettempdir())  # lr_find writes there
    quiet.remove_cbs([cb for cb in quiet.cbs if type(cb).__name__ == "ProgressCallback"])
    return quiet


def fastai(name: str, path: str, epochs: int, augmented: bool) -> dict[str, float]:
    """lr_find, then fit_one_cycle at what it suggests."""
    import fastai.callback.schedule  # noqa: F401  adds lr_find and fit_one_cycle

    x, y, x_test, y_test = images(path)
    started = time.perf_counter()
    ready = learner(network(name, x), x, y, augmented)
    with ready.no_bar(), ready.no_logging():
        rate = ready.lr_find(show_plot=False).valley
        ready.fit_one_cycle(epochs, rate)
    share = accuracy(ready.model, x_test, y_test)
    return {"seconds": time.perf_counter() - started, "accuracy": share, "lr": float(rate)}


def lightning_module(model: nn.Module, rate: float):
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.net = model

        def training_step(self, batch, index):
            return nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def validation_step(self, batch, index):
            self.log("val_loss", nn.functional.cross_entropy(self.net(batch[0]), batch[1]))

        def configure_optimizers(self):
            return torch.optim.Adam(self.parameters(), lr=rate)

    return Module()


def trainer(epochs: int, callbacks: list | None = None):
    import logging

    import lightning

    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    return lightning.Trainer(
        max_epochs=epochs, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        enable_model_summary=False, callbacks=callbacks or [], num_sanity_val_steps=0,
    )  # fmt: skip


def lightning_optuna(name: str, path: str, trials: int = 20) -> dict[str, float]:
    """The notes' protocol as a careful user writes it: 20 trials of TPE with the median pruner on a fifth."""
    import lightning
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    x, y, x_test, y_test = images(path)
    started = time.perf_counter()
    order = torch.randperm(len(x))[: max(len(x) // 5, 1500)]
    held = len(order) // 5
    part, validation = (TensorDataset(x[i], y[i]) for i in (order[held:], order[:held]))

    def objective(trial: optuna.Trial) -> float:
        rate = trial.suggest_float("lr", 4.54e-5, 1.83e-2, log=True)
        best, since, losses = float("inf"), 0, []

        class Report(lightning.Callback):
            def on_validation_end(self, run, module):
                nonlocal best, since
                loss = float(run.callback_metrics["val_loss"])
                losses.append(loss)
                since = 0 if loss < best else since + 1
                best = min(best, loss)
                trial.report(loss, len(losses))
                run.should_stop = since >= 5 or trial.should_prune()

        trainer(50, [Report()]).fit(
            lightning_module(network(name, x), rate), DataLoader(part, BATCH, shuffle=True), DataLoader(validation, 500)
        )
        trial.set_user_attr("epochs", 1 + int(np.argmin(losses)))
        if since < 5 and len(losses) < 50:
            raise optuna.TrialPruned
        return best

    sampler = optuna.samplers.TPESampler(n_startup_trials=5, seed=0)
    study = optuna.create_study(sampler=sampler, pruner=optuna.pruners.MedianPruner(n_warmup_steps=5))
    study.optimize(objective, trials)
    module = lightning_module(network(name, x), study.best_params["lr"])
    trainer(study.best_trial.user_attrs["epochs"]).fit(module, DataLoader(TensorDataset(x, y), BATCH, shuffle=True))
    share = accuracy(module.net, x_test, y_test)
    return {"seconds": time.perf_counter() - started, "accuracy": share, "lr": study.best_params["lr"]}


def one_epoch(name: str, path: str, which: str) -> dict[str, float]:
    """The second of two epochs, batches of 128, Adam: the first warms up."""
    x, y, _, _ = images(path)
    loader, seconds = DataLoader(TensorDataset(x, y), BATCH, shuffle=True), []
    model = network(name, x)
    if which == "bare":
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
        for _ in range(2):
            began = time.perf_counter()
            for index in torch.randperm(len(x)).split(BATCH):
                optimizer.zero_grad()
                nn.functional.cross_entropy(model(x[index]), y[index]).backward()
                optimizer.step()
            seconds.append(time.perf_counter() - began)
    elif which == "lightning":
        import lightning

        class Stopwatch(lightning.Callback):
            def on_train_epoch_start(self, run, module):
                self.began = time.perf_counter()

            def on_train_epoch_end(self, run, module):
                seconds.append(time.perf_counter() - self.began)

        trainer(2, [Stopwatch()]).fit(lightning_module(model, 1e-3), loader)
    elif which == "fastai":
        import fastai.callback.progress  # noqa: F401  adds no_bar

        ready = learner(model, x, y, augmented=False)
        for _ in range(2):
            began = time.perf_counter()
            with ready.no_bar(), ready.no_logging():
                ready.fit(1, 1e-3)
            seconds.append(time.perf_counter() - began)
    else:
        from skorch import NeuralNetClassifier

        net = NeuralNetClassifier(
            model, criterion=nn.CrossEntropyLoss, optimizer=torch.optim.Adam, lr=1e-3, batch_size=BATCH,
            max_epochs=2, train_split=None, verbose=0, iterator_train__shuffle=True,
        )  # fmt: skip
        net.fit(x, y)
        seconds = [row["dur"] for row in net.history]
    return {"seconds": seconds[-1]}


if __name__ == "__main__":
    what, model, path, seed, *rest = sys.argv[1:]
    sys.path.insert(0, str(Path(__file__).parents[2] / "src"))
    torch.manual_seed(int(seed))
    np.random.seed(int(seed))
    sides = {
        "fastai": lambda: fastai(model, path, int(rest[0]), rest[1] == "augmented"),
        "lightning-optuna": lambda: lightning_optuna(model, path),
        "epoch": lambda: one_epoch(model, path, rest[0]),
    }
    print(json.dumps(sides[what]()))
