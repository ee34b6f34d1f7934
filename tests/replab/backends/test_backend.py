"""One pipeline, two libraries: from the same weights and batches, torch and mytorch train alike."""

import numpy as np
import pytest
import torch

import mytorch
from replab.backends import backend as backends
from replab.backends.backend import array, pick_device
from replab.backends.own_parts import Parts
from replab.data.batches import Batch
from replab.data.images import ImageSpec
from replab.errors import RecipeError
from replab.models.loader import build, find
from replab.settings.recipe import Recipe
from replab.tasks.classify import Classify
from replab.training.experiment import Experiment
from replab.training.loop import train_step
from replab.training.optimizers import make

STEPS = 20
GRAY, COLOUR = ImageSpec(1, 12, 12, 10), ImageSpec(3, 8, 8, 10)
MODELS = {
    "fcn": (GRAY, {}),
    "lenet": (GRAY, {}),
    "mlp": (COLOUR, {"widths": [32, 16]}),
    "cnn": (COLOUR, {"channels": [4, 8, 8], "hidden": 16, "dropout": 0.0}),
    "resnet9": (COLOUR, {}),
    "nanovit": (COLOUR, {"width": 16, "heads": 2, "depth": 2, "ffn": 32, "dropout": 0.0}),
}


def trained_losses(backend, name, dtype, weights, optimizer):
    """Losses of 20 steps of this backend from these weights, on batches of one seed."""
    image, params = MODELS[name]
    model = build(find(name, backend), image, params, backend)
    model = model.double() if dtype == "float64" else model
    model.load_state_dict({k: backend.tensor(v.clone()) for k, v in weights.items()})
    recipe = Recipe(lr=1e-3, epochs=1, optimizer=optimizer, momentum=0.9, clip_norm=1.0)
    task = Classify(backend.lib, image.classes, label_smoothing=0.1)
    learner = Experiment(recipe, None, None, backend, "cpu", task)
    opts = learner.optimizers(model)
    generator = torch.Generator().manual_seed(1)
    model.train()
    losses = []
    for step in range(STEPS):
        x = torch.randn(4, image.channels, image.height, image.width, generator=generator, dtype=torch.float64)
        y = torch.randint(0, image.classes, (4,), generator=generator)
        x = x if dtype == "float64" else x.float()
        batch = Batch(x, y, torch.arange(4))
        logs = train_step(learner, model, batch, opts, recipe, step, STEPS)
        losses.append(float(array(logs["loss"]).mean(dtype=np.float64)))
    return losses


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-6), ("float32", 1e-3)])
def test_the_same_losses_over_twenty_steps(name, dtype, tolerance):
    theirs, ours = backends.get("torch"), backends.get("mytorch")
    image, params = MODELS[name]
    torch.manual_seed(0)
    model = build(find(name, theirs), image, params, theirs)
    weights = (model.double() if dtype == "float64" else model).state_dict()
    # Adam divides by roots of tiny second moments: in float32 it makes much of the last bit, SGD does not
    optimizer = "adam" if dtype == "float64" else "sgd"
    expected = trained_losses(theirs, name, dtype, weights, optimizer)
    found = trained_losses(ours, name, dtype, weights, optimizer)
    assert len(set(expected)) == STEPS
    np.testing.assert_allclose(found, expected, rtol=tolerance)


def test_arrays_of_either_library():
    for lib in (torch, mytorch):
        value = lib.ones(2, 3, requires_grad=True) * 2
        assert array(value).tolist() == [[2, 2, 2], [2, 2, 2]]
        assert array(lib.tensor([1, 2])).dtype == np.int64
        assert array(lib.zeros(1, dtype=lib.float64)).dtype == np.float64
    assert array(torch.ones(2, dtype=torch.bfloat16)).dtype == np.float32


def test_precision_is_asked_for():
    x = torch.randn(3, 4)
    for precision, dtype in (("auto", torch.float32), ("float32", torch.float32), ("bfloat16", torch.bfloat16)):
        with backends.get("torch", precision).autocast("cpu"):
            assert (x @ x.T).dtype is dtype


def test_devices():
    assert pick_device("cpu", "torch") == "cpu"
    assert pick_device("auto", "mytorch") == "cpu"
    with pytest.raises(RecipeError, match="mytorch computes on the CPU, got --device cuda; leave --device out"):
        pick_device("cuda", "mytorch")
    with pytest.raises(RecipeError, match="device must be auto, cpu, cuda, cuda:N or mps, got 'gpu'"):
        pick_device("gpu", "torch")


def test_an_absent_gpu_is_never_a_silent_cpu(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert pick_device("auto", "torch") in ("cpu", "mps")
    for wanted in ("cuda", "cuda:1"):
        with pytest.raises(RecipeError, match=f"--device {wanted} asks for cuda, and this torch finds none"):
            pick_device(wanted, "torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert pick_device("cuda:0", "torch") == "cuda:0"
    with pytest.raises(RecipeError, match="asks for a GPU that does not exist; this machine has 1"):
        pick_device("cuda:1", "torch")
    with pytest.raises(RecipeError, match="got 'cuda:x'"):
        pick_device("cuda:x", "torch")


def test_optimizers_by_name():
    for name in ("torch", "mytorch"):
        backend = backends.get(name)
        for optimizer, kind in (("adam", "Adam"), ("adamw", "AdamW"), ("sgd", "SGD")):
            params = [backend.lib.nn.Parameter(backend.lib.zeros(2))]
            made = make(optimizer, backend, params, Parts(), lr=0.1, weight_decay=0.01, momentum=0.9)
            assert type(made).__name__ == kind
            assert (made.param_groups[0]["lr"], made.param_groups[0]["weight_decay"]) == (0.1, 0.01)


@pytest.mark.parametrize(
    ("name", "own"), [("adam", torch.optim.Adam), ("adamw", torch.optim.AdamW), ("sgd", torch.optim.SGD)]
)
def test_optimizers_step_as_torchs_own(name, own):
    def steps(make):
        parameter = torch.nn.Parameter(torch.linspace(-1, 1, 5))
        optimizer = make([parameter])
        for step in range(4):
            optimizer.zero_grad()
            (parameter**2 * (step + 1)).sum().backward()
            optimizer.step()
            saved = optimizer.state_dict()
            optimizer = make([parameter])  # as after an interruption
            optimizer.load_state_dict(saved)
        return parameter.detach(), saved["state"][0]

    momentum = {"momentum": 0.9} if name == "sgd" else {}
    ours, our_state = steps(
        lambda p: make(name, backends.get("torch"), p, Parts(), lr=0.1, weight_decay=0.01, momentum=0.9)
    )
    theirs, their_state = steps(lambda p: own(p, lr=0.1, weight_decay=0.01, fused=True, **momentum))
    assert torch.equal(ours, theirs)
    assert our_state.keys() == their_state.keys()
    assert all(torch.equal(our_state[key], their_state[key]) for key in our_state)
