"""Reconstruction: what the VAE family learns. Squared error and KL are summed per image, averaged over the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from replab.data.images import Dataset, Images, ImageSpec
from replab.tasks import bound, clusters, samples
from replab.tasks.classify import accuracy, calibration_error
from replab.tasks.images_back import check_images, means

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
        check_images(name, output, batch)

    def parts(self, model: Any) -> dict[str, list[Any]]:
        return {"model": [p for p in model.parameters() if p.requires_grad]}

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        terms = self.terms(model, batch, None)
        if "logits" in terms:
            terms["accuracy"] = terms.pop("logits").argmax(1) == batch.y
        terms.pop("mean", None)
        yield "model", terms["loss"], terms

    def terms(self, model: Any, batch: Any, noise: Any) -> dict[str, Any]:
        """Each (B,): loss, mse, kl; `mean` (B, latent) is never told the label. `noise` None: drawn now."""
        y = batch.y if model.labels else None
        features = model.encoder(batch.x)
        head: dict[str, Any] = {}
        if model.head is not None:
            logits = model.head(features)
            head = {"logits": logits, "ce": self.functional.cross_entropy(logits, batch.y, reduction="none")}
            if not model.reconstructs:  # the control: nothing is decoded, and no latent learned
                return head | {"loss": model.gamma * head["ce"]}
        mean, logvar = model.posterior(features, y)  # (B, latent) each
        z = mean + (0.5 * logvar).exp() * (self.lib.randn_like(mean) if noise is None else noise)
        error = ((model.decode(z, y) - batch.x) ** 2).flatten(1).sum(1)
        kl = bound.divergence(mean, logvar)
        loss = error + model.beta * kl
        terms = head | {"loss": loss + model.gamma * head["ce"] if head else loss, "mse": error, "kl": kl}
        blind = y is None or model.training  # in training nobody looks at the means
        return terms | {"mean": mean if blind else model.posterior(features)[0]}

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        noise = bound.noise(batch.index, (model.latent,), self.seed, batch.x)
        return self.terms(model, batch, noise)

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """`loss` is the negative bound times beta, up to a constant; mse is summed over an image's pixels."""
        found = means(outputs, tuple(name for name in ("mse", "kl", "ce") if name in outputs))
        if "logits" in outputs and labels is not None:
            found |= {"accuracy": accuracy(outputs["logits"], labels)}
            found |= {"ece": calibration_error(outputs["logits"], labels)}
        return found

    def finish(self, outputs: dict[str, np.ndarray], train: Images, seed: int) -> dict[str, np.ndarray]:
        """All that evaluation needs fitted, on training images: clusters and names, class shares, the variance."""
        if "mean" not in outputs:
            return {}
        k = len(train.classes) or 10
        centres = clusters.centres(outputs["mean"], k, seed)
        found = {"centres": centres, "variance": np.array(outputs["mse"].mean() / train.pixels[0].size)}
        few = train.take(CONTROL, seed)
        pixels = few.pixels.reshape(len(few), -1).astype(np.float32) / 255
        found["mean_image"] = pixels.mean(0)
        found["mean_image_variance"] = np.array(pixels.var(0).mean())
        if train.labels is not None:
            found["names"] = clusters.names(clusters.assign(outputs["mean"], centres), train.labels, k)
            found["shares"] = np.bincount(train.labels, minlength=k) / len(train)
            assert few.labels is not None
            found["pixel_centres"] = clusters.centres(pixels, k, seed)
            found["pixel_names"] = clusters.names(clusters.assign(pixels, found["pixel_centres"]), few.labels, k)
        return found

    def class_scores(
        self, model: Any, batches: Any, fitted: dict[str, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """log p(x, y) and one-sample losses, (N, classes) each, of a model that names classes by p(x|y) alone."""
        if not model.labels or model.head is not None:
            return None
        return bound.score_classes(model, batches, np.log(fitted["shares"] + 1e-12), model.samples, self.seed)

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
        if "mean" not in outputs:  # the control without decoder has only a head
            return {}, {}
        test, mean = data.test, outputs["mean"]
        metrics = {"active_units": float((mean.var(0) > ACTIVE).sum()), "latent": float(model.latent)}
        metrics["decoder_variance"] = model.beta / 2
        which = samples.some(len(test), SCORED, self.seed)
        few = test.pixels[which].reshape(-1, len(fitted["mean_image"])).astype(np.float64) / 255
        error = ((few - fitted["mean_image"]) ** 2).mean()
        metrics["bits_per_dim_mean_image"] = bound.gaussian_bits(error, float(fitted["mean_image_variance"]))
        scored_few = batches.subset(which)
        metrics |= bound.bits_per_dimension(model, scored_few, fitted["variance"], SCORED, SAMPLES, self.seed)
        assigned = clusters.assign(mean, fitted["centres"])
        if test.labels is not None:
            metrics |= clusters.measure(assigned, fitted["names"], test.labels)
            on_test = clusters.centres(mean, len(test.classes), self.seed)
            metrics["cluster_accuracy_on_test"] = clusters.accuracy_fitted_here(mean, on_test, test.labels)
            pixels = test.pixels.reshape(len(test), -1).astype(np.float32) / 255
            control = clusters.assign(pixels, fitted["pixel_centres"])
            metrics["pixel_cluster_accuracy"] = float((fitted["pixel_names"][control] == test.labels).mean())
        arrays: dict[str, np.ndarray] = {"cluster": assigned}
        scored = self.class_scores(model, batches, fitted) if test.labels is not None else None
        if scored is not None:
            assert test.labels is not None
            # in their files' order whole batches are of one class, and the published rule would look right
            mixed = samples.some(len(test), len(test), self.seed)
            metrics |= bound.class_accuracies(scored[0][mixed], scored[1][mixed], test.labels[mixed], batch_size)
            arrays["logits"] = scored[0].astype(np.float32)
            metrics["ece"] = calibration_error(scored[0], test.labels)
        return metrics, arrays | samples.shown(model, batches, test, mean, fitted["centres"], self.seed)
