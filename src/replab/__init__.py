"""replab: how good is this model, on this data, under the same honest protocol as the others?

    import replab
    run = replab.run("cnn", data="mnist")
    run.metrics, run.figures, run.predict("seven.png")

Importing replab imports neither torch nor anything else that is slow: names load what they need when first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from replab.api import all_runs, list_datasets, list_models, load_run, resume, run
    from replab.classifier import Classifier
    from replab.data.images import Dataset, Images, ImageSpec
    from replab.data.load import load as load_data
    from replab.deploy.public import card, export
    from replab.errors import ReplabError
    from replab.models.registry import register
    from replab.settings.recipe import Recipe
    from replab.several import compare

_WHERE = {
    "run": "replab.api:run",
    "resume": "replab.api:resume",
    "load_run": "replab.api:load_run",
    "all_runs": "replab.api:all_runs",
    "compare": "replab.several:compare",
    "export": "replab.deploy.public:export",
    "card": "replab.deploy.public:card",
    "Classifier": "replab.classifier:Classifier",
    "register": "replab.models.registry:register",
    "list_models": "replab.api:list_models",
    "list_datasets": "replab.api:list_datasets",
    "load_data": "replab.data.load:load",
    "ImageSpec": "replab.data.images:ImageSpec",
    "Images": "replab.data.images:Images",
    "Dataset": "replab.data.images:Dataset",
    "Recipe": "replab.settings.recipe:Recipe",
    "ReplabError": "replab.errors:ReplabError",
}
__all__ = [
    "Classifier", "Dataset", "ImageSpec", "Images", "Recipe", "ReplabError", "all_runs", "card", "compare", "export",
    "list_datasets",
    "list_models", "load_data", "load_run", "register", "resume", "run",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("replab")
    if name not in _WHERE:
        raise AttributeError(f"module 'replab' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    value = getattr(importlib.import_module(module), attribute)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
