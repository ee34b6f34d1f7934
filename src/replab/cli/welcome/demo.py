"""demo: a guided tour on scikit-learn's digits, for a first look or a class room. Every step is a real command."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from replab.cli.app import LOOK, app
from replab.errors import ReplabError

STEPS = (  # what is said, then the command; RUNS and IMAGE stand for places in the tour's folder
    ("A model is trained and tested with one command. Before it starts it says what it will cost.",
     "run mlp --lr 1e-3 --epochs 5 --runs RUNS"),
    ("Left open, the learning rate is searched on a part of the training images. Test images choose nothing.",
     "run cnn --trials 4 --max-epochs 6 --lr-range 5e-4,5e-3 --runs RUNS"),
    ("Every number has its interval. What differs only by chance is said to be within noise.",
     "leaderboard --runs RUNS"),
    ("What might be wrong with the number? The audit says so in plain sentences.",
     "audit latest --runs RUNS"),
    ("The trained model classifies an image file: this one is a test image of a 7.",
     "predict latest IMAGE --runs RUNS"),
    ("A mistake is answered in one line: the rule, what was given, and the way out.",
     "run cnnn --runs RUNS"),
)  # fmt: skip


@app.command(rich_help_panel=LOOK)
def demo(
    folder: Annotated[Path, typer.Option(metavar="FOLDER", help="where the tour keeps its runs")] = Path("replab-demo"),
    pause: Annotated[
        bool, typer.Option("--pause/--no-pause", help="wait for Enter before each step, in a terminal")
    ] = True,
) -> None:
    """Take a guided tour of two minutes on the digits: run, compare, audit, predict, and a mistake."""
    folder.mkdir(parents=True, exist_ok=True)
    image = seven(folder / "seven.png")
    for number, (text, command) in enumerate(STEPS, 1):
        words = [{"RUNS": str(folder / "runs"), "IMAGE": str(image)}.get(word, word) for word in command.split()]
        print(f"\n[{number}/{len(STEPS)}] {text}\n$ replab {shlex.join(words)}", flush=True)
        if pause and sys.stdin.isatty():
            input("    Enter goes on ")
        try:
            app(words, prog_name="replab", standalone_mode=False)
        except ReplabError as error:
            print(f"replab: {error}")
    print(f"\nThat was all. The reports are in {folder / 'runs'}; replab --help lists every command.")


def seven(path: Path) -> Path:
    """A test image of the digits, as a file."""
    from PIL import Image

    from replab.data.load import load

    test = load("digits").test
    assert test.labels is not None
    Image.fromarray(test.pixels[int((test.labels == 7).argmax()), 0]).save(path)
    return path
