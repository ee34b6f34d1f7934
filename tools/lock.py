"""requirements.lock: every package that running replab needs, with the SHA-256 of its files, for deployments.

    python tools/lock.py                                       # writes it (make lock)
    pip install --require-hashes -r requirements.lock          # a machine installs exactly these files
    pip install --no-deps .

Versions are those of constraints.txt; what else a package needs on Linux (torch's CUDA libraries) is taken as that
package pins it. Hashes and requirements come from the index; of wheels only the METADATA is fetched, nothing is built.
"""

from __future__ import annotations

import email
import html.parser
import io
import re
import sys
import tomllib
import urllib.error
import urllib.parse
import urllib.request
import zipfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

ROOT = Path(__file__).parents[1]
INDEX = "https://pypi.org/simple"
PYTHONS = ("3.11", "3.12", "3.13")
LINUX = {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64"}
HEAD = """\
# Made by tools/lock.py (make lock): what running replab needs on Linux, each file with its SHA-256.
# pip install --require-hashes -r requirements.lock && pip install --no-deps .
"""


class File(NamedTuple):
    name: str
    url: str
    sha256: str


class Links(html.parser.HTMLParser):
    def __init__(self, page: str, base: str):
        super().__init__()
        self.base, self.files = base, list[File]()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag != "a" or not given.get("href") or "data-yanked" in given:
            return
        url, _, fragment = urllib.parse.urljoin(self.base, given["href"] or "").partition("#")
        if fragment.startswith("sha256="):
            name = urllib.parse.unquote(url.rpartition("/")[2])
            self.files.append(File(name, url, fragment.removeprefix("sha256=")))


def read(url: str) -> str:
    if not url.startswith("https://"):
        raise SystemExit(f"{url} is not https")
    with urllib.request.urlopen(urllib.request.Request(url, headers={"Accept": "text/html"}), timeout=60) as answer:
        return str(answer.read().decode())


class Ranges(io.RawIOBase):
    """A file on the index, of which only the bytes that are read are fetched: the end of a wheel, and its METADATA."""

    def __init__(self, url: str):
        self.url, self.at = url, 0
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:
            self.size = int(answer.headers["content-length"])

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.at

    def seek(self, offset: int, whence: int = 0) -> int:
        self.at = offset + (0, self.at, self.size)[whence]
        return self.at

    def read(self, size: int = -1) -> bytes:
        end = self.size if size < 0 else min(self.size, self.at + size)
        if end <= self.at:
            return b""
        asked = urllib.request.Request(self.url, headers={"Range": f"bytes={self.at}-{end - 1}"})
        with urllib.request.urlopen(asked, timeout=60) as answer:
            data: bytes = answer.read()
        self.at += len(data)
        return data


@cache
def versions(name: str) -> dict[Version, list[File]]:
    """Version → its files, of one package."""
    found: dict[Version, list[File]] = {}
    for file in Links(read(f"{INDEX}/{name}/"), f"{INDEX}/{name}/").files:
        try:
            parse = parse_wheel_filename if file.name.endswith(".whl") else parse_sdist_filename
            found.setdefault(parse(file.name)[1], []).append(file)
        except (InvalidWheelFilename, ValueError):
            continue
    return found


@cache
def requirements(name: str, version: Version) -> list[Requirement]:
    """What one version needs, by the METADATA of a wheel for this machine, or of any."""
    tags, files = set(sys_tags()), versions(name)[version]
    wheels = [file for file in files if file.name.endswith(".whl")]
    fitting = [file for file in wheels if parse_wheel_filename(file.name)[3] & tags] or wheels
    if not fitting:
        raise SystemExit(f"{name}: the index has no wheel, and what it needs is known of wheels alone")
    try:
        found = read(f"{fitting[0].url}.metadata")
    except urllib.error.HTTPError:  # an index without PEP 658
        with zipfile.ZipFile(Ranges(fitting[0].url)) as wheel:  # type: ignore[arg-type]
            member = next(n for n in wheel.namelist() if n.endswith(".dist-info/METADATA") and n.count("/") == 1)
            found = wheel.read(member).decode()
    text = email.message_from_string(found)
    return [Requirement(line) for line in text.get_all("Requires-Dist") or []]


def wanted(needed: Requirement, extras: Iterable[str] = ()) -> bool:
    """On Linux, with a Python of ours, where its package is asked for with these extras."""
    here: dict[str, Any] = {**default_environment(), **LINUX}
    return needed.marker is None or any(
        needed.marker.evaluate({**here, "python_version": p, "python_full_version": f"{p}.0", "extra": extra})
        for p in PYTHONS
        for extra in ("", *extras)
    )


def locked(first: list[Requirement], pins: dict[str, str]) -> dict[str, tuple[Version, list[File]]]:
    """Package → version and files, of all that these need.

    A version is the newest that everyone who needs the package allows. What a package needs is known once its version
    is, and may rule out the version of another: round after round, until nothing changes.
    """
    chosen: dict[str, Version] = {}
    with ThreadPoolExecutor(8) as pool:
        for _ in range(50):
            needs: dict[str, list[Requirement]] = {}
            for need in (need for need in first if wanted(need)):
                needs.setdefault(canonicalize_name(need.name), []).append(need)
            known = dict(zip(chosen, pool.map(requirements, chosen, chosen.values())))
            grown = True
            while grown:  # extras of a package may be asked for by one that comes later
                grown = False
                for name in [name for name in known if name in needs]:
                    extras = {extra for need in needs[name] for extra in need.extras}
                    for need in (need for need in known[name] if wanted(need, extras)):
                        others = needs.setdefault(canonicalize_name(need.name), [])
                        if need not in others:
                            others.append(need)
                            grown = True
            picked = pool.map(newest, needs, needs.values(), [pins.get(name) for name in needs])
            found = dict(zip(needs, picked))
            if found == chosen:
                return {name: (version, versions(name)[version]) for name, version in found.items()}
            chosen = found
    raise SystemExit("no set of versions was found that all packages allow")


def newest(name: str, needs: list[Requirement], pin: str | None) -> Version:
    """The version that all of them allow."""
    allowed = [v for v in versions(name) if all(need.specifier.contains(v) for need in needs)]
    if pin is not None:
        allowed = [v for v in allowed if v == Version(pin)]
    if not allowed:
        asked = ", ".join(sorted({str(need) for need in needs}))
        raise SystemExit(f"{name}: the index has no version {pin or ''} that is allowed by {asked}")
    return max(allowed)


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins: dict[str, str] = {}
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        if match := re.fullmatch(r"([A-Za-z0-9._-]+)==([^\s;#]+).*", line):
            pins[canonicalize_name(match[1])] = match[2]
    packages = locked([Requirement(line) for line in project["dependencies"]], pins)
    lines = [HEAD]
    for name, (version, files) in sorted(packages.items()):
        hashes = sorted({file.sha256 for file in files})
        lines.append(f"{name}=={version}" + "".join(f" \\\n    --hash=sha256:{digest}" for digest in hashes) + "\n")
    (ROOT / "requirements.lock").write_text("".join(lines))
    print(f"requirements.lock: {len(packages)} packages, {sum(len(f) for _, f in packages.values())} files")
    if unpinned := sorted(set(packages) - set(pins)):
        print(f"not in constraints.txt, taken as their packages ask: {', '.join(unpinned)}", file=sys.stderr)


if __name__ == "__main__":
    main()
