"""examples/kaggle.ipynb runs from top to bottom, and shows text, tables and pictures, no dead bars."""

import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[1] / "examples/kaggle.ipynb"


@pytest.fixture(scope="module")
def cells(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notebook")
    kernel = folder / "kernels/python3"  # this very Python, whatever kernels the machine has
    kernel.mkdir(parents=True)
    words = f'["{sys.executable}", "-m", "ipykernel_launcher", "-f", "{{connection_file}}"]'
    (kernel / "kernel.json").write_text(f'{{"argv": {words}, "display_name": "Python 3", "language": "python"}}')
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JUPYTER_PATH", str(folder))
        for name in ("REPLAB_RUNS", "REPLAB_CACHE", "REPLAB_CONFIG"):
            patch.setenv(name, str(folder / name.lower()))
        notebook = nbformat.read(NOTEBOOK, as_version=4)
        client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
        return {cell["source"]: cell["outputs"] for cell in client.execute()["cells"] if cell["cell_type"] == "code"}


def shown(cells, begins):
    """What a cell put out: (kind, text) each."""
    outputs = next(outputs for source, outputs in cells.items() if source.startswith(begins))
    return [(kind, str(text)) for output in outputs for kind, text in output.get("data", output).items()]


def test_a_run_shows_cost_folder_and_one_table(cells):
    html = [text for kind, text in shown(cells, "trained = replab.run") if kind == "text/html"]
    assert len(html) == 1  # rewritten in place
    for words in ("cost:", "run folder:", "training: epoch 1 of 1", "<th>train accuracy</th>"):
        assert words in html[0]


def test_no_bar_is_left_and_nothing_went_wrong(cells):
    everything = str(list(cells.values()))
    assert "widget" not in everything
    assert "█" not in everything
    assert "Traceback" not in everything
    assert not [output for outputs in cells.values() for output in outputs if output.get("name") == "stderr"]


def test_tables_pictures_and_files(cells):
    assert "image/png" in dict(shown(cells, 'trained.figures["confusion"]'))
    assert "test accuracy" in str([outputs for source, outputs in cells.items() if source == "trained"])
    side_by_side = str(shown(cells, 'replab.run("mlp"'))
    assert "mlp" in side_by_side
    assert "cnn" in side_by_side
    assert "largest difference" in str(shown(cells, "for file in replab.export"))
    assert "model-index" in str(shown(cells, "print(replab.card"))
