"""How numbers are put into words, the same everywhere."""

from __future__ import annotations


def duration(seconds: float) -> str:
    """12.3s, 4m07s, 2h05m."""
    if seconds < 60:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m{rest:02d}s" if minutes < 60 else f"{minutes // 60}h{minutes % 60:02d}m"


def size(count: float) -> str:
    """1.2 GB, 340 MB, 12 kB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit in ("B", "kB") else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def count(n: int, noun: str) -> str:
    """1 epoch, 2 epochs, 1,000 epochs."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")
