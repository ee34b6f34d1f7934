"""VQ-VAE: codes that reconstruct, then a prior over the codes, each with its own optimizer, in the one loop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.data.images import Dataset, ImageSpec
from replab.tasks import sample_figures, samples
from replab.tasks.base import Lines, Pictures, Task, task
from replab.tasks.images_back import check_images, means

if TYPE_CHECKING:
    from replab.records.values import Values


@task
class Quantise(Task):
    """Squared error + commitment (+ codebook, where it learns by gradient), each summed over an image."""

    weights = ("commitment",)  # of the loss's terms: another weight is another loss

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        check_images(name, output, batch)

    def parts(self, model: Any) -> dict[str, list[Any]]:
        prior = list(model.prior.parameters())
        known = {id(p) for p in prior}
        return {"model": [p for p in model.parameters() if id(p) not in known], "prior": prior}

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        terms, encoded, index = self.terms(model, batch)
        if model.update == "ema":  # outside the gradient, and only here: evaluation moves nothing
            model.move_codes(encoded, index)
        yield "model", terms["loss"], terms
        nats = self.prior_loss(model, index)
        yield "prior", nats, {"prior_loss": nats}

    def terms(self, model: Any, batch: Any) -> tuple[dict[str, Any], Any, Any]:
        """Losses (B,) by name; the encoder's grid (B, D, h, w); the codes' numbers (B, h, w)."""
        encoded = model.encoder(batch.x)
        index = model.nearest(encoded)
        chosen = model.look_up(index)
        made = model.decoder(encoded + (chosen - encoded).detach())
        error = ((made - batch.x) ** 2).flatten(1).sum(1)
        commit = ((encoded - chosen.detach()) ** 2).flatten(1).sum(1)
        loss = error + model.commitment * commit
        if model.update == "gradient":
            loss = loss + ((encoded.detach() - chosen) ** 2).flatten(1).sum(1)
        return {"loss": loss, "mse": error, "commitment": commit}, encoded, index

    def prior_loss(self, model: Any, index: Any) -> Any:
        """-log p of an image's codes in nats, (B,)."""
        return self.functional.cross_entropy(model.prior(index), index, reduction="none").flatten(1).sum(1)

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        terms, _, index = self.terms(model, batch)
        return terms | {"codes": index.flatten(1), "prior_loss": self.prior_loss(model, index)}

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        measured = means(outputs, ("mse", "commitment", "prior_loss"))
        return measured | {"perplexity": perplexity(np.bincount(outputs["codes"].ravel()))}

    def conclude(
        self,
        model: Any,
        batches: Any,
        data: Dataset,
        outputs: dict[str, np.ndarray],
        fitted: dict[str, np.ndarray],
        batch_size: int,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """How much of the codebook is used, and pictures."""
        usage = np.bincount(outputs["codes"].ravel(), minlength=model.codes)
        which = samples.some(len(data.test), 2 * samples.ROW, seed=0)
        few = next(iter(batches.subset(which).epoch(0))).x.cpu().numpy()
        arrays = {
            "codebook_usage": usage,
            "samples": samples.draw(model, samples.GRID, seed=0),
            "originals": data.test.pixels[which],
            "reconstructions": samples.made(model, lambda x, y: model(x), few),
        }
        return {"codes": float(model.codes), "dead_codes": float((usage == 0).sum())}, arrays

    @classmethod
    def section(cls, values: Values) -> Lines:
        m = values.metrics
        return [
            ("test loss", f"{m['loss']:.4f} (squared error {m['mse']:.4f} + commitment, summed over an image)"),
            ("codes of an image", f"{m['prior_loss']:.4f} nats by the prior"),
            ("codes in use", f"{m['perplexity']:.1f} of {m['codes']:.0f}; {m['dead_codes']:.0f} never used"),
        ]

    @classmethod
    def figures(cls, values: Values) -> Pictures:
        from replab.figures.codebook import codebook

        return {
            **sample_figures.drawn(values),
            "codebook": lambda: codebook(values.arrays["codebook_usage"], f"{values.title}: use of codes"),
        }


def perplexity(usage: np.ndarray) -> float:
    """exp of the entropy of the codes' shares: how many codes are in use, as if evenly."""
    share = usage[usage > 0] / usage.sum()
    return float(np.exp(-(share * np.log(share)).sum()))
