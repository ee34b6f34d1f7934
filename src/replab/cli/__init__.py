"""The command line: one command a verb. Parses, calls the API, prints; imports what is slow only when needed."""

from __future__ import annotations

import sys

from replab.cli import (  # noqa: F401 (importing them registers their commands)
    generating,
    looking,
    replicating,
    results,
    running,
    verifying,
)
from replab.cli.app import app, how_to_resume
from replab.errors import ReplabError


def main() -> None:
    """Errors a user can put right are one line and exit code 2; Ctrl-C leaves a run that can be resumed."""
    try:
        app()
    except ReplabError as error:
        print(f"replab: {error}", file=sys.stderr)
        sys.exit(2)
    except SystemExit as end:
        if end.code == 130:  # how Typer ends after Ctrl-C
            print(f"\nreplab: interrupted{how_to_resume()}", file=sys.stderr)
        raise
