"""Scripts and files that say `import torch`, run on mytorch; a real torch in the process stays untouched."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import mytorch
import replab.backends.torchvision_cpu  # noqa: F401
from mytorch.compat import import_as_torch, run_script, torch_module

import torchvision  # isort: skip

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


@pytest.mark.parametrize("line", ["import torch.ops", "from torchvision.prototypes import x"])
def test_a_missing_module_is_named(tmp_path, line):
    path = tmp_path / "script.py"
    path.write_text(f"import torch\n{line}\n")
    for load in (lambda: run_script(str(path)), lambda: import_as_torch(path)):
        with pytest.raises(ImportError, match=rf"mytorch has no module '{line.split()[1]}'") as error:
            load()
        assert isinstance(error.value, NotImplementedError)
    path.write_text("try:\n    import torch.nowhere\nexcept ImportError:\n    fell_back = True\n")
    assert run_script(str(path))["fell_back"]
    assert sys.modules["torch"] is torch


@pytest.mark.parametrize(
    ("line", "use", "missing"),
    [
        ("import torch.distributed as dist", "dist.init_process_group('gloo')", "torch.distributed.init_process_group"),
        ("from torch.fx import symbolic_trace", "symbolic_trace(None)", "torch.fx.symbolic_trace"),
        ("import torch.onnx", "torch.onnx.export(None)", "torch.onnx.export"),
        ("from torch.distributed.rpc import rpc_sync", "rpc_sync()", "torch.distributed.rpc.rpc_sync"),
        (
            "from torch.nn.parallel import DistributedDataParallel as DDP",
            "DDP(torch.nn.ReLU())",
            "torch.nn.parallel.DistributedDataParallel",
        ),
        ("import torch.multiprocessing as mp", "mp.Process(target=print)", "tensors between processes"),
        ("from torch.testing._internal import x", "class Y(x):\n    pass\nY()", "torch.testing._internal.x"),
    ],
)
def test_what_is_only_imported_does_no_harm_and_is_named_when_used(tmp_path, line, use, missing):
    path = tmp_path / "script.py"
    path.write_text(f"import torch\n{line}\n")
    run_script(str(path))
    import_as_torch(path)
    path.write_text(f"import torch\n{line}\n{use}\n")
    with pytest.raises(NotImplementedError, match=missing):
        run_script(str(path))


def test_what_one_process_on_a_cpu_can_answer(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import torch, torch.distributed as dist, torch.multiprocessing as mp\n"
        "from torch.cuda.amp import GradScaler, autocast\n"
        "from torch.autograd.variable import Variable\n"
        "mp.set_start_method('spawn', force=True)\n"
        "rank = dist.get_rank() if dist.is_available() and dist.is_initialized() else 0\n"
        "Float = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor\n"
        "model = torch.nn.DataParallel(torch.nn.Linear(2, 1))\n"
        "opt = torch.optim.SGD(model.parameters(), lr=0.1)\n"
        "scaler = GradScaler()\n"
        "with autocast(), torch.amp.autocast('cpu', dtype=torch.bfloat16):\n"
        "    loss = model(Variable(Float(3, 2).fill_(1.0), requires_grad=False)).mean()\n"
        "before = model.module.bias.item()\n"
        "scaler.scale(loss).backward()\nscaler.step(opt)\nscaler.update()\n"
        "change = before - model.module.bias.item()\nnames = list(model.state_dict())\n"
        "@torch.jit.script\ndef double(x):\n    return 2 * x\n"
    )
    names = run_script(str(path))
    assert names["change"] == pytest.approx(0.1)
    assert names["names"] == ["module.weight", "module.bias"]
    assert names["double"](2) == 4


def test_a_missing_function_is_named(tmp_path):
    path = tmp_path / "script.py"
    path.write_text("import torch\ntorch.nothing_of_the_kind\n")
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'torch\.nothing_of_the_kind'"):
        run_script(str(path))
    path.write_text("from torch.nn import Absentee\n")
    with pytest.raises((ImportError, NotImplementedError), match="Absentee"):
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
    (inner / "broken.py").write_text("import torchvision.nowhere\n")
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
    with pytest.raises(ImportError, match=r"torchvision\.nowhere"):  # its __init__ imports the broken module
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


def test_a_file_with_dataclasses(tmp_path):
    path = tmp_path / "settings.py"
    path.write_text(
        "from __future__ import annotations\nfrom dataclasses import dataclass\nimport torch\n\n"
        "@dataclass\nclass Config:\n    width: int = 3\n    kind: torch.dtype = torch.float32\n\n"
        "def later():\n    @dataclass\n    class Inner:\n        depth: int = 2\n    return Inner()\n"
    )
    module = import_as_torch(path)
    assert module.Config(width=4).width == 4
    assert module.Config().kind is mytorch.float32
    assert module.later().depth == 2


def test_modules_below_modules_can_be_taken_by_name(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "from torchvision.transforms import functional as TF, v2\n"
        "from torchvision import datasets, models, transforms, utils\n"
        "from torchvision.datasets import mnist\n"
        "from torch.utils import checkpoint, model_zoo, tensorboard\n"
        "from torch.utils.data import dataloader, distributed, sampler\n"
        "from torch.nn.utils import parametrizations, rnn, stateless\n"
        "from torch.nn import functional, init, parallel, utils as nn_utils\n"
        "from torch.autograd import functional as jacobians, profiler\n"
        "from torch.distributions import constraints, kl, normal\n"
        "from torch.backends import cudnn\nfrom torch.cuda import amp\n"
        "assert v2.Resize is transforms.Resize and normal.Normal and dataloader.DataLoader and mnist.MNIST\n"
    )
    run_script(str(path))
    import_as_torch(path)


def public_modules(package):
    """The names of the files below a package, without importing them."""
    top = Path(package.__file__).parent
    for file in top.rglob("*.py"):
        parts = (package.__name__, *file.relative_to(top).with_suffix("").parts)
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if not any(part.startswith("_") for part in parts) and (file.parent / "__init__.py").exists():
            yield ".".join(parts)


@pytest.mark.parametrize("package", [torch, torchvision])
def test_every_public_module_can_be_imported(package):
    missing = []
    for name in public_modules(package):
        try:
            torch_module(name)
        except ImportError:
            missing.append(name)
    assert not missing


@pytest.mark.parametrize("loader", [run_script, import_as_torch])
def test_modules_below_modules_need_no_import(tmp_path, loader):
    path = tmp_path / "script.py"
    path.write_text(
        "import torch, torchvision\n"
        "values = [torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.utils._pair, torch._tensor.Tensor,\n"
        "    torch.autograd.function.once_differentiable, torch.autograd.grad_mode.no_grad,\n"
        "    torch.utils.data.dataloader.default_collate, torch.utils.hooks.RemovableHandle,\n"
        "    torch.distributions.normal.Normal, torch.nn.attention.sdpa_kernel, torch.amp.grad_scaler.GradScaler,\n"
        "    torch.nn.utils.parametrizations.weight_norm, torch.backends.mkldnn.is_available, torch.cuda.nvtx.mark,\n"
        "    torchvision.transforms.v2.functional.resize, torchvision.models.densenet.densenet121]\n"
        "import torch.nn.utils.weight_norm, torch.autograd.gradcheck\n"
        "functions = [torch.nn.utils.weight_norm, torch.autograd.gradcheck]\n"
    )
    names = loader(str(path))
    functions = names["functions"] if isinstance(names, dict) else names.functions
    assert [function.__name__ for function in functions] == ["weight_norm", "gradcheck"]


NOWHERE = "distributions serialization nn.utils.parametrizations nn.init cuda nn.modules.batchnorm backends linalg"


@pytest.mark.parametrize("package", NOWHERE.split())
def test_a_missing_name_of_any_package_is_named(tmp_path, package):
    path = tmp_path / "script.py"
    path.write_text(f"import torch\ntorch.{package}.nothing\n")
    with pytest.raises(NotImplementedError, match=r"mytorch has no 'torch.*nothing'; supported: docs"):
        run_script(str(path))


def test_names_that_libraries_use_when_they_are_imported(tmp_path):
    """einops marks its functions for a compiler; others take types, trees and files of torch's by name."""
    path = tmp_path / "script.py"
    path.write_text(
        "import torch, torch.fx\n"
        "from torch._dynamo import allow_in_graph\n"
        "from torch.autograd.function import FunctionCtx, once_differentiable\n"
        "from torch.distributions.laplace import Laplace\n"
        "from torch.nn.modules.activation import MultiheadAttention\n"
        "from torch.nn.modules.upsampling import Upsample\n"
        "from torch.nn.utils.convert_parameters import parameters_to_vector\n"
        "from torch.optim.optimizer import Optimizer, required\n"
        "from torch.optim.radam import RAdam\n"
        "from torch.types import Number, _size\n"
        "from torch.utils._pytree import tree_map\n"
        "from torch.utils.hooks import RemovableHandle\n"
        "from torchvision.datasets.cifar import CIFAR10\n"
        "class Tracer(torch.fx.Tracer):\n    pass\n"
        "torch._dynamo.config.suppress_errors = True\n"
        "torch._C._log_api_usage_once('library')\n"
        "@torch.compiler.disable(recursive=False)\n"
        "@allow_in_graph\n"
        "def double(x: Number):\n    return 2 * x\n"
        "doubled = tree_map(double, {'a': [1, (2,)], 'b': None}), torch.compiler.is_compiling()\n"
        "devices = torch.cuda.get_rng_state_all(), torch.cuda.max_memory_reserved(), torch.is_autocast_enabled()\n"
        "with torch.backends.cuda.sdp_kernel(enable_flash=False):\n    pass\n"
    )
    names = run_script(str(path))
    assert names["doubled"] == ({"a": [2, (4,)], "b": None}, False)
    assert names["devices"] == ([], 0, False)
    path.write_text("from torch.optim.no_such_file import X\n")
    with pytest.raises(ImportError):
        run_script(str(path))


def test_a_group_of_one_process(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(
        "import torch, torch.distributed as dist\n"
        "from torch.nn.parallel import DistributedDataParallel as DDP\n"
        "dist.init_process_group('gloo', rank=0, world_size=1)\n"
        "model = DDP(torch.nn.Linear(2, 1))\n"
        "loss = model(torch.ones(3, 2)).mean()\n"
        "loss.backward()\n"
        "total, rows = torch.ones(2), [torch.zeros(2)]\n"
        "dist.all_reduce(total, op=dist.ReduceOp.SUM)\ndist.all_gather(rows, total)\ndist.barrier()\n"
        "said = dist.get_rank(), dist.get_world_size(), dist.get_backend(), rows[0].tolist(), [*model.state_dict()]\n"
        "dist.destroy_process_group()\n"
        "said += (dist.is_initialized(),)\n"
        "torch.jit.save(torch.jit.script(model.module), 'FILE')\n"
        "again = torch.jit.load('FILE')(torch.ones(1, 2))\n"
        "with torch.autograd.profiler.profile(use_cuda=False) as prof:\n    pass\n"
        "table = prof.key_averages().table()\n".replace("FILE", str(tmp_path / "model.pt"))
    )
    names = run_script(str(path))
    assert names["said"] == (0, 1, "gloo", [1.0, 1.0], ["module.weight", "module.bias"], False)
    assert names["again"].shape == (1, 1)
    assert "profiled block" in names["table"]
