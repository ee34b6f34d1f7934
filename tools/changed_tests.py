"""The tests of what changed, as paths for pytest: what `make quick` runs.

Changed is what differs from the place where this branch left its upstream, or, on the upstream itself, from the commit
before; and whatever is not committed. A room's tests are the folder of its name; `make test` runs the others too.
"""

from __future__ import annotations

import subprocess
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = "tests/test_architecture.py"


def git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split() if done.returncode == 0 else []


def changed() -> set[str]:
    """Files that differ, and new ones."""
    head, forked = git("rev-parse", "HEAD"), git("merge-base", "HEAD", "@{upstream}")
    base = forked if forked and forked != head else ["HEAD~1"]
    return {*git("diff", "--name-only", *base), *git("ls-files", "--others", "--exclude-standard")}


def tests_of(file: str) -> list[str]:
    """src/replab/data/x.py → tests/replab/data; src/replab/pipeline.py → tests/replab/test_pipeline.py."""
    path = PurePosixPath(file)
    if path.parts[0] == "tests":
        is_test = path.name.startswith("test_") and path.suffix == ".py"
        return [file] if is_test else [str(path.parent)] if len(path.parts) > 3 else []
    if path.parts[0] != "src" or len(path.parts) < 3:
        return []
    package, room = path.parts[1:3]
    return [f"tests/{package}/{room}", f"tests/{package}/test_{PurePosixPath(room).stem}.py"]


def main() -> None:
    named = {ALWAYS, *(test for file in changed() for test in tests_of(file))}
    there = {test for test in named if (ROOT / test).exists()}
    inner = {test for test in there if any(test.startswith(f"{folder}/") for folder in there)}
    print(*sorted(there - inner))


if __name__ == "__main__":
    main()
