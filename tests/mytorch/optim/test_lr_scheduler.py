"""Schedules give torch's numbers over their whole length, alone, chained and resumed."""

import warnings

import pytest
import torch

import mytorch

SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, [lambda epoch: 0.95**epoch, lambda epoch: 1 / (epoch + 1)]),
    "step": lambda s, o: s.StepLR(o, 3, gamma=0.7),
    "multi-step": lambda s, o: s.MultiStepLR(o, [2, 5, 5, 9], gamma=0.5),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.9),
    "linear": lambda s, o: s.LinearLR(o, 0.2, 0.9, total_iters=6),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 7, eta_min=0.01),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 0.95),
    "constant": lambda s, o: s.ConstantLR(o, 0.25, total_iters=4),
    "polynomial": lambda s, o: s.PolynomialLR(o, total_iters=9, power=2.0),
    "warm-restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4, T_mult=2, eta_min=0.001),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.2, step_size_up=3, step_size_down=5),
    "cyclic-2": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.2, step_size_up=3, mode="triangular2"),
    "cyclic-exp": lambda s, o: s.CyclicLR(o, 0.01, 0.2, step_size_up=3, mode="exp_range", gamma=0.97),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, total_iters=2), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], milestones=[3, 9]
    ),
    "warm-up": lambda s, o: s.SequentialLR(o, [s.LinearLR(o, 0.1), s.CosineAnnealingLR(o, 10)], milestones=[5]),
    "all-at-once": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, total_iters=3), s.ExponentialLR(o, 0.9)]),
    "one-cycle": lambda s, o: s.OneCycleLR(o, max_lr=[0.5, 1.0], total_steps=25),
    "one-cycle-linear": lambda s, o: s.OneCycleLR(
        o, 0.5, epochs=5, steps_per_epoch=5, anneal_strategy="linear", pct_start=0.4, base_momentum=0.7
    ),
    "one-cycle-three": lambda s, o: s.OneCycleLR(
        o, 0.5, total_steps=25, three_phase=True, div_factor=10, final_div_factor=100
    ),
}


def optimizer(lib, kind="SGD"):
    params = [lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)]
    options = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(lib.optim, kind)([{"params": params[:1]}, {"params": params[1:], "lr": 0.3}], lr=0.1, **options)


def trace(lib, build, kind="SGD", steps=24):
    made = optimizer(lib, kind)
    schedule = build(lib.optim.lr_scheduler, made)
    rows = []
    for _ in range(steps):
        rows.append([(g["lr"], g.get("momentum"), g.get("betas")) for g in made.param_groups])
        rows.append(schedule.get_last_lr())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            schedule.step()
    return rows


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("name", SCHEDULES)
def test_numbers_are_torchs(name, kind):
    assert trace(mytorch, SCHEDULES[name], kind) == trace(torch, SCHEDULES[name], kind)


@pytest.mark.filterwarnings("ignore:Detected call")
def test_chained():
    rows = []
    for lib in (mytorch, torch):
        made = optimizer(lib)
        schedules = [SCHEDULES[name](lib.optim.lr_scheduler, made) for name in ("step", "exponential", "linear")]
        for _ in range(12):
            for schedule in schedules:
                schedule.step()
            rows.append([group["lr"] for group in made.param_groups])
    assert rows[:12] == rows[12:]


@pytest.mark.parametrize("name", SCHEDULES)
def test_resumed_from_its_state(name, tmp_path):
    """State of optimiser and schedule through a file: the rest of the schedule is the same."""
    whole = trace(mytorch, SCHEDULES[name], "Adam", 20)
    first = optimizer(mytorch, "Adam")
    schedule = SCHEDULES[name](mytorch.optim.lr_scheduler, first)
    for _ in range(8):
        schedule.step()
    mytorch.save({"optimizer": first.state_dict(), "schedule": schedule.state_dict()}, tmp_path / "state")
    again = optimizer(mytorch, "Adam")
    schedule = SCHEDULES[name](mytorch.optim.lr_scheduler, again)
    state = mytorch.load(tmp_path / "state")
    again.load_state_dict(state["optimizer"])
    schedule.load_state_dict(state["schedule"])
    rows = []
    for _ in range(12):
        rows.append([(g["lr"], g.get("momentum"), g.get("betas")) for g in again.param_groups])
        rows.append(schedule.get_last_lr())
        schedule.step()
    assert rows == whole[16:]


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"patience": 1, "factor": 0.5, "cooldown": 2},
        {"mode": "max", "patience": 0, "threshold_mode": "abs", "threshold": 0.05, "min_lr": [0.02, 0.0]},
        {"mode": "max", "patience": 1, "threshold": 0.1},
        {"patience": 0, "threshold_mode": "abs", "threshold": 0.2, "min_lr": 0.05},
    ],
)
def test_plateau(options):
    metrics = [
        1.0,
        0.9,
        0.95,
        0.89,
        0.9,
        0.9,
        0.9,
        0.5,
        0.6,
        0.7,
        0.7,
        0.7,
        0.7,
        0.7,
        0.7,
        0.7,
        0.7,
        0.2,
        0.3,
    ]
    rows = []
    for lib in (mytorch, torch):
        made = optimizer(lib)
        schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(made, **options)
        for metric in metrics:
            schedule.step(lib.tensor(metric))
            rows.append((schedule.get_last_lr(), schedule.num_bad_epochs, schedule.best))
    assert rows[: len(metrics)] == rows[len(metrics) :]


def test_last_epoch_resumes_and_needs_a_start():
    rates = []
    for lib in (mytorch, torch):
        made = optimizer(lib)
        with pytest.raises(KeyError, match="initial_lr"):
            lib.optim.lr_scheduler.StepLR(made, 2, last_epoch=3)
        for group in made.param_groups:
            group["initial_lr"] = group["lr"]
        schedule = lib.optim.lr_scheduler.CosineAnnealingLR(made, 10, last_epoch=3)
        rates.append(schedule.get_last_lr())
    assert rates[0] == rates[1]


def test_wrong_use():
    made = optimizer(mytorch)
    schedules = mytorch.optim.lr_scheduler
    schedule = schedules.OneCycleLR(made, 0.1, total_steps=3)
    for _ in range(3):
        schedule.step()
    with pytest.raises(ValueError, match=r"Tried to step 4 times\. The specified number of total steps is 3"):
        schedule.step()
    with pytest.raises(ValueError, match="total_steps OR"):
        schedules.OneCycleLR(made, 0.1)
    with pytest.raises(ValueError, match="cycle_momentum"):
        schedules.OneCycleLR(mytorch.optim.Adadelta([mytorch.ones(1, requires_grad=True)]), 0.1, total_steps=3)
    with pytest.raises(TypeError, match="int is not an Optimizer"):
        schedules.StepLR(3, 1)
    with pytest.raises(ValueError, match="Expected 2 lr_lambdas, but got 1"):
        schedules.LambdaLR(made, [lambda epoch: 1.0])
    with pytest.raises(NotImplementedError, match="NoSuchLR"):
        _ = schedules.NoSuchLR


@pytest.mark.filterwarnings("ignore")
def test_a_given_epoch_and_parts_of_one():
    for name in ("step", "multi-step", "exponential", "linear", "cosine", "lambda", "constant", "polynomial"):
        rows = []
        for lib in (mytorch, torch):
            made = optimizer(lib)
            schedule = SCHEDULES[name](lib.optim.lr_scheduler, made)
            for epoch in (3, 1, 7):
                schedule.step(epoch)
                rows.append([group["lr"] for group in made.param_groups])
        assert rows[:3] == [pytest.approx(row, rel=1e-12) for row in rows[3:]], name
    rows = []
    for lib in (mytorch, torch):
        made = optimizer(lib)
        schedule = lib.optim.lr_scheduler.CosineAnnealingWarmRestarts(made, 3, T_mult=2)
        for epoch in range(12):
            for batch in range(4):
                schedule.step(epoch + batch / 4)
                rows.append(made.param_groups[0]["lr"])
    assert rows[:48] == rows[48:]


@pytest.mark.filterwarnings("ignore:Detected call")
def test_averaged_weights_and_their_rate():
    rows = []
    for lib in (mytorch, torch):
        swa = lib.optim.swa_utils
        model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.BatchNorm1d(2)).double()
        averages = [
            swa.AveragedModel(model),
            swa.AveragedModel(model, multi_avg_fn=swa.get_ema_multi_avg_fn(0.9), use_buffers=True),
        ]
        made = lib.optim.SGD(model.parameters(), lr=0.5)
        schedule = swa.SWALR(made, swa_lr=0.05, anneal_epochs=4)
        for step in range(6):
            for place, p in enumerate(model.parameters()):
                p.data.fill_(float(step * step + place))
            for average in averages:
                average.update_parameters(model)
            schedule.step()
            rows.append([made.param_groups[0]["lr"], *(a.module[0].weight[0, 0].item() for a in averages)])
        x = lib.arange(8).double().reshape(4, 2)
        swa.update_bn([(x, None), (x * 2, None)], averages[0])
        rows.append([*averages[0].module[1].running_var.tolist(), averages[0].n_averaged.item()])
    assert rows[:7] == [pytest.approx(row, rel=1e-12) for row in rows[7:]]
