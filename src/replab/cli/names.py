"""The names that a shell completes: models, data sets and runs. Nothing slow is imported."""

from __future__ import annotations

from collections.abc import Callable

from replab.settings.choices import Choices, names


def models(incomplete: str) -> list[str]:
    from replab.models.registry import MODELS

    return [name for name in MODELS.names() if name.startswith(incomplete)]


def datasets(incomplete: str) -> list[str]:
    from replab.data.source import source

    return [name for name in source.names() if name.startswith(incomplete)]


def runs(incomplete: str) -> list[str]:
    """The newest first, and `latest`."""
    from replab.records.record import LATEST, Record, runs_folder

    ids = [record.id for record in Record.all(runs_folder())]
    return [name for name in [LATEST, *reversed(ids)] if name.startswith(incomplete)]


def of_choices(choices: Choices) -> Callable[[str], list[str]]:
    """The names that a setting may take."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names(choices) if name.startswith(incomplete)]

    return complete
