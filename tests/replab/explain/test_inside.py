"""Attention is what the model used, maps find what was put there, scores tell a map from noise."""

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from replab import api
from replab.backends.torchvision_cpu import torchvision
from replab.data.images import ImageSpec
from replab.errors import RecipeError
from replab.explain import attention_maps, embedding, maps
from replab.explain import inside as explain
from replab.models.adapt import freezing, heads
from replab.models.parts.attention import Attention
from replab.models.registry import MODELS as REGISTERED
from replab.records.values import explanations

IMAGE = ImageSpec(1, 8, 8, 10)
SMALL = {"width": 16, "heads": 2, "depth": 2, "ffn": 16}


def vit(name):
    torch.manual_seed(0)
    if name == "torchvision":
        return torchvision.models.VisionTransformer(8, 4, 2, 2, 16, 16, num_classes=10).eval()
    more = {"patch": 2} if name == "nanovit" else {"patch": 4}
    return REGISTERED.get(name)(IMAGE, **SMALL, **more).eval()


@pytest.mark.parametrize("name", ["nanovit", "vit-mnist", "torchvision"])
def test_attention_rows_sum_to_one_and_reproduce_the_output(name):
    model, x = vit(name), torch.randn(1, 3 if name == "torchvision" else 1, 8, 8)
    inputs, outputs = [], []
    first = next(m for m in model.modules() if isinstance(m, (nn.MultiheadAttention, Attention)))
    with torch.no_grad():
        fused = model(x)
        handle = first.register_forward_hook(lambda m, args, out: inputs.append(args[0]) or outputs.append(out))
        with attention_maps.watching(model) as seen:
            watched = model(x)
        handle.remove()
    torch.testing.assert_close(watched, fused, atol=1e-5, rtol=1e-5)  # the same pass, fused or not
    assert len(seen) == 2
    tokens = (8 // (2 if name == "nanovit" else 4)) ** 2 + 1
    assert seen[0].shape == (1, 2, tokens, tokens)
    torch.testing.assert_close(seen[0].sum(-1), torch.ones(1, 2, tokens))

    if isinstance(first, nn.MultiheadAttention):
        packed = inputs[0] @ first.in_proj_weight.T + first.in_proj_bias
        values = packed[..., 32:].reshape(1, tokens, 2, 8).transpose(1, 2)
        project, got = first.out_proj, outputs[0][0]
    else:
        values, project, got = first.weights(inputs[0])[1], first.project, outputs[0]
    made = project((seen[0] @ values).transpose(1, 2).flatten(2))
    torch.testing.assert_close(made, got, atol=1e-5, rtol=1e-5)
    assert torch.backends.mha.get_fastpath_enabled()
    assert not first._forward_hooks


def test_rollout_is_a_distribution_and_the_mean_of_nothing_is_the_token_itself():
    weights = attention_maps.attention(vit("nanovit"), torch.randn(1, 1, 8, 8))
    np.testing.assert_allclose(attention_maps.rollout(weights).sum(1), 1, atol=1e-6)
    itself = np.broadcast_to(np.eye(17), (3, 2, 17, 17))
    np.testing.assert_allclose(attention_maps.rollout(itself), np.eye(17))
    assert attention_maps.cls_maps(weights, 8, 8).shape == (2, 2, 4, 4)
    assert attention_maps.cls_maps(np.zeros((1, 1, 18, 18)), 8, 8) is None


class Corner(nn.Module):
    """Class 1 if the upper left quarter is bright: what a map must find."""

    def __init__(self, mix=None):
        super().__init__()
        self.conv = nn.Conv2d(1, 1, 3, padding=1, bias=False)
        nn.init.constant_(self.conv.weight, 1 / 9)

    def forward(self, x):
        bright = self.conv(x)[:, 0, :4, :4].mean((1, 2))
        return torch.stack([torch.zeros_like(bright), 4 * bright], 1)


@pytest.fixture
def bright():
    x = torch.zeros(1, 1, 8, 8)
    x[..., :3, :3] = 3
    return x


@pytest.mark.parametrize("kind", [maps.occlusion, maps.grad_cam, maps.patch_gradient])
def test_maps_find_the_corner_that_decides(kind, bright):
    found = kind(Corner(), bright, 1)
    assert found.shape == (8, 8)
    assert found[:4, :4].mean() > 2 * abs(found[5:, 5:].mean()) + 1e-6


def test_a_faithful_map_scores_better_than_noise_and_its_opposite(bright):
    model = Corner()
    found = maps.occlusion(model, bright, 1)
    deletion, insertion = maps.faithfulness(model, bright, 1, found)
    for other in (maps.random_map(8, 8), -found):
        worse = maps.faithfulness(model, bright, 1, other)
        assert deletion < worse[0]
        assert insertion > worse[1]


def test_frozen_models_have_a_grad_cam_too(bright):
    model = Corner()
    model.requires_grad_(False)
    assert maps.grad_cam(model, bright, 1).max() > 0
    assert maps.grad_cam(REGISTERED.get("mlp")(IMAGE), bright, 1) is None


MODELS = {
    "nanovit": (SMALL, {"occlusion", "attention, last layer", "attention rollout"}),
    "cnn": ({"channels": [4], "hidden": 8}, {"occlusion", "Grad-CAM"}),
    "patch-lstm": ({"width": 8, "hidden": 8, "patch": 4}, {"occlusion", "gradient by patch"}),
    "mlp": ({"widths": [8]}, {"occlusion"}),
}


@pytest.mark.parametrize("name", MODELS)
def test_each_kind_of_model_has_its_maps(name):
    params, names = MODELS[name]
    torch.manual_seed(0)
    model = REGISTERED.get(name)(IMAGE, **params)
    found = explain.explain(model, torch.randn(1, 1, 8, 8), np.zeros((1, 8, 8), np.uint8))
    assert set(found.maps) == names
    assert set(found.scores) == {*names, "random"}
    assert all(np.isfinite(one).all() and one.shape == (8, 8) for one in found.maps.values())
    assert (found.attention is not None) == (name == "nanovit")
    assert (explain.first_filters(model) is None) == (name == "mlp")


class Odd(nn.Module):
    """A user's model: fewer tokens in its second attention layer, and a convolution that is not used."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(1, 8, 2, 2)
        self.layers = nn.ModuleList(nn.MultiheadAttention(8, heads, batch_first=True) for heads in (2, 4))
        self.head, self.spare = nn.Linear(8, 10), nn.Conv2d(8, 8, 3)

    def forward(self, x):
        tokens = self.embed(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            tokens = layer(tokens, tokens, tokens)[0][:, ::2]
        return self.head(tokens.mean(1))


def neighbours_of_an_lstm():
    model = REGISTERED.get("patch-lstm")(IMAGE, **MODELS["patch-lstm"][0])
    freezing.replace_head(model, lambda old: heads.make("knn", old, 20, "cosine"))
    return model


@pytest.mark.parametrize("build", [Odd, neighbours_of_an_lstm])
def test_a_model_without_a_map_has_the_others(build):
    found = explain.explain(build(), torch.randn(1, 1, 8, 8), np.zeros((1, 8, 8), np.uint8))
    assert set(found.maps) == {"occlusion"}
    assert found.attention is None


@pytest.fixture(scope="module")
def vit_run(tmp_path_factory):
    return api.run("nanovit", params=SMALL, limit=60, lr=1e-3, epochs=1, runs=tmp_path_factory.mktemp("explained"))


def test_the_command_draws_and_scores(vit_run, replab, tmp_path):
    Image.fromarray(vit_run.predictions["mistake_pixels"][0][0]).save(tmp_path / "i.png")
    words = ("explain", vit_run.folder, tmp_path / "i.png", "--layer", 2, "--out", tmp_path / "out")
    code, out, err = replab(*words)
    assert (code, err) == (0, "")
    for name in ("attention, layer 2", "attention rollout", "occlusion", "random"):
        assert name in out
    for name in ("maps", "attention", "filters"):
        assert np.asarray(Image.open(tmp_path / "out" / f"{name}.png").convert("L")).std() > 3
    code, _, err = replab(*words[:3], "--layer", 3)
    assert code == 2
    assert "--layer must be from 1 to 2" in err


def test_layers_are_attentions_alone(finished_run):
    with pytest.raises(RecipeError, match="has none; leave it out"):
        explain.of_run(finished_run, np.zeros((8, 8), np.uint8), layer=1)


def test_what_is_no_classifier_is_refused(a_run, replab, tmp_path):
    a_run.record.write_json("input.json", {**a_run.input, "task": "reconstruct"})
    Image.new("L", (8, 8)).save(tmp_path / "i.png")
    for words in (("explain", a_run.folder, tmp_path / "i.png"), ("embed", a_run.folder)):
        code, _, err = replab(*words)
        assert code == 2
        assert f"run {a_run.id} is not a torch classifier" in err


def test_the_report_shows_right_and_wrong_ones(vit_run):
    kept = explanations.read(vit_run.record)
    assert [e.label == e.target for e in kept] == [True, True, False, False]
    assert "figures/explained.png" in vit_run.report
    assert "figures/filters.png" in vit_run.report
    for name in ("attention-right", "attention-wrong"):  # every layer and head
        assert f"figures/{name}.png" in vit_run.report
        assert vit_run.figures[name].path.is_file()
    assert kept[0].attention.shape == (2, 2, *kept[0].attention.shape[2:])


def test_penultimate_features_are_what_the_head_gets(vit_run, replab, tmp_path):
    found = embedding.penultimate(vit_run, 40)
    assert found.rows.shape == (40, 16)
    with torch.no_grad():
        assert (vit_run.model().head(torch.from_numpy(found.rows)).argmax(1).numpy() == found.predicted).all()
    np.testing.assert_array_equal(found.pixels, vit_run.reopened().data.test.pixels[found.index])
    code, _, _ = replab("embed", vit_run.folder, "--images", 40, "--out", tmp_path / "e.png")
    assert code == 0
    assert np.asarray(Image.open(tmp_path / "e.png").convert("L")).std() > 3
    code, _, err = replab("embed", vit_run.folder, "--images", 0)
    assert code == 2
    assert "t-SNE needs at least 5 images, got 0" in err
