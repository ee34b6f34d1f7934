"""Commands that train: run, resume, compare, transfer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import (
    Data,
    ModelFile,
    Quiet,
    Runs,
    TrustOption,
    app,
    asked,
    print_report,
    print_table,
    recipe_settings,
    sayer,
)


@app.command()
def run(
    model: Annotated[str | None, typer.Argument(help="a registered name, or FILE.py:FUNCTION")] = None,
    data: Data = None,
    recipe: Annotated[Path | None, typer.Option(help="a recipe in TOML; flags given beside it win")] = None,
    lr: Annotated[float | None, typer.Option(help="learning rate (left out: searched)")] = None,
    epochs: Annotated[int | None, typer.Option(help="epochs (left out: the best trial's best epoch)")] = None,
    trials: Annotated[int | None, typer.Option(help="trials of the search [20]")] = None,
    seed: Annotated[int | None, typer.Option(help="[3407]")] = None,
    batch_size: Annotated[int | None, typer.Option(help="[128]")] = None,
    optimizer: Annotated[str | None, typer.Option(help="adam, adamw or sgd [adam]")] = None,
    momentum: Annotated[float | None, typer.Option(help="of sgd [0]")] = None,
    schedule: Annotated[str | None, typer.Option(help="constant, one-cycle or cosine [constant]")] = None,
    weight_decay: Annotated[float | None, typer.Option(help="[0]")] = None,
    clip_value: Annotated[float | None, typer.Option(help="clip each gradient value")] = None,
    clip_norm: Annotated[float | None, typer.Option(help="clip the gradients' norm")] = None,
    loss: Annotated[str | None, typer.Option(help="cross-entropy or squared-error [cross-entropy]")] = None,
    label_smoothing: Annotated[float | None, typer.Option(help="[0]")] = None,
    augment: Annotated[
        str | None, typer.Option(help="flip, crop=4, cutout=8, affine=10:3:0.1; joined by commas")
    ] = None,
    augmented_copy: Annotated[
        str | None, typer.Option(help="train on one fixed augmented copy of each image too: affine=10:3:0.1")
    ] = None,
    normalise: Annotated[
        str | None, typer.Option(help="dataset, half, none, computed, backbone or means/stds [dataset]")
    ] = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    limit: Annotated[int | None, typer.Option(help="use at most this many images")] = None,
    classes: Annotated[str | None, typer.Option(help="these classes alone, by name or place: cat,dog or 0,1,2")] = None,
    per_class: Annotated[int | None, typer.Option(help="at most this many training images of each class")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter of the model: channels=[16,32]")] = None,
    search: Annotated[
        list[str] | None, typer.Option("--search", help="search a parameter too: weight_decay=[1e-5,1e-2]")
    ] = None,
    pretrained: Annotated[bool | None, typer.Option("--pretrained", help="begin with ImageNet weights")] = None,
    weights: Annotated[
        str | None, typer.Option(help="begin with these: a .safetensors or .pth file, or an earlier run")
    ] = None,
    freeze: Annotated[bool | None, typer.Option("--freeze", help="train the head alone")] = None,
    freeze_until: Annotated[str | None, typer.Option(help="freeze what comes before this layer")] = None,
    lr_backbone: Annotated[float | None, typer.Option(help="learning rate of all but the head")] = None,
    unfreeze_every: Annotated[
        int | None, typer.Option(help="train the head, then a stage more every so many epochs, backwards")
    ] = None,
    head: Annotated[str | None, typer.Option(help="linear, mlp, logistic or knn [linear]")] = None,
    neighbours: Annotated[int | None, typer.Option(help="k of --head knn (left out: searched)")] = None,
    metric: Annotated[str | None, typer.Option(help="of --head knn: cosine or euclidean [cosine]")] = None,
    feature_cache: Annotated[
        bool | None,
        typer.Option("--feature-cache/--no-feature-cache", help="a frozen backbone sees each image once [yes]"),
    ] = None,
    mup: Annotated[
        bool | None, typer.Option("--mup", help="one learning rate for all widths of mlp, cnn, nanovit")
    ] = None,
    base_width: Annotated[int | None, typer.Option(help="of --mup: where it is the standard model [64]")] = None,
    backend: Annotated[str | None, typer.Option(help="torch or mytorch [torch]")] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu, cuda, cuda:N or mps [auto]")] = None,
    budget: Annotated[str | None, typer.Option(help="time for search and training, as 10m or 1h30m")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="one trial, one epoch, few images, every stage")] = False,
    trust: TrustOption = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Search, train, evaluate and report: MODEL on DATA (cnn on digits when neither is given)."""
    from replab import api

    settings = recipe_settings(locals())
    found = api.run(
        model, data, recipe=recipe, fast=fast, quiet=quiet, runs=runs, trust=asked(trust), say=sayer(quiet), **settings
    )
    print_report(found, quiet)


@app.command()
def resume(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    model: ModelFile = None,
    trust: TrustOption = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Go on with an interrupted run; it ends with the same numbers as if left alone."""
    from replab import api

    print_report(api.resume(run, model=model, trust=asked(trust), runs=runs, quiet=quiet, say=sayer(quiet)), quiet)


@app.command()
def compare(
    models: Annotated[list[str], typer.Argument(help="names, or FILE.py:FUNCTION")],
    data: Data = None,
    recipe: Annotated[Path | None, typer.Option(help="a recipe in TOML for all of them")] = None,
    lr: Annotated[float | None, typer.Option(help="learning rate (left out: searched for each)")] = None,
    epochs: Annotated[int | None, typer.Option(help="epochs")] = None,
    trials: Annotated[int | None, typer.Option(help="trials of each search [20]")] = None,
    seed: Annotated[int | None, typer.Option(help="[3407]")] = None,
    size: Annotated[int | None, typer.Option(help="resize the images to this many pixels square")] = None,
    budget: Annotated[str | None, typer.Option(help="time for each model, as 10m")] = None,
    fast: Annotated[bool, typer.Option("--fast", help="one trial, one epoch, few images")] = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """Run several models under the same protocol, then one table and one figure."""
    from replab import api
    from replab.runs import compare as comparison

    settings = recipe_settings(locals())
    found = api.compare(models, data, recipe=recipe, fast=fast, quiet=quiet, runs=runs, say=sayer(quiet), **settings)
    print_table(found)
    for path in comparison.draw(found, api.runs_folder(runs)):
        print(f"figure: {path}")


@app.command()
def transfer(
    model: Annotated[str, typer.Argument(help="mlp, cnn or nanovit")],
    widths: Annotated[str, typer.Option(help="the smallest is the base width")] = "64,128,256",
    data: Data = None,
    rates: Annotated[int, typer.Option(help="learning rates, evenly on a logarithmic scale")] = 7,
    low: Annotated[float, typer.Option(help="the lowest rate")] = 1e-4,
    high: Annotated[float, typer.Option(help="the highest rate")] = 1e-1,
    epochs: Annotated[int, typer.Option(help="of each training")] = 3,
    limit: Annotated[int | None, typer.Option(help="images for training and validation [a fifth of them]")] = None,
    seed: Annotated[int | None, typer.Option(help="[3407]")] = None,
    set_: Annotated[list[str] | None, typer.Option("--set", help="a parameter of the model: depth=2")] = None,
    out: Annotated[Path, typer.Option(help="where the figure goes; the numbers beside it as .json")] = Path(
        "transfer.png"
    ),
    quiet: Quiet = False,
) -> None:
    """Search the learning rate at several widths, standard and muP, and say whether the best one stayed."""
    import json

    from replab.errors import RecipeError
    from replab.figures.style import save
    from replab.figures.transfer import coordinates
    from replab.figures.transfer import transfer as draw
    from replab.records.progress import Progress
    from replab.search import transfer as transferring
    from replab.settings.recipe import Recipe

    if not all(word.strip().isdigit() for word in widths.split(",")) or rates < 3 or not 0 < low < high:
        raise RecipeError(f"transfer takes --widths 64,128,256, --rates from 3 and 0 < --low < --high, got {widths}")
    settings = recipe_settings({"limit": limit, "seed": seed, "set_": set_})
    search = {"fraction": 1.0} if limit else {}
    recipe = Recipe(model=model, data=data or "digits", epochs=epochs, lr=low).replace(search=search, **settings)
    sizes = [int(word) for word in widths.split(",")]
    found = transferring.measure(recipe, sizes, transferring.rates(low, high, rates), Progress(quiet), sayer(quiet))
    rows = [point.to_dict() for point in found]
    save(draw(rows, f"{model} on {recipe.data}, {epochs} epochs"), out)
    out.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    checked = transferring.coordinate_check(recipe, sizes)
    beside = out.with_name(f"{out.stem}-coordinates.png")
    save(coordinates(checked, f"{model} on {recipe.data}: sizes of outputs by width"), beside)
    print(transferring.verdict(found))
    print(transferring.check_verdict(checked))
    print(f"figures: {out}, {beside}")
