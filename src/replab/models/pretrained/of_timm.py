"""Models of timm: `timm:NAME`, with its published weights (--pretrained) or any file of them (--weights)."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from replab.data.images import ImageSpec
from replab.errors import ModelError, UnknownName
from replab.models.pretrained import hashes
from replab.models.pretrained.input_layer import Backbone, BehindInput, Input
from replab.models.pretrained.weights import digest

PREFIX = "timm:"
FILE = "model.safetensors"  # of a model's repository on the Hugging Face hub


def library() -> Any:
    """timm, which imports torchvision."""
    if importlib.util.find_spec("timm") is None:
        raise ModelError("timm:NAME needs timm, which is not installed; pip install 'replab[timm]'")
    from replab.backends import torchvision_cpu  # noqa: F401 (makes its import work on a CPU-only torch)

    return importlib.import_module("timm")


def config(model: str) -> Any:
    """What timm knows of a model's published weights. `NAME.TAG` is one set of several."""
    timm, name = library(), model.removeprefix(PREFIX)
    if not timm.is_model(name.partition(".")[0]):
        known = timm.list_models()
        raise UnknownName("model of timm", name, known, f"{PREFIX}NAME, one of {len(known):,}: timm.list_models()")
    try:
        return timm.get_pretrained_cfg(name, allow_unregistered=False)
    except RuntimeError:
        tags = ", ".join(timm.list_pretrained(name.partition(".")[0])) or "none"
        raise ModelError(f"timm has no weights {name!r}; known: {tags}") from None


def builder(model: str) -> Callable[..., nn.Module]:
    """A builder for one of timm's models. It resizes its input to `side`, by default what it was published for."""
    timm, name, known = library(), model.removeprefix(PREFIX), config(model)
    own_side = known.input_size[-1]

    def build(image: ImageSpec, *, side: int = own_side, **more: Any) -> nn.Module:
        if image.channels not in (1, 3):
            raise ModelError(f"{model} takes gray or colour images, got {image.channels} channels")
        if known.fixed_input_size and side != own_side:
            more = {"img_size": side, **more}
        net = timm.create_model(name, pretrained=False, num_classes=image.classes, **more)
        found = BehindInput(Input(3, side), net)
        if isinstance(known.classifier, str) and isinstance(_module(net, known.classifier), nn.Linear):
            found.head_name = f"net.{known.classifier}"  # type: ignore[assignment]
        return found

    return build


def backbone(model: str) -> Backbone:
    known = config(model)
    return Backbone(model, known.url or "", known.input_size[-1], tuple(known.mean), tuple(known.std))


def published(model: str) -> str:
    """Its published weights: REPOSITORY/FILE on the Hugging Face hub."""
    known = config(model)
    if not known.hf_hub_id:
        raise ModelError(f"timm publishes no weights for {model}; --weights PATH takes a file of them")
    return f"{known.hf_hub_id}/{known.hf_hub_filename or FILE}"


def fetched(model: str, sha256: str) -> Path:
    """The file of its published weights: in the Hugging Face cache, or downloaded into it. It begins `sha256`."""
    file = published(model)
    repository, _, name = file.rpartition("/")
    from huggingface_hub import hf_hub_download

    try:
        path = Path(hf_hub_download(repository, filename=name))
    except Exception as error:  # no network, no such file, a full disk: each library below it has its own errors
        text = " ".join(str(error).split())[:120]
        raise ModelError(
            f"{name} of {repository} is not in the Hugging Face cache and cannot be downloaded"
            f" ({type(error).__name__}: {text}); huggingface-cli download {repository} {name} elsewhere, or give"
            " --weights PATH"
        ) from None
    whole = digest(path)
    if not whole.startswith(sha256):
        raise ModelError(
            f"{file} is not the file that was trusted: its SHA-256 is {whole}, not {sha256}; --weights {path} takes it"
        )
    hashes.took(file, whole, sha256)
    return path


def _module(net: nn.Module, name: str) -> nn.Module | None:
    return dict(net.named_modules()).get(name)
