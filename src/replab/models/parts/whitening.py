"""A first layer that whitens patches: its filters are the principal directions of the training images' patches.

Tysam's hlb-CIFAR10 and airbench94 (2404.00498). The filters come from the images and never learn; each stands there
with its negative, so that a one-sided activation keeps both signs. Only the bias learns, in the first epochs.
"""

import numpy as np
import torch
from torch import nn

from replab.data.images import ImageSpec

BIAS_EPOCHS = 3  # then even the bias stays, and no gradient goes back to the images
IMAGES = 5000  # whose patches are looked at
EPSILON = 5e-4  # added to a direction's variance: those of nearly none are not blown up


class Whitening(nn.Conv2d):
    """(B, C, H, W) to (B, 2 C side², H - side + 1, W - side + 1)."""

    def __init__(self, channels: int, side: int = 2):
        super().__init__(channels, 2 * channels * side * side, side)
        weight = self.weight.detach()
        del self.weight
        self.register_buffer("weight", weight)  # saved with the model, and no parameter: nothing trains it
        nn.init.zeros_(self.bias)

    def fit_patches(self, pixels: np.ndarray, mean: tuple[float, ...], std: tuple[float, ...]) -> None:
        """Take the filters from images (N, C, H, W) of bytes, normalised as the model will see them."""
        side, channels = self.kernel_size[0], pixels.shape[1]
        values = channels * side * side
        covariance, count = np.zeros((values, values)), 0
        per_channel = (1, channels, 1, 1)
        for start in range(0, min(len(pixels), IMAGES), 250):  # a few at a time: the patches of all take a gigabyte
            x = pixels[start : start + 250].astype(np.float32) / 255
            x = (x - np.array(mean, np.float32).reshape(per_channel)) / np.array(std, np.float32).reshape(per_channel)
            windows = np.lib.stride_tricks.sliding_window_view(x, (side, side), axis=(2, 3))  # (N, C, H', W', s, s)
            patches = windows.transpose(0, 2, 3, 1, 4, 5).reshape(-1, values)
            covariance += patches.T @ patches
            count += len(patches)
        variances, directions = np.linalg.eigh(covariance / count)  # ascending; columns are directions
        filters = (directions / np.sqrt(np.maximum(variances, 0) + EPSILON)).T[::-1]
        both = np.concatenate([filters, -filters]).reshape(self.weight.shape).astype(np.float32)
        with torch.no_grad():
            self.weight.copy_(torch.from_numpy(np.ascontiguousarray(both)))


def whitened(image: ImageSpec, side: int) -> ImageSpec:
    """What the layers behind a whitening layer see."""
    return ImageSpec(2 * image.channels * side * side, image.height - side + 1, image.width - side + 1, image.classes)


def whitening_layers(model: nn.Module) -> list[nn.Module]:
    return [module for module in model.modules() if hasattr(module, "fit_patches")]  # of either backend


def hold_biases(model: nn.Module, epoch: int) -> None:
    """From the fourth epoch on their biases stay."""
    for layer in whitening_layers(model):
        layer.bias.requires_grad_(epoch <= BIAS_EPOCHS)
