"""Reconstruction: what the VAE family learns. Squared error and KL are summed per image, averaged over the batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.data.images import Dataset, Images, ImageSpec
from replab.tasks import bound, clusters, metrics, sample_figures, samples
from replab.tasks.base import Lines, Pictures, Task, task
from replab.tasks.images_back import check_images, means

if TYPE_CHECKING:
    from replab.records.values import Values

SCORED = 256  # test images whose likelihood is estimated, with this many samples of z each
SAMPLES = 32
CONTROL = 10_000  # training images for K-means on raw pixels
BLOCK = 10_000  # test images at a time, where their pixels are needed as numbers
ACTIVE = 0.01  # a latent is used when its mean varies more than this over the images (1509.00519)


@task
class Reconstruct(Task):
    """SSE + beta KL (+ gamma cross-entropy with a head), one loss per image. The model carries beta and gamma."""

    weights = ("beta", "gamma")  # of the loss's terms: another weight is another loss
    seed = 0  # of the noise in evaluation: each image has its own, whatever batch it is in

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        """Refuse a model that does not give images back, or has not the parts this task needs."""
        check_images(name, output, batch)

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
        measured = means(outputs, tuple(name for name in ("mse", "kl", "ce") if name in outputs))
        if "logits" in outputs and labels is not None:
            measured |= metrics.measure(outputs["logits"], labels)
        return measured

    def finish(self, outputs: dict[str, np.ndarray], train: Images, seed: int) -> dict[str, np.ndarray]:
        """All that evaluation needs fitted, on training images: clusters and names, class shares, the variance."""
        if "mean" not in outputs:
            return {}
        k = len(train.classes) or 10
        centres = clusters.centres(outputs["mean"], k, seed)
        fitted = {"centres": centres, "variance": np.array(outputs["mse"].mean() / train.pixels[0].size)}
        few = train.take(CONTROL, seed)
        pixels = few.pixels.reshape(len(few), -1).astype(np.float32) / 255
        fitted["mean_image"] = pixels.mean(0)
        fitted["mean_image_variance"] = np.array(pixels.var(0).mean())
        if train.labels is not None:
            fitted["names"] = clusters.names(clusters.assign(outputs["mean"], centres), train.labels, k)
            fitted["shares"] = np.bincount(train.labels, minlength=k) / len(train)
            assert few.labels is not None
            fitted["pixel_centres"] = clusters.centres(pixels, k, seed)
            fitted["pixel_names"] = clusters.names(clusters.assign(pixels, fitted["pixel_centres"]), few.labels, k)
        return fitted

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
        measured = {"active_units": float((mean.var(0) > ACTIVE).sum()), "latent": float(model.latent)}
        measured["decoder_variance"] = model.beta / 2
        which = samples.some(len(test), SCORED, self.seed)
        few = test.pixels[which].reshape(-1, len(fitted["mean_image"])).astype(np.float64) / 255
        error = ((few - fitted["mean_image"]) ** 2).mean()
        measured["bits_per_dim_mean_image"] = bound.gaussian_bits(error, float(fitted["mean_image_variance"]))
        scored_few = batches.subset(which)
        measured |= bound.bits_per_dimension(model, scored_few, fitted["variance"], SCORED, SAMPLES, self.seed)
        assigned = clusters.assign(mean, fitted["centres"])
        if test.labels is not None:
            measured |= clusters.measure(assigned, fitted["names"], test.labels)
            on_test = clusters.centres(mean, len(test.classes), self.seed)
            measured["cluster_accuracy_on_test"] = clusters.accuracy_fitted_here(mean, on_test, test.labels)
            control = np.concatenate(
                [
                    clusters.assign(
                        test.pixels[i : i + BLOCK].reshape(-1, len(fitted["mean_image"])).astype(np.float32) / 255,
                        fitted["pixel_centres"],
                    )
                    for i in range(0, len(test), BLOCK)
                ]
            )
            measured["pixel_cluster_accuracy"] = float((fitted["pixel_names"][control] == test.labels).mean())
        arrays: dict[str, np.ndarray] = {"cluster": assigned}
        scored = self.class_scores(model, batches, fitted) if test.labels is not None else None
        if scored is not None:
            assert test.labels is not None
            # in their files' order whole batches are of one class, and the published rule would look right
            mixed = samples.some(len(test), len(test), self.seed)
            measured |= bound.class_accuracies(scored[0][mixed], scored[1][mixed], test.labels[mixed], batch_size)
            arrays["logits"] = scored[0].astype(np.float32)
            measured |= metrics.measure(scored[0], test.labels)
        return measured, arrays | samples.shown(model, batches, test, mean, fitted["centres"], self.seed)

    @classmethod
    def section(cls, values: Values) -> Lines:
        m, lines = values.metrics, metrics.lines(values)
        if "kl" not in m:  # the control without decoder
            return [*lines[:1], ("test loss", f"{m['loss']:.4f}"), *lines[1:]]
        more, entropy = (" + γ cross-entropy", f"; cross-entropy {m['ce']:.4f}") if "ce" in m else ("", "")
        ceilings = of = ""
        if "bits_per_dim_mean_image" in m:  # runs of an earlier version have none
            alone = f"{m['bits_per_dim_mean_image']:.4f} by the training images' mean alone"
            ceilings = f" (ceilings: {alone}, 8 by a guess; the floor is the images' entropy, which is not known)"
            of = f" (of {m['latent']:.0f}; 0 when the decoder ignores z)"
        variance, fitted = m["decoder_variance"], f"{m['bits_per_dim_fitted']:.4f} at the training error's variance"
        lines += [
            ("test loss", f"{m['loss']:.4f} (squared error + β KL{more}, summed over an image, then averaged)"),
            ("squared error, KL", f"{m['mse']:.4f}, {m['kl']:.4f}{entropy}"),
            ("decoder variance", f"{variance:g} (β = {2 * variance:g} implies it: p(x|z) has variance β/2 per pixel)"),
            ("bits per dimension", f"{m['bits_per_dim']:.4f}; {fitted}{ceilings}"),
            ("active units", f"{m['active_units']:.0f}{of}"),
        ]
        return lines + cls._named_by_clusters(m) + cls._named_by_likelihood(m)

    @staticmethod
    def _named_by_clusters(m: dict[str, float]) -> Lines:
        if "cluster_accuracy" not in m:  # images without labels
            return []
        text = (
            f"{m['cluster_accuracy']:.2%} fitted and named on train (fitted on test, as published:"
            f" {m['cluster_accuracy_on_test']:.2%}; raw pixels: {m['pixel_cluster_accuracy']:.2%});"
            f" Hungarian {m['hungarian_accuracy']:.2%}, NMI {m['nmi']:.3f}"
        )
        return [("K-means on means", text)]

    @staticmethod
    def _named_by_likelihood(m: dict[str, float]) -> Lines:
        if "batch_total_accuracy" not in m:  # a model that is not told labels, or has a head
            return []
        text = (
            f"{m['accuracy']:.2%} per image; one sample {m['one_sample_accuracy']:.2%};"
            f" by a batch's total loss, as published: {m['batch_total_accuracy']:.2%};"
            f" another label adds {m['label_swap']:.3g} to an image's loss"
        )
        return [("class by p(x|y)", text)]

    @classmethod
    def figures(cls, values: Values) -> Pictures:
        from replab.figures.latent import latent

        pictures = dict(sample_figures.drawn(values))
        if "embedding" in values.arrays:
            pictures["latent"] = lambda: latent(
                values.arrays["embedding"], cls._groupings(values), f"{values.title}: t-SNE of latent means"
            )
        return pictures

    @staticmethod
    def _groupings(values: Values) -> dict[str, tuple[np.ndarray, list[str]]]:
        """The embedded images by class, by cluster and by predicted class."""
        arrays, ways = values.arrays, {}
        which = arrays["embedding_index"]
        if "labels" in arrays:
            ways["by class"] = (arrays["labels"][which], values.classes)
        if "cluster" in arrays:
            names = [f"cluster {i}" for i in range(int(arrays["cluster"].max()) + 1)]
            ways["by cluster"] = (arrays["cluster"][which], names)
        if values.answers is not None:
            ways["by predicted class"] = (values.answers.predicted[which], values.classes)
        return ways
