"""What was published: one pack per source, a TOML file of this folder that is found by being here.

`format = 1` is the version of this format. `[source]` says what the source is (title, url, citation, licence) and holds
the recipe and tolerances that its rows share. Each `[[row]]` is one experiment: its recipe is the source's with its own
keys on top, and `figures` are the printed numbers, each with the measurement (measures.py) that stands beside it;
`right = true` marks the right way where the published one was wrong. `curve` has what was printed after each epoch.
Each `[[claim]]` is a sentence, with the comparisons of rows that decide it. Ids begin with the file's name.
A tolerance is in the figure's unit: the difference that would not matter, stated before measuring, within which the
measured mean has to be shown for the figure to hold. A source's is about two standard errors of one run on its test
images. A figure that was printed as a bound ("above 82 %") has `bound = "above"` or `"below"`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from replab import files as local
from replab.errors import RecipeError, UnknownName
from replab.registry import plugins, skip
from replab.replication.measures import MEASURES
from replab.settings.recipe import Recipe

FOLDER = Path(__file__).parent
FORMAT = 1
LARGEST = 2**24  # bytes of a pack
SOURCE_KEYS = (
    "title", "url", "citation", "licence", "hardware", "searched", "protocol", "tolerance", "notes", "recipe",
)  # fmt: skip
COMMON = {"hardware": "", "searched": False, "protocol": ""}  # what a row has of its source, where it does not say it


@dataclass(frozen=True)
class Figure:
    """One number of a row: what was printed, and which measurement of a run stands beside it."""

    measure: str  # a name in measures.MEASURES
    published: float | None = None  # None: never printed
    tolerance: float = 0.0  # margin of equivalence
    bound: str = ""  # above or below: the printed number is the least or the most
    right: bool = False  # the right way, beside the published one
    incomparable: str = ""  # why the printed number measured something else
    note: str = ""


@dataclass(frozen=True)
class Row:
    id: str
    source: str
    recipe: Recipe
    figures: tuple[Figure, ...]
    parameters: int | None = None  # as published
    searched: bool = False  # lr and epochs came from a search: the row can be run with that search too
    protocol: str = ""  # of that search
    duration: str = ""
    hardware: str = ""
    published: str = ""  # in words, where there is no number
    notes: str = ""  # what the published code got wrong, what is assumed here
    variant_of: str = ""  # a control of ours, or the right way of another row
    not_run: str = ""  # why it cannot be run
    curve: Mapping[str, Sequence[float]] = field(default_factory=dict)  # measure → as printed after each epoch
    unmeasured: str = ""  # why it has not been measured, where that is not for want of trying
    file: str = ""  # the name of its pack's file, where that was given with --pack

    @property
    def words(self) -> list[str]:
        """The command that runs it."""
        return ["replab", "replicate", *(("--pack", self.file) if self.file else ()), self.id]

    def search_recipe(self) -> Recipe:
        if not self.searched:
            raise RecipeError(f"{self.id} was published with fixed settings, not a search; leave --search out")
        search = asdict(Recipe.of_protocol(self.protocol).search) if self.protocol else {}
        return self.recipe.replace(lr=None, epochs=None, protocol=self.protocol or self.recipe.protocol, search=search)


@dataclass(frozen=True)
class Check:
    """Each run against each control: higher, lower, or within `margin` of it."""

    runs: tuple[str, ...]
    control: tuple[str, ...]
    expect: str  # higher, lower or within
    measure: str = "test_accuracy"
    margin: float = 0.0
    control_measure: str = ""  # where the control is measured another way; "": as the runs are

    @property
    def measures(self) -> tuple[str, str]:
        """Of the runs, of the control."""
        return self.measure, self.control_measure or self.measure


@dataclass(frozen=True)
class Claim:
    id: str
    words: str
    checks: tuple[Check, ...] = ()  # all must hold
    control: str = ""  # what the control is, in words
    not_run: str = ""


@dataclass(frozen=True)
class Published:
    rows: dict[str, Row]
    claims: dict[str, Claim]
    sources: dict[str, dict[str, Any]]


@cache
def published() -> Published:
    """Every pack of this folder, and of installed packages with an entry point `replab.packs`, by name."""
    texts = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.toml"))}
    for point in plugins("replab.packs"):
        try:
            theirs = sorted((file for file in files(point.module).iterdir()), key=lambda file: file.name)
        except Exception as error:  # whatever a package of somebody else's may raise
            skip(point, f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")
            continue
        for file in theirs:
            if file.name.endswith(".toml"):
                texts.setdefault(file.name.removesuffix(".toml"), file.read_text(encoding="utf-8"))
    return parse(texts)


def from_file(path: Path) -> Published:
    """One pack of a user's own, by itself: its ids begin with the file's name."""
    try:
        known = parse({path.stem: local.read(path, LARGEST).decode()})
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"a pack is a TOML file, got {path}: {error}; docs/packs.md shows one") from None
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        kind = type(error).__name__
        raise RecipeError(f"{path}: a key is missing or has another type ({kind}: {error}); docs/packs.md") from None
    return replace(known, rows={id: replace(row, file=path.name) for id, row in known.rows.items()})


def parse(packs: Mapping[str, str]) -> Published:
    """Sources, rows and claims of packs, given as name → TOML. Unknown keys are refused."""
    values = {name: _toml(name, text) for name, text in packs.items()}
    sources = {name: _source(pack, name) for name, pack in values.items()}
    rows = [_row(row, name, sources[name]) for name, pack in values.items() for row in pack.pop("row", [])]
    known = {row.id for row in rows}
    claims = [_claim(claim, name, known) for name, pack in values.items() for claim in pack.pop("claim", [])]
    for name, pack in values.items():
        _no_more(pack, f"{name}.toml")
    ids = [row.id for row in rows] + [claim.id for claim in claims]
    if twice := {name for name in ids if ids.count(name) > 1}:
        raise RecipeError(f"ids of a pack must be unique, got {', '.join(sorted(twice))} twice; rename one of them")
    return Published({r.id: r for r in rows}, {c.id: c for c in claims}, sources)


def _source(pack: dict[str, Any], name: str) -> dict[str, Any]:
    if (version := pack.pop("format", FORMAT)) != FORMAT:
        raise RecipeError(f"{name}.toml: this replab reads packs of format {FORMAT}, got {version!r}; update replab")
    source: dict[str, Any] = pack.pop("source", {})
    _no_more({key: value for key, value in source.items() if key not in SOURCE_KEYS}, f"{name}.toml, [source]")
    if not source.get("title"):
        raise RecipeError(f'{name}.toml: a pack needs a [source] with a title, got none; add title = "..."')
    return source


def _toml(name: str, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # RecursionError: nested too deeply
        raise RecipeError(f"the pack {name}.toml is not valid TOML: {error}") from None


def select(patterns: Iterable[str], known: Mapping[str, Row]) -> list[Row]:
    """Rows by id or glob, in the packs' order; a pattern that matches none is an error."""
    patterns = list(patterns)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UnknownName("published row", pattern, known, "replab replicate --list lists all")
    return [row for name, row in known.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]


def _row(values: dict[str, Any], source: str, base: Mapping[str, Any]) -> Row:
    name = _id(values, source)
    figures = tuple(_figure(f, base, name, bool(values.get("not_run"))) for f in values.pop("figures", []))
    recipe = Recipe.from_dict({**base.get("recipe", {}), **values.pop("recipe", {})})
    for measure, printed in values.get("curve", {}).items():
        if measure not in MEASURES or len(printed) != recipe.epochs:
            raise RecipeError(
                f"{name}: a curve is a measure and one value per epoch,"
                f" got {measure} with {len(printed)} of {recipe.epochs}"
            )
    common = {key: base.get(key, otherwise) for key, otherwise in COMMON.items()}
    _no_more({k: v for k, v in values.items() if k not in Row.__dataclass_fields__ or k in ("source", "file")}, name)
    return Row(source=source, recipe=recipe, figures=figures, **{**common, **values})


def _id(values: Mapping[str, Any], source: str) -> str:
    name = str(values.get("id", ""))
    if not name.startswith(f"{source}/"):
        raise RecipeError(f"ids in {source}.toml must begin with {source}/, got {name!r}")
    return name


def _figure(values: dict[str, Any], source: Mapping[str, Any], row: str, open_ended: bool) -> Figure:
    measure = values["measure"]
    if measure not in MEASURES and not open_ended:  # rows whose models are still to come may name theirs already
        raise UnknownName("measure", measure, MEASURES, f"in {row}; known: {', '.join(MEASURES)}")
    unit = MEASURES[measure].unit if measure in MEASURES else ""
    tolerance = source.get("tolerance", {}).get("accuracy" if unit == "%" else "loss", 0.0)
    _no_more({k: v for k, v in values.items() if k not in Figure.__dataclass_fields__}, row)
    figure = Figure(**{"tolerance": tolerance, **values})
    if figure.bound not in ("", "above", "below"):
        raise RecipeError(f"{row}: bound must be above or below, got {figure.bound!r}")
    return figure


def _claim(values: dict[str, Any], source: str, rows: set[str]) -> Claim:
    name = _id(values, source)
    checks = []
    for check in values.pop("checks", []):
        for row in (*check["runs"], *check["control"]):
            if row not in rows:
                raise UnknownName("published row", row, rows, f"in the claim {name}")
        parsed = Check(**{**check, "runs": tuple(check["runs"]), "control": tuple(check["control"])})
        if parsed.expect not in ("higher", "lower", "within"):
            raise RecipeError(f"{name}: expect must be higher, lower or within, got {parsed.expect!r}")
        for measure in parsed.measures:
            if measure not in MEASURES:
                raise UnknownName("measure", measure, MEASURES, f"in {name}; known: {', '.join(MEASURES)}")
        checks.append(parsed)
    _no_more({k: v for k, v in values.items() if k not in Claim.__dataclass_fields__}, name)
    return Claim(checks=tuple(checks), **values)


def _no_more(values: Mapping[str, Any], where: str) -> None:
    if values:
        raise RecipeError(f"{where}: no such key {', '.join(sorted(values))}; docs/packs.md has the known ones")
