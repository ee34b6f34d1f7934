"""Heads that are fitted in closed form or at once, instead of in steps: logistic regression to convergence, and k-NN.

A model with `fit_once(x, y, task, recipe)` takes the place of an epoch's steps in fit(); everything around it (search,
record, evaluation, report) is as for any other run. They stand behind a frozen backbone, on its features.
"""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import nn

from replab.backends.as_is import as_is
from replab.settings.recipe import Recipe
from replab.settings.rules import AUTO, FITTED_HEADS, STRONG

HIDDEN = 512  # of an MLP head
DECAY = [1e-5, 10.0]  # searched, of logistic regression
NEIGHBOURS = [1, 50]  # searched, of k-NN
ITERATIONS = 2000
TOLERANCE = 1e-5  # largest entry of the gradient at which logistic regression has converged


class Logistic(nn.Linear):
    """Minimises the mean loss + weight_decay / 2 · ‖weights‖² by L-BFGS, on all rows at once.

    The way is in float32, which is three times as fast, the end in float64.

    On standardised features: L2 then means the same for every backbone. The scale is in the weights that are kept.
    """

    def fit_once(self, x: np.ndarray, y: np.ndarray, task: Any, recipe: Recipe) -> dict[str, torch.Tensor]:
        device = self.weight.device
        mean, std = (torch.from_numpy(found) for found in (x.mean(0, np.float64), x.std(0, np.float64)))
        std[std <= 1e-6 * std.max()] = 1.0  # a feature that never changes
        exact = (torch.from_numpy(x) - mean) / std
        self.to("cpu")
        with torch.no_grad():  # convex: the start decides how many iterations it takes, not where it ends
            for parameter in self.parameters():
                parameter.zero_()
        logs: dict[str, torch.Tensor] = {}
        steps = 0
        for dtype, tolerance, change in ((torch.float32, TOLERANCE, 1e-9), (torch.float64, TOLERANCE, 0.0)):
            self.to(dtype)
            rows = SimpleNamespace(x=exact.to(dtype), y=torch.from_numpy(y), target=None)
            optimizer = as_is(torch.optim.LBFGS)(
                self.parameters(), max_iter=ITERATIONS, history_size=20, line_search_fn="strong_wolfe",
                tolerance_grad=tolerance, tolerance_change=change,
            )  # fmt: skip

            def closure() -> torch.Tensor:
                nonlocal logs
                optimizer.zero_grad()  # noqa: B023
                _, losses, logs = next(task.losses(self, rows))  # noqa: B023
                loss = losses.mean() + recipe.weight_decay / 2 * (self.weight**2).sum()
                loss.backward()
                return loss

            optimizer.step(closure)
            steps += next(iter(optimizer.state.values()))["n_iter"]
        closure()  # once more, at the point where it ended
        slope = max(float(p.grad.abs().max()) for p in self.parameters() if p.grad is not None)
        with torch.no_grad():
            self.weight /= std
            self.bias -= self.weight @ mean
        self.to(device, torch.float32)
        self.zero_grad()
        return {name: value.detach() for name, value in logs.items()} | {
            "gradient": torch.tensor(slope),
            "iterations": torch.tensor(float(steps)),
        }


class Nearest(nn.Module):
    """k-NN: the classes' shares among the k nearest training rows, as logits. One vote is spread over all classes."""

    rows: torch.Tensor
    labels: torch.Tensor
    neighbours: torch.Tensor

    def __init__(self, width: int, classes: int, count: int, distance: str):
        super().__init__()
        self.classes, self.distance = classes, distance
        self.register_buffer("rows", torch.zeros(count, width))  # (N, D)
        self.register_buffer("labels", torch.zeros(count, dtype=torch.int64))
        self.register_buffer("neighbours", torch.tensor(1))

    def fit_once(self, x: np.ndarray, y: np.ndarray, task: Any, recipe: Recipe) -> dict[str, torch.Tensor]:
        """Keeps the rows. They have no meaningful training loss: each row would be its own neighbour."""
        device = self.rows.device
        self.rows, self.labels = torch.tensor(x, device=device), torch.tensor(y, device=device)
        self.neighbours = torch.tensor(min(recipe.neighbours or 1, len(x)), device=device)
        return {}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.distance == "cosine":
            near = nn.functional.normalize(x.float()) @ nn.functional.normalize(self.rows).T  # (B, N)
        else:
            near = -torch.cdist(x.float(), self.rows)
        k = int(self.neighbours)
        neighbours = self.labels[near.topk(k).indices]  # (B, k)
        votes = nn.functional.one_hot(neighbours, self.classes).sum(1)
        return ((votes + 1 / self.classes) / (k + 1)).log()

    def extra_repr(self) -> str:
        return f"{len(self.rows):,} rows of {self.rows.shape[1]}, {self.distance}"


def make(kind: str, old: nn.Linear, rows: int, distance: str) -> nn.Module:
    """A head in place of a linear one; `rows` is the number of training images."""
    if kind == "mlp":
        return nn.Sequential(nn.Linear(old.in_features, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, old.out_features))
    if kind == "logistic":
        return Logistic(old.in_features, old.out_features)
    return Nearest(old.in_features, old.out_features, rows, distance)


def settle(recipe: Recipe) -> Recipe:
    """Fitted heads have one epoch and no rate; the L2 or k that was not given is searched."""
    if recipe.head not in FITTED_HEADS:
        return recipe
    space = dict(recipe.search.space)
    if recipe.head == "logistic" and not recipe.weight_decay:
        space.setdefault("weight_decay", DECAY)
    if recipe.head == "knn" and recipe.neighbours is None:
        space.setdefault("neighbours", NEIGHBOURS)
    for key in ("augment", "epochs_at_10k"):  # a protocol's: features are kept, and there is one epoch
        space.pop(key, None)
    augment = () if recipe.augment in (AUTO, STRONG) else recipe.augment
    changes = {"augment": augment, "schedule": "constant", "epochs_at_10k": None}
    return recipe.replace(lr=1.0, epochs=1, search={"space": space, "method": "tpe"}, **changes)


def describe(recipe: Recipe, row: dict[str, float]) -> str:
    """How a fitted head was made, for the report."""
    if recipe.head == "knn":
        return f"{recipe.neighbours} nearest training images by {recipe.distance} distance of features"
    ended = row.get("train_gradient", math.nan)
    how = "converged" if ended <= TOLERANCE else "NOT converged"
    return (
        f"logistic regression, L2 {recipe.weight_decay:.3g}, {how} after {row.get('train_iterations', 0):.0f}"
        f" iterations of L-BFGS (largest gradient {ended:.1e})"
    )
