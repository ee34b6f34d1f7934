"""timm:NAME: built, trained, frozen, begun with published weights from the Hugging Face cache, and refused."""

import sys

import pytest
import torch
from safetensors.torch import save_file

from replab import api
from replab.backends import backend as backends
from replab.data.images import ImageSpec
from replab.errors import ModelError, UnknownName
from replab.models import loader
from replab.models.adapt import freezing
from replab.models.pretrained import backbones, of_timm
from replab.report import write as report

TINY = "timm:test_resnet"  # timm's own for tests: 160x160, a few thousand parameters
TORCH = backends.get("torch")


SPEC = ImageSpec(1, 8, 8, 10)


def built(name, spec=SPEC, **params):
    return loader.build(loader.find(name, TORCH), spec, params, TORCH)


@pytest.mark.parametrize("name", [TINY, "timm:test_vit", "timm:test_convnext"])
def test_a_model_takes_small_gray_images(name):
    model = built(name)
    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 10)
    assert isinstance(freezing.head(model), torch.nn.Linear)
    assert freezing.head(model).out_features == 10


def test_another_side():
    assert built("timm:test_vit", side=64)(torch.zeros(1, 3, 32, 32)).shape == (1, 10)


def test_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *_: [])
    run = api.run(TINY, params={"side": 32}, lr=1e-3, epochs=1, limit=20, runs=tmp_path, quiet=True)
    assert api.load_run(run.folder).predict(torch.zeros(8, 8, dtype=torch.uint8).numpy()).label in run.input["classes"]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A Hugging Face cache with the published weights of one model, as its own library lays it out; no network."""
    hub = pytest.importorskip("huggingface_hub")
    folder = tmp_path / "hub"
    monkeypatch.setenv("REPLAB_CONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    repository = of_timm.config(TINY).hf_hub_id
    place = folder / f"models--{repository.replace('/', '--')}"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text("a" * 40)
    (place / "snapshots" / ("a" * 40)).mkdir(parents=True)
    published = of_timm.library().create_model("test_resnet", num_classes=1000).state_dict()
    save_file(published, place / "snapshots" / ("a" * 40) / "model.safetensors")
    return published


def test_published_weights_come_from_the_cache_of_hugging_face(cache):
    wanted = {"model": TINY, "pretrained": True, "limit": 20, "lr": 1e-3, "epochs": 1}
    file = "timm/test_resnet.r160_in1k/model.safetensors"
    with pytest.raises(ModelError, match=rf"{file} is not taken unasked: its SHA-256 is not known; replab run {TINY} "):
        api.prepare(**wanted)
    asked = []
    ready = api.prepare(**wanted, trust=lambda text: asked.append(text) or True)
    assert asked == [f"{file}: its SHA-256 is not known"]
    own = ready.model().state_dict()
    assert all(torch.equal(own[f"net.{key}"], value) for key, value in cache.items() if not key.startswith("fc."))
    assert "2 new (fc.weight, fc.bias)" in ready.weights_summary.sentence()
    known = of_timm.config(TINY)
    layer = ready.model().input
    assert tuple(layer.mean.flatten().tolist()) == pytest.approx(known.mean)
    assert layer.side == known.input_size[-1]
    assert backbones.accepted(TINY) == ready.initial.sha256  # remembered: it is not asked for again
    backbones.fetched(TINY, backbones.accepted(TINY))
    with pytest.raises(ModelError, match=r"is not the file that was trusted: its SHA-256 is .*, not 0000"):
        backbones.fetched(TINY, 64 * "0")


def test_weights_that_cannot_be_had(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match=r"safetensors of timm/test_resnet.* cannot be downloaded .*--weights PATH"):
        backbones.fetched(TINY, "")


def test_refused(monkeypatch, tmp_path):
    with pytest.raises(UnknownName, match=r"no model of timm named 'resnet1888'. Did you mean 'resnet18'"):
        built("timm:resnet1888")
    with pytest.raises(ModelError, match=r"timm has no weights 'resnet18.nope'; known: resnet18.a1_in1k"):
        built("timm:resnet18.nope")
    with pytest.raises(ModelError, match=f"{TINY} runs on torch, got --backend mytorch"):
        loader.find(TINY, backends.get("mytorch"))
    with pytest.raises(ModelError, match="takes gray or colour images, got 2 channels"):
        built(TINY, ImageSpec(2, 8, 8, 10))
    monkeypatch.setitem(sys.modules, "timm", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"timm:NAME needs timm, which is not installed; pip install 'replab\[timm\]'"):
        of_timm.library()
