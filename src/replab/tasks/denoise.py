"""Diffusion models: predict the noise that was added to an image, at any level of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.data.images import Dataset, ImageSpec
from replab.tasks import bound, sample_figures, samples
from replab.tasks.base import Lines, Pictures, Task, task
from replab.tasks.images_back import check_images, means

if TYPE_CHECKING:
    from replab.records.values import Values

COMPARED = 256  # samples, and training images, whose spread is compared
GOLDEN = 0.6180339887498949  # steps of this share of the levels never fall into a rhythm: all are met equally often
SHOWN = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the levels, at which a denoised image is shown


@task
class Denoise(Task):
    """The mean squared error of the noise, per pixel, at levels drawn evenly (2006.11239's simple loss)."""

    seed = 0  # of the noise in evaluation: each image has its own noise and level, whatever batch it is in

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        check_images(name, output, batch)

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        level = self.lib.randint(model.levels, (len(batch.x),), device=batch.x.device)
        loss = self.error(model, batch.x, level, self.lib.randn_like(batch.x))
        yield "model", loss, {"loss": loss}

    @staticmethod
    def error(model: Any, x: Any, level: Any, noise: Any) -> Any:
        """Squared error of the predicted noise, (B,)."""
        return ((model(model.noised(x, level, noise), level) - noise) ** 2).flatten(1).mean(1)

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        level = self.lib.as_tensor([int(i * GOLDEN % 1 * model.levels) for i in batch.index], device=batch.x.device)
        noise = bound.noise(batch.index, model.shape, self.seed, batch.x)
        return {"loss": self.error(model, batch.x, level, noise), "level": level / model.levels}

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """The loss, and how hard it is by level: little noise is hard to see, much of it easy."""
        measured = means(outputs, ())
        for name, low, high in (("low", 0.0, 1 / 3), ("middle", 1 / 3, 2 / 3), ("high", 2 / 3, 1.0)):
            inside = (outputs["level"] >= low) & (outputs["level"] < high)
            if inside.any():
                measured[f"loss_{name}_noise"] = float(outputs["loss"][inside].mean(dtype=np.float64))
        return measured

    def conclude(
        self,
        model: Any,
        batches: Any,
        data: Dataset,
        outputs: dict[str, np.ndarray],
        fitted: dict[str, np.ndarray],
        batch_size: int,
    ) -> tuple[dict[str, float], dict[str, np.ndarray]]:
        """Samples, how varied they are beside training images, and test images denoised from several levels."""
        drawn, real = samples.draw(model, COMPARED, self.seed), data.train.take(COMPARED, self.seed)
        walks = samples.between(np.random.default_rng(1).standard_normal((8, model.latent), dtype=np.float32), 8)
        # halfway between two draws the noise is too short: it gets its usual length
        walks *= model.latent**0.5 / np.linalg.norm(walks, axis=1, keepdims=True)
        arrays = {
            "samples": drawn[: samples.GRID],
            "interpolation": samples.made(model, model.generate, walks),
            "denoised": self.denoised(model, batches, data),
        }
        diversity = samples.spread(drawn) / max(samples.spread(real.pixels), 1e-9)
        return {"diversity": diversity, "levels": float(model.levels), "draws": float(model.draws)}, arrays

    def denoised(self, model: Any, batches: Any, data: Dataset) -> np.ndarray:
        """Rows of eight: test images, then for each level their noised form, and what the model makes of it."""
        which = samples.some(len(data.test), samples.ROW, self.seed)
        few = next(iter(batches.subset(which).epoch(0)))
        x, noise = few.x, bound.noise(few.index, model.shape, self.seed, few.x)
        rows = [data.test.pixels[which]]
        model.eval()
        with self.lib.inference_mode():
            for share in SHOWN:
                level = self.lib.full((len(x),), int(share * model.levels), device=x.device)
                seen = model.noised(x, level, noise)
                made = model.clean(seen, level, model(seen, level))
                rows += [samples.pixels(seen, model.pixel_range), samples.pixels(made, model.pixel_range)]
        return np.concatenate(rows)

    @classmethod
    def section(cls, values: Values) -> Lines:
        m = values.metrics
        parts = [
            f"{m[f'loss_{name}_noise']:.4f} at {name}"
            for name in ("low", "middle", "high")
            if f"loss_{name}_noise" in m
        ]
        return [
            ("test loss", f"{m['loss']:.4f} (squared error of the noise per pixel; 1 for a guess of none)"),
            ("by level of noise", ", ".join(parts)),
            ("samples", f"in {m['draws']:.0f} of {m['levels']:.0f} levels (DDIM, no fresh noise)"),
            ("diversity", f"{m['diversity']:.2f} of that of training images"),
        ]

    @classmethod
    def figures(cls, values: Values) -> Pictures:
        from replab.figures.gallery import grid

        title = (
            f"{values.title}: test images\nbelow, in pairs: with more and more noise, and what the model makes of it"
        )
        shown = dict(sample_figures.drawn(values, walks="from one draw of noise to another, row by row"))
        return {**shown, "denoised": lambda: grid(values.arrays["denoised"], title=title)}
