"""lr-find and transfer: which learning rate to use, at one width or at several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from replab.cli.app import (
    LOOK,
    RUN,
    EngineOption,
    LogLevel,
    Model,
    Quiet,
    RayAddress,
    RecipeFile,
    WorkersOption,
    app,
    shown,
)
from replab.cli.flags import with_settings
from replab.errors import RecipeError
from replab.search.engines.base import Workers
from replab.settings.words import count


@app.command("lr-find", rich_help_panel=LOOK)
@with_settings(without=["lr"])
def lr_find(
    model: Model,
    recipe: RecipeFile = None,
    steps: Annotated[int, typer.Option(metavar="N", help="batches, while the rate rises")] = 100,
    out: Annotated[Path, typer.Option(metavar="FILE", help="where the figure goes")] = Path("lr-find.png"),
    *,
    settings: dict[str, Any],
) -> None:
    """Draw the loss against a rising learning rate, and suggest one. Writes nothing but the figure."""
    from replab import preflight

    wanted = preflight.requested(model, recipe=recipe, **settings)
    from replab.figures.lr_find import lr_find as draw
    from replab.figures.style import save
    from replab.training import lr_find as finding
    from replab.training.prepare import prepare

    curve = finding.lr_find(prepare(wanted), steps=steps)
    name = f"{wanted.model} on {Path(wanted.data).name}"
    save(draw(curve.rates, curve.losses, curve.suggestion, curve.smoothed, name=name), out)
    print(f"try --lr {curve.suggestion:.2g}" if curve.suggestion else "the loss never fell: no rate to suggest")
    print(f"figure: {out}")


@app.command(rich_help_panel=RUN)
@with_settings(without=["lr", "mup", "base_width"])
def transfer(
    model: Annotated[str, typer.Argument(help="mlp, cnn or nanovit")],
    recipe: RecipeFile = None,
    widths: Annotated[str, typer.Option(metavar="A,B", help="the smallest is the base width")] = "64,128,256",
    rates: Annotated[int, typer.Option(metavar="N", help="learning rates, evenly spaced on a logarithmic scale")] = 7,
    low: Annotated[float, typer.Option(metavar="NUMBER", help="the lowest rate")] = 1e-4,
    high: Annotated[float, typer.Option(metavar="NUMBER", help="the highest rate")] = 1e-1,
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="where the figure goes; the numbers go beside it as .json")
    ] = Path("transfer.png"),
    workers: WorkersOption = "auto",
    engine: EngineOption = "processes",
    ray_address: RayAddress = None,
    quiet: Quiet = False,
    log_level: LogLevel = None,
    *,
    settings: dict[str, Any],
) -> None:
    """Search the learning rate at several widths, standard and muP, and say whether the best one stayed.

    Each training takes 3 epochs on a fifth of the images, unless --epochs or --limit say otherwise.
    """
    from replab import preflight

    if not all(word.strip().isdigit() for word in widths.split(",")) or rates < 3 or not 0 < low < high:
        raise RecipeError(
            "transfer needs --widths 64,128,256, --rates of at least 3 and 0 < --low < --high,"
            f" got --widths {widths} --rates {rates} --low {low:g} --high {high:g}"
        )
    crew = Workers.asked(workers, engine, ray_address)
    sizes = [int(word) for word in widths.split(",")]
    if recipe is None:
        settings.setdefault("protocol", "plain")  # a constant rate: what is compared is the rate itself
    wanted = preflight.requested(model, recipe=recipe, lr=low, **settings)
    wanted = wanted.replace(epochs=wanted.epochs or 3, search={"fraction": 1.0} if wanted.limit else {})
    from replab.figures.style import save
    from replab.figures.transfer import coordinates
    from replab.figures.transfer import transfer as draw
    from replab.search import transfer as transferring

    rising = transferring.rates(low, high, rates)
    points = transferring.measure(wanted, sizes, rising, shown(quiet, log_level), crew)
    rows = [point.to_dict() for point in points]
    epochs = count(wanted.epochs or 0, "epoch")
    save(draw(rows, f"{model} on {wanted.data}, {epochs}"), out)
    out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    check = transferring.coordinate_check(wanted, sizes)
    beside = out.with_name(f"{out.stem}-coordinates.png")
    save(coordinates(check, f"{model} on {wanted.data}: sizes of outputs by width"), beside)
    print(transferring.verdict(points))
    print(transferring.check_verdict(check))
    print(f"figures: {out}, {beside}")
