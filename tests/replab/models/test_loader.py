"""A user's own model: what FILE.py:FUNCTION may name, and everything that may be wrong with it."""

import sys

import pytest
import torch
from torch import nn

from replab import api
from replab.backends import backend, user_file
from replab.data.images import ImageSpec
from replab.errors import ModelError
from replab.models import loader as model_file
from replab.report import write as report
from replab.settings.recipe import Recipe
from replab.training import prepare as setup

TORCH, MYTORCH = backend.get("torch"), backend.get("mytorch")
SPEC = ImageSpec(1, 8, 8, 10)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    """What importing a model file adds, other tests do not see."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(user_file, "_roots", [])
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if "test_model_file" in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def built(path, name, params=(), lib=TORCH):
    source = model_file.find(f"{path}:{name}", lib)
    return model_file.build(source, SPEC, dict(params), lib)


MODELS = """
import torch
from torch import nn
from replab import ImageSpec

def with_spec(image: ImageSpec, *, hidden=3):
    return nn.Sequential(nn.Flatten(), nn.Linear(image.channels * image.height * image.width, hidden),
                         nn.Linear(hidden, image.classes))

def named_image(image):
    return with_spec(image)

def with_none():
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))

class Net(nn.Module):
    def __init__(self, classes=10, width: int = 5):
        super().__init__()
        self.first, self.last = nn.Linear(64, width), nn.Linear(width, classes)

    def forward(self, x):
        return self.last(torch.relu(self.first(x.flatten(1))))

class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(64, 10)

    def forward(self, x):
        return self.linear(x.view(len(x), -1))

def needs(width, depth, *, more):
    return Plain()

def anything(**options):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, options["outputs"]))

def wrong_shape():
    return nn.Linear(8, 9)

def no_module():
    return [1, 2]

def fails():
    raise ValueError("no\\ngood")

def leaves():
    raise SystemExit(0)

def ends():
    raise GeneratorExit

no_parameters = nn.Flatten
instance = Plain()
number = 3
"""


@pytest.fixture
def models(tmp_path):
    return write(tmp_path, "own_models.py", MODELS)


@pytest.mark.parametrize("name", ["with_spec", "named_image", "with_none", "Net", "Plain"])
@pytest.mark.parametrize("lib", [TORCH, MYTORCH], ids=["torch", "mytorch"])
def test_any_callable_that_returns_a_module(models, name, lib):
    model = built(models, name, lib=lib)
    assert isinstance(model, lib.lib.nn.Module)
    assert tuple(model(lib.lib.zeros(2, 1, 8, 8)).shape) == (2, 10)


def test_parameters_by_set(models):
    assert built(models, "with_spec", {"hidden": 7})[1].out_features == 7
    assert built(models, "Net", {"width": 9}).first.out_features == 9
    assert built(models, "anything", {"outputs": 10})[1].out_features == 10


@pytest.mark.parametrize(
    ("name", "params", "says"),
    [
        ("Net", {"depth": 3}, r"has no parameter 'depth'; --set takes: classes, width"),
        ("with_none", {"depth": 3}, r"has no parameter 'depth'; --set takes: none"),
        ("with_spec", {"image": 3}, r"has no parameter 'image'; --set takes: hidden"),
        ("needs", {}, r"needs width, depth, more; give them with --set width=..."),
        ("no_module", {}, r"must return a torch nn.Module, got list"),
        ("fails", {}, r"could not be built: ValueError: no good \(line \d+\)"),
        ("leaves", {}, r"could not be built: SystemExit: 0 \(line \d+\)"),
        ("ends", {}, r"could not be built: GeneratorExit: no message \(line \d+\)"),
        ("instance", {}, r"is a model instance; pass its class or a builder function"),
        ("number", {}, r"is not callable but int; name a function or class"),
        ("build", {}, r"has no function or class 'build'; it has with_spec, named_image, with_none, Net, Plain, needs"),
    ],
)
def test_refused(models, name, params, says):
    with pytest.raises(ModelError, match=says) as caught:
        built(models, name, params)
    assert "\n" not in str(caught.value)
    assert "own_models.py" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import torch\nx = = 3\n", r"does not import: SyntaxError: invalid syntax \(line 2\)"),
        ("\n\nimport no_such_module\n", r"ModuleNotFoundError: No module named 'no_such_module' \(line 3\)"),
        ("def f():\n    return 1 / 0\nf()\n", r"ZeroDivisionError: division by zero \(line 3\)"),
        ("import sys\nsys.exit(3)\n", r"SystemExit: 3 \(line 2\)"),
    ],
)
def test_a_file_that_does_not_import(tmp_path, text, says):
    with pytest.raises(ModelError, match=says):
        built(write(tmp_path, "broken.py", text), "build")


def test_what_is_no_file(tmp_path):
    with pytest.raises(ModelError, match=r"no model file .*none.py: looked in "):
        model_file.find(f"{tmp_path}/none.py:build", TORCH)
    for given in ("net.py", "net.py:"):
        with pytest.raises(ModelError, match=r"a model file is given as FILE.py:FUNCTION|has no function"):
            model_file.find(str(write(tmp_path, "net.py", "")) + given.removeprefix("net.py"), TORCH)
    (tmp_path / "binary.py").write_bytes(b"\xff\xfe\0")
    with pytest.raises(ModelError, match=r"binary.py does not import: it cannot be read as text"):
        model_file.find(f"{tmp_path}/binary.py:build", TORCH)


def test_neighbours_can_be_imported(tmp_path):
    write(tmp_path, "own_blocks.py", "from torch import nn\ndef block(): return nn.Linear(64, 10)\n")
    text = "from torch import nn\nfrom own_blocks import block\ndef build():\n    from own_later import name\n"
    path = write(tmp_path, "net.py", text + "    return nn.Sequential(nn.Flatten(), block())\n")
    write(tmp_path, "own_later.py", "name = 'imported when it is built'\n")
    assert isinstance(built(path, "build")[1], nn.Linear)


def test_neighbours_of_two_files_are_not_mixed_up(tmp_path):
    """Two repositories, each with a blocks.py and a package models/: each gets its own."""
    for repo, width in (("one", 3), ("two", 5)):
        write(tmp_path / repo, "blocks.py", f"width = {width}\n")
        write(tmp_path / repo, "nets/__init__.py", "")
        write(tmp_path / repo, "nets/sizes.py", f"width = {width}\n")
        text = "from torch import nn\nfrom .sizes import width\nimport nets.sizes\nassert nets.sizes.width == width\n"
        write(tmp_path / repo, "nets/net.py", text + "def build(): return nn.Linear(8, width)\n")
        write(tmp_path / repo, "net.py", "from torch import nn\nfrom blocks import width\n"
              "def build(): return nn.Linear(8, width)\n")  # fmt: skip
    for repo, width in (("one", 3), ("two", 5), ("one", 3)):
        assert built(tmp_path / repo / "net.py", "build").out_features == width
        assert built(tmp_path / repo / "nets" / "net.py", "build").out_features == width
    assert sys.modules["torch"] is torch


def test_a_file_inside_a_package_with_relative_imports(tmp_path):
    write(tmp_path, "own_package/__init__.py", "")
    write(tmp_path, "own_package/parts/__init__.py", "")
    write(tmp_path, "own_package/parts/linear.py", "from torch import nn\ndef linear(): return nn.Linear(64, 10)\n")
    path = write(tmp_path, "own_package/net.py", "from torch import nn\nfrom .parts.linear import linear\n"
                 "from own_package.parts import linear as same\n"
                 "def build(): return nn.Sequential(nn.Flatten(), linear())\n")  # fmt: skip
    assert isinstance(built(path, "build")[1], nn.Linear)
    path.write_text(path.read_text().replace("linear())", "linear(), nn.Identity())"))
    assert len(built(path, "build")) == 3  # an edited file is read again


def test_a_callable_of_a_session():
    def build(image: ImageSpec, width=4):
        return nn.Sequential(nn.Flatten(), nn.Linear(64, width), nn.Linear(width, image.classes))

    source = model_file.find(build, TORCH)
    assert source.name == "python:test_a_callable_of_a_session.<locals>.build"
    assert "nn.Linear(64, width)" in source.text
    assert model_file.parameters(source) == {"width"}
    assert isinstance(model_file.build(source, SPEC, {}, TORCH), nn.Module)
    with pytest.raises(ModelError, match="was a function in a Python session"):
        model_file.find(source.name, TORCH)
    with pytest.raises(ModelError, match="pass its class"):
        model_file.find(nn.Linear(2, 2), TORCH)


def prepared(path, name, **changes):
    return setup.prepare(Recipe(model=f"{path}:{name}", limit=50, **changes))


def test_the_output_is_tried_before_anything_starts(models):
    with pytest.raises(ModelError, match=r"must give logits of shape \(4, 10\) for 4 images .* got shape"):
        prepared(models, "wrong_shape")
    with pytest.raises(ModelError, match="has no parameters to train"):
        prepared(models, "no_parameters")


def test_a_model_that_views_its_features_as_rows_trains(tmp_path):
    """Images with channels innermost are faster, but x.view(n, -1), as tutorials have it, does not take them."""
    text = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.next = nn.Conv2d(1, 4, 3), nn.Conv2d(4, 4, 3)
        self.last = nn.Linear(64, 10)
    def forward(self, x):
        return self.last(self.next(self.conv(x)).view(-1, 64))
"""
    ready = prepared(write(tmp_path, "net.py", text), "Net", lr=1e-3, epochs=1)
    assert not ready.channels_last
    assert prepared(write(tmp_path, "other.py", text.replace(".view(-1, 64)", ".flatten(1)")), "Net").channels_last
    model = ready.model()
    rows = ready.fit(model, watch={"test": ready.data.test})
    assert len(list(rows)) == 1


def test_a_model_that_fails_only_in_training(tmp_path):
    text = """
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(64, 10)
    def forward(self, x):
        assert not self.training, "not\\ntrained"
        return self.last(x.flatten(1))
"""
    from replab.training import cost

    ready = prepared(write(tmp_path, "net.py", text), "Net")
    with pytest.raises(ModelError, match=r"net.py:Net fails in training \(AssertionError: not trained\)"):
        cost.measure(ready)


@pytest.fixture
def run_of_a_file(models, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *args: [])
    return api.run(f"{models}:Net", lr=1e-3, epochs=1, limit=50, runs=tmp_path / "runs")


def test_a_model_of_another_shape_does_not_fit_the_weights(run_of_a_file, tmp_path):
    from replab.errors import RunError

    other = write(tmp_path, "other.py", MODELS.replace("width: int = 5", "width: int = 6"))
    import numpy as np

    with pytest.raises(RunError, match="the weights do not fit the model"):
        api.load_run(run_of_a_file.folder).predict(np.zeros((8, 8), np.uint8), model=f"{other}:Net")


def test_a_notes_cell_runs_as_it_is(tmp_path):
    """`import torchvision`, a device of the module's own, and a builder without arguments."""
    (tmp_path / "cell.py").write_text(
        "import torch\nimport torchvision\nfrom torch import nn\n"
        "device = torch.device('cuda' if torch.cuda.is_available() else 'cpu')\n"
        "class Net(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(64, 10)\n"
        "    def forward(self, x):\n        return self.fc(x.view(x.size(0), -1))\n"
        "def get_model_on_device():\n    return Net().to(device)\n"
    )
    ready = setup.prepare(Recipe(model=f"{tmp_path / 'cell.py'}:get_model_on_device", limit=50, lr=1e-3, epochs=1))
    assert len(list(ready.fit(ready.model()))) == 1


LAZY = """
from torch import nn
def small(image):
    return nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(image.classes))
def unfit(image):
    return nn.Sequential(nn.LazyLinear(3), nn.Linear(4, 10))
"""


@pytest.mark.parametrize("library", [TORCH, MYTORCH], ids=["torch", "mytorch"])
def test_lazy_layers_learn_their_sizes(tmp_path, library):
    path = write(tmp_path, "test_model_file_lazy.py", LAZY)
    model = model_file.build(model_file.find(f"{path}:small", library), SPEC, {}, library)
    assert [tuple(p.shape) for p in model.parameters()] == [(4, 1, 3, 3), (4,), (4,), (4,), (10, 144), (10,)]
    assert all(module.training for module in model.modules())
    with pytest.raises(ModelError, match="lazy layers could not learn their sizes"):
        model_file.build(model_file.find(f"{path}:unfit", library), SPEC, {}, library)
