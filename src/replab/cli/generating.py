"""Commands of generative runs: generate, fidelity, and sweep, which any model can take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import Data, ModelFile, Quiet, Runs, TrustOption, app, asked, print_pairs, recipe_settings, sayer


@app.command()
def generate(
    run: Annotated[str, typer.Argument(help="id or folder of a generative run")],
    n: Annotated[int, typer.Option("--n", help="how many images")] = 64,
    class_: Annotated[str | None, typer.Option("--class", help="of this class, by models that are told it")] = None,
    seed: Annotated[int, typer.Option(help="the same seed draws the same images")] = 0,
    out: Annotated[Path, typer.Option(help="where the grid goes")] = Path("grid.png"),
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Draw new images with a run's trained model, as one grid."""
    from replab import api
    from replab.errors import RunError
    from replab.figures.samples import png
    from replab.files import write_atomic

    if out.suffix.lower() != ".png":
        raise RunError(f"--out must end in .png, got {out}; the grid is written as PNG")
    drawn = api.load_run(run, runs, trust=asked(trust)).generate(n, label=class_, seed=seed, model=model)
    write_atomic(out, png(drawn))
    print(f"{len(drawn)} images: {out}")


@app.command()
def fidelity(
    run: Annotated[str, typer.Argument(help="id or folder of a generative run")],
    by: Annotated[str, typer.Option("--by", help="id or folder of a classifier's run on the same data")],
    n: Annotated[int, typer.Option("--n", help="images of each kind")] = 2000,
    seed: Annotated[int, typer.Option(help="draws the samples")] = 0,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """KID, Fréchet distance, density and coverage of samples in a classifier's features, between floor and ceilings."""
    from replab import api
    from replab.explain import fidelity as measuring

    found = api.load_run(run, runs, trust=asked(trust))
    judged = measuring.judge(found, api.load_run(by, runs, trust=asked(trust)), n, seed)
    found.record.write_json("fidelity.json", judged)
    print("\n".join(measuring.lines(judged)))


@app.command()
def sweep(
    model: Annotated[str, typer.Argument(help="a registered name, or FILE.py:FUNCTION")],
    set_: Annotated[list[str], typer.Option("--set", help="beta=0.1,1,10: a run each; others as in replab run")],
    data: Data = None,
    recipe: Annotated[Path | None, typer.Option(help="a recipe in TOML for all of them")] = None,
    lr: Annotated[float | None, typer.Option(help="learning rate (left out: searched for each)")] = None,
    epochs: Annotated[int | None, typer.Option(help="epochs")] = None,
    trials: Annotated[int | None, typer.Option(help="trials of each search [20]")] = None,
    seed: Annotated[int | None, typer.Option(help="[3407]")] = None,
    batch_size: Annotated[int | None, typer.Option(help="[128]")] = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    limit: Annotated[int | None, typer.Option(help="use at most this many images")] = None,
    out: Annotated[Path, typer.Option(help="where the figure goes")] = Path("sweep.png"),
    fast: Annotated[bool, typer.Option("--fast", help="one trial, one epoch, few images")] = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Run a model at several values of one parameter; one figure of samples and curves by value."""
    from replab import api
    from replab.figures.style import save
    from replab.figures.sweep import sweep as draw
    from replab.settings.text import parse_sweep

    key, values, fixed = parse_sweep(set_)
    settings = recipe_settings({**locals(), "set_": None})
    shared = {"model": model, "data": data, "recipe": recipe, "fast": fast, "runs": runs, **settings}
    each = [{"params": {**fixed, key: value}} for value in values]
    ended = api.run_each(each, quiet=quiet, say=sayer(quiet), **shared)
    found = {f"{key}={value}": run for value, run in zip(values, ended)}
    samples = {name: run.predictions["samples"] for name, run in found.items() if "samples" in run.predictions}
    save(draw({name: run.epochs for name, run in found.items()}, samples, f"{model} by {key}"), out)
    for name, run in found.items():
        print(f"\n{name}  {run.folder}")
        print_pairs([(k, f"{v:.6g}") for k, v in run.metrics.items()])
    print(f"\nfigure: {out}")
