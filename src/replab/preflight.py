"""The recipe that is asked for, and what can be refused at once: names, files and choices, without importing torch."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from replab.data import source
from replab.data.source import LIVE
from replab.errors import RecipeError, RunError
from replab.models import registry
from replab.models.pretrained import names
from replab.settings import own_parts
from replab.settings.choices import augmentation
from replab.settings.recipe import DEFAULT, Recipe


def requested(
    model: str | Callable[..., Any] | None = None,
    data: Any = None,
    *,
    recipe: Recipe | str | Path | None = None,
    fast: bool = False,
    trials: int | None = None,
    runs: str | Path | None = None,
    reads_images: bool = True,
    **settings: Any,
) -> Recipe:
    """The recipe with `settings` on top, checked. They are a Recipe's keys: lr=1e-3, params={"dropout": 0.1}.

    Without a recipe, it is the one that the model was published with, or that of the protocol. `reads_images`: whether
    images that are neither on disk nor to be downloaded are refused, too. Functions among the settings have names in
    the recipe: settings.own_parts.named tells which.
    """
    settings, _ = own_parts.named(settings)
    named = settings.pop("protocol", None)
    if named is not None and recipe is not None:
        raise RecipeError(f"a recipe file has its own protocol, got --protocol {named} too; leave one of them out")
    origin = recipe or (registry.settings_file(model) if isinstance(model, str) and named is None else None)
    base = origin if isinstance(origin, Recipe) else Recipe.read(origin) if origin else None
    base = base or Recipe.of_protocol(named or os.environ.get("REPLAB_PROTOCOL") or DEFAULT)
    if settings.get("epochs") is not None:
        settings.setdefault("epochs_at_10k", None)
    if trials is not None:
        settings["search"] = {**settings.get("search", {}), "trials": trials}
    if "params" in settings:
        settings["params"] = {**base.params, **settings["params"]}
    live = data is not None and not isinstance(data, (str, Path))
    if data is not None:
        settings["data"] = LIVE + type(data).__name__.lower() if live else str(data)
    if isinstance(model, str):
        settings["model"] = model
    if settings.get("pretrained") and recipe is None:
        settings.setdefault("normalise", "backbone")
    if settings.get("weights"):
        settings["weights"] = weights_path(str(settings["weights"]), runs)
    wanted = not_searched(base, settings).replace(**settings)
    foreign = is_own_recipe(recipe)  # its code, where the caller names no other, is not looked for where it says
    by_name = isinstance(model, str) or (model is None and not foreign)
    check(wanted, model_by_name=by_name, data_by_name=not live)
    if reads_images and not live:
        source.check_reachable(wanted.data)
    if wanted.pretrained and by_name and reads_images:
        names.check_reachable(wanted.model)
    for name, setting in own_parts.own_parts(wanted).items():
        if setting in settings or not foreign:
            own_parts.check(name, setting)
    return wanted.fast(given(settings)) if fast else wanted


def not_searched(base: Recipe, settings: Mapping[str, Any]) -> Recipe:
    """Without searching what the settings give."""
    given = {*settings, "epochs_at_10k"} if settings.get("epochs") is not None else {*settings}
    return base.replace(search={"space": {k: v for k, v in base.search.space.items() if k not in given}})


def given(settings: Mapping[str, Any]) -> set[str]:
    """The keys of settings that were asked for by name, which --fast leaves alone: epochs, search.trials."""
    search = settings.get("search")
    return {*settings, *(f"search.{key}" for key in (search if isinstance(search, Mapping) else ()))}


def check(recipe: Recipe, model_by_name: bool = True, data_by_name: bool = True) -> None:
    """Refuse a model, data set or augmentation that does not exist. The recipe itself has checked its values."""
    if model_by_name:
        registry.check(recipe.model)
    if data_by_name:
        source.check(recipe.data)
    for step in filter(None, recipe.augmented_copy.split(",")):
        augmentation.check(step.partition("=")[0].strip())


def is_own_recipe(recipe: Recipe | str | Path | None) -> bool:
    """Whether it is the file of a run folder, which may bring the text of its model: models.trust decides."""
    if not isinstance(recipe, (str, Path)):
        return False
    from replab.records.record import is_run

    return is_run(Path(recipe).resolve().parent)  # a link to it is no other file


def weights_path(weights: str, runs: str | Path | None) -> str:
    """A run's id, the beginning of one or `latest` as its folder; anything else as it is."""
    from replab.records.record import find, runs_folder

    if Path(weights).exists() or ":" in weights or not runs_folder(runs).is_dir():
        return weights
    try:
        return str(find(weights, runs_folder(runs)))
    except RunError:
        return weights
