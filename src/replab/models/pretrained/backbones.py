"""Backbones of torchvision: built by name, their weights fetched once, their input size and normalisation.

`torchvision:NAME` is any of its classifiers, `vit-b16` is vit_b_16. The images stay small and uint8 in memory:
resizing and the backbone's own normalisation are the first layer of the model.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from replab import files
from replab.data import downloads
from replab.data.images import ImageSpec
from replab.errors import ModelError, UnknownName
from replab.models.pretrained import hashes
from replab.models.pretrained.input_layer import Backbone, BehindInput, Input
from replab.models.pretrained.names import PREFIX, torchvision_name, weights_folder
from replab.models.pretrained.weights import digest
from replab.models.trust import Trust

AUXILIARY = {"googlenet": ("aux1", "aux2"), "inception_v3": ("AuxLogits",)}  # second heads, not built here


def builder(model: str) -> Callable[..., nn.Module]:
    """A builder for one of torchvision's models."""
    from replab.backends.torchvision_cpu import torchvision

    name = torchvision_name(model)
    assert name is not None
    known = torchvision.models.list_models(module=torchvision.models)
    if name not in known:
        raise UnknownName("model of torchvision", name, known, f"{PREFIX}NAME, a classifier: {', '.join(known[:3])} …")
    own_side = _weights(name).transforms().crop_size[0]

    def build(image: ImageSpec, *, side: int = own_side, **more: Any) -> nn.Module:
        if image.channels not in (1, 3):
            raise ModelError(f"{model} takes gray or colour images, got {image.channels} channels")
        if name.startswith("vit_"):
            more = {"image_size": side, **more}
        if name in AUXILIARY:
            more = {"aux_logits": False, "init_weights": False, **more}
        net = torchvision.models.get_model(name, weights=None, num_classes=image.classes, **more)
        return BehindInput(Input(3, side), net)

    return build


def backbone(model: str) -> Backbone | None:
    """The published weights for a model, or None."""
    if model.startswith("timm:"):
        from replab.models.pretrained import of_timm

        return of_timm.backbone(model)
    name = "resnet18" if model == "resnet18" else torchvision_name(model)
    if name is None:
        return None
    weights = _weights(name)
    transforms = weights.transforms()
    stem = ("conv1",) if model == "resnet18" else AUXILIARY.get(name, ())
    return Backbone(name, weights.url, transforms.crop_size[0], tuple(transforms.mean), tuple(transforms.std), stem)


def at_hand() -> list[str]:
    """Those of torchvision's whose weights are in the cache and known by their whole hash: torchvision:NAME."""
    there = [file for file in hashes.SHA256 if (weights_folder() / file).is_file()]
    if not there:
        return []
    from replab.backends.torchvision_cpu import torchvision

    known = torchvision.models.list_models(module=torchvision.models)
    return [PREFIX + name for name in known if _weights(name).url.rpartition("/")[2] in there]


def normalised(net: nn.Module, model: str) -> nn.Module:
    """The network with its backbone's normalisation as its first layer; images come in [0, 1]."""
    known = backbone(model)
    if known is None:
        raise ModelError(f"{model} has no normalisation of its own; --normalise dataset is the images'")
    if isinstance(net, BehindInput):
        return BehindInput(Input(3, net.input.side, known.mean, known.std), net.net)
    # resnet18 takes images of any size, and as many channels as they have
    channels = next(m.in_channels for m in net.modules() if isinstance(m, nn.Conv2d))
    few = (slice(None), slice(None)) if channels == 3 else (slice(0, 1), slice(0, 1))
    return BehindInput(Input(channels, None, known.mean[few[0]], known.std[few[1]]), net)


def accepted(model: str, trust: Trust = False) -> str:
    """The SHA-256 that the file of its weights must have, or as much of it as is published, if the user trusts that."""
    if model.startswith("timm:"):
        from replab.models.pretrained import of_timm

        return hashes.accepted(of_timm.published(model), "", model, trust)
    known = _published(model)
    return hashes.accepted(known.file, known.hash_prefix, model, trust)


def fetched(model: str, sha256: str) -> Path:
    """The file of a backbone's weights: there, or downloaded with a progress bar. Its SHA-256 begins `sha256`."""
    if model.startswith("timm:"):
        from replab.models.pretrained import of_timm

        return of_timm.fetched(model, sha256)
    known = _published(model)
    path = weights_folder() / known.file
    if path.is_file():
        whole = digest(path)
        if not whole.startswith(sha256):
            raise ModelError(f"{path} is not whole: its SHA-256 does not begin {sha256}; remove it")
    else:
        part = path.with_name(f"{path.name}.{os.getpid()}{files.TEMPORARY}")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            downloads.fetch(known.url, part, sha256)
            whole = digest(part)
            files.rename(part, path)
        except OSError as error:  # URLError is one
            part.unlink(missing_ok=True)
            raise ModelError(
                f"{known.file} is not in {path.parent} and cannot be downloaded"
                f" ({' '.join(str(error).split())[:120]}); put it there, or give --weights PATH"
            ) from None
    hashes.took(known.file, whole, sha256)
    return path


def _published(model: str) -> Backbone:
    known = backbone(model)
    if known is None:
        raise ModelError(
            f"--pretrained knows weights for resnet18, vit-b16, {PREFIX}NAME and timm:NAME, not for {model};"
            " --weights PATH takes any"
        )
    return known


def _weights(name: str) -> Any:
    from replab.backends.torchvision_cpu import torchvision

    return torchvision.models.get_model_weights(name).DEFAULT
