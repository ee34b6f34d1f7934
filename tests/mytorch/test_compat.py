"""Scripts and files that say `import torch`, run on mytorch; a real torch in the process stays untouched."""

import subprocess
import sys

import pytest
import torch

import mytorch
from mytorch.compat import import_as_torch, run_script

SCRIPT = """
import sys
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torch.backends.cudnn as cudnn
from torch import Tensor
from torch.optim.lr_scheduler import StepLR
from torch.utils.data import DataLoader, TensorDataset
from torch.nn.utils import clip_grad_norm_
from torch.autograd import Function
from torch.nn.modules.module import Module
from torch.utils.data.dataset import Dataset
from torch.utils.data.sampler import SubsetRandomSampler
from torchvision import datasets, transforms
import torchvision.transforms as T

torch.manual_seed(1)
x = torch.randn(64, 4)
y = (x.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
use_accel = torch.accelerator.is_available()
device = torch.accelerator.current_accelerator() if use_accel else device
model.to(device)
optimizer = optim.Adam(model.parameters(), lr=0.02)
scheduler = StepLR(optimizer, step_size=5, gamma=0.5)
for epoch in range(10):
    for a, b in DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(a.to(device)), b.to(device))
        loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    scheduler.step()
with torch.no_grad():
    accuracy = (model(x).argmax(1) == y).float().mean().item()
assert transforms is T and isinstance(loss, Tensor)
print("library", torch.__name__, "accuracy", accuracy, "arguments", sys.argv[1:])
"""


def test_a_script_runs_and_sys_modules_comes_back(tmp_path, capsys):
    path = tmp_path / "script.py"
    path.write_text(SCRIPT)
    before = {name for name in sys.modules if name.partition(".")[0] in ("torch", "torchvision")}
    names = run_script(str(path), ["--fast", "3"])
    assert names["accuracy"] > 0.9
    assert names["__name__"] == "__main__"
    assert "library mytorch" in (out := capsys.readouterr().out)
    assert "arguments ['--fast', '3']" in out
    after = {name for name in sys.modules if name.partition(".")[0] in ("torch", "torchvision")}
    assert after == before
    assert sys.modules["torch"] is torch
    import torch as again

    assert again is torch


@pytest.mark.parametrize(
    ("line", "missing"),
    [
        ("import torch.distributed as dist", "torch.distributed"),
        ("from torch.utils.tensorboard import SummaryWriter", "torch.utils.tensorboard"),
        ("import torchvision.models", "torchvision.models"),
        ("from torch.cuda.amp import GradScaler", "torch.cuda.amp"),
    ],
)
def test_a_missing_module_is_named(tmp_path, line, missing):
    path = tmp_path / "script.py"
    path.write_text(f"import torch\n{line}\n")
    for load in (lambda: run_script(str(path)), lambda: import_as_torch(path)):
        with pytest.raises(ImportError, match=rf"mytorch has no module '{missing}'") as error:
            load()
        assert isinstance(error.value, NotImplementedError)
    path.write_text("try:\n    import torch.compiler\nexcept ImportError:\n    fell_back = True\n")
    assert run_script(str(path))["fell_back"]
    assert sys.modules["torch"] is torch


def test_a_missing_function_is_named(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import torch\ntorch.fft\n")
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'torch\.fft'"):
        run_script(str(path))
    path.write_text("from torch.nn import GRU\n")
    with pytest.raises((ImportError, NotImplementedError), match="GRU"):
        run_script(str(path))


def test_the_command_line(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import sys, torch\nprint(torch.__name__, *sys.argv[1:])\nassert 'numpy' in sys.modules\n")
    command = [sys.executable, "-m", "mytorch"]
    done = subprocess.run([*command, str(path), "a", "--b"], capture_output=True, text=True, check=True)
    assert done.stdout == "mytorch a --b\n"
    wrong = subprocess.run([*command, str(tmp_path / "none.py")], capture_output=True, text=True)
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "there is no" in wrong.stderr


def test_mytorch_imports_only_numpy_and_the_standard_library():
    code = (
        "import sys, mytorch.nn, mytorch.optim, mytorch.utils.data, mytorch.datasets, mytorch.transforms\n"
        "import mytorch.serialization, mytorch.compat\n"
        "foreign = {name.partition('.')[0] for name in sys.modules} - set(sys.stdlib_module_names)\n"
        "print(sorted(name for name in foreign if not name.startswith('_')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(eval(done.stdout)) <= {"numpy", "mytorch", "cython_runtime", "sitecustomize"}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A small package of torch models: a registry, a shared part, and a model that uses both."""
    inner = tmp_path / "zoo" / "models"
    inner.mkdir(parents=True)
    (tmp_path / "zoo" / "__init__.py").write_text("NAME = 'zoo'\n")
    (tmp_path / "zoo" / "settings.py").write_text("import torch\nWIDTH = 4\n")
    (inner / "__init__.py").write_text("from .registry import known\nfrom . import broken\n")
    (inner / "broken.py").write_text("import torchvision.models\n")
    (inner / "registry.py").write_text("known = {}\ndef register(f):\n    known[f.__name__] = f\n    return f\n")
    (inner / "parts.py").write_text(
        "import torch\nfrom torch import nn\n\n"
        "class Double(nn.Module):\n    def forward(self, x):\n        return torch.cat([x, x], dim=1)\n"
    )
    (inner / "small.py").write_text(
        "from __future__ import annotations\n"
        "import torch.nn.functional as F\nfrom torch import nn\n"
        "from zoo.models import parts\nfrom zoo.models.parts import Double\nfrom zoo.settings import WIDTH\n"
        "from .registry import register\nfrom . import registry\n\n"
        "@register\ndef small():\n"
        "    import torch\n    assert parts.Double is Double and registry.register is register\n"
        "    return nn.Sequential(Double(), nn.Linear(2 * WIDTH, 3))\n\n"
        "def activate(x):\n    return F.relu(x)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    for name in [name for name in sys.modules if name.partition(".")[0] == "zoo"]:
        del sys.modules[name]


def test_one_file_of_a_package_beside_real_torch(package):
    before = set(sys.modules)
    path = package / "zoo" / "models" / "small.py"
    module = import_as_torch(path, package="zoo.models")
    model = module.small()
    assert isinstance(model, mytorch.nn.Module)
    assert model(mytorch.ones(2, 4)).shape == (2, 3)
    assert module.activate(mytorch.tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    # Nothing of the package's own models was really imported; what lies outside was, in the ordinary way.
    assert {name for name in set(sys.modules) - before if name.startswith("zoo")} == {"zoo", "zoo.settings"}
    assert sys.modules["torch"] is torch
    assert sys.modules["zoo.settings"].torch is torch
    # Each call has its own copies.
    assert import_as_torch(path, package="zoo.models").small is not module.small


def test_a_package_is_run_only_for_its_own_names(package):
    models = package / "zoo" / "models"
    (models / "taker.py").write_text("from zoo.models import known, registry\n")
    with pytest.raises(ImportError, match=r"torchvision\.models"):  # its __init__ imports the broken module
        import_as_torch(models / "taker.py", package="zoo.models")
    (models / "__init__.py").write_text("from .registry import known\n")
    taker = import_as_torch(models / "taker.py", package="zoo.models")
    assert taker.known is taker.registry.known
    (models / "taker.py").write_text("from zoo.models.nowhere import x\n")
    with pytest.raises(ModuleNotFoundError, match=r"zoo\.models\.nowhere"):
        import_as_torch(models / "taker.py", package="zoo.models")
    (models / "taker.py").write_text("import zoo.models.parts\n")
    with pytest.raises(ImportError, match=r"takes `from zoo\.models\.parts import"):
        import_as_torch(models / "taker.py", package="zoo.models")


def test_a_single_file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text("import torch.nn\nimport json\nlayer = torch.nn.Linear(2, 2)\ntext = json.dumps([1])\n")
    module = import_as_torch(path)
    assert isinstance(module.layer, mytorch.nn.Linear)
    assert module.text == "[1]"
    assert module.__file__ == str(path)
    path.write_text("x = 1 +\n")
    with pytest.raises(SyntaxError):
        import_as_torch(path)
