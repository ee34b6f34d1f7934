"""generate and fidelity: new images by a generative run, and how close they are to real ones."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import RESULTS, ModelFile, RunName, Runs, TrustOption, app, asked
from replab.errors import RunError
from replab.settings.words import count


@app.command(rich_help_panel=RESULTS)
def generate(
    run: RunName,
    n: Annotated[int, typer.Option("--n", metavar="N", help="how many images")] = 64,
    class_: Annotated[
        str | None, typer.Option("--class", metavar="NAME", help="images of this class, by conditional models")
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="the same seed draws the same images")] = 0,
    out: Annotated[Path, typer.Option(metavar="FILE", help="where the grid goes")] = Path("grid.png"),
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Draw new images with the trained model of a run, as one grid."""
    if out.suffix.lower() != ".png":
        raise RunError(f"--out must end in .png, got {out}; the grid is written as PNG")
    from replab import api
    from replab.figures.samples import LARGE, png
    from replab.files import write_atomic

    images = api.load_run(run, runs, trust=asked(trust)).generate(n, label=class_, seed=seed, model=model)
    write_atomic(out, png(images, side=LARGE))
    print(f"{count(len(images), 'image')}: {out}")


@app.command(rich_help_panel=RESULTS)
def fidelity(
    run: RunName,
    by: Annotated[str, typer.Option("--by", metavar="RUN", help="id or folder of a classifier's run on the same data")],
    n: Annotated[int, typer.Option("--n", metavar="N", help="images of each kind")] = 2000,
    seed: Annotated[int, typer.Option(metavar="N", help="draws the samples")] = 0,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Measure KID, Fréchet distance, density and coverage of samples in the features of a classifier.

    Each stands between a floor and ceilings measured on real images.
    """
    from replab import api
    from replab.explain import fidelity as measuring

    loaded = api.load_run(run, runs, trust=asked(trust))
    judged = measuring.judge(loaded, api.load_run(by, runs, trust=asked(trust)), n, seed)
    loaded.record.write_json("fidelity.json", judged)
    print("\n".join(measuring.lines(judged)))
