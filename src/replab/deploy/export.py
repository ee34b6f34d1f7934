"""A run's model as files of other formats, each read back and compared with what the run itself predicted."""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from replab.deploy.formats.base import file_format, program
from replab.errors import FileError, ModelError, RunError
from replab.files import reason
from replab.records.values import examples
from replab.records.values.answers import log_softmax
from replab.runs.run import Run
from replab.tasks import samples

if TYPE_CHECKING:
    from replab.deploy.deployed import Deployed

TOLERANCE = 1e-4  # of probabilities, and of pixels from 0 to 1
DRAWN = 8  # images drawn at random, for what no kept image shows


@dataclass(frozen=True)
class Exported:
    """A file that was written, and how far it is from the run's own model."""

    path: Path
    format: str
    difference: float  # the largest of all probabilities, or pixels from 0 to 1
    compared: int  # images
    what: str  # they are: "test images" or "drawn images"

    def __str__(self) -> str:
        size = self.path.stat().st_size / 1e6
        return (
            f"{self.path}: {size:.1f} MB, {self.compared} {self.what} compared with the run,"
            f" largest difference {self.difference:.1e}"
        )


def export(run: Run, paths: Mapping[str, str | Path], model: Any = None) -> list[Exported]:
    """Write the model in each format: name → file. All of them pass the comparison, or none is left."""
    files = {name: Path(path) for name, path in paths.items()}
    check(files)
    if not run.finished:
        raise RunError(f"run {run.id} is not finished; replab resume {run.id} finishes it")
    deployed, config, code = of_run(run, model)
    traced = None
    if any(file_format.get(name).traced for name in files):
        traced = program(deployed, config["model"], code)
    inputs, expected, what = reference(run, deployed)
    written, staged = [], list[tuple[Path, Path]]()
    with tempfile.TemporaryDirectory(prefix="replab-export-") as folder:
        for name, path in files.items():
            kind, stage = file_format.get(name), Path(folder, name)
            stage.mkdir()
            try:
                kind.write(deployed, config, stage / path.name, traced)
                difference = compare(kind.read(stage / path.name, deployed), deployed, inputs, expected)
            except Exception as error:
                text = " ".join(str(error).split())[:200]
                raise ModelError(
                    f"{kind.flag} cannot hold {config['model']}, nothing was written; --safetensors holds any model"
                    f" ({type(error).__name__}: {text})"
                ) from None
            if not difference <= TOLERANCE:  # not a number is no agreement either
                raise ModelError(
                    f"{kind.flag} differs from run {run.id} by {difference:.1e}, and {TOLERANCE:.0e} is allowed;"
                    " nothing was written"
                )
            staged += [(file, path.parent / file.name) for file in sorted(stage.iterdir())]
            written.append(Exported(path, name, difference, len(expected), what))
        for file, target in staged:
            _move(file, target)
    return written


def check(files: Mapping[str, Path]) -> None:
    """Refuse what cannot be written or is not installed, before anything is computed."""
    if not files:
        flags = " or ".join(file_format.get(name).flag for name in file_format.names())
        raise RunError(f"export needs at least one file; {flags} FILE names it")
    for name, path in files.items():
        kind = file_format.get(name)
        missing = [package for package in kind.needs if importlib.util.find_spec(package) is None]
        if missing:
            raise ModelError(
                f"{kind.flag} needs {', '.join(missing)}, not installed; pip install 'replab[{kind.extra}]'"
            )
        if path.is_dir() or not path.name:
            raise FileError(f"{kind.flag} takes the name of a file, got the folder {path}")
        if not path.parent.is_dir():
            raise FileError(f"cannot write {path}: there is no folder {path.parent}; make it first")
    if len({path.resolve() for path in files.values()}) < len(files):
        raise FileError(f"each format needs a file of its own, got {', '.join(map(str, files.values()))}")


def of_run(run: Run, model: Any = None) -> tuple[Deployed, dict[str, Any], Path | None]:
    """(the model with all that belongs to it, its description as plain values, the user's file it came from)."""
    from replab.backends import backend as backends
    from replab.deploy.deployed import Classifier, Generator
    from replab.models import loader

    experiment = run.restored(model)
    if experiment.backend.name != "torch":  # the same model file and weights, by torch
        own, torch_backend = experiment.source, backends.get("torch")
        named = own.name if own.path is None else f"{own.path}:{own.name.rpartition(':')[2]}"
        experiment = replace(experiment, backend=torch_backend, source=loader.find(named, torch_backend))
    network, known = experiment.trained(run.record, run.chosen), run.input
    size = (known["channels"], known["height"], known["width"])
    config: dict[str, Any] = {
        "producer": f"replab {run.record.read_json('environment.json', {}).get('replab', '')}".strip(),
        "model": run.chosen.model,
        "params": dict(run.chosen.params),
        "run": run.id,
        "data": known["data"],
        "classes": list(known["classes"]),
        "size": list(size),
    }
    if known["task"] == "classify":
        resize = f"bilinear with antialiasing, {run.chosen.fit}" if size[1] == size[2] else "none"
        config |= {
            "input": "images: uint8 (N, C, H, W)",
            "output": "probabilities: float32 (N, classes)",
            "mean": known["mean"],
            "std": known["std"],
            "resize": resize,
            "views": run.chosen.tta,
        }
        deployed = Classifier(network, size, known["mean"], known["std"], run.chosen.fit, run.chosen.tta)
        return deployed, config, experiment.source.path
    if samples.can_draw(network):
        told = ", labels: int64 (N,)" if getattr(network, "labels", 0) else ""
        config |= {
            "input": f"noise: standard normal float32 (N, {network.latent}){told}",
            "output": "images: float32 (N, C, H, W) from 0 to 1",
        }
        return Generator(network), config, experiment.source.path
    raise RunError(
        f"run {run.id} is of {run.chosen.model}, which neither names classes nor makes images; nothing to export"
    )


def reference(run: Run, deployed: Deployed) -> tuple[dict[str, np.ndarray], np.ndarray, str]:
    """(inputs, outputs of the run's own model, what they are): kept test images with their kept predictions."""
    if deployed.output == "probabilities":
        index, pixels = examples.of_the_size(run.record)
        on_cpu = run.record.read_json("environment.json", {}).get("device") == "cpu"
        if len(index) and on_cpu and run.chosen.precision != "bfloat16":
            kept = log_softmax(run.predictions["logits"][index].astype(np.float64))
            return {"images": pixels}, np.exp(kept), "test images"
        if len(index):  # in another precision: the model itself is asked again, in float32
            return {"images": pixels}, outputs(deployed, images=pixels), "test images"
    drawn = dict(zip(deployed.inputs, (part.numpy() for part in deployed.example(DRAWN, run.chosen.seed))))
    return drawn, outputs(deployed, **drawn), "drawn images"


def compare(read: Any, deployed: Deployed, inputs: dict[str, np.ndarray], expected: np.ndarray) -> float:
    """The largest difference: of the kept images, the first alone and the rest at once; then of drawn ones."""
    parts = [slice(0, 1), slice(1, None)] if len(expected) > 1 else [slice(None)]
    found = [read(**{name: array[part] for name, array in inputs.items()}) for part in parts]
    drawn = dict(zip(deployed.inputs, (part.numpy() for part in deployed.example(DRAWN, seed=1))))
    pairs = ((np.concatenate(found), expected), (read(**drawn), outputs(deployed, **drawn)))
    return max(float(np.abs(one.astype(np.float64) - other).max()) for one, other in pairs)


def outputs(deployed: Deployed, **inputs: np.ndarray) -> np.ndarray:
    """Of the model as it is here."""
    import torch

    with torch.no_grad():
        return np.asarray(deployed(*(torch.from_numpy(inputs[name]) for name in deployed.inputs)).numpy())


def _move(file: Path, target: Path) -> None:
    """Beside the target under another name, then in its place: no half a file, on another disk either."""
    beside = target.with_name(f".{target.name}.tmp")
    try:
        shutil.copyfile(file, beside)
        beside.replace(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise FileError(f"cannot write {target}: {reason(error, target.parent)}") from None
