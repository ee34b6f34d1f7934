"""Running code that says `import torch` on mytorch: a whole script, or one file beside a real torch.

run_script puts mytorch into sys.modules under torch's names and runs the script, as `python -m mytorch` does.
import_as_torch leaves torch's names in sys.modules alone: the file's own `import` statements are answered with
mytorch, so that the same process may hold real torch as well.
"""

from __future__ import annotations

import builtins
import importlib
import importlib.machinery
import importlib.util
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .absent import MODULES as ABSENT
from .absent import is_absent
from .absent import module as absent_module

# Torch's modules that have the same name below mytorch.
_SAME = (
    *("_C", "accelerator", "amp", "autograd", "backends", "compiler", "cuda", "cuda.amp"),
    *("distributed", "distributions", "fft", "func"),
    *(
        "hub",
        "jit",
        "linalg",
        "multiprocessing",
        "profiler",
        "random",
        "signal",
        "sparse",
        "special",
        "storage",
        "version",
    ),
    *("nn", "nn.attention", "nn.functional", "nn.init", "nn.modules", "nn.parallel", "nn.parameter", "nn.utils"),
    *("nn.utils.parametrize", "nn.utils.prune", "nn.utils.rnn"),
    *(f"nn.modules.{name}" for name in ("activation", "container", "conv", "dropout", "linear", "loss", "module")),
    *(f"nn.modules.{name}" for name in ("normalization", "padding", "pooling", "rnn", "transformer", "utils")),
    *("optim", "optim.lr_scheduler", "optim.optimizer", "optim.swa_utils", "optim.adam", "optim.sgd"),
    *("utils", "utils.checkpoint", "utils.data", "utils.data.dataset", "utils.data.sampler", "utils.data.distributed"),
    *("utils.benchmark", "utils.dlpack", "utils.tensorboard"),
    *("signal", "signal.windows"),
)

_OTHER = {
    "torch": "mytorch",
    "torch._dynamo": "mytorch.compiler",
    "torch.autograd.functional": "mytorch.autograd_functional",
    "torch.autograd.function": "mytorch.function",
    "torch.autograd.variable": "mytorch.autograd",
    "torch.backends.cudnn": "mytorch.backends.cudnn",
    "torch.backends.mps": "mytorch.backends.mps",
    "torch.cuda.amp.grad_scaler": "mytorch.cuda.amp",
    "torch.distributions.constraints": "mytorch.distributions.constraints",
    "torch.distributions.kl": "mytorch.distributions.kl",
    "torch.distributions.transforms": "mytorch.distributions.transforms",
    "torch.distributions.utils": "mytorch.distributions.utils",
    "torch.functional": "mytorch",
    "torch.mps": "mytorch.accelerator",
    "torch.nn.modules.batchnorm": "mytorch.nn.modules.normalization",
    "torch.nn.modules.instancenorm": "mytorch.nn.modules.normalization",
    "torch.nn.parallel.data_parallel": "mytorch.nn.parallel",
    "torch.nn.parallel.distributed": "mytorch.nn.parallel",
    "torch.nn.utils.stateless": "mytorch.func",
    "torch.nn.utils.parametrizations": "mytorch.nn.utils.reparametrized",
    "torch.nn.utils.clip_grad": "mytorch.nn.utils.clip_grad",
    "torch.optim.adamw": "mytorch.optim.adam",
    "torch.serialization": "mytorch.serialization",
    "torch.testing": "mytorch.testing",
    "torch.types": "mytorch.types",
    "torch.utils._pytree": "mytorch.utils.pytree",
    "torch.utils.hooks": "mytorch.nn.modules.module",
    "torch.utils.data.dataloader": "mytorch.utils.data.loader",
    "torch.utils.data._utils": "mytorch.utils.data",
    "torch.utils.data._utils.collate": "mytorch.utils.data.collate",
    "torch.utils.tensorboard.writer": "mytorch.utils.tensorboard",
    "torch.xpu": "mytorch.accelerator",
    "torchvision": "mytorch.vision",
    "torchvision.datasets": "mytorch.datasets",
    "torchvision.datasets.folder": "mytorch.image_folder",
    "torchvision.datasets.mnist": "mytorch.datasets",
    "torchvision.datasets.vision": "mytorch.image_folder",
    "torchvision.transforms.transforms": "mytorch.transforms",
    "torchvision.models": "mytorch.vision.models",
    "torchvision.models.resnet": "mytorch.vision.models.resnet",
    "torchvision.models.vgg": "mytorch.vision.models.vgg",
    "torchvision.transforms": "mytorch.transforms",
    "torchvision.transforms.functional": "mytorch.transforms.functional",
    "torchvision.transforms.v2": "mytorch.transforms",
    "torchvision.utils": "mytorch.vision.utils",
}
# Files of torch's that scripts name (torch.optim.rmsprop, torch.distributions.laplace). Where mytorch has no file of
# the same name, the package itself answers, which has all public names.
_FILES = {
    "torch.distributions": """bernoulli beta binomial categorical cauchy chi2 constraints dirichlet distribution
        exp_family exponential gamma geometric gumbel half_cauchy half_normal independent kl laplace log_normal
        mixture_same_family multivariate_normal negative_binomial normal one_hot_categorical pareto poisson
        relaxed_bernoulli relaxed_categorical studentT transformed_distribution transforms uniform utils weibull
        constraint_registry""",
    "torch.nn.modules": """activation batchnorm channelshuffle container conv distance dropout flatten fold instancenorm
        lazy linear loss module normalization padding pixelshuffle pooling rnn sparse transformer upsampling utils""",
    "torch.nn.utils": """clip_grad convert_parameters init parametrizations parametrize prune rnn spectral_norm
        weight_norm""",
    "torch.optim": """adadelta adagrad adam adamax adamw asgd lbfgs lr_scheduler nadam optimizer radam rmsprop rprop sgd
        sparse_adam swa_utils""",
    "torch.utils.data": "dataloader dataset distributed sampler",
    "torchvision.datasets": "cifar fakedata folder mnist vision",
    "torchvision.models": "alexnet mobilenetv2 resnet squeezenet vgg",
}
_TORCH = {f"torch.{name}": f"mytorch.{name}" for name in _SAME} | _OTHER
_TORCH |= {
    full: _TORCH[package]
    for package, names in _FILES.items()
    for full in (f"{package}.{name}" for name in names.split())
    if full not in _TORCH
}


class UnsupportedImport(ImportError, NotImplementedError):
    """A module that torch has and mytorch does not have."""


def torch_module(name: str) -> ModuleType:
    """mytorch's module for a torch or torchvision module's name."""
    module = _found(name)
    for child in _children(name):  # `from torchvision.transforms import v2`
        last = child.rpartition(".")[2]
        if not hasattr(module, last):
            setattr(module, last, torch_module(child))
    package = name.rpartition(".")[0]
    if package in _FILES:  # torch has some names in another file than mytorch
        vars(module).setdefault("__getattr__", lambda wanted: _name_in(package, wanted))
    return module


def _name_in(package: str, wanted: str) -> Any:
    names = vars(importlib.import_module(_TORCH[package]))
    if wanted in names:
        return names[wanted]
    raise AttributeError(f"mytorch has no '{package}.{wanted}'; supported: docs/mytorch.md")


def _found(name: str) -> ModuleType:
    if name in _TORCH:
        parent, _, last = _TORCH[name].rpartition(".")
        if parent == "mytorch.backends":  # its parts are values, not files
            return getattr(importlib.import_module(parent), last)
        return importlib.import_module(_TORCH[name])
    if is_absent(name):
        return absent_module(name)
    raise UnsupportedImport(f"mytorch has no module '{name}'; supported: docs/mytorch.md", name=name)


def is_torch(name: str) -> bool:
    return name.partition(".")[0] in ("torch", "torchvision")


def _children(name: str) -> list[str]:
    """Torch's modules directly below one; those of torch itself are found when they are asked for."""
    if name == "torch":
        return []
    return [known for known in (*_TORCH, *ABSENT) if known.rpartition(".")[0] == name]


class _Answer:
    """Finder and loader of torch's modules: each is mytorch's own, put into sys.modules under torch's name."""

    def __init__(self) -> None:
        self.files: list[Any] = []

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        return importlib.machinery.ModuleSpec(name, self) if is_torch(name) else None  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        answer = torch_module(module.__name__)
        if not hasattr(answer, "__path__"):  # only of a package is a name below it looked for (torch.autograd.variable)
            answer.__path__ = []
            self.files.append(answer)
        sys.modules[module.__name__] = answer  # the import system takes what lies there

    def close(self) -> None:
        for module in self.files:
            del module.__path__


def run_script(path: str, argv: Sequence[str] = ()) -> dict[str, Any]:
    """Runs a Python file as __main__ with mytorch in torch's place; gives its global names."""
    torch_modules = {name: module for name, module in sys.modules.items() if is_torch(name)}
    old_argv, old_path, old_names = sys.argv, sys.path[:], set(sys.modules)
    folder = Path(path).resolve().parent
    answer: Any = _Answer()
    for name in torch_modules:
        del sys.modules[name]
    try:
        sys.meta_path.insert(0, answer)
        sys.argv = [path, *argv]
        sys.path.insert(0, str(folder))
        return runpy.run_path(path, run_name="__main__")
    finally:
        sys.argv, sys.path[:] = old_argv, old_path
        if answer in sys.meta_path:
            sys.meta_path.remove(answer)
        answer.close()
        for name in set(sys.modules) - old_names:  # what the script imported from beside it now means mytorch
            if folder in Path(getattr(sys.modules[name], "__file__", None) or "").parents:
                del sys.modules[name]
        for name in [name for name in sys.modules if is_torch(name)]:
            del sys.modules[name]
        sys.modules.update(torch_modules)


def import_as_torch(path: str | Path, package: str | None = None) -> ModuleType:
    """Loads one Python file with mytorch in torch's place, without touching torch in sys.modules.

    `package` is the dotted name of the package the file lies in. Its modules, as far as the file imports them
    (`from .patches import x`, `from package.patches import x`), are loaded as private copies on mytorch too;
    a package's own __init__ is run only if a name is taken from it. All other imports are ordinary.
    """
    stem = Path(path).stem
    return _Loader(package).run(f"{package}.{stem}" if package else stem, Path(path), package or "")


class _Loader:
    def __init__(self, package: str | None):
        self.package = package
        self.loaded: dict[str, ModuleType] = {}

    def run(self, name: str, path: Path, parent: str) -> ModuleType:
        # Under a name of its own the module is in sys.modules, where @dataclass and pickle look a class's module up.
        module = sys.modules[f"mytorch:{name}"] = ModuleType(f"mytorch:{name}")
        module.__file__, module.__package__ = str(path), parent
        # An import statement calls the __import__ of its module's builtins: this is the whole trick.
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self.import_}
        self.loaded[name] = module
        try:
            exec(compile(path.read_text(), str(path), "exec"), module.__dict__)
        except BaseException:
            del self.loaded[name]
            raise
        return module

    def import_(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        wanted = importlib.util.resolve_name("." * level + name, globals["__package__"]) if level else name
        if is_torch(wanted):
            module = torch_module(wanted)
            return module if fromlist else torch_module(wanted.partition(".")[0])
        if self.package is None or not f"{wanted}.".startswith(f"{self.package}."):
            return builtins.__import__(name, globals, locals, fromlist, level)
        if not fromlist:
            raise UnsupportedImport(
                f"inside {self.package} mytorch takes `from {wanted} import …`, but got `import {wanted}`"
            )
        modules = {each: self.private(f"{wanted}.{each}") for each in fromlist}
        if all(modules.values()):  # submodules only: no need to run the package itself
            names = ModuleType(wanted)
            vars(names).update(modules)
            return names
        package = self.private(wanted)
        if package is None:
            raise ModuleNotFoundError(f"No module named '{wanted}'", name=wanted)
        vars(package).update({each: inner for each, inner in modules.items() if inner is not None})
        return package

    def private(self, name: str) -> ModuleType | None:
        """This loader's copy of a module of the package, or None if there is no such module."""
        if name in self.loaded:
            return self.loaded[name]
        spec = find_without_running(name)
        if spec is None or spec.origin is None:
            return None
        is_package = spec.submodule_search_locations is not None
        return self.run(name, Path(spec.origin), name if is_package else name.rpartition(".")[0])


def find_without_running(name: str) -> importlib.machinery.ModuleSpec | None:
    """Where a module is. importlib.util.find_spec would import, and so run, the packages above it."""
    spec, places = None, None
    for end in range(1, name.count(".") + 2):
        part = ".".join(name.split(".")[:end])
        if end > 1 and places is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(part, places)
        if spec is None:
            # An installed package may be found by other finders (an editable install).
            spec = importlib.util.find_spec(part) if end == 1 else None
        if spec is None:
            return None
        places = spec.submodule_search_locations
    return spec
