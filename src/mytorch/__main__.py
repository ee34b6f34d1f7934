"""`python -m mytorch script.py arguments…` runs a script that says `import torch` on mytorch, unmodified."""

from __future__ import annotations

import sys
from pathlib import Path

from mytorch.compat import run_script


def main(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help"):
        print("usage: python -m mytorch script.py [arguments]", file=sys.stderr)
        return 0 if argv else 2
    if not Path(argv[0]).is_file():
        print(f"mytorch: the script must be a file, but there is no {argv[0]}", file=sys.stderr)
        return 2
    run_script(argv[0], argv[1:])
    return 0


def command() -> int:
    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(command())
