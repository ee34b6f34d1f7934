"""What is frozen does not move, its BatchNorm neither; rates by part."""

import pytest
import torch
from torch import nn

from replab import api
from replab.errors import ModelError, RecipeError, UnknownName
from replab.models.adapt import freezing
from replab.records.record import Record
from replab.report import write as report
from replab.settings.recipe import Recipe
from replab.training import prepare as setup
from replab.training.loop import set_rate

RESNET = {"model": "resnet8", "limit": 60, "lr": 0.01, "epochs": 1}
CNN = {"model": "cnn", "params": {"channels": [4, 8], "hidden": 16}, "limit": 60, "lr": 0.01, "epochs": 1}


@pytest.fixture(autouse=True)
def no_pictures(monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *args: [])


def trained(tmp_path, **settings):
    """(state before, state after, run) of one epoch."""
    recipe = Recipe().replace(**settings)
    before = setup.prepare(recipe).model().state_dict()
    run = api.run(recipe=recipe, runs=tmp_path)
    after = {k: torch.from_numpy(v) for k, v in run.record.weights().items()}
    return before, after, run


@pytest.mark.parametrize("head", ["linear", "mlp"])
@pytest.mark.parametrize("cache", [True, False])
def test_freeze_moves_the_head_alone(tmp_path, head, cache):
    before, after, run = trained(tmp_path, **CNN, freeze=True, head=head, feature_cache=cache)
    moved = {key for key in before if not torch.equal(before[key], after[key])}
    heads = (
        {"12.weight", "12.bias"} if head == "linear" else {f"12.{i}.{k}" for i in (0, 2) for k in ("weight", "bias")}
    )
    assert moved == heads
    assert run.facts["trainable"] == sum(after[key].numel() for key in heads)


def test_freeze_until_a_layer(tmp_path):
    before, after, _ = trained(tmp_path, **CNN, freeze_until="4")  # 0 to 3: the first block, with its BatchNorm
    for key, value in before.items():
        same = torch.equal(value, after[key])
        assert same == (key[:2] in ("0.", "1.") or key == "4.bias"), key  # the norm after it takes a bias away


def test_frozen_batch_norm_stays_in_eval_mode_and_the_rest_trains():
    model = setup.prepare(Recipe().replace(**CNN, freeze_until="4")).model()
    freezing.train_mode(model)
    norms = [m for m in model if isinstance(m, nn.BatchNorm2d)]
    assert [m.training for m in norms] == [False, True]
    assert next(m for m in model if isinstance(m, nn.Dropout)).training


def test_layers_that_cannot_be_frozen_until():
    model = setup.prepare(Recipe(model="resnet18", limit=20)).model()
    with pytest.raises(UnknownName, match="Did you mean 'layer3'"):
        freezing.freeze(model, "layers3")
    with pytest.raises(ModelError, match="freezes nothing"):
        freezing.freeze(model, "conv1")
    freezing.freeze(model, "layer3")
    assert not model.layer2[0].conv1.weight.requires_grad
    assert model.layer3[0].conv1.weight.requires_grad


def test_another_rate_for_the_backbone():
    recipe = Recipe().replace(**CNN, lr_backbone=0.001, schedule="cosine")
    ready = setup.prepare(recipe)
    model = ready.model()
    opt = ready.optimizers(model)["model"]
    rates = {id(p): group["lr"] for group in opt.param_groups for p in group["params"]}
    assert rates[id(model[12].weight)] == 0.01
    assert rates[id(model[0].weight)] == pytest.approx(0.001)
    set_rate(opt, recipe, 5, 10)
    one, other = (group["lr"] for group in opt.param_groups)
    assert one / other == pytest.approx(0.1)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"freeze": True, "freeze_until": "4"}, "--freeze and --freeze-until cannot be combined"),
        ({"freeze": True, "lr_backbone": 0.1}, "--lr-backbone needs a backbone that is trained"),
        ({"pretrained": True, "weights": "x"}, "--pretrained and --weights cannot be combined"),
        ({"head": "tree"}, "head must be one of linear, mlp, logistic, knn"),
        ({"freeze": True, "unfreeze_every": 1}, "--unfreeze-every cannot be combined with --freeze"),
        ({"freeze": True, "backend": "mytorch"}, "mytorch does not support --freeze"),
    ],
)
def test_rules(settings, said):
    with pytest.raises(RecipeError, match=said):
        Recipe(**settings)


def test_the_command_says_flags():
    recipe = Recipe(model="cnn", freeze=True, feature_cache=False, weights="w.pth")
    assert recipe.command("r.toml").split()[3:] == [
        "--protocol",
        "plain",
        "--weights",
        "w.pth",
        "--freeze",
        "--no-feature-cache",
    ]
    assert Recipe.from_toml(recipe.to_toml()) == recipe


def test_stages_from_the_head_backwards():
    model = setup.prepare(Recipe().replace(**CNN)).model()
    model.requires_grad_(True)
    opened = []
    for count in range(5):
        freezing.open_stages(model, count)
        freezing.train_mode(model)
        opened.append({name.partition(".")[0] for name, p in model.named_parameters() if p.requires_grad})
        norms = {n: m.training for n, m in model.named_modules() if isinstance(m, nn.BatchNorm2d)}
        assert all(training == (name in opened[-1]) for name, training in norms.items())  # eval until its stage opens
    head, hidden, second, first = {"12"}, {"9"}, {"4", "5"}, {"0", "1"}
    assert opened == [head, head | hidden, head | hidden | second, *[head | hidden | second | first] * 2]


@pytest.mark.parametrize(("model", "names"), [("resnet18", "conv1 layer1 layer2 layer3 layer4"), ("nanovit", "")])
def test_an_encoder_is_taken_apart_and_a_layer_of_blocks_is_not(model, names):
    network = setup.prepare(Recipe(model=model, limit=20)).model()
    inside = {id(p) for p in freezing.head(network).parameters()}
    own = [name for name, p in network.named_parameters() if id(p) not in inside]
    starts = [own[i] for i in freezing.stages(network)]
    if model == "resnet18":
        assert [name.partition(".")[0] for name in starts] == names.split()
    else:
        assert starts[0].startswith("tokens.")
        assert [name[:17] for name in starts[1:]] == [f"encoder.layers.{i}." for i in range(4)]


def test_gradual_unfreezing_moves_stage_after_stage_and_resumes_bit_for_bit(tmp_path, monkeypatch):
    recipe = Recipe().replace(**{**CNN, "epochs": 5}, unfreeze_every=2)
    seen, real = [], Record.write_checkpoint

    def kept(self, state, rows, save):
        seen.append({k: v.clone() for k, v in state["model"].items()})
        real(self, state, rows, save)
        if len(seen) == 3 and self.folder.parent.name == "b":
            raise KeyboardInterrupt

    monkeypatch.setattr(Record, "write_checkpoint", kept)
    whole = api.run(recipe=recipe, runs=tmp_path / "a")
    first = setup.prepare(recipe).model().state_dict()
    for key, value in seen[1].items():  # after two epochs the head alone has moved, running statistics included
        assert torch.equal(value, first[key]) == (not key.startswith("12.")), key
    for key, value in seen[3].items():
        assert torch.equal(value, first[key]) == (not key.startswith(("12.", "9."))), key
    assert not torch.equal(seen[4]["5.running_mean"], first["5.running_mean"])
    assert torch.equal(seen[4]["1.running_mean"], first["1.running_mean"])

    seen.clear()
    with pytest.raises(KeyboardInterrupt):
        api.run(recipe=recipe, runs=tmp_path / "b")
    again = api.resume(next((tmp_path / "b").iterdir()))
    assert again.metrics == whole.metrics
    assert again.epochs == whole.epochs
    for key, value in whole.record.weights().items():
        assert (again.record.weights()[key] == value).all()
