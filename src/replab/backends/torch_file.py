"""A file of torch.save from anywhere, looked at before torch reads it: it may neither run code nor take for ever."""

from __future__ import annotations

import io
import os
import zipfile
from pathlib import Path

SLACK = 2**20  # bytes by which an archive may be larger unpacked: torch.save does not compress
LARGEST_PICKLE = 2**28  # bytes: tensors lie beside it
STREAM = 5  # pickles in a file from before torch 1.6: magic number, version, machine, object, keys


def check(path: Path) -> None:
    """ValueError, or what a damaged archive raises, for a file that torch must not be given."""
    from mytorch import pickle_budget

    if not path.is_file():
        raise ValueError("it is not a file")
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            for _ in range(STREAM):
                pickle_budget.check(file)
        return
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        unpacked, size = sum(member.file_size for member in members), os.path.getsize(path)
        if unpacked > size + SLACK:
            raise ValueError(f"it unpacks to {unpacked:,} bytes and has {size:,}: torch.save writes no such file")
        for member in members:
            if member.filename.endswith(".pkl"):
                if member.file_size > LARGEST_PICKLE:
                    raise ValueError(f"{member.filename} in it has {member.file_size:,} bytes")
                pickle_budget.check(io.BytesIO(archive.read(member)))
