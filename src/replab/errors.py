"""The errors a user can cause: the rule, the value and the way out, in one line. The CLI exits with code 2."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class ReplabError(Exception):
    """Something the user can put right. The message is the whole story: it is printed without a traceback.

    One line, whatever names of files and classes are in it.
    """

    def __init__(self, message: object = ""):
        super().__init__(" ".join(str(message).splitlines()))


class UnknownName(ReplabError):
    """A name that is not in a list of names."""

    def __init__(self, kind: str, name: str, known: Iterable[str], way_out: str):
        near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        super().__init__(f"no {kind} named {name!r}.{hint} ({way_out})")


class FileError(ReplabError):
    """A file that cannot be written, or that another process is writing."""


class DataError(ReplabError):
    """Images that cannot be had or read."""


class ModelError(ReplabError):
    """A model that cannot be built, or does not fit the images."""


class RecipeError(ReplabError):
    """A recipe with an unknown key or an impossible value."""


class RunError(ReplabError):
    """A run folder that is absent, foreign, corrupt or not writable."""
