"""What a run would have taken by the other protocols, from the seconds that its own epochs took."""

from __future__ import annotations

from statistics import median

from replab.data.split import split_sizes
from replab.records.values import Values
from replab.settings.length import epochs_for
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
    tested = median([entry["test_seconds"] for entry in epochs if entry.get("test_seconds")] or [0.0])
    images, batch = values.input["train_images"], values.chosen.batch_size
    others = [name for name in COMPARED if name != values.recipe.protocol]
    texts = [text(Recipe.of_protocol(name), seconds, tested, images, batch) for name in others]
    return ", ".join(f"{name} {cost}" for name, cost in zip(others, texts))


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
