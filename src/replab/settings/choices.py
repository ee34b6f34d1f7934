"""The names that settings may take. Kinds are read as text: listing them imports nothing."""

from __future__ import annotations

from replab.registry import Kind
from replab.settings import protocols

Choices = tuple["str | Kind", ...]  # names, and kinds whose names belong to them

# The rooms that hold the entries import their kind from here, so that an entry of a notebook is a choice too.
optimizer = Kind("optimizer", "replab.training.optimizers", "optimizer", "known: {names}")
schedule = Kind("schedule", "replab.training", "schedule", "known: {names}")
augmentation = Kind("augmentation", "replab.data.augment", "augmentation", "known: {names}")
task = Kind("task", "replab.tasks", "task", "known: {names}", "replab.tasks")
loss = Kind("loss", "replab.tasks.losses", "loss", "known: {names}")
metric = Kind("metric", "replab.tasks.metrics", "metric", "known: {names}")

OPTIMIZERS: Choices = (optimizer,)
SCHEDULES: Choices = (schedule,)
AUGMENTATIONS: Choices = ("auto", "strong", augmentation)
TASKS: Choices = ("auto", task)
LOSSES: Choices = (loss,)
METRICS: Choices = (metric,)
BACKENDS: Choices = ("torch", "mytorch")
PROTOCOLS: Choices = tuple(protocols.names())
METHODS: Choices = ("tpe", "halving", "range-test")
CHOOSE: Choices = ("one-standard-error", "best")
VIEWS: Choices = ("none", "flip", "multicrop")
AVERAGES: Choices = ("none", "ema", "lookahead")
FITS: Choices = ("crop", "pad", "squish")
PRECISIONS: Choices = ("auto", "float32", "bfloat16")
DISTANCES: Choices = ("cosine", "euclidean")
FITTED_HEADS = ("logistic", "knn")  # fitted in one step on features, without epochs
HEADS: Choices = ("linear", "mlp", *FITTED_HEADS)

NORMALISATIONS = "dataset, half, none, computed, backbone, or MEANS/STDS per channel as 0.5,0.5,0.5/0.25,0.25,0.25"
NORMALISATION = r"dataset|half|none|computed|backbone|[^/]+/[^/]+"


def names(choices: Choices) -> list[str]:
    return [name for choice in choices for name in ([choice] if isinstance(choice, str) else choice.names())]
