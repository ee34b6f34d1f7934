"""packaging/mytorch builds a wheel of the same sources that needs nothing but NumPy."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]

ALONE = """
import sys
sys.path.insert(0, sys.argv[1])
import mytorch, mytorch.nn, mytorch.optim, mytorch.vision, mytorch.distributions, mytorch.utils.tensorboard
assert mytorch.__file__.startswith(sys.argv[1])
assert mytorch.nn.Linear(2, 1)(mytorch.ones(3, 2)).shape == (3, 1)
assert "torch" not in sys.modules and "replab" not in sys.modules
"""


def test_the_wheel_holds_every_file_and_works_alone(tmp_path):
    build = "import setuptools.build_meta as b, sys; print(b.build_wheel(sys.argv[1]))"
    folder = tmp_path / "repository"  # a copy, so that no build files are left behind
    folder.mkdir()
    for name in ("packaging", "src"):
        (folder / name).mkdir()
    subprocess.run(["cp", "-r", str(ROOT / "packaging" / "mytorch"), str(folder / "packaging")], check=True)
    subprocess.run(["cp", "-r", str(ROOT / "src" / "mytorch"), str(folder / "src")], check=True)
    where = folder / "packaging" / "mytorch"
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=where, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if name.endswith(".py")}
        (metadata,) = [name for name in archive.namelist() if name.endswith("METADATA")]
        (license,) = [name for name in archive.namelist() if name.endswith("LICENSE")]
        assert archive.read(license) == (ROOT / "LICENSE").read_bytes()
        needs = [line for line in archive.read(metadata).decode().splitlines() if line.startswith("Requires-Dist")]
        archive.extractall(tmp_path / "installed")
    sources = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "mytorch").rglob("*.py")}
    assert held == sources
    assert needs == ["Requires-Dist: numpy>=2.0"]
    subprocess.run([sys.executable, "-c", ALONE, str(tmp_path / "installed")], cwd=tmp_path, check=True)
