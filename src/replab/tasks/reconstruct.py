"""Reconstruction: what the VAE family learns. Squared error and KL are summed per image, averaged over the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from replab import bound, clusters, samples
from replab.data.images import Dataset, Images, ImageSpec
from replab.errors import ModelError
from replab.tasks.classify import accuracy, calibration_error

SCORED = 256  # test images whose likelihood is estimated, with this many samples of z each
SAMPLES = 32
CONTROL = 10_000  # training images for K-means on raw pixels
ACTIVE = 0.01  # a latent is used when its mean varies more than this over the images (1509.00519)


class Reconstruct:
    """SSE + beta KL (+ gamma cross-entropy with a head), a loss an image. The model carries beta and gamma."""

    name = "reconstruct"
    objective: str | None = "loss"
    needs_labels = False
    weights = ("beta", "gamma")  # of the loss's terms: another weight is another loss
    seed = 0  # of the noise in evaluation: each image has its own, whatever batch it is in

    def __init__(self, lib: Any):
        self.lib, self.functional = lib, lib.nn.functional

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        """Refuse a model that does not give images back, or has not the parts this task needs."""
        shape, wanted = tuple(getattr(output, "shape", ())), tuple(batch.x.shape)
        if shape != wanted:
            raise ModelError(f"{name} must give images of shape {wanted} back, got {shape or type(output).__name__}")

    def parts(self, model: Any) -> dict[str, list[Any]]:
        return {"model": [p for p in model.parameters() if p.requires_grad]}

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        terms = self.terms(model, batch, None)
        if "logits" in terms:
            terms["accuracy"] = terms.pop("logits").argmax(1) == batch.y
        del terms["mean"]
        yield "model", terms["loss"], terms

    def terms(self, model: Any, batch: Any, noise: Any) -> dict[str, Any]:
        """Each (B,): loss, mse, kl; `mean` (B, latent) is never told the label. `noise` None: drawn now."""
        y = batch.y if model.labels else None
        features = model.encoder(batch.x)
        mean, logvar = model.posterior(features, y)  # (B, latent) each
        z = mean + (0.5 * logvar).exp() * (self.lib.randn_like(mean) if noise is None else noise)
        error = ((model.decode(z, y) - batch.x) ** 2).flatten(1).sum(1)
        kl = bound.divergence(mean, logvar)
        terms = {"loss": error + model.beta * kl, "mse": error, "kl": kl}
        if model.head is not None:
            terms["logits"] = model.head(features)
            terms["ce"] = self.functional.cross_entropy(terms["logits"], batch.y, reduction="none")
            bound_term = terms["loss"] if model.reconstructs else 0.0  # the control: cross-entropy alone
            terms["loss"] = bound_term + model.gamma * terms["ce"]
        blind = y is None or model.training  # in training nobody looks at the means
        return terms | {"mean": mean if blind else model.posterior(features)[0]}

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        noise = bound.noise(batch.index, (model.latent,), self.seed, batch.x)
        return self.terms(model, batch, noise)

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """`loss` is the negative bound times beta, up to a constant; mse is summed over an image's pixels."""
        losses = outputs["loss"].astype(np.float64)
        found = {
            "loss": float(losses.mean()),
            "loss_se": float(losses.std() / np.sqrt(len(losses))),
            "mse": float(outputs["mse"].mean(dtype=np.float64)),
            "kl": float(outputs["kl"].mean(dtype=np.float64)),
        }
        if "logits" in outputs and labels is not None:
            found |= {"accuracy": accuracy(outputs["logits"], labels)}
            found |= {"ece": calibration_error(outputs["logits"], labels)}
        return found

    def finish(self, outputs: dict[str, np.ndarray], train: Images, seed: int) -> dict[str, np.ndarray]:
        """All that evaluation needs fitted, on training images: clusters and names, class shares, the variance."""
        k = len(train.classes) or 10
        centres = clusters.centres(outputs["mean"], k, seed)
        found = {"centres": centres, "variance": np.array(outputs["mse"].mean() / train.pixels[0].size)}
        if train.labels is not None:
            found["names"] = clusters.names(clusters.assign(outputs["mean"], centres), train.labels, k)
            found["shares"] = np.bincount(train.labels, minlength=k) / len(train)
            few = train.take(CONTROL, seed)
            assert few.labels is not None
            pixels = few.pixels.reshape(len(few), -1).astype(np.float32) / 255
            found["pixel_centres"] = clusters.centres(pixels, k, seed)
            found["pixel_names"] = clusters.names(clusters.assign(pixels, found["pixel_centres"]), few.labels, k)
        return found

    def conclude(
        self,
        model: Any,
        batches: Any,
        data: Dataset,
        outputs: dict[str, np.ndarray],
        fitted: dict[str, np.ndarray],
        batch_size: int,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Metrics and arrays for the figures, by the trained model and what was fitted on training images."""
        test, mean = data.test, outputs["mean"]
        metrics = {"active_units": float((mean.var(0) > ACTIVE).sum()), "decoder_variance": model.beta / 2}
        metrics |= bound.bits_per_dimension(model, batches, fitted["variance"], SCORED, SAMPLES, self.seed)
        assigned = clusters.assign(mean, fitted["centres"])
        if test.labels is not None:
            metrics |= clusters.measure(assigned, fitted["names"], test.labels)
            on_test = clusters.centres(mean, len(test.classes), self.seed)
            metrics["cluster_accuracy_on_test"] = clusters.accuracy_fitted_here(mean, on_test, test.labels)
            pixels = test.pixels.reshape(len(test), -1).astype(np.float32) / 255
            control = clusters.assign(pixels, fitted["pixel_centres"])
            metrics["pixel_cluster_accuracy"] = float((fitted["pixel_names"][control] == test.labels).mean())
        arrays: dict[str, np.ndarray] = {"cluster": assigned}
        if model.labels and model.head is None and test.labels is not None:
            scored = bound.score_classes(model, batches, np.log(fitted["shares"] + 1e-12), model.samples, self.seed)
            metrics |= bound.class_accuracies(*scored, test.labels, batch_size)
            arrays["logits"] = scored[0].astype(np.float32)
            metrics["ece"] = calibration_error(scored[0], test.labels)
        return metrics, arrays | samples.shown(model, batches, test, mean, fitted["centres"], assigned, self.seed)
