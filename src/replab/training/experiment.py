"""Experiment: a recipe made real. Built once by prepare.py and handed to search, training, evaluation and cost.

What differs between ways of fitting is a method here that a subclass answers otherwise (features.py): the head alone on
a frozen backbone's features, and a head fitted in closed form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from replab.backends import compiler
from replab.backends.backend import Backend
from replab.backends.own_parts import Part, Parts
from replab.data.augment import steps
from replab.data.batches import Batches
from replab.data.images import Dataset, Images
from replab.data.normalise import normalisation
from replab.errors import RunError
from replab.models import loader
from replab.models.adapt import freezing, fusing, heads, mup, rates
from replab.models.parts.whitening import Whitening, whitened, whitening_layers
from replab.models.pretrained import backbones, weights
from replab.models.pretrained.weights import Summary, Weights
from replab.records.events import Events
from replab.records.record import Record
from replab.settings.recipe import Recipe
from replab.training import loop, optimizers
from replab.training.averaging import Average
from replab.training.ddp.team import ALONE, Team
from replab.training.evaluate import Evaluation, evaluate
from replab.training.loop import Row, Times
from replab.training.state import State


@dataclass(frozen=True, eq=False)
class Experiment:
    recipe: Recipe
    data: Dataset
    source: Part  # of the model
    backend: Backend
    device: str
    task: Any
    channels_last: bool = True  # False for a model that fails on such images, as one that says x.view(n, -1)
    initial: Weights | None = None  # what every new model begins with, where it is not drawn by the seed
    weights_summary: Summary | None = None  # what these filled and what they left
    own: Parts = field(default_factory=Parts)  # the user's own loss, optimizer, schedule, augmentations, metrics
    team: Team = ALONE  # who trains: this process, or several that share every batch
    tried: list[Any] = field(default_factory=list)  # the model that prepare tried on a batch, until it is taken

    in_steps = True  # whether fitting is made of steps, as opposed to a closed form

    # -- models ------------------------------------------------------------------------------------------------------

    def model(self, recipe: Recipe | None = None) -> Any:
        """A new model, its weights drawn by the recipe's seed alone, or those of the recipe's pretraining."""
        return self.begin(recipe or self.recipe)[0]

    def begin(self, recipe: Recipe) -> tuple[Any, Summary | None]:
        """A new model, and what its first weights filled."""
        self.backend.lib.manual_seed(recipe.seed)
        model = self._built(recipe)
        summary = None
        if self.backend.name == "torch":
            model, summary = self._adapted(model, recipe)
        model = self.backend.to_device(model, self.device)
        model.takes_channels_last = self.channels_last
        if prefers_channels_last(model):
            model = model.to(memory_format=self.backend.lib.channels_last)
            fusing.fuse(model)
        if recipe.compile:
            compiler.compile_in_place(model)
        if self.backend.name == "torch":
            compiler.leave_products_alone()
        return model, summary

    def _built(self, recipe: Recipe) -> Any:
        """The source's model, behind a whitening layer where the recipe asks for one; such layers know the images."""
        spec = self.data.spec
        image = spec if recipe.whiten is None else whitened(spec, recipe.whiten)
        model = loader.build(self.source, image, recipe.params, self.backend)
        if recipe.whiten is not None:
            nn = self.backend.lib.nn
            model = nn.Sequential(Whitening(spec.channels, recipe.whiten), nn.GELU(), model)
        for layer in whitening_layers(model):
            train = self.data.train
            mean_std = normalisation(train, recipe.normalise) or ((0.0,) * spec.channels, (1.0,) * spec.channels)
            layer.fit_patches(train.pixels, *mean_std)
        return model

    def spare_model(self) -> Any:
        """A model to try things on and throw away: the one that was already tried, or a new one."""
        return self.tried.pop() if self.tried else self.model()

    def trained(self, record: Record, recipe: Recipe) -> Any:
        """The run's model with the weights of its folder, in eval mode."""
        model = self.model(recipe)
        state = {name: self.backend.lib.from_numpy(value.copy()) for name, value in record.weights().items()}
        try:
            model.load_state_dict(state)
        except RuntimeError as error:
            text = " ".join(str(error).split())[:200]
            raise RunError(f"run {record.id}: the weights do not fit the model ({text})") from None
        return model.eval()

    def _adapted(self, model: Any, recipe: Recipe) -> tuple[Any, Summary | None]:
        """The model behind its backbone's normalisation, with its head and first weights, and frozen as asked."""
        summary = None
        if recipe.mup:
            base = mup.at_width(self.source.name, recipe.params, recipe.base_width)
            with self.backend.lib.device("meta"):  # shapes alone: no memory, and the seed's numbers stay untouched
                small = loader.build(self.source, self.data.spec, base, self.backend)
            mup.parametrise(model, small)
        if recipe.normalise == "backbone":
            model = backbones.normalised(model, self.source.name)
        if recipe.head != "linear":
            rows = len(self.data.train)
            freezing.replace_head(model, lambda old: heads.make(recipe.head, old, rows, recipe.distance))
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

    # -- fitting and evaluating --------------------------------------------------------------------------------------

    def batches(
        self,
        images: Images,
        model: Any,
        recipe: Recipe | None = None,
        *,
        trained_on: Images | None = None,
        shuffled: bool = False,
    ) -> Batches:
        """Shuffled and augmented for training, else in order and as they are.

        `trained_on`: the images whose statistics normalise these; those themselves when shuffled.
        """
        recipe = recipe or self.recipe
        like = images if shuffled else self.data.train if trained_on is None else trained_on
        return Batches(
            images,
            recipe.batch_size if shuffled else max(recipe.batch_size, 128),
            seed=recipe.seed if shuffled else 0,
            shuffle=shuffled,
            normalise=normalisation(like, recipe.normalise),
            augment=steps.parse(recipe.augment, self.own) if shuffled else (),
            device=self.device,
            channels_last=prefers_channels_last(model),
        )

    def optimizers(self, model: Any, recipe: Recipe | None = None) -> dict[str, Any]:
        """One per part of the task: a classifier has one part, a GAN two."""
        recipe = recipe or self.recipe
        lr, lib = recipe.lr, self.backend
        assert lr is not None
        by_kind = optimizers.by_kind(recipe.optimizer)

        def groups(params: list[Any]) -> list[Any]:
            return (rates.groups(model, params, recipe, by_kind) if lib.name == "torch" else None) or params

        made = {
            part: optimizers.make(
                recipe.optimizer, lib, groups(params), self.own,
                lr=lr, weight_decay=recipe.weight_decay, momentum=recipe.momentum,
            )
            for part, params in self.task.parts(model).items()
        }  # fmt: skip
        for group in (group for optimizer in made.values() for group in optimizer.param_groups):
            if "betas" in group and self.task.betas is not None:  # a GAN's Adam forgets faster
                group["betas"] = self.task.betas
        return made

    def state(self, model: Any, recipe: Recipe | None = None) -> State:
        """Of a training of this model that begins."""
        recipe = recipe or self.recipe
        average = Average(model, recipe.average, recipe.average_decay) if recipe.average != "none" else None
        return State(model, self.optimizers(model, recipe), average, self.backend.lib)

    def fit(
        self,
        model: Any,
        recipe: Recipe | None = None,
        *,
        train: Images | None = None,
        watch: Mapping[str, Images] | None = None,
        state: State | None = None,
        first_epoch: int = 1,
        events: Events | None = None,
    ) -> Iterator[tuple[Row, Times]]:
        """One row per epoch, as loop.fit says. `state`: this model's, where its training continues."""
        recipe = recipe or self.recipe
        rows = loop.fit(
            self,
            self.state(model, recipe) if state is None else state,
            recipe,
            self.data.train if train is None else train,
            watch=watch or {},
            first_epoch=first_epoch,
            events=events or Events(),
        )
        return self.team.rows(rows)

    def evaluate(
        self, model: Any, images: Images, recipe: Recipe | None = None, *, trained_on: Images | None = None
    ) -> Evaluation:
        """Every image once, in order, in eval mode, by the recipe's views."""
        recipe = recipe or self.recipe
        batches = self.batches(images, model, recipe, trained_on=trained_on)
        return evaluate(model, self.task, batches, self.backend, self.device, recipe.tta)

    # -- what a frozen backbone answers otherwise --------------------------------------------------------------------

    def learner(self, events: Events) -> Experiment:
        """What search and training run on."""
        return self

    def rehearsal(self) -> tuple[Experiment, float]:
        """(what to time a few steps on, seconds per image of a pass over all images before it)."""
        return self, 0.0

    def whole_state(self, model: Any) -> dict[str, Any]:
        """The state to keep of a model that fit() has trained."""
        return model.state_dict()

    def part(self, model: Any) -> Any:
        """Of a whole model, what this experiment trains."""
        return model


def prefers_channels_last(model: Any) -> bool:
    """True for torch models that convolve: their kernels are faster with channels innermost, on CPUs and GPUs alike."""
    import torch

    return getattr(model, "takes_channels_last", True) and any(
        isinstance(m, torch.nn.Conv2d) and max(m.kernel_size) > 1 and m.stride == (1, 1) for m in model.modules()
    )
