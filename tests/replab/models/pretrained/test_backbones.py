"""torchvision's models by name, their weights when absent, and the input layer."""

import pytest
import torch
from torch import nn

from replab import api
from replab.backends.torchvision_cpu import torchvision
from replab.data import downloads
from replab.data.decode import reach
from replab.data.images import ImageSpec
from replab.errors import ModelError, UnknownName
from replab.models.adapt import freezing
from replab.models.pretrained import backbones, weights
from replab.settings.recipe import Recipe
from replab.training import prepare as setup

SMALL = {"side": 32}  # shufflenet is quick at this size


@pytest.fixture
def offline(monkeypatch):
    def refuse(*args, **keywords):
        raise OSError("no network")

    monkeypatch.setattr(downloads, "fetch", refuse)
    monkeypatch.setattr(reach, "obstacle", lambda address: "no network")


@pytest.mark.parametrize(
    ("model", "file"),
    [
        ("resnet18", "resnet18-f37072fd.pth"),
        ("vit-b16", "vit_b_16-c867db91.pth"),
        ("torchvision:convnext_tiny", "convnext_tiny-983f1562.pth"),
    ],
)
def test_offline_the_error_names_file_folder_and_way_out(offline, refuses, model, file):
    said = refuses("run", model, "--pretrained", "--limit", 60)
    assert file in said
    assert str(backbones.weights_folder()) in said
    assert "--weights PATH" in said
    with pytest.raises(ModelError, match=file):  # and where the network is lost later
        backbones.fetched(model, backbones.accepted(model))


def test_weights_are_downloaded_once_and_checked(tmp_path, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path))
    asked = []

    def fetch(url, path, sha256):
        asked.append((url, sha256))
        torch.save(torchvision.models.resnet18().state_dict(), path)

    monkeypatch.setattr(downloads, "fetch", fetch)
    known = backbones.accepted("resnet18")
    path = backbones.fetched("resnet18", known)
    assert len(known) == 64
    assert asked == [("https://download.pytorch.org/models/resnet18-f37072fd.pth", known)]
    with pytest.raises(ModelError, match=f"is not whole: its SHA-256 does not begin {known}; remove it"):
        backbones.fetched("resnet18", known)
    assert path.parent == tmp_path / "weights"


def test_resnet18_takes_imagenet_weights_but_for_stem_and_head(tmp_path, monkeypatch):
    theirs = torchvision.models.resnet18()
    torch.save(theirs.state_dict(), tmp_path / "r.pth")
    monkeypatch.setattr(backbones, "fetched", lambda model, sha256: tmp_path / "r.pth")
    ready = setup.prepare(Recipe(model="resnet18", pretrained=True, normalise="backbone", limit=20))
    made = ready.model().state_dict()
    assert torch.equal(made["net.layer3.0.conv2.weight"], theirs.state_dict()["layer3.0.conv2.weight"])
    assert set(ready.weights_summary.new) == {"conv1.weight", "fc.weight", "fc.bias"}
    by_path = Recipe(model="resnet18", weights=str(tmp_path / "r.pth"), limit=20)
    with pytest.raises(ModelError, match=r"conv1\.weight is .* only fc may differ"):  # another ResNet-18's
        setup.prepare(by_path)
    monkeypatch.setattr(weights, "digest", lambda path: "f37072fd" + 56 * "0")  # the published file, kept elsewhere
    assert setup.prepare(by_path).weights_summary.new == ready.weights_summary.new


def test_any_classifier_of_torchvisions_runs_on_small_gray_images(tmp_path):
    run = api.run(
        "torchvision:shufflenet_v2_x0_5", params=SMALL, limit=40, lr=1e-3, epochs=1, normalise="backbone",
        runs=tmp_path,
    )  # fmt: skip
    assert run.finished
    assert "resize to 32" in run.facts["structure"]
    assert api.load_run(run.folder).predict(run.predictions["mistake_pixels"][0]).label in run.input["classes"]
    # its own weights come back under torchvision's names
    again = setup.prepare(
        Recipe(model="torchvision:shufflenet_v2_x0_5", params=SMALL, limit=40, weights=str(run.folder))
    )
    assert not again.weights_summary.new


def test_a_name_that_is_not_there():
    with pytest.raises(UnknownName, match="Did you mean 'resnet50'"):
        backbones.builder("torchvision:resnet5O")
    with pytest.raises(ModelError, match="knows weights for resnet18"):
        backbones.accepted("mlp")
    with pytest.raises(ModelError, match="mlp has no normalisation of its own"):
        setup.prepare(Recipe(model="mlp", normalise="backbone", limit=20))


def test_vit_b16_is_torchvisions():
    with torch.device("meta"):
        model = backbones.builder("vit-b16")(ImageSpec(3, 32, 32, 10))
    assert sum(p.numel() for p in model.parameters()) == 85_806_346
    assert model.input.side == 224


def test_the_input_layer_is_torchvisions_preset():
    preset = torchvision.models.ResNet18_Weights.DEFAULT.transforms()
    images = torch.randint(0, 256, (2, 3, 40, 40), dtype=torch.uint8)
    layer = backbones.Input(3, 224, tuple(preset.mean), tuple(preset.std))
    resized = torchvision.transforms.functional.resize(images.float() / 255, [224, 224], antialias=True)
    wanted = torchvision.transforms.functional.normalize(resized, preset.mean, preset.std)
    torch.testing.assert_close(layer(images.float() / 255), wanted)
    assert not layer.state_dict()
    gray = backbones.Input(3, None)(torch.ones(1, 1, 4, 4))
    assert gray.shape == (1, 3, 4, 4)


def test_normalisation_in_the_model_is_that_of_the_batches():
    net = nn.Sequential(nn.Conv2d(3, 2, 3), nn.Flatten())
    inside = backbones.normalised(net, "resnet18")
    x = torch.rand(2, 3, 8, 8)
    known = backbones.backbone("resnet18")
    mean, std = (torch.tensor(v).view(3, 1, 1) for v in (known.mean, known.std))
    torch.testing.assert_close(inside(x), net((x - mean) / std))


def test_the_published_finetuning_and_probe_are_recipes(tmp_path, monkeypatch):
    from replab.replication.packs import published

    torch.save(torchvision.models.resnet18().state_dict(), tmp_path / "r.pth")
    monkeypatch.setattr(backbones, "fetched", lambda model, sha256: tmp_path / "r.pth")
    row = published().rows["notes/resnet18-finetune"]
    assert row.recipe.normalise.startswith("0.4914")  # CIFAR's, as published: not the backbone's
    made = setup.prepare(row.recipe.replace(data="digits", normalise="dataset", limit=20)).model()
    gray = 2 * 9 * 64  # the stem has one channel here, and three there
    assert sum(p.numel() for p in made.parameters() if p.requires_grad) == row.parameters - gray
    probe = published().rows["notes/vit-b16-probe"].recipe
    with torch.device("meta"):
        model = backbones.builder(probe.model)(ImageSpec(3, 32, 32, 10))
    freezing.freeze(model)
    assert probe.freeze
    assert sum(p.numel() for p in model.parameters() if p.requires_grad) == 7_690
