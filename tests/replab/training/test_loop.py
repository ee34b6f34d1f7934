"""fit(): rows, seeds, resuming, clipping, parts, divergence; what is watched is never learned from."""

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

from replab.backends import backend as backends
from replab.data.images import Dataset
from replab.settings.recipe import Recipe
from replab.tasks.classify import Classify
from replab.training.experiment import Experiment
from replab.training.loop import Diverged, averages, train_step
from replab.training.state import State

TORCH = backends.get("torch")


def learner(recipe, images, task=None):
    task = task or Classify(torch, 10, recipe.loss, recipe.label_smoothing)
    return Experiment(
        recipe, Dataset("some", images, images, ""), None, replace(TORCH, precision=recipe.precision), "cpu", task
    )


def small_net(seed=0):
    """Dropout and BatchNorm: both draw or keep something that a resumed run must not lose."""
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.3), nn.Flatten(), nn.Linear(144, 10)
    )


def recipe_of(**changes):
    return Recipe(**{"lr": 1e-2, "epochs": 3, "batch_size": 32, **changes})


def start(recipe, images, model=None, task=None, **more):
    model, experiment = model or small_net(), learner(recipe, images, task)
    state = experiment.state(model)
    return model, state, experiment.fit(model, state=state, **more)


def same(one, two):
    assert one.keys() == two.keys()
    return all(torch.equal(one[key], two[key]) for key in one)


def test_a_row_an_epoch_of_flat_floats(digits):
    _, _, rows = start(recipe_of(), digits.train, watch={"val": digits.test})
    found = list(rows)
    assert [row["epoch"] for row, _ in found] == [1.0, 2.0, 3.0]
    for row, times in found:
        assert all(type(value) is float for value in [*row.values(), *times.values()])
        assert {"epoch", "lr", "train_loss", "train_accuracy", "val_loss", "val_accuracy", "val_ece"} <= row.keys()
        assert not [name for name in row if "seconds" in name]  # times will not repeat: they are kept apart
        assert times["images"] == len(digits.train)
    assert found[-1][0]["train_loss"] < found[0][0]["train_loss"]


def test_train_loss_is_the_mean_over_images_not_batches(digits):
    """120 images in batches of 50, 50 and 20, at a rate too small to move: the loss is that of evaluation."""
    images = digits.train.subset(slice(0, 120))
    recipe = recipe_of(lr=1e-30, epochs=1, batch_size=50)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    _, _, rows = start(recipe, images, model)
    row, _ = next(rows)
    seen = learner(recipe, images).evaluate(model, images).metrics
    assert row["train_loss"] == pytest.approx(seen["loss"], rel=1e-5)
    assert row["train_accuracy"] == pytest.approx(seen["accuracy"])


def test_averages_by_hand():
    kept = [{"loss": torch.tensor([1.0, 3.0])}, {"loss": torch.tensor([8.0])}]
    assert averages(kept, [2, 1], "train_") == {"train_loss": pytest.approx(4.0)}


def test_closing_anywhere_leaves_model_and_optimiser_of_the_last_row(digits):
    whole, _, rows = start(recipe_of(), digits.train)
    states = [copy.deepcopy(whole.state_dict()) for _ in rows]
    for taken in range(3):
        model, _, rows = start(recipe_of(), digits.train)
        for _ in range(taken):
            next(rows)
        rows.close()
        assert same(model.state_dict(), states[taken - 1] if taken else small_net().state_dict())


@pytest.mark.parametrize("backend", ["torch", "mytorch"])
def test_same_seed_same_rows(digits, backend):
    chosen = backends.get(backend)

    def rows(seed):
        recipe = recipe_of(epochs=2, seed=seed, augment=("flip", "crop=1"), backend=backend)
        chosen.lib.manual_seed(0)
        layers = chosen.lib.nn
        model = layers.Sequential(layers.Flatten(), layers.Linear(64, 16), layers.Dropout(0.5), layers.Linear(16, 10))
        task = Classify(chosen.lib, 10)
        experiment = replace(learner(recipe, digits.train, task), backend=chosen)
        state = experiment.state(model)
        chosen.lib.rand(seed % 7 + 1)  # what was drawn before must not matter
        return [row for row, _ in experiment.fit(model, state=state)]

    assert rows(1) == rows(1)
    assert rows(1) != rows(2)


@pytest.mark.parametrize(
    "settings",
    [
        {"optimizer": "adam", "augment": ("flip", "crop=1", "affine=10:1:0.1")},
        {"optimizer": "adamw", "weight_decay": 0.1, "schedule": "one-cycle"},
        {"optimizer": "sgd", "momentum": 0.9, "schedule": "one-cycle", "clip_norm": 1.0},
        {"optimizer": "sgd", "momentum": 0.9, "schedule": "cosine", "label_smoothing": 0.1},
        {"optimizer": "adam", "average": "ema"},
        {
            "optimizer": "spectral",
            "schedule": "triangle",
            "augment": ("alternating-flip", "reflect-crop=1"),
            "bias_rate_scale": 8.0,
            "precision": "bfloat16",
        },
        {"optimizer": "sgd", "momentum": 0.9, "average": "lookahead", "average_decay": 0.9},
    ],
    ids=lambda s: "-".join([s["optimizer"], s.get("schedule", "constant"), s.get("average", "")]),
)
@pytest.mark.parametrize("stop", [1, 2])
def test_resumed_is_as_straight_through(digits, tmp_path, settings, stop):
    recipe = recipe_of(**settings)
    straight, straight_state, rows = start(recipe, digits.train, watch={"test": digits.test})
    expected = [row for row, _ in rows]

    _, state, rows = start(recipe, digits.train, watch={"test": digits.test})
    found = [next(rows)[0] for _ in range(stop)]
    torch.save(state.values(), tmp_path / "c.pt")
    rows.close()

    torch.manual_seed(99)  # another process has drawn other numbers
    saved = torch.load(tmp_path / "c.pt", weights_only=True)
    model, state, rows = start(recipe, digits.train, small_net(5), watch={"test": digits.test}, first_epoch=stop + 1)
    state.restore(saved)
    found += [row for row, _ in rows]
    assert found == expected
    assert same(model.state_dict(), straight.state_dict())
    ours, theirs = (s.values()["optimizers"]["model"]["state"] for s in (state, straight_state))
    kept = [(i, key) for i in theirs for key in theirs[i] if theirs[i][key] is not None]  # moments and step counts
    assert kept
    assert all(torch.equal(ours[i][key], theirs[i][key]) for i, key in kept)


class Probe:
    """An optimiser that takes no step and remembers the gradients it was given."""

    def __init__(self, params):
        self.param_groups = [{"params": list(params), "lr": 0.0}]
        self.seen = []

    def zero_grad(self):
        for p in self.param_groups[0]["params"]:
            p.grad = None

    def step(self):
        self.seen.append([p.grad.clone() for p in self.param_groups[0]["params"]])


def gradients(digits, **clip):
    recipe = recipe_of(epochs=1, batch_size=200, **clip)
    model = nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    nn.init.constant_(model[1].weight, 1.0)
    nn.init.zeros_(model[1].bias)
    probe = Probe(model.parameters())
    list(learner(recipe, digits.train).fit(model, state=State(model, {"model": probe})))
    return probe.seen[0]


def test_clipping_clips(digits):
    plain = gradients(digits)
    norm = float(torch.cat([g.flatten() for g in plain]).norm())
    largest = max(float(g.abs().max()) for g in plain)
    by_norm = gradients(digits, clip_norm=norm / 2)
    assert float(torch.cat([g.flatten() for g in by_norm]).norm()) == pytest.approx(norm / 2, rel=1e-4)
    for one, two in zip(plain, by_norm):
        torch.testing.assert_close(one / 2, two, rtol=1e-4, atol=1e-7)
    by_value = gradients(digits, clip_value=largest / 2)
    for one, two in zip(plain, by_value):
        torch.testing.assert_close(one.clamp(-largest / 2, largest / 2), two)
    for one, two in zip(plain, gradients(digits, clip_norm=2 * norm, clip_value=2 * largest)):
        torch.testing.assert_close(one, two)


class Duel(nn.Module):
    def __init__(self):
        super().__init__()
        self.generator, self.critic = nn.Linear(2, 64), nn.Linear(64, 1)


class TwoParts:
    """As a GAN: the critic's loss, and when the critic has stepped, the generator's through the critic."""

    name, objective, needs_labels, betas = "duel", None, False, None

    def parts(self, model):
        return {"critic": list(model.critic.parameters()), "generator": list(model.generator.parameters())}

    def losses(self, model, batch):
        real, made = batch.x.flatten(1), model.generator(torch.ones(len(batch.index), 2))
        self.before = copy.deepcopy(model.state_dict())
        loss = (model.critic(made) - model.critic(real))[:, 0]
        yield "critic", loss, {"critic_loss": loss}
        self.between = copy.deepcopy(model.state_dict())
        self.critic_gradients = [p.grad.clone() for p in model.critic.parameters()]
        self.generator_gradients = [p.grad for p in model.generator.parameters()]
        loss = -model.critic(model.generator(torch.ones(len(batch.index), 2)))[:, 0]
        yield "generator", loss, {"generator_loss": loss}
        assert all(torch.equal(p.grad, g) for p, g in zip(model.critic.parameters(), self.critic_gradients))


def test_a_task_of_two_parts_steps_one_at_a_time(digits):
    torch.manual_seed(0)
    model, task = Duel(), TwoParts()
    recipe = recipe_of(optimizer="sgd", lr=0.1, epochs=1)
    experiment = learner(recipe, digits.train, task)
    opts = experiment.optimizers(model)
    assert opts.keys() == {"critic", "generator"}
    batch = next(experiment.batches(digits.train, model, shuffled=True).epoch(1))
    logs = train_step(experiment, model, batch, opts, recipe, 0, 1)
    assert logs.keys() == {"critic_loss", "generator_loss"}

    def moved(one, two, part):
        return not same({k: v for k, v in one.items() if part in k}, {k: v for k, v in two.items() if part in k})

    after = model.state_dict()
    assert moved(task.before, task.between, "critic")
    assert not moved(task.before, task.between, "generator")
    assert task.generator_gradients == [None, None]  # the critic's loss left none there
    assert moved(task.between, after, "generator")
    assert not moved(task.between, after, "critic")


def test_two_parts_through_fit(digits):
    recipe = recipe_of(optimizer="adam", lr=1e-3, epochs=2)
    found = [row for row, _ in start(recipe, digits.train, Duel(), TwoParts())[2]]
    assert [row.keys() for row in found] == [{"epoch", "lr", "train_critic_loss", "train_generator_loss"}] * 2


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_divergence_is_named(digits, bad):
    class Breaks(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.calls = nn.Linear(64, 10), 0

        def forward(self, x):
            self.calls += 1
            return self.inner(x.flatten(1)) * (bad if self.calls > 5 else 1.0)

    _, _, rows = start(recipe_of(), digits.train, Breaks())
    next(rows)
    with pytest.raises(Diverged, match=r"training diverged in epoch 2: .*; try a smaller --lr or --clip-norm 1"):
        next(rows)


def test_watching_changes_nothing(digits):
    plain, _, rows = start(recipe_of(), digits.train)
    expected = [row for row, _ in rows]
    watch = {"val": digits.test, "test": digits.test.subset(slice(0, 7))}
    model, _, rows = start(recipe_of(), digits.train, watch=watch)
    found = [row for row, _ in rows]
    assert same(model.state_dict(), plain.state_dict())  # BatchNorm's running statistics too
    assert [{k: v for k, v in row.items() if k in expected[0]} for row in found] == expected
    before = copy.deepcopy(model.state_dict())
    model.train()
    experiment = learner(recipe_of(), digits.train)
    seen = experiment.evaluate(model, digits.test)
    assert same(model.state_dict(), before)
    assert model.training
    np.testing.assert_array_equal(
        seen.outputs["logits"].argmax(1) == digits.test.labels,
        model.eval()(next(experiment.batches(digits.test, model).epoch(0)).x)
        .argmax(1).numpy() == digits.test.labels,
    )  # fmt: skip


def test_a_model_of_one_batch_trains_under_one_cycle(digits):
    _, _, rows = start(recipe_of(epochs=1, batch_size=512, schedule="one-cycle"), digits.train)
    assert len(list(rows)) == 1
