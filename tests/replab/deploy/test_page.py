"""docs/deploy.md: the script of twelve lines classifies a PNG with the ONNX file alone, in a process without replab."""

import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image

PAGE = Path(__file__).parents[3] / "docs/deploy.md"


def test_the_onnx_file_alone_classifies_a_png(finished_run, exported, tmp_path):
    script = PAGE.read_text().partition("# file: classify.py\n")[2].partition("```")[0]
    assert len([line for line in script.splitlines() if line.strip()]) <= 12
    assert "replab" not in script
    shutil.copy(exported[0] / "a.onnx", tmp_path / "model.onnx")
    image = finished_run.predictions["mistake_pixels"][0]
    Image.fromarray(image[0]).save(tmp_path / "one.png")
    words = [sys.executable, "-I", "-c", script, "model.onnx", "one.png"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    told = finished_run.predict(image)
    assert done.stdout.strip() == f"{told.label} {told.probability:.1%}"
