"""The command line: one command per verb. It parses, calls and prints; what is slow is imported when it is needed."""

# ruff: noqa: I001
from __future__ import annotations

# Importing the files registers their commands, in the order of the help.
from replab.cli import run, compare, rates, look, lists  # noqa: F401
from replab.cli.welcome import doctor, demo  # noqa: F401
from replab.cli import results, view  # noqa: F401
from replab.cli import predict, generate, replicate  # noqa: F401
from replab.cli.deploy import export, card  # noqa: F401
from replab.cli.app import main

__all__ = ["main"]
