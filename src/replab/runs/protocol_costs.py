"""What a run would have taken by the other protocols, from the seconds that its own epochs took."""

from __future__ import annotations

from statistics import median

from replab.data.split import split_sizes
from replab.records.values import Values
from replab.settings.length import UNSHIFTED, epochs_for
from replab.settings.recipe import Recipe
from replab.settings.searched import planned, wants_range_test
from replab.settings.words import duration

RANGE_TEST = 50  # steps, at most: training/lr_find.py
COMPARED = ("standard", "quick", "thorough", "notes")


def line(values: Values) -> str:
    """quick about 40.0s, thorough about 12m00s, notes at most 1h20m; "" where no epoch was timed."""
    epochs = [entry for entry in values.times if entry["stage"] == "train" and entry.get("train_seconds")]
    if not epochs:
        return ""
    seconds = median(entry["train_seconds"] for entry in epochs)
    once = values.seconds.get("evaluate", 0.0)  # where they were looked at once, at the end
    tested = median([entry["test_seconds"] for entry in epochs if entry.get("test_seconds")] or [once])
    images, batch = values.input["train_images"], values.chosen.batch_size
    others = [name for name in COMPARED if name != values.recipe.protocol]
    protocols = [_as_long(Recipe.of_protocol(name), values.recipe) for name in others]
    texts = [text(recipe, seconds, tested, images, batch) for recipe in protocols]
    return ", ".join(f"{name} {cost}" for name, cost in zip(others, texts))


def _as_long(protocol: Recipe, own: Recipe) -> Recipe:
    """The protocol with fewer epochs, where its model gets fewer by rule: one that takes all pixels at once."""
    usual = Recipe.of_protocol(own.protocol).epochs_at_10k
    if protocol.epochs_at_10k is None or usual is None or own.epochs_at_10k != UNSHIFTED * usual:
        return protocol
    return protocol.replace(epochs_at_10k=UNSHIFTED * protocol.epochs_at_10k)


def text(recipe: Recipe, epoch: float, tested: float, images: int, batch: int) -> str:
    """Search and training by a protocol; at most, where a search finds the number of epochs."""
    search, training = estimate(recipe, epoch, tested, images, batch)
    return f"{'about' if recipe.epochs_at_10k is not None else 'at most'} {duration(search + training)}"


def estimate(recipe: Recipe, epoch: float, tested: float, images: int, batch: int) -> tuple[float, float]:
    """Seconds of (search, training); `epoch`: of all images, `tested`: of a look at the test images."""
    if recipe.epochs_at_10k is not None:
        recipe = recipe.replace(epochs=epochs_for(images, recipe.epochs_at_10k))
    n, validation = split_sizes(images, recipe.search)
    trial = epoch * (n - validation) / images
    search = trial * sum(rung.trials * rung.epochs for rung in planned(recipe))
    if wants_range_test(recipe):
        search += epoch * min(RANGE_TEST, max(10, images // batch)) * batch / images
    return search, (epoch + tested * recipe.test_curve) * (recipe.epochs or recipe.search.max_epochs)
