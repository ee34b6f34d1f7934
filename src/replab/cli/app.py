"""The frame of the command line: the app, its panels, the options that commands share, and how errors are printed."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from replab import interruption
from replab.cli import names
from replab.errors import ReplabError, UnknownName
from replab.records.events import Events, Folder
from replab.records.terminal import LEVELS, Lines, watchers
from replab.records.text import visible
from replab.registry import PluginSkipped

RUN, LOOK, RESULTS, PUBLISHED = "Run", "Look before you run", "Use the results", "Published experiments"

COMPLETING = "_REPLAB_COMPLETE"  # in the environment when a shell asks how a word may go on
UsageError: Any = typer.BadParameter.__mro__[1]  # click's, or that of the copy of click in newer versions of Typer


# words of other tools → the command that does it here
MEANT = {
    "train": "run", "fit": "run", "search": "run", "finetune": "run", "test": "report", "eval": "report",
    "evaluate": "report", "list": "runs", "ls": "runs", "infer": "predict", "classify": "predict", "sample": "generate",
}  # fmt: skip


class Commands(TyperGroup):
    """A mistyped command is refused like every other unknown name."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and args[0] not in self.commands:
            if args[0] in MEANT:
                raise ReplabError(
                    f"no command named {args[0]!r}. Did you mean {MEANT[args[0]]!r}? (replab --help lists all)"
                )
            raise UnknownName("command", args[0], self.commands, "replab --help lists all")
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=Commands,
    help="An image-model replication lab: one command searches, trains, evaluates, reports and remembers.",
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Runs = Annotated[
    str | None, typer.Option("--runs", metavar="FOLDER", help="folder of runs (default: $REPLAB_RUNS or ./runs)")
]
Seeds = Annotated[
    int, typer.Option("--seeds", metavar="N", min=1, help="run with N seeds in a row; prints mean ± spread over seeds")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="print errors only: no progress, no report")]
RecipeFile = Annotated[
    Path | None, typer.Option("--recipe", metavar="FILE", help="a recipe in TOML; flags override its settings")
]
LogLevel = Annotated[
    str | None,
    typer.Option(
        "--log-level",
        metavar="LEVEL",
        help="plain lines instead of bars: error, warning, info or debug (default: bars in a terminal, info elsewhere)",
    ),
]
Track = Annotated[
    list[str] | None,
    typer.Option(
        "--track",
        metavar="NAME",
        help="also tell csv, tensorboard, mlflow, wandb or trackio",
    ),
]
Fast = Annotated[bool, typer.Option("--fast", help="one trial, one epoch, few images, through every stage")]
Model = Annotated[str, typer.Argument(help="a registered name, or FILE.py:FUNCTION", autocompletion=names.models)]
RunName = Annotated[
    str,
    typer.Argument(
        metavar="RUN", help="id of the run or its beginning, its folder, or latest", autocompletion=names.runs
    ),
]
ModelFile = Annotated[
    str | None,
    typer.Option("--model", metavar="FILE.py:FUNCTION", help="use this when the run's own file has moved or changed"),
]
WorkersOption = Annotated[
    str,
    typer.Option("--workers", metavar="N", help="trials side by side: a number, or auto; changes the time alone"),
]
EngineOption = Annotated[
    str, typer.Option("--engine", metavar="NAME", help="where trials run: in-process, processes or ray")
]
RayAddress = Annotated[
    str | None,
    typer.Option("--ray-address", metavar="HOST:PORT", help="a Ray cluster that is running; default: $RAY_ADDRESS"),
]
CheckpointEvery = Annotated[
    str,
    typer.Option("--checkpoint-every", metavar="TIME", help="what an interruption of a long epoch costs at most: 10m"),
]
DdpOption = Annotated[
    int | None,
    typer.Option(
        "--ddp", metavar="N", help="train on N GPUs or CPU processes together, each with a share of every batch"
    ),
]
TrustOption = Annotated[
    bool,
    typer.Option(
        "--trust", help="go on with what is shown: code in the folder of a run, or weights without a known SHA-256"
    ),
]


def asked(trust: bool) -> Callable[[str], bool]:
    """Show what is to be trusted; the answer is --trust, or that of the person at the terminal."""

    def answer(what: str) -> bool:
        if trust:
            print(what, file=sys.stderr)
            return True
        return sys.stdin.isatty() and sys.stderr.isatty() and typer.confirm(f"{what}. Trust it?", err=True)

    return answer


@app.callback(invoke_without_command=True)
def replab(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="print the version and exit", is_eager=True)] = False,
) -> None:
    """An image-model replication lab: one command searches, trains, evaluates, reports and remembers."""
    if version:
        from replab import __version__

        print(f"replab {__version__}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
        raise typer.Exit


def main() -> None:
    """Errors that a user can fix are one line, with exit code 2; Ctrl-C and SIGTERM leave a run that can be resumed."""
    _in_use.paths.clear()  # of an earlier command in this process
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115 (it was closed, as by >&-)
    warnings.showwarning = partial(show_warning, warnings.showwarning)
    try:
        with interruption.listening(how_to_resume):
            code = app(prog_name="replab", standalone_mode=False)
    except ReplabError as error:
        refuse(str(error))
    except UsageError as error:
        refuse(usage_message(error))
    except typer.Abort:
        code = 130
    except SystemExit as end:  # Typer leaves by returning: this is a model's own code
        if COMPLETING in os.environ:
            raise
        if isinstance(end.__context__, BrokenPipeError):  # or nobody reads on, as after `| head`
            raise
        refuse(f"the code of the model ended the program with sys.exit({end.code!r}), which is no success")
    if code == 130 and (name := interruption.received()):
        print(f"\nreplab: ended by {name}{how_to_resume()}", file=sys.stderr)
        sys.exit(interruption.EXIT_CODE)
    if code == 130:  # how Typer ends after Ctrl-C
        print(f"\nreplab: interrupted{how_to_resume()}", file=sys.stderr)
    if code:
        sys.exit(code)


def show_warning(usual: Any, message: Any, category: Any, *where: Any, **more: Any) -> None:
    """A plugin that is skipped is said in one line; other warnings as ever."""
    if issubclass(category, PluginSkipped):
        print(f"replab: {message}", file=sys.stderr)
    else:
        usual(message, category, *where, **more)


def refuse(message: str) -> None:
    print(f"replab: {visible(message)}", file=sys.stderr)
    sys.exit(2)


def usage_message(error: Any) -> str:
    """An unknown option with the nearest one, anything else in Typer's words; one line."""
    path = error.ctx.command_path if error.ctx else "replab"
    if hasattr(error, "possibilities") and error.ctx:  # NoSuchOption
        known = [flag for option in error.ctx.command.params for flag in (*option.opts, *option.secondary_opts)]
        return str(UnknownName("option", error.option_name, known, f"{path} --help lists all"))
    text = " ".join(error.format_message().split()).rstrip(".")
    return f"{text[:1].lower()}{text[1:]} ({path} --help shows how)"


_in_use = Folder()


def shown(quiet: bool, level: str | None = None) -> Events:
    """Who watches a command's runs: the terminal, and the memory of the folder in use."""
    if level is not None and level not in LEVELS:
        raise UnknownName("log level", level, LEVELS, "--log-level takes " + ", ".join(LEVELS))
    if level == "info":
        return Events(_in_use, Lines())
    return Events(_in_use, *watchers(quiet, level or "info"))


def how_to_resume() -> str:
    paths = list(_in_use.paths.values())
    if len(paths) > 1:
        return "; each of these continues one run:" + "".join(f"\n  replab resume {path}" for path in paths)
    return f"; replab resume {paths[0]} continues it" if paths else ""
