"""Backbones of torchvision: built by name, their weights fetched once, their input size and normalisation.

`torchvision:NAME` is any of its classifiers, `vit-b16` is vit_b_16. The images stay small and uint8 in memory:
resizing and the backbone's own normalisation are the first layer of the model.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from torch import nn

from replab import files
from replab.data import downloads
from replab.data.images import ImageSpec
from replab.errors import FileError, ModelError, UnknownName
from replab.models.pretrained.input_layer import Backbone, BehindInput, Input
from replab.models.pretrained.names import PREFIX, torchvision_name, weights_folder

# In full, of files whose names have the first digits only, as several projects publish them independently.
# Of the others torchvision's own digits have to do; docs/security.md says what that is worth.
SHA256 = {
    "convnext_tiny-983f1562.pth": "983f1562536e84ff750a1576fb08e54de751dbf2e17c0d8a4a13704341fdcd3d",
    "densenet121-a639ec97.pth": "a639ec97d7c33b07ae66f0b5fb7d0192f95a3b11b7576c66c0126c2a727c4395",
    "efficientnet_b0_rwightman-7f5810bc.pth": "7f5810bc96def8f7552d5b7e68d53c4786f81167d28291b21c0d90e1fca14934",
    "mobilenet_v2-7ebf99e0.pth": "7ebf99e03e254b273379b23edca7ec0da9f48273b23a332b93c1c99d49e86e8f",
    "mobilenet_v3_large-5c1a4163.pth": "5c1a416349c4cf298f2a6a5e2600ed0ee55e604713578f5e74e6bc8bcaef7997",
    "mobilenet_v3_small-047dcff4.pth": "047dcff4addef86ea5bc2eff13c9614dc11f47ab1160d0a71a25e7db994f4e1f",
    "resnet18-f37072fd.pth": "f37072fd47e89c5e827621c5baffa7500819f7896bbacec160b1a16c560e07ec",
    "resnet34-b627a593.pth": "b627a593bcbe140c234610266fe4f8ae95ea42fc881d091c9b6052e6b1d0590f",
    "resnet50-11ad3fa6.pth": "11ad3fa62ca79e40addfd354a8ec4b7c75143b3038b8d2a807fbc68deab379ca",
    "swin_t-704ceda3.pth": "704ceda373461b0a224fcdddd75cd2a5e9f8064512ed47adbddef7f343fd147b",
    "vgg16-397923af.pth": "397923af8e79cdbb6a7127f12361acd7a2f83e06b05044ddf496e83de57a5bf0",
    "vit_b_16-c867db91.pth": "c867db91d3e12c6cbadabb610d73c24a546bf82d8c03a9fea34f43a712ddb0e9",
}
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


def fetched(model: str) -> Path:
    """The file of a backbone's weights: there, or downloaded with a progress bar and checked."""
    if model.startswith("timm:"):
        from replab.models.pretrained import of_timm

        return of_timm.fetched(model)
    from replab.models.pretrained.weights import digest

    known = backbone(model)
    if known is None:
        raise ModelError(
            f"--pretrained knows weights for resnet18, vit-b16, {PREFIX}NAME and timm:NAME, not for {model};"
            " --weights PATH takes any"
        )
    path = weights_folder() / known.file
    seen = path.with_name(f"{path.name}.sha256")  # of the first file that fitted: the name has eight digits alone
    wanted = SHA256.get(known.file) or (seen.read_text().strip() if seen.is_file() else known.hash_prefix)
    if path.is_file():
        whole = digest(path)
        if not whole.startswith(wanted) or not wanted.startswith(known.hash_prefix):
            raise ModelError(f"{path} is not whole: its SHA-256 does not begin {wanted}; remove it")
        _remember(seen, whole)
        return path
    part = path.with_name(f"{path.name}.{os.getpid()}{files.TEMPORARY}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        downloads.fetch(known.url, part, wanted)
        _remember(seen, digest(part))
        files.rename(part, path)
    except OSError as error:  # URLError is one
        part.unlink(missing_ok=True)
        raise ModelError(
            f"{known.file} is not in {path.parent} and cannot be downloaded ({' '.join(str(error).split())[:120]});"
            f" put it there, or give --weights PATH"
        ) from None
    return path


def _remember(seen: Path, whole: str) -> None:
    if not seen.is_file():
        with contextlib.suppress(OSError, FileError):  # a folder that cannot be written to
            files.write_atomic(seen, f"{whole}\n".encode())


def _weights(name: str) -> Any:
    from replab.backends.torchvision_cpu import torchvision

    return torchvision.models.get_model_weights(name).DEFAULT
