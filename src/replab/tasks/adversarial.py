"""GANs: the critic learns real from made, then the generator learns to be taken for real. There is no search."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.data.images import Dataset, ImageSpec
from replab.errors import ModelError
from replab.tasks import metrics, sample_figures, samples
from replab.tasks.base import Lines, Pictures, Task, task

if TYPE_CHECKING:
    from replab.records.values import Values

COMPARED = 256  # samples, and training images, whose spread is compared; of many classes, 8 each
WON = 0.01  # a critic whose loss is below this has nothing left to teach
ALIKE = 0.1  # samples that vary less than this share of what training images do are all one picture


@task
class Adversarial(Task):
    """The non-saturating loss, and cross-entropy of the class head where the model's terms ask for it."""

    objective = None
    betas = (0.5, 0.999)  # Adam's, as published (1511.06434)
    lr, epochs = 2e-4, 25  # unless given

    def check_output(self, name: str, output: Any, batch: Any, image: ImageSpec) -> None:
        """Refuse a model whose critic does not give one number per image (and one logit per class)."""
        real = output[0] if isinstance(output, tuple) and len(output) == 2 else output
        shape = tuple(getattr(real, "shape", ()))
        if shape != (len(batch.index),):
            got = f"shape {shape}" if shape else type(real).__name__
            raise ModelError(f"{name} must give (one number per image, class logits or None), got {got}")

    def parts(self, model: Any) -> dict[str, list[Any]]:
        parts = {"critic": list(model.critic.parameters()), "generator": list(model.generator.parameters())}
        return parts if model.terms["adversarial"] else {"critic": parts["critic"]}

    def losses(self, model: Any, batch: Any) -> Iterator[tuple[str, Any, dict[str, Any]]]:
        """Critic, then, when it has stepped, generator."""
        terms = model.terms
        softplus, cross_entropy = self.functional.softplus, self.functional.cross_entropy
        real, kind = model.critic(batch.x)
        if not terms["adversarial"]:  # the control: the same discriminator, trained alone
            loss = cross_entropy(kind, batch.y, reduction="none")
            yield "critic", loss, {"class_loss": loss, "accuracy": kind.argmax(1) == batch.y}
            return
        z = self.lib.randn(len(batch.x), model.latent, device=batch.x.device)
        y = self.lib.randint(model.labels, (len(batch.x),), device=batch.x.device) if model.labels else None
        fakes = model.generate(z, y)
        fake, fake_kind = model.critic(fakes.detach())
        loss = adversarial = softplus(-real) + softplus(fake)
        logs = {"critic_loss": adversarial}
        if model.labels:
            logs["accuracy"] = kind.argmax(1) == batch.y
            if terms["class_on_real"]:
                loss = loss + cross_entropy(kind, batch.y, reduction="none")
            if terms["class_on_fake"]:
                loss = loss + cross_entropy(fake_kind, y, reduction="none")
        yield "critic", loss, logs
        with frozen(model.critic):  # its weights' gradients would be thrown away: they are not computed
            fake, fake_kind = model.critic(fakes)
            loss = adversarial = softplus(-fake)
            if model.labels and terms["class_on_fake"]:
                loss = loss + cross_entropy(fake_kind, y, reduction="none")
            yield "generator", loss, {"generator_loss": adversarial}

    def outputs(self, model: Any, batch: Any) -> dict[str, Any]:
        real, kind = model.critic(batch.x)
        return {"real": real} | ({} if kind is None else {"logits": kind})

    def measure(self, outputs: dict[str, np.ndarray], labels: np.ndarray | None) -> dict[str, float]:
        """The class head on held-out real images, and how many of them the critic takes for real."""
        measured = {"taken_for_real": float((outputs["real"] > 0).mean())}
        if "logits" in outputs and labels is not None:
            measured |= metrics.measure(outputs["logits"], labels)
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
        """Samples, and how varied they are beside training images: near 0 the generator has collapsed.

        Within classes, where it is told them: one picture per class is a collapse too.
        """
        if not model.terms["adversarial"]:
            return {}, {}
        n = max(COMPARED, 8 * model.labels)
        drawn, real = samples.draw(model, n, seed=0), data.train.take(n, seed=0)
        told = np.arange(n) % model.labels if model.labels else None  # as samples.draw tells them
        arrays = {"samples": drawn[: samples.GRID]}
        if model.labels:
            z = np.tile(
                np.random.default_rng(0).standard_normal((samples.ROW, model.latent), dtype=np.float32),
                (model.labels, 1),
            )
            arrays["samples_by_class"] = samples.made(
                model, model.generate, z, np.arange(model.labels).repeat(samples.ROW)
            )
        walks = samples.between(np.random.default_rng(1).standard_normal((8, model.latent), dtype=np.float32), 8)
        label = np.zeros(len(walks), np.int64) if model.labels else None
        arrays["interpolation"] = samples.made(model, model.generate, walks, label)
        beside = samples.spread(real.pixels, real.labels if model.labels else None)
        return {"diversity": samples.spread(drawn, told) / max(beside, 1e-9)}, arrays

    @classmethod
    def section(cls, values: Values) -> Lines:
        lines = metrics.lines(values)
        if "diversity" in values.metrics:  # not of the control, whose generator is not trained
            lines.append(
                ("training", failure(values.epochs, values.metrics) or "neither collapsed nor won by the critic")
            )
            lines.append(("diversity", f"{values.metrics['diversity']:.2f} of that of training images"))
        return lines

    @classmethod
    def figures(cls, values: Values) -> Pictures:
        return sample_figures.drawn(values, walks="from one draw of noise to another, row by row")


def failure(rows: list[dict[str, float]], measured: dict[str, float]) -> str:
    """Why a GAN's training failed, or nothing. (A loss that is not a number ends the training itself.)"""
    reasons = []
    if measured.get("diversity", 1.0) < ALIKE:
        reasons.append(f"collapsed: samples differ {measured['diversity']:.1%} as much as training images do")
    if rows and rows[-1].get("train_critic_loss", 1.0) < WON:
        reasons.append(f"the critic won: its loss is {rows[-1]['train_critic_loss']:.2g}")
    return "; ".join(reasons)


@contextlib.contextmanager
def frozen(module: Any) -> Iterator[None]:
    """Parameters that need no gradient for a while."""
    params = [p for p in module.parameters() if p.requires_grad]
    for p in params:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in params:
            p.requires_grad_(True)
