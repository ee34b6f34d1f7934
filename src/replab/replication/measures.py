"""What a finished run is measured by, by name: the published ways, and the right ones beside them.

A measurement is a value and the standard error it has within one run (of drawing the test images); None where
one run cannot tell.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from replab.runs.run import Run


class Measured(NamedTuple):
    value: float
    error: float | None


class Measure(NamedTuple):
    of: Callable[[Run], Measured]
    label: str
    unit: str  # % or nothing
    higher_is_better: bool = True


def proportion(share: float, n: int) -> Measured:
    """In percent, with the binomial standard error of n images."""
    return Measured(100 * share, 100 * math.sqrt(max(share * (1 - share), 0.0) / n))


def test_accuracy(run: Run) -> Measured:
    return proportion(run.metrics["accuracy"], run.input["test_images"])


def test_loss(run: Run) -> Measured:
    """Its error is that of a mean over the test images."""
    return Measured(run.metrics["loss"], run.metrics["loss_se"])


def train_accuracy(run: Run) -> Measured:
    """Of the last epoch, counted while it trained: what lab9 printed as validation accuracy."""
    return proportion(run.epochs[-1]["train_accuracy"], run.input["train_images"])


def train_loss(run: Run) -> Measured:
    return Measured(run.epochs[-1]["train_loss"], None)


def share(metric: str) -> Callable[[Run], Measured]:
    """A metric that is a share of the test images."""
    return lambda run: proportion(run.metrics[metric], run.input["test_images"])


def metric(name: str) -> Callable[[Run], Measured]:
    """A metric as it is. Its error is unknown from one run."""
    return lambda run: Measured(run.metrics[name], None)


def last(column: str) -> Callable[[Run], Measured]:
    """A number of the last epoch."""
    return lambda run: Measured(run.epochs[-1][column], None)


def best_test_accuracy(run: Run) -> Measured:
    """Of the epoch that the test images themselves chose: never a fair number, but the published one."""
    return proportion(max(row["test_accuracy"] for row in run.epochs), run.input["test_images"])


def first_epoch_accuracy(run: Run) -> Measured:
    return proportion(run.epochs[0]["test_accuracy"], run.input["test_images"])


def tsne_tightness(run: Run) -> Measured:
    """How tight the K-means clusters lie in the t-SNE: the spread inside them over that of all points, 1 for chance."""
    points, cluster = run.predictions["embedding"], run.predictions["cluster"][run.predictions["embedding_index"]]
    own = [points[cluster == c] for c in set(cluster.tolist())]
    inside = sum(float(((part - part.mean(0)) ** 2).sum()) for part in own)
    return Measured(math.sqrt(inside / float(((points - points.mean(0)) ** 2).sum())), None)


def train_mode_unscaled_accuracy(run: Run) -> Measured:
    """As the published resnet8 was tested: pixels of 0..255, BatchNorm on each test batch's own statistics."""
    return _evaluated(run, batch_norm_of_the_batch=True, unscaled=True)


def unscaled_accuracy(run: Run) -> Measured:
    """Pixels of 0..255 in eval mode: what train mode hid."""
    return _evaluated(run, batch_norm_of_the_batch=False, unscaled=True)


def train_mode_accuracy(run: Run) -> Measured:
    """Inputs as trained, BatchNorm on each test batch's own statistics."""
    return _evaluated(run, batch_norm_of_the_batch=True, unscaled=False)


def _evaluated(run: Run, *, batch_norm_of_the_batch: bool, unscaled: bool) -> Measured:
    from replab.data.batches import Batches
    from replab.data.normalise import normalisation
    from replab.training.evaluate import to_backend
    from replab.training.experiment import prefers_channels_last

    ready, recipe = run.reopened(), run.chosen
    model = ready.trained(run.record, recipe).train(batch_norm_of_the_batch)
    channels = ready.data.spec.channels
    as_trained = normalisation(ready.data.train, recipe.normalise)
    how = ((0.0,) * channels, (1 / 255,) * channels) if unscaled else as_trained  # (pixel/255) / (1/255) = pixel
    batches: Any = Batches(
        ready.data.test,
        recipe.batch_size,
        normalise=how,
        device=ready.device,
        channels_last=prefers_channels_last(model),
    )
    right = 0
    with ready.backend.lib.no_grad():
        for batch in batches.epoch(0):
            batch = to_backend(batch, ready.backend)
            right += int((model(batch.x).argmax(1) == batch.y).sum())
    return proportion(right / len(ready.data.test), len(ready.data.test))


MEASURES: dict[str, Measure] = {
    "test_accuracy": Measure(test_accuracy, "test accuracy, last epoch", "%"),
    "test_loss": Measure(test_loss, "test loss", "", higher_is_better=False),
    "train_accuracy": Measure(train_accuracy, "training accuracy", "%"),
    "train_loss": Measure(train_loss, "training loss", "", higher_is_better=False),
    "best_test_accuracy": Measure(best_test_accuracy, "test accuracy, best epoch by test", "%"),
    "first_epoch_accuracy": Measure(first_epoch_accuracy, "test accuracy after one epoch", "%"),
    "train_mode_unscaled_accuracy": Measure(
        train_mode_unscaled_accuracy, "test accuracy, pixels 0–255, train mode", "%"
    ),
    "unscaled_accuracy": Measure(unscaled_accuracy, "test accuracy, pixels 0–255, eval mode", "%"),
    "train_mode_accuracy": Measure(train_mode_accuracy, "test accuracy, train mode", "%"),
    "cluster_accuracy": Measure(share("cluster_accuracy"), "K-means fitted and named on train, test accuracy", "%"),
    "cluster_accuracy_on_test": Measure(share("cluster_accuracy_on_test"), "K-means fitted and named on test", "%"),
    "pixel_cluster_accuracy": Measure(share("pixel_cluster_accuracy"), "K-means on raw pixels, test accuracy", "%"),
    "hungarian_accuracy": Measure(share("hungarian_accuracy"), "K-means fitted on train, one class per cluster", "%"),
    "nmi": Measure(metric("nmi"), "mutual information of clusters and classes (NMI, train-fitted)", ""),
    "one_sample_accuracy": Measure(share("one_sample_accuracy"), "class of an image's least one-sample loss", "%"),
    "label_swap": Measure(metric("label_swap"), "loss added by another label than the image's", ""),
    "batch_total_accuracy": Measure(share("batch_total_accuracy"), "class of a batch's least total loss", "%"),
    "train_mse": Measure(last("train_mse"), "training squared error per image", "", higher_is_better=False),
    "train_kl": Measure(last("train_kl"), "training KL per image", "", higher_is_better=False),
    "tsne_tightness": Measure(
        tsne_tightness, "spread inside clusters over all, in the t-SNE", "", higher_is_better=False
    ),
    "diversity": Measure(metric("diversity"), "diversity of samples", ""),
    "perplexity": Measure(metric("perplexity"), "perplexity of the codes in use", ""),
    "dead_codes": Measure(metric("dead_codes"), "codes never used", "", higher_is_better=False),
}
