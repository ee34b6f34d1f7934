"""The one thing pyproject.toml cannot say: a wheel holds the measured rows of results/, which lie outside src."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class WithMeasuredRows(build_py):
    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "replab", "replication", "rows.jsonl")
            self.copy_file("results/rows.jsonl", str(target))


setup(cmdclass={"build_py": WithMeasuredRows})
