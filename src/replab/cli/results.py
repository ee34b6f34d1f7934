"""Commands on finished runs: report, leaderboard, audit, predict, explain, embed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import Data, ModelFile, Quiet, Runs, TrustOption, app, asked, print_report, print_table


@app.command()
def report(run: Annotated[str, typer.Argument(help="id or folder of the run")], runs: Runs = None) -> None:
    """Write a run's report and figures again, and print it."""
    from replab import api
    from replab.report.write import write

    found = api.load_run(run, runs)
    write(found.record)
    print_report(found, quiet=False)


@app.command()
def leaderboard(
    data: Data = None,
    model: Annotated[str | None, typer.Option(help="only this model's runs")] = None,
    sort: Annotated[
        str, typer.Option(help="accuracy, loss, parameters, macs, seconds, images_per_second, model, run")
    ] = ("accuracy"),
    csv: Annotated[bool, typer.Option("--csv", help="comma-separated values, all columns")] = False,
    figures: Annotated[
        Path | None, typer.Option(help="also draw curves and accuracy against time into this folder")
    ] = None,
    runs: Runs = None,
) -> None:
    """Every finished run, best first, with intervals and the differences that are within noise."""
    from replab import api
    from replab.runs import compare as comparison

    whole = api.all_runs(runs, lambda line: print(line, file=sys.stderr))
    found = [r for r in whole if data in (None, r.input["data"]) and model in (None, r.chosen.model)]
    if not found:
        print("no finished runs to show; replab run makes one")
        return
    if csv:
        print(comparison.to_csv(comparison.table(found, sort)), end="")
    else:
        print_table(found, sort)
    if figures is not None:
        for path in comparison.draw(found, figures):
            print(f"figure: {path}")


@app.command()
def audit(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    retest: Annotated[
        bool, typer.Option("--retest", help="train the chosen rate and its neighbours at full size, and compare")
    ] = False,
    model: ModelFile = None,
    trust: TrustOption = False,
    quiet: Quiet = False,
    runs: Runs = None,
) -> None:
    """What might be wrong with a run's number? Plain sentences, each with the figure it rests on."""
    from replab import api
    from replab.records.progress import Progress
    from replab.runs import audit as auditing

    found = api.load_run(run, runs)
    findings = auditing.audit(found, api.all_runs(found.folder.parent))
    if retest:
        from replab.runs.retest import retest as train_again
        from replab.runs.retest import retest_sentence

        ready = api.reopen(found.record, model, asked(trust))
        findings.append(retest_sentence(train_again(found, ready, Progress(quiet))))
    for finding in findings:
        print(("! " if finding.warning else "  ") + finding.sentence)


@app.command()
def predict(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    images: Annotated[list[str], typer.Argument(help="image files")],
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Say what images show, by a run's trained model."""
    from replab import api

    for name, said in zip(images, api.load_run(run, runs, trust=asked(trust)).predict(list(images), model)):
        others = sorted(said.probabilities.items(), key=lambda kv: -kv[1])[1:3]
        print(f"{name}: {said.label} {said.probability:.1%} (then {', '.join(f'{k} {v:.1%}' for k, v in others)})")


@app.command()
def explain(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    image: Annotated[str, typer.Argument(help="an image file")],
    layer: Annotated[int | None, typer.Option(help="a ViT's layer, from 1, whose attention is also drawn")] = None,
    out: Annotated[Path, typer.Option(help="folder of the figures")] = Path("explain"),
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Draw what a run's model looks at in an image, and say how faithful each picture is."""
    from replab import api
    from replab.explain import inside as explaining
    from replab.figures import inside
    from replab.figures.style import save

    found_run = api.load_run(run, runs, trust=asked(trust))
    found, network = explaining.of_run(found_run, image, layer, model)
    label = found_run.input["classes"][found.target]
    print(f"{image}: {label} {found.probability:.1%}")
    for name, (deletion, insertion) in found.scores.items():
        print(f"  {name:<24} insertion {insertion:.3f}, deletion {deletion:.3f}")
    pictures = {
        "maps": inside.draw_maps([found.pixels], [found.maps], [found.scores], [f"{label} {found.probability:.0%}"])
    }
    if found.attention is not None:
        pictures["attention"] = inside.draw_attention(found.pixels, found.attention, "attention of the CLS token")
    kernels = explaining.first_filters(network)
    if kernels is not None:
        pictures["filters"] = inside.draw_filters(kernels)
    for name, figure in pictures.items():
        print(f"figure: {save(figure, out / f'{name}.png')}")


@app.command()
def embed(
    run: Annotated[str, typer.Argument(help="id or folder of the run")],
    images: Annotated[int, typer.Option(help="at most this many test images")] = 1000,
    out: Annotated[Path, typer.Option(help="where the figure goes")] = Path("embedding.png"),
    model: ModelFile = None,
    trust: TrustOption = False,
    runs: Runs = None,
) -> None:
    """Draw a t-SNE of the features before the head, coloured by class, mistakes marked."""
    from replab import api
    from replab.explain.embedding import penultimate
    from replab.figures.embedding import embedding
    from replab.figures.style import save
    from replab.tasks.tsne import two_dimensions

    found = api.load_run(run, runs, trust=asked(trust))
    rows, labels, said = penultimate(found, images, model)
    points = two_dimensions(rows, found.chosen.seed)
    title = f"{found.chosen.model} on {found.input['data']}: t-SNE of {len(rows):,} test images' features"
    print(f"figure: {save(embedding(points, labels, said, found.input['classes'], title), out)}")
