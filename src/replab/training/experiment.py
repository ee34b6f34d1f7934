"""A recipe made real: images loaded, model found and tried on a batch, task and device picked. Writes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from replab import tasks
from replab.backends import backend as backends
from replab.backends.backend import Backend
from replab.data.augmented_copy import with_augmented_copy
from replab.data.images import Dataset
from replab.data.load import load
from replab.errors import DataError, ModelError, ReplabError
from replab.models import loader as model_file
from replab.models.adapt import freezing, heads, mup
from replab.models.loader import ModelSource
from replab.models.pretrained import backbones, weights
from replab.models.pretrained.weights import Summary, Weights
from replab.search import search
from replab.settings.recipe import Recipe
from replab.training.evaluate import to_backend
from replab.training.loop import prefers_channels_last, training_batches


@dataclass(frozen=True, eq=False)
class Setup:
    recipe: Recipe
    data: Dataset
    source: ModelSource
    backend: Backend
    device: str
    task: Any
    channels_last: bool = True  # False for a model that fails on such images, as one that says x.view(n, -1)
    initial: Weights | None = None  # what every new model begins with, where it is not drawn by the seed

    def fresh_model(self, recipe: Recipe | None = None) -> Any:
        """A new model, its weights drawn by the recipe's seed alone, or those of the recipe's pretraining."""
        recipe = recipe or self.recipe
        self.backend.lib.manual_seed(recipe.seed)
        model = model_file.build(self.source, self.data.spec, recipe.params, self.backend)
        if self.backend.name == "torch":
            model = self._begun(model, recipe)[0]
        model = self.backend.to_device(model, self.device)
        model.takes_channels_last = self.channels_last
        if prefers_channels_last(model):
            model = model.to(memory_format=self.backend.lib.channels_last)
        return model

    def whole_state(self, model: Any) -> dict[str, Any]:
        """The state to keep of what fresh_model made, once trained."""
        return model.state_dict()

    def part(self, model: Any) -> Any:
        """Of a whole model, what this setup trains."""
        return model

    def _begun(self, model: Any, recipe: Recipe) -> tuple[Any, Summary | None]:
        """The model behind its backbone's normalisation, with its head and first weights, and frozen as asked."""
        summary = None
        if recipe.mup:
            base = mup.at_width(self.source.name, recipe.params, recipe.base_width)
            with self.backend.lib.device("meta"):  # shapes alone: no memory, and the seed's numbers stay untouched
                small = model_file.build(self.source, self.data.spec, base, self.backend)
            mup.parametrise(model, small)
        if recipe.normalise == "backbone":
            model = backbones.normalised(model, self.source.name)
        if recipe.head != "linear":
            rows = len(self.data.train)
            freezing.replace_head(model, lambda old: heads.make(recipe.head, old, rows, recipe.metric))
        if self.initial is not None:
            known = backbones.backbone(self.source.name)
            published = known is not None and self.initial.sha256.startswith(known.hash_prefix)  # also by --weights
            head = freezing.head_name(model)
            may_differ = (head, *(known.may_differ if known and (recipe.pretrained or published) else ()))
            # as many classes are not the same classes: a head that knows others would be confidently wrong
            others = self.initial.classes and self.initial.classes != self.data.train.classes
            summary = weights.put_into(model, self.initial, may_differ, self.source.name, (head,) if others else ())
        if recipe.freeze or recipe.freeze_until:
            freezing.freeze(model, recipe.freeze_until)
        return model, summary

    def weights_summary(self) -> Summary | None:
        """What the first weights filled and what they left."""
        if self.initial is None:
            return None
        return self._begun(
            model_file.build(self.source, self.data.spec, self.recipe.params, self.backend), self.recipe
        )[1]


def prepare(
    recipe: Recipe,
    model: str | Callable[..., Any] | None = None,
) -> Setup:
    """Everything a run needs, checked: what cannot work is refused here, before a folder is made."""
    recipe = heads.settle(recipe)
    backend = backends.get(recipe.backend)
    device = backends.pick_device(recipe.device, recipe.backend)
    source = model_file.find(model if model is not None else recipe.model, backend)
    data = load(
        recipe.data, size=recipe.size, seed=recipe.seed, limit=recipe.limit, classes=recipe.classes,
        per_class=recipe.per_class,
    )  # fmt: skip
    if recipe.augmented_copy:
        data = with_copy(data, recipe.augmented_copy, recipe.seed)
    task = tasks.make(recipe, data.spec, backend.lib, source.build)
    if task.needs_labels and data.train.labels is None:
        raise DataError(
            f"{recipe.data} has no class folders, and {task.name} needs labels; use CLASS/image.png folders"
        )
    search.check_space(recipe, model_file.parameters(source))
    initial = None
    if recipe.pretrained or recipe.weights:
        initial = weights.read(recipe.weights or backbones.fetched(source.name))
        if recipe.normalise == "backbone" and initial.normalise:
            recipe = recipe.replace(normalise=initial.normalise)
    setup = Setup(recipe, data, source, backend, device, task, initial=initial)
    setup = replace(setup, recipe=tasks.settle(recipe, task, setup.fresh_model()))
    if prefers_channels_last(setup.fresh_model()):
        try:
            _try_on_a_batch(setup)
            return setup
        except ModelError:
            setup = replace(setup, channels_last=False)
    _try_on_a_batch(setup)
    return setup


def with_copy(data: Dataset, augment: str, seed: int) -> Dataset:
    """The training images and a fixed augmented copy of each: other images, so another fingerprint."""
    mark = sha256(f"{data.fingerprint} augmented copy {augment} seed {seed}".encode()).hexdigest()
    return replace(data, train=with_augmented_copy(data.train, augment, seed), fingerprint=mark)


def with_recipe(ready: Setup, recipe: Recipe) -> Setup:
    return replace(ready, recipe=recipe)


def _try_on_a_batch(setup: Setup) -> None:
    """One batch through the model in eval mode: a shape that does not fit is found now."""
    model = setup.fresh_model()
    if setup.recipe.head != "knn" and not all(setup.task.parts(model).values()):
        raise ModelError(f"{setup.source.name} has no parameters to train; a module with at least one layer is needed")
    images = setup.data.train.subset(slice(0, min(4, len(setup.data.train))))
    batch = to_backend(next(iter(training_batches(model, setup.recipe, images, setup.device).epoch(1))), setup.backend)
    model.eval()
    try:
        with setup.backend.lib.no_grad():
            output = model(batch.x)
    except ReplabError:
        raise
    except Exception as error:
        text = " ".join(str(error).split())[:200]
        raise ModelError(
            f"{setup.source.name} does not take images of {setup.data.spec};"
            f" --size resizes ({type(error).__name__}: {text})"
        ) from error
    setup.task.check_output(setup.source.name, output, batch, setup.data.spec)
