"""GANs through the one loop: losses by hand, which part learns from which, resuming in the middle, failures said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from generative_models import not_blank
from PIL import Image

from replab import api
from replab.backends.backend import array
from replab.data.batches import Batch
from replab.data.images import ImageSpec
from replab.errors import RecipeError
from replab.models.registry import MODELS
from replab.settings.recipe import Recipe
from replab.tasks import samples
from replab.tasks.adversarial import Adversarial, failure
from replab.training import prepare as setup
from replab.training.loop import Diverged
from replab.training.lr_find import lr_find

DIGITS = ImageSpec(1, 8, 8, 10)
SMALL = {"latent": 4, "width": 4}


def model_and_batch(name="acgan", **params):
    torch.manual_seed(0)
    model = MODELS.get(name)(DIGITS, **SMALL, **params)
    return model, Batch(torch.rand(6, 1, 8, 8) * 2 - 1, torch.arange(6), torch.arange(6))


def leaves(loss) -> set[int]:
    """ids of the parameters whose gradient a backward pass would compute."""
    found, todo = set(), [loss.grad_fn]
    while todo:
        node = todo.pop()
        if node is None:
            continue
        if hasattr(node, "variable"):
            found.add(id(node.variable))
        todo += [child for child, _ in node.next_functions]
    return found


def test_critic_then_generator_each_learning_alone():
    model, batch = model_and_batch()
    steps = Adversarial(torch).losses(model, batch)
    part, loss, logs = next(steps)
    assert (part, loss.shape) == ("critic", (6,))
    assert leaves(loss.mean()) == {id(p) for p in model.critic.parameters()}  # fakes are detached
    assert {"critic_loss", "accuracy"} == set(logs)
    part, loss, logs = next(steps)
    assert (part, loss.shape) == ("generator", (6,))
    assert leaves(loss.mean()) == {id(p) for p in model.generator.parameters()}  # no critic weight gradients
    assert next(steps, None) is None
    assert all(p.requires_grad for p in model.parameters())


def test_losses_by_hand_and_terms_that_can_be_switched():
    model, batch = model_and_batch(class_on_real=False, class_on_fake=False)
    torch.manual_seed(1)
    _, plain, logs = next(Adversarial(torch).losses(model, batch))
    torch.testing.assert_close(plain, logs["critic_loss"])
    torch.manual_seed(1)
    z, y = torch.randn(6, 4), torch.randint(10, (6,))
    real, kind = model.critic(batch.x)
    fake, fake_kind = model.critic(model.generate(z, y))
    expected = -torch.sigmoid(real).log() - (1 - torch.sigmoid(fake)).log()
    torch.testing.assert_close(plain, expected)
    ce = torch.nn.functional.cross_entropy
    for switched, more in (
        ("class_on_real", ce(kind, batch.y, reduction="none")),
        ("class_on_fake", ce(fake_kind, y, reduction="none")),
    ):
        model.terms = {"class_on_real": False, "class_on_fake": False, "adversarial": True, switched: True}
        torch.manual_seed(1)
        _, loss, _ = next(Adversarial(torch).losses(model, batch))
        torch.testing.assert_close(loss, expected + more)


def test_the_control_trains_the_discriminator_alone():
    model, batch = model_and_batch(adversarial=False)
    task = Adversarial(torch)
    assert set(task.parts(model)) == {"critic"}
    ((part, loss, _),) = task.losses(model, batch)
    assert part == "critic"
    expected = torch.nn.functional.cross_entropy(model.critic(batch.x)[1], batch.y, reduction="none")
    torch.testing.assert_close(loss, expected)


def test_nothing_is_searched_and_what_is_open_has_a_default():
    ready = setup.prepare(Recipe(model="dcgan", limit=50, params=SMALL))
    assert (ready.recipe.lr, ready.recipe.epochs, ready.recipe.normalise) == (2e-4, 25, "half")
    with pytest.raises(RecipeError, match="adversarial has no loss that a search can minimise"):
        setup.prepare(Recipe(model="dcgan", limit=50).replace(search={"space": {"width": [2, 4]}}))
    with pytest.raises(RecipeError, match="adversarial has no loss that falls"):
        lr_find(ready)


@pytest.fixture(scope="module")
def a_gan(tmp_path_factory):
    return api.run("acgan", limit=100, epochs=3, params=SMALL, runs=tmp_path_factory.mktemp("gan"), quiet=True)


def test_a_run_from_end_to_end(a_gan):
    assert {"train_critic_loss", "train_generator_loss", "train_accuracy", "test_accuracy"} <= set(a_gan.epochs[-1])
    assert {"diversity", "accuracy", "taken_for_real"} <= set(a_gan.metrics)
    assert {"samples", "samples_by_class", "interpolation", "confusion"} <= set(a_gan.figures)
    grids = sorted((a_gan.folder / "samples").glob("*.png"))
    assert [g.name for g in grids] == [f"epoch-000{i}.png" for i in (1, 2, 3)]
    names = ("samples", "samples_by_class", "interpolation", "curves")
    not_blank([*grids, *(a_gan.figures[name].path for name in names)])
    with Image.open(a_gan.folder / "figures/samples.gif") as gif:
        assert gif.n_frames == 3
    assert a_gan.chosen.lr == 2e-4
    assert not a_gan.trials


def test_resumed_in_the_middle_it_ends_with_the_same_weights(a_gan, tmp_path, monkeypatch):
    from replab.records.record import Record

    keep, saved = Record.write_checkpoint, []

    def interrupted(self, state, rows, save):
        keep(self, state, rows, save)
        saved.append(len(rows))
        if saved == [1, 2]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Record, "write_checkpoint", interrupted)
    with pytest.raises(KeyboardInterrupt):
        api.run("acgan", limit=100, epochs=3, params=SMALL, runs=tmp_path, quiet=True)
    (folder,) = tmp_path.iterdir()
    run = api.resume(folder, runs=tmp_path, quiet=True)
    assert saved == [1, 2, 3]
    assert run.epochs == a_gan.epochs
    one, two = run.record.weights(), a_gan.record.weights()
    assert all(np.array_equal(one[name], two[name]) for name in two)


def test_collapse_and_a_critic_that_won_are_said():
    fine = [{"epoch": 1.0, "train_critic_loss": 1.2}]
    assert failure(fine, {"diversity": 0.9}) == ""
    assert "collapsed" in failure(fine, {"diversity": 0.01})
    assert "the critic won" in failure([{"train_critic_loss": 1e-4}], {"diversity": 0.9})


def test_a_diverged_gan_is_an_error_not_a_run(tmp_path):
    with pytest.raises(Diverged, match="training diverged in epoch 1"):
        api.run("dcgan", limit=40, lr=1e30, epochs=1, params={"latent": 3}, runs=tmp_path, quiet=True)
    assert not api.all_runs(tmp_path)


def test_a_generator_that_makes_one_picture_has_no_diversity(digits):
    model, _ = model_and_batch("dcgan")
    with torch.no_grad():
        for p in model.generator.parameters():
            p.zero_()
    metrics, arrays = Adversarial(torch).conclude(model.eval(), None, digits, {}, {}, 16)
    assert metrics["diversity"] == pytest.approx(0, abs=1e-9)
    assert arrays["samples"].shape == (64, 1, 8, 8)


def test_one_picture_a_class_is_a_collapse_too(digits, monkeypatch):
    model, _ = model_and_batch()
    monkeypatch.setattr(model, "generate", lambda z, y: (y / 5 - 1.0)[:, None, None, None].expand(-1, 1, 8, 8))
    metrics, arrays = Adversarial(torch).conclude(model.eval(), None, digits, {}, {}, 16)
    assert samples.spread(arrays["samples"]) > 100  # classes differ, images of a class do not
    assert metrics["diversity"] == pytest.approx(0, abs=1e-9)


def test_diversity_is_beside_training_images_of_all_classes(digits):
    """A folder's images come class by class: the first of them would be of one class."""
    many = np.repeat(np.argsort(digits.train.labels, kind="stable"), 8)
    model, _ = model_and_batch("dcgan")
    sets = (digits, replace(digits, train=digits.train.subset(many)))
    found = [Adversarial(torch).conclude(model.eval(), None, d, {}, {}, 16)[0]["diversity"] for d in sets]
    assert found[0] == pytest.approx(found[1], rel=0.03)


def test_spread_by_hand():
    pixels = np.array([0, 4, 10, 10], np.uint8).reshape(4, 1, 1, 1)
    assert samples.spread(pixels) == pytest.approx(np.sqrt((36 + 4 + 16 + 16) / 3))
    assert samples.spread(pixels, np.array([0, 0, 1, 1])) == pytest.approx(np.sqrt((4 + 4) / 2))


@pytest.mark.parametrize(("side", "stages"), [(64, 4), (32, 3), (28, 2), (8, 1)])
def test_stages_by_size(side, stages):
    model = MODELS.get("dcgan")(ImageSpec(3, side, side, 0), **SMALL)
    convolutions = [m for m in model.critic.modules() if isinstance(m, torch.nn.Conv2d)]
    assert len(convolutions) == stages + 1
    real, kind = model(torch.zeros(2, 3, side, side))
    assert real.shape == (2,)
    assert kind is None
    assert array(real).dtype == np.float32
