"""Where a run was made: versions, commit, device, processor, threads. A number without these cannot be compared."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PACKAGES = ("torch", "torchvision", "numpy", "optuna", "scikit-learn", "pillow")


def describe(device: str) -> dict[str, Any]:
    import torch

    return {
        "replab": importlib.metadata.version("replab"),
        "commit": commit(Path(__file__).parent),
        "python": platform.python_version(),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "platform": platform.platform(),
        "device": torch.cuda.get_device_name(device) if device.startswith("cuda") else device,
        "processor": processor(),
        "threads": torch.get_num_threads(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command(),
    }


def commit(folder: Path) -> str | None:
    """The commit of replab's own checkout, marked when its code (the folder and its neighbours) has changes on top;
    None for an installed package. Results that were added since are no change of the code."""

    def git(*words: str) -> str:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, timeout=10, check=True)
        return done.stdout.strip()

    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", "..")
        return git("rev-parse", "--short=12", "HEAD") + ("-dirty" if changed else "")
    except (OSError, subprocess.SubprocessError):
        return None


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def command() -> str:
    """The command line, as it can be typed again."""
    program = Path(sys.argv[0]).name
    return shlex.join(["replab", *sys.argv[1:]]) if program in ("replab", "__main__.py", "cli.py") else "python"
