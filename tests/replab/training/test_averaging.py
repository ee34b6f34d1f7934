"""Averages of weights against torch's own averaging and a worked example; what a training shows is the average."""

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel

from replab.settings.recipe import Recipe
from replab.training.averaging import Average
from replab.training.prepare import prepare

STEPS = 12


def walk(model, step):
    """Something that moves every weight and every statistic."""
    torch.manual_seed(step)
    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.add_(torch.randn_like(value))
            else:
                value.add_(1)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2))


@pytest.mark.parametrize("decay", [0.5, 0.999])
def test_ema_is_torchs_with_a_quick_start(decay):
    model, theirs_model = network(), network()
    decays = iter([min(decay, n / (n + 9)) for n in range(1, STEPS + 1)])
    current = [0.0]

    def blended(average, new, count):
        return average * current[0] + new * (1 - current[0])

    theirs = AveragedModel(theirs_model, avg_fn=blended, use_buffers=True)
    theirs.n_averaged.add_(1)  # else its first update copies
    ours = Average(model, "ema", decay)
    for step in range(STEPS):
        current[0] = next(decays)
        walk(model, step)
        walk(theirs_model, step)
        ours.update(step, STEPS)
        theirs.update_parameters(theirs_model)
    trained = {name: value.clone() for name, value in model.state_dict().items()}
    ours.show()
    for name, value in theirs.module.state_dict().items():
        if value.is_floating_point():
            torch.testing.assert_close(model.state_dict()[name], value, rtol=1e-5, atol=1e-5)
    assert all(torch.equal(ours.trained()[name], value) for name, value in trained.items())
    ours.hide()
    assert all(torch.equal(model.state_dict()[name], value) for name, value in trained.items())


def test_lookahead_by_hand():
    """One weight that each step moves by 1; total 10: two looks ahead, which keep 0.5^5/8 and 0.5^5 of the average."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    average = Average(model, "lookahead", 0.5)
    for step in range(10):
        with torch.no_grad():
            model.weight.add_(1.0)
        average.update(step, 10)
    first = 5 * (1 - 0.5**5 / 8)
    assert float(model.weight.detach()) == pytest.approx(first + 5 * (1 - 0.5**5))
    with torch.no_grad():
        model.weight.add_(1.0)
    average.show()  # after the last look ahead: back to it
    assert float(model.weight.detach()) == pytest.approx(first + 5 * (1 - 0.5**5))


def test_a_run_shows_and_keeps_the_average():
    recipe = Recipe(model="mlp", lr=1e-2, epochs=2, limit=200, batch_size=32)
    plain, averaged = prepare(recipe), prepare(recipe.replace(average="ema", average_decay=0.9))
    one, two = plain.model(), averaged.model()
    state = averaged.state(two)
    for (row, _), (shown, _) in zip(plain.fit(one), averaged.fit(two, state=state, watch={"test": plain.data.test})):
        assert shown["train_loss"] == row["train_loss"]  # the training does not feel it
        trained = state.values()["model"]
        assert all(torch.equal(trained[name], value) for name, value in one.state_dict().items())
        assert shown["test_loss"] == averaged.evaluate(two, plain.data.test).metrics["loss"]
        assert shown["test_loss"] != plain.evaluate(one, plain.data.test).metrics["loss"]
