"""predict, explain and embed: a trained model at work, and what it looks at."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from replab.cli.app import RESULTS, ModelFile, RunName, Runs, TrustOption, app, asked
from replab.records.text import visible

T = TypeVar("T")


@app.command(rich_help_panel=RESULTS)
def predict(
    run: RunName,
    images: Annotated[list[str], typer.Argument(help="image files, folders or globs; - reads names from stdin")],
    top: Annotated[int, typer.Option(metavar="N", help="show this many classes per image")] = 3,
    csv: Annotated[bool, typer.Option("--csv", help="comma-separated values: path,label,probability …")] = False,
    json: Annotated[bool, typer.Option("--json", help="one JSON object per line, with all probabilities")] = False,
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Classify images with the trained model of a run."""
    import csv as tables
    import json as objects

    from replab.errors import RecipeError
    from replab.runs.predict import image_files, predict_files

    if csv and json:
        raise RecipeError("--csv and --json cannot be combined; leave one out")
    if top < 1:
        raise RecipeError(f"--top must be at least 1, got {top}; 3 is the default")
    files = image_files(sys.stdin.read().split("\n")[:-1] if images == ["-"] else images)
    from replab import api

    loaded = api.load_run(run, runs, trust=asked(trust))
    writer = tables.writer(sys.stdout)
    if csv:
        ranks = range(1, min(top, len(loaded.input["classes"])) + 1)
        writer.writerow(["path", *(f"{what}{'' if n == 1 else n}" for n in ranks for what in ("label", "probability"))])
    for name, prediction in bar(predict_files(loaded, files, model), len(files)):
        ranked = sorted(prediction.probabilities.items(), key=lambda pair: -pair[1])[:top]
        if json:
            print(objects.dumps({"path": name, "label": prediction.label, "probabilities": prediction.probabilities}))
        elif csv:
            writer.writerow([name, *(cell for label, share in ranked for cell in (label, f"{share:.6f}"))])
        else:
            then = ", ".join(f"{label} {share:.1%}" for label, share in ranked[1:])
            text = f"{name}: {prediction.label} {prediction.probability:.1%}" + (f" (then {then})" if then else "")
            print(visible(text))


def bar(items: Iterable[T], total: int) -> Iterator[T]:
    """Progress where the output goes to a file and somebody watches."""
    if not sys.stderr.isatty() or sys.stdout.isatty():
        return iter(items)
    from tqdm.auto import tqdm

    return iter(tqdm(items, total=total, unit="image", dynamic_ncols=True))


@app.command(rich_help_panel=RESULTS)
def explain(
    run: RunName,
    image: Annotated[str, typer.Argument(help="an image file")],
    layer: Annotated[
        int | None, typer.Option(metavar="N", help="also draw the attention of this layer of a ViT, from 1")
    ] = None,
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="folder of the figures")] = Path("explain"),
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Draw what the model of a run looks at in an image, and say how faithful each picture is."""
    from replab import api
    from replab.explain import inside as explaining
    from replab.figures import inside
    from replab.figures.style import save

    loaded = api.load_run(run, runs, trust=asked(trust))
    explained, network = explaining.of_run(loaded, image, layer, model)
    label = loaded.input["classes"][explained.target]
    print(visible(f"{image}: {label} {explained.probability:.1%}"))
    for name, (deletion, insertion) in explained.scores.items():
        print(f"  {name:<24} insertion {insertion:.3f}, deletion {deletion:.3f}")
    title = f"{label} {explained.probability:.0%}"
    pictures = {"maps": inside.draw_maps([explained.pixels], [explained.maps], [explained.scores], [title])}
    if explained.attention is not None:
        pictures["attention"] = inside.draw_attention(
            explained.pixels, explained.attention, "attention of the CLS token"
        )
    kernels = explaining.first_filters(network)
    if kernels is not None:
        pictures["filters"] = inside.draw_filters(kernels)
    for name, figure in pictures.items():
        print(f"figure: {save(figure, out / f'{name}.png')}")


@app.command(rich_help_panel=RESULTS)
def embed(
    run: RunName,
    images: Annotated[int, typer.Option(metavar="N", help="at most this many test images")] = 1000,
    out: Annotated[Path, typer.Option(metavar="FILE", help="where the figure goes")] = Path("embedding.png"),
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Draw a t-SNE of the features before the head, coloured by class, with mistakes marked."""
    from replab import api

    loaded = api.load_run(run, runs, trust=asked(trust))
    from replab.explain.embedding import penultimate
    from replab.figures.embedding import embedding
    from replab.figures.style import save
    from replab.tasks.tsne import two_dimensions

    found = penultimate(loaded, images, model, print)
    points = two_dimensions(found.rows, loaded.chosen.seed)
    title = f"{loaded.chosen.model} on {loaded.input['data']}: t-SNE of {len(points):,} test images' features"
    print(f"figure: {save(embedding(points, found.labels, found.predicted, loaded.input['classes'], title), out)}")
