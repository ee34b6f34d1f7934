"""muP: the standard model at base width bit for bit, the coordinate check, and the search over widths."""

import copy
import json

import mup as theirs
import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from replab import api
from replab.errors import ModelError, RecipeError
from replab.models.adapt import freezing, mup
from replab.report import write as report
from replab.search import transfer
from replab.settings.recipe import Recipe
from replab.training import prepare as setup

BASE = {
    "mlp": {"widths": [64, 64]},
    "cnn": {"channels": [32, 64], "hidden": 64, "batch_norm": False, "dropout": 0.0},
    "nanovit": {"width": 64, "ffn": 64, "heads": 4, "depth": 2, "dropout": 0.0},
}


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *args: [])


def ready(model, width=64, on=True, **more):
    params = mup.at_width(model, BASE[model], width)
    return setup.prepare(Recipe(model=model, params=params, mup=on, limit=40, **more))


@pytest.mark.parametrize("model", BASE)
def test_at_base_width_it_is_the_standard_model_bit_for_bit(model, tmp_path):
    standard, own = (
        api.run(model, params=BASE[model], mup=on, limit=60, lr=3e-3, epochs=1, runs=tmp_path / str(on))
        for on in (False, True)
    )
    assert standard.metrics == own.metrics
    weights = own.record.weights()
    assert weights.keys() == standard.record.weights().keys()
    assert all((weights[key] == value).all() for key, value in standard.record.weights().items())


@pytest.mark.parametrize("model", ["mlp", "cnn", "cnn with its norms", "nanovit"])
def test_the_coordinate_check_fails_for_standard_and_passes_for_mup(model):
    name = model.split()[0]
    params = BASE[name] if name == model else {**BASE[name], "batch_norm": True}
    widths = {"mlp": (64, 256, 1024), "cnn": (64, 128, 256), "nanovit": (64, 128, 256)}[name]
    sizes = transfer.coordinate_check(Recipe(model=name, params=params, limit=40, normalise="half"), widths)
    logits = transfer.growths(sizes)["logits"]
    assert logits["standard"] > 0.5, logits
    assert logits["muP"] < 0.15, logits
    said = transfer.check_verdict(sizes)
    assert "standard fails" in said
    assert "muP passes" in said


def by_their_package(model, width):
    """The same model by the package of the paper's authors, from the same numbers; attention is left to the user."""

    def with_readout(network):
        name, old = freezing.head_name(network), freezing.head(network)
        new = theirs.MuReadout(old.in_features, old.out_features)
        new.load_state_dict(old.state_dict())
        freezing.set_module(network, name, new)
        return network

    network, base = (with_readout(ready(model, w, on=False).model()) for w in (width, 64))
    return theirs.set_base_shapes(network, base)


@pytest.mark.parametrize("model", ["mlp", "cnn"])
def test_starts_rates_and_training_are_those_of_the_mup_package(model):
    here = ready(model, 128)
    own, other = here.model(), by_their_package(model, 128)
    for (name, value), wanted in zip(own.state_dict().items(), other.state_dict().values()):
        torch.testing.assert_close(value, wanted, msg=name)
    x = torch.from_numpy(here.data.train.pixels).float() / 255 - 0.5
    y = torch.from_numpy(here.data.train.labels)
    groups = freezing.rate_groups(own, list(own.parameters()), 0.01, None)
    both = ((own, torch.optim.Adam(groups, lr=0.01)), (other, theirs.MuAdam(other.parameters(), lr=0.01)))
    for _ in range(3):
        logits = []
        for network, optimizer in both:
            logits.append(network(x))
            optimizer.zero_grad()
            nn.functional.cross_entropy(logits[-1], y).backward()
            optimizer.step()
        torch.testing.assert_close(*logits, atol=1e-4, rtol=1e-4)


def test_nanovits_rates_are_those_of_the_mup_package():
    own, other = ready("nanovit", 128).model(), by_their_package("nanovit", 128)
    optimizer = theirs.MuAdam(other.parameters(), lr=1.0)
    wanted = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    by_name = {name: wanted[id(p)] for name, p in other.named_parameters()}
    own = copy.deepcopy(own)  # theirs would have lost its shapes
    groups = freezing.rate_groups(own, list(own.parameters()), 1.0, None)
    shares = {id(p): group["lr"] for group in groups for p in group["params"]}
    found = {
        name.replace("parametrizations.", "").replace(".original", ""): shares[id(p)]
        for name, p in own.named_parameters()
    }
    assert found == by_name
    assert set(found.values()) == {0.5, 1.0}


def test_shares_of_the_rate_and_starts():
    here = ready("mlp", 256)
    model = here.model()
    plain = ready("mlp", 256, on=False).model()
    first, hidden, last = model[1], model[3], model[5]
    assert [hasattr(layer, "lr_shares") for layer in (first, hidden, last)] == [False, True, False]
    assert hidden.lr_shares == {"weight": 0.25}
    assert torch.equal(hidden.weight, plain[3].weight)
    assert torch.equal(last.weight, plain[5].weight * 2)
    assert torch.equal(first.bias, plain[1].bias)
    assert torch.equal(hidden.bias, plain[3].bias * 2)
    x = torch.randn(3, 256)
    torch.testing.assert_close(last(x), (x / 4) @ last.weight.T + last.bias)


def test_attention_is_scaled_by_one_over_d():
    here = ready("nanovit", 256)
    attention = here.model().encoder.layers[0].self_attn
    packed = attention.parametrizations.in_proj_weight
    original = packed.original
    assert packed.lr_shares == {"original": 0.25}
    torch.testing.assert_close(attention.in_proj_weight[:256], original[:256] / 2)  # head size 64 for 16
    assert torch.equal(attention.in_proj_weight[256:], original[256:])


def test_a_wide_run_is_saved_and_read_back(tmp_path):
    run = api.run("nanovit", params=mup.at_width("nanovit", BASE["nanovit"], 128), mup=True, limit=40, lr=1e-3,
                  epochs=1, runs=tmp_path)  # fmt: skip
    shown = run.predictions["mistake_pixels"][0]
    assert api.load_run(run.folder).predict(shown) == run.predict(shown)


def test_widths():
    assert mup.at_width("mlp", {}, 64) == {"widths": [64, 32]}
    assert mup.at_width("cnn", {"dropout": 0.1}, 64) == {"channels": [16, 32, 64], "hidden": 256, "dropout": 0.1}
    assert mup.width_of("nanovit", {}) == 192
    with pytest.raises(ModelError, match="whole layer widths"):
        mup.at_width("mlp", {"widths": [3, 2]}, 2)
    with pytest.raises(ModelError, match="knows the widths of mlp, cnn, nanovit"):
        setup.prepare(Recipe(model="lenet", mup=True, limit=20, size=12))
    with pytest.raises(RecipeError, match="--mup needs Adam"):
        Recipe(mup=True, optimizer="sgd")


def test_transfer_measures_draws_and_says(replab, tmp_path):
    code, out, err = replab(
        "transfer", "mlp", "--widths", "8,16", "--set", "widths=[8,8]", "--rates", 3, "--epochs", 1, "--limit", 60,
        "--out", tmp_path / "t.png",
    )  # fmt: skip
    assert code == 0, err
    assert "cost: 12 trainings of 1 epoch on 40 images, about" in out
    assert "standard: the best rate" in out
    assert "muP: the best rate" in out
    assert "coordinate check over 4 steps: standard" in out
    for name in ("t.png", "t-coordinates.png"):
        assert np.asarray(Image.open(tmp_path / name).convert("L")).std() > 3
    points = json.loads((tmp_path / "t.json").read_text())
    assert len(points) == 2 * 2 * 3
    narrow = {(p["way"], p["lr"]): p["loss"] for p in points if p["width"] == 8}
    for (way, lr), loss in narrow.items():
        if way == "muP":
            assert loss == narrow["standard", lr]  # the base width


@pytest.mark.parametrize("widths", ["8", "8,8", "0,8", "8,x"])
def test_widths_that_tell_nothing_are_refused(replab, widths):
    code, _, err = replab("transfer", "mlp", "--widths", widths, "--limit", 60)
    assert code == 2
    assert err.count("\n") == 1
    assert "widths" in err


def test_the_verdict_counts_steps():
    def points(best):
        rates = [0.1, 1.0, 10.0, 100.0]
        return [
            transfer.Point(way, width, lr, abs(i - best[way][width]) + 1.0)
            for way in transfer.WAYS
            for width in (8, 16)
            for i, lr in enumerate(rates)
        ]

    said = transfer.verdict(points({"standard": {8: 3, 16: 1}, "muP": {8: 2, 16: 2}}))
    assert "standard: the best rate moved 2 steps of 10x (8: 100, 16: 1, an end of the rates tried: the" in said
    assert "may lie beyond --high)" in said
    assert "muP: the best rate stayed (8: 10, 16: 10)" in said
