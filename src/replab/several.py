"""Several runs of one command: models, values, seeds, published rows. One after another, or side by side in workers.

A run in a worker is the one that api.run would make here: the same recipe, the same number of threads. So its numbers
are the same. A run whose worker was lost is resumed by another one.
"""

from __future__ import annotations

import contextlib
import math
import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from replab import api
from replab.api import Model
from replab.data.source import LIVE
from replab.errors import ModelError, ReplabError, RunError
from replab.records.events import Event, Events
from replab.records.record import Record, own_folder, runs_folder
from replab.records.terminal import watchers
from replab.runs.compare import RunList
from replab.runs.run import Run
from replab.search.engines.base import Workers
from replab.settings.recipe import Recipe
from replab.settings.signature import show_keywords
from replab.settings.words import count

if TYPE_CHECKING:
    from replab.training.experiment import Experiment


def compare(models: Sequence[Model], data: Any = None, **settings: Any) -> RunList:
    """Run each model under the same recipe. A notebook shows the runs as a table.

    Example:
        both = replab.compare(["mlp", "conv1"], data="digits", fast=True, quiet=True)
    """
    if not models:
        raise RunError("compare needs at least one model; for example replab compare mlp cnn")
    return RunList(run_each([{"model": model} for model in models], data=data, **settings))


def run_seeds(models: Sequence[Model | None], seeds: int, **shared: Any) -> list[Run]:
    """Each model with `seeds` seeds in a row, from the recipe's on; the first seed of every model comes first."""
    if seeds == 1:
        return run_each([{"model": model} for model in models], **shared)
    of_command = ("quiet", "events", "track", "workers", "ddp", "checkpoint_every")
    settings = {k: v for k, v in shared.items() if k not in of_command}
    first = api.prepare(models[0], **settings).recipe.seed
    shared.pop("seed", None)
    return run_each([{"model": model, "seed": first + k} for k in range(seeds) for model in models], **shared)


def run_each(
    each: Iterable[dict[str, Any]],
    *,
    quiet: bool = False,
    events: Events | None = None,
    track: Sequence[str] = (),
    workers: Workers | int | str = "auto",
    ddp: int | None = None,
    checkpoint_every: float | str = "10m",
    **shared: Any,
) -> list[Run]:
    """One run with each of these settings. What is wrong with the last is said before the first begins."""
    from replab.training.ddp.lead import under_torchrun

    each = list(each)
    crew = workers if isinstance(workers, Workers) else Workers.asked(workers)
    told = events or Events(*watchers(quiet))
    jobs, needs, device, hindrance = list[Job](), list[Needs](), "cpu", ""
    for own in each:
        experiment = api.prepare(**own, **shared)
        jobs.append(Job(len(jobs), label(own), experiment.recipe.to_toml()))
        hindrance = hindrance or obstacle(experiment)
        needs.append(needed(experiment, crew, len(each)))
        device = experiment.device
    if ddp is not None or under_torchrun() > 1:
        hindrance = "--ddp uses them"
    together = crew_for(crew, needs, hindrance, device, told)
    if together is None:
        how: dict[str, Any] = {"quiet": quiet, "events": events, "track": track, "workers": crew, "ddp": ddp}
        return [api.run(**own, **shared, **how, checkpoint_every=checkpoint_every) for own in each]
    found: dict[int, Run] = {}
    for number, run in side_by_side(jobs, together, told, runs=shared.get("runs"), track=track, device=device):
        if isinstance(run, ReplabError):
            raise run
        found[number] = run
    return [found[number] for number in sorted(found)]


def label(own: Mapping[str, Any]) -> str:
    """What tells a run from the others of its command."""
    words = []
    for key, value in own.items():
        if key == "params":
            words += [f"{name}={one}" for name, one in value.items()]
        elif value is not None:
            words.append(f"{key} {value}" if key != "model" else getattr(value, "__name__", str(value)))
    return ", ".join(words)


# -- how many at once -------------------------------------------------------------------------------------------------


def obstacle(experiment: Experiment) -> str:
    """Why a run cannot be made by a worker; empty where it can."""
    from replab.search.work import session_code

    if live := session_code(experiment):
        return f"{live} is code of this session: put it into a file and name it FILE.py:FUNCTION"
    if experiment.recipe.data.startswith(LIVE):
        return "the images are objects of this session: save them as .npz and name the file"
    return ""


class Needs(NamedTuple):
    """What one run takes."""

    memory: int = 0  # bytes of its process
    seconds: float = math.inf


def needed(experiment: Experiment, crew: Workers, runs: int) -> Needs:
    """Measured on a batch, where somebody will ask."""
    from replab.search.hire import room
    from replab.training import cost

    wanted = room(experiment.device) if crew.count is None else crew.count
    if min(runs, wanted) < 2 or crew.engine != "processes":
        return Needs()
    found = cost.measure(experiment)
    training = found.train_seconds or found.epoch_seconds * experiment.recipe.search.max_epochs
    return Needs(found.memory_bytes, found.feature_seconds + found.search_seconds + training)


def crew_for(
    crew: Workers, needs: Sequence[Needs], hindrance: str, device: str, events: Events
) -> tuple[Workers, int] | None:
    """(workers for whole runs, workers for the search inside each), or None: one run after another.

    Runs that are over before workers have started gain nothing by them, unless somebody asked.
    """
    import torch

    from replab.search import hire

    runs = len(needs)
    if runs == 1 or crew.count == 1:
        return None
    if hindrance:
        if crew.count is not None and "--ddp" not in hindrance:
            raise ModelError(f"--workers {crew.count} needs runs that can be sent to a worker: {hindrance}")
        return None
    found = hire.crew(crew, runs, hire.room(device), max(each.memory for each in needs))
    if found == hire.ALONE:
        return None
    at_once, threads = found.count or 1, count(int(torch.get_num_threads()), "thread")
    if crew == Workers() and sum(each.seconds for each in needs) * (1 - 1 / at_once) <= hire.START:
        return None
    events.message(f"runs: {at_once} of {runs} side by side, each on {threads}, as it would be alone")
    return found, max(1, (crew.count or at_once) // at_once)


# -- runs as jobs of an engine ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """One run to make, or to continue."""

    number: int
    label: str
    recipe: str  # as TOML
    resume: str | None = None  # its folder

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Runs:
    """Runs into one folder. `notes` is a folder of its own in it: one file per job, which names the run's folder."""

    runs: Path
    notes: Path
    threads: int
    device: str
    inner: int = 1  # workers of the search inside each run
    track: tuple[str, ...] = ()

    def describe(self, folder: Path) -> dict[str, Any]:
        values = {**asdict(self), "runs": str(self.runs), "notes": str(self.notes)}
        place = {"argv": sys.argv, "working_folder": os.getcwd()}
        return {"made_by": "replab.several:received", "folder": str(folder), "values": values, **place,
                "threads": self.threads}  # fmt: skip

    def do(self, job: Mapping[str, Any], events: Events) -> dict[str, Any]:
        """Where the folder of runs cannot be seen, as on a node of a cluster, the run's files are sent back."""
        import torch

        torch.set_num_threads(self.threads)  # of this thread: a cluster may have made the work in another
        here, note, events = self.notes.is_dir(), self.notes / str(job["number"]), events.inside(job=job["label"])
        begun = (job["resume"] if here else None) or (note.read_text(encoding="utf-8") if note.is_file() else None)
        with contextlib.ExitStack() as stack:
            runs = self.runs if here else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="replab-runs-")))
            if here:
                events.add(Note(note))
            try:
                if begun is not None:
                    run = api.resume(begun, events=events, workers=self.inner)
                else:
                    recipe = Recipe.from_toml(job["recipe"])
                    run = api.run(recipe=recipe, runs=runs, events=events, track=self.track, workers=self.inner)
            except ReplabError as error:
                return {"error": f"{job['label']}: {error}"}
            if here:
                return {"folder": str(run.folder)}
            files = {str(path.relative_to(run.folder)): path.read_bytes() for path in run.folder.rglob("*")
                     if path.is_file()}  # fmt: skip
            return {"id": run.id, "files": files}

    def result(self, values: dict[str, Any]) -> Run | ReplabError:
        if "error" in values:
            return ReplabError(values["error"])
        if "folder" in values:
            return Run(Record(Path(values["folder"])))
        folder = own_folder(self.runs, values["id"])  # two nodes may have given their runs the same name
        for name, content in values["files"].items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return Run(Record(folder))


class Note:
    """Writes down where a run is made, for the worker that continues it if this one is lost."""

    def __init__(self, path: Path):
        self.path = path

    def hear(self, event: Event) -> None:
        if event.kind == "run":
            self.path.write_text(event.facts["folder"], encoding="utf-8")


def received(sent: Mapping[str, Any]) -> Runs:
    """In a worker: paths and the command are those of the coordinator."""
    import torch

    with contextlib.suppress(OSError):  # on another machine paths have to be absolute
        os.chdir(sent["working_folder"])
    sys.argv = list(sent["argv"])
    torch.set_num_threads(sent["threads"])
    values = sent["values"]
    return Runs(**{**values, "runs": Path(values["runs"]), "notes": Path(values["notes"]),
                   "track": tuple(values["track"])})  # fmt: skip


def side_by_side(
    jobs: Sequence[Job],
    together: tuple[Workers, int],
    events: Events,
    *,
    runs: str | Path | None = None,
    track: Sequence[str] = (),
    device: str = "cpu",
) -> Iterator[tuple[int, Run | ReplabError]]:
    """(number, the run or what was wrong with it), as they end."""
    import torch

    from replab.search.hire import hire

    crew, inner = together
    folder = runs_folder(runs).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    notes = Path(tempfile.mkdtemp(prefix=".side-by-side-", dir=folder))
    work = Runs(folder, notes, int(torch.get_num_threads()), device, inner, tuple(track))
    engine = hire(work, crew)
    try:
        with events.span("runs", len(jobs)):
            for done in engine.run(deque(jobs), events):
                events.tell("step", what="runs")
                yield done.number, done.result
    finally:
        engine.close()
        shutil.rmtree(notes, ignore_errors=True)


show_keywords(compare, api.run)
