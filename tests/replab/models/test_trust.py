"""A run folder from a stranger runs no code; what this user named or trusted does."""

import json
import os
import shutil
import sys

import numpy as np
import pytest
from listening import Lines

from replab import api
from replab.backends import user_file
from replab.errors import ModelError
from replab.models import trust
from replab.records.events import Events
from replab.report import write as report

NET = """
from torch import nn

def build(image, *, hidden=4):
    return nn.Sequential(nn.Flatten(), nn.Linear(64, hidden), nn.Linear(hidden, image.classes))
"""
IMAGE = np.zeros((8, 8), np.uint8)


@pytest.fixture(autouse=True)
def as_it_was(monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(user_file, "_roots", [])


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A finished run of a model file, made by somebody else: their configuration is not this user's."""
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "net.py").write_text(NET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("REPLAB_CONFIG", str(folder / "config"))
        patch.setattr(report, "draw", lambda *args: [])
        return api.run(f"{folder / 'net.py'}:build", lr=1e-3, epochs=1, limit=50, runs=folder / "runs")


@pytest.fixture
def gift(made, tmp_path, monkeypatch):
    """The stranger's folder, received: runs/gift, in this user's place."""
    monkeypatch.setenv("REPLAB_CONFIG", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "draw", lambda *args: [])
    shutil.copytree(made.folder, tmp_path / "runs" / "gift")
    return tmp_path / "runs" / "gift"


def evil(tmp_path, text=NET):
    return f"import os\nos.mkdir({str(tmp_path / 'executed')!r})\n{text}"


def forge(gift, model, text, recorded=True):
    """Everything that a run says of itself, made to fit: its recipe, its hash, its text and its manifest."""
    (gift / "manifest.jsonl").unlink(missing_ok=True)
    (gift / "model_file.txt").write_text(text)
    for name in ("recipe.toml", "chosen.toml"):
        lines = (gift / name).read_text().splitlines()
        lines = [f"model = {json.dumps(model)}" if line.startswith("model =") else line for line in lines]
        (gift / name).write_text("\n".join(lines) + "\n")
    facts = json.loads((gift / "input.json").read_text())
    facts["model_sha256"] = trust.digest(text) if recorded else None
    (gift / "input.json").write_text(json.dumps(facts))


def uses(gift):
    """Everything that needs a run's model."""
    link = gift.parent / "link.toml"
    if not link.exists():
        link.symlink_to(gift / "recipe.toml")
    return [
        lambda: api.run(recipe=link, runs=gift.parent / "again"),
        lambda: api.load_run(gift).predict(IMAGE),
        lambda: api.load_run(gift).reopened(),
        lambda: api.resume(gift),
        lambda: api.run(recipe=gift / "recipe.toml", runs=gift.parent / "again"),
    ]


def refused(gift, says="brings code, which is not run unasked: build in .*--trust runs it, or --model"):
    for use in uses(gift):
        with pytest.raises(ModelError, match=says) as caught:
            use()
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("recorded", [True, False], ids=["with a hash", "without"])
@pytest.mark.parametrize("way", ["relative", "absolute", "around", "link"])
def test_a_folder_that_names_its_own_file(gift, tmp_path, way, recorded):
    file = gift / "evil.py"
    file.write_text(evil(tmp_path))
    if way == "link":
        os.symlink(file, tmp_path / "linked.py")
    places = {"relative": "runs/gift/evil.py", "absolute": file, "around": "runs/../runs/gift/evil.py"}
    forge(gift, f"{places.get(way, 'linked.py')}:build", evil(tmp_path), recorded)
    refused(gift)
    assert not (tmp_path / "executed").exists()


def test_a_text_that_was_never_trusted_though_it_is_harmless(gift, made):
    refused(gift)
    assert made.recipe.model.endswith("net.py:build")  # the file is still where the recipe says: that proves nothing


def own_run(tmp_path, text=NET, **neighbours):
    """This user's own command names their own file."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    (home / "net.py").write_text(text)
    for name, content in neighbours.items():
        (home / f"{name}.py").write_text(content)
    return api.run(f"{home / 'net.py'}:build", lr=1e-3, epochs=1, limit=50, runs=tmp_path / "own")


def test_what_this_user_ran_is_run_again(tmp_path, gift):
    mine = own_run(tmp_path)
    expected = api.load_run(mine.folder).predict(IMAGE)
    mine.folder.rename(tmp_path / "elsewhere")
    assert api.load_run(tmp_path / "elsewhere").predict(IMAGE) == expected
    shutil.rmtree(tmp_path / "home")  # the text is kept in the folder
    assert api.load_run(tmp_path / "elsewhere").predict(IMAGE) == expected
    assert api.load_run(gift).predict(IMAGE)  # the stranger's text is the same one


def test_a_file_that_changed_is_not_imported_but_the_text_kept_in_the_run(tmp_path, gift):
    mine = own_run(tmp_path)
    expected = api.load_run(mine.folder).predict(IMAGE)
    (tmp_path / "home" / "net.py").write_text(evil(tmp_path))
    said = Lines()
    assert api.load_run(mine.folder).predict(IMAGE) == expected
    assert api.resume(mine.folder, events=Events(said)).metrics == mine.metrics
    assert any("net.py has changed since: the text kept in run" in line for line in said)
    assert not (tmp_path / "executed").exists()


def test_a_trusted_text_with_other_neighbours(tmp_path, gift):
    """The same text beside another blocks.py, in a package of the stranger's, with compiled code of theirs."""
    text = "import blocks\n" + NET
    own_run(tmp_path, text, blocks="")
    for name in ("blocks.py", "__init__.py"):
        (gift / name).write_text(evil(tmp_path, ""))
    (gift / "net.py").write_text(text)
    (gift / "__pycache__").mkdir()
    forge(gift, "runs/gift/net.py:build", text)
    sys.modules.pop("blocks", None)
    sys.path[:] = [path for path in sys.path if "home" not in path]
    with pytest.raises(ModelError, match=r"does not import: ModuleNotFoundError: No module named 'blocks'"):
        api.load_run(gift).predict(IMAGE)
    assert not (tmp_path / "executed").exists()


def test_a_path_that_is_trusted_with_another_text(tmp_path, gift):
    own_run(tmp_path)
    forge(gift, f"{tmp_path / 'home' / 'net.py'}:build", evil(tmp_path))
    refused(gift)
    assert not (tmp_path / "executed").exists()


def test_another_function_of_a_trusted_text(tmp_path, gift):
    """`from os import mkdir` in a harmless file, named as the model, with the folder as its parameter."""
    text = f"from os import mkdir\n{NET}"
    own_run(tmp_path, text)
    forge(gift, f"{tmp_path / 'home' / 'net.py'}:mkdir", text)
    refused(gift, "brings code, which is not run unasked: mkdir in ")


def test_trusting_shows_the_path_and_the_hash_and_is_remembered(gift, tmp_path, replab):
    from PIL import Image

    Image.fromarray(IMAGE).save(tmp_path / "zero.png")
    words = ("predict", gift, tmp_path / "zero.png")
    mark = trust.digest(NET)
    code, _, err = replab(*words)
    assert code == 2
    assert f"brings code, which is not run unasked: build in {gift / 'model_file.txt'} (SHA-256 {mark})" in err
    code, out, err = replab(*words, "--trust")
    assert (code, err) == (0, f"run gift brings code: build in {gift / 'model_file.txt'} (SHA-256 {mark})\n")
    assert replab(*words) == (0, out, "")
    (tmp_path / "config" / "trusted.json").write_text("[[[")  # nothing is trusted then
    assert replab(*words)[0] == 2


def test_the_person_at_the_terminal_is_asked(gift, replab, monkeypatch):
    class Terminal:
        def isatty(self):
            return True

    for answer, code in ((False, 2), (True, 0)):
        asked = []
        monkeypatch.setattr(sys, "stdin", Terminal())
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
        monkeypatch.setattr("typer.confirm", lambda text, err, a=answer: asked.append(text) or a)  # noqa: B023
        assert replab("resume", gift, "-q")[0] == code
        assert asked[0].endswith("Trust it?")


def test_trusting_from_python(gift, tmp_path):
    assert api.load_run(gift, trust=True).predict(IMAGE) == api.load_run(gift).predict(IMAGE)
    (tmp_path / "config" / "trusted.json").unlink()
    (tmp_path / "mine.py").write_text(NET)
    assert api.load_run(gift, model=f"{tmp_path / 'mine.py'}:build").predict(IMAGE)


def test_a_text_that_is_not_the_recorded_one_is_not_run_even_if_trusted(gift, tmp_path):
    own_run(tmp_path)
    facts = json.loads((gift / "input.json").read_text())
    (gift / "manifest.jsonl").unlink()
    (gift / "input.json").write_text(json.dumps({**facts, "model_sha256": "0" * 64}))
    with pytest.raises(ModelError, match=r"has another text in model_file.txt; --model FILE.py:FUNCTION names"):
        api.load_run(gift, trust=True).predict(IMAGE)
    (gift / "model_file.txt").unlink()
    with pytest.raises(ModelError, match=r"has no model_file.txt; --model FILE.py:FUNCTION names the file to use"):
        api.load_run(gift, trust=True).predict(IMAGE)


def test_a_configuration_that_cannot_be_written_stops_nothing(tmp_path, gift, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("REPLAB_CONFIG", str(tmp_path / "file" / "below"))
    assert api.load_run(gift, trust=True).predict(IMAGE)


LATER = """
import os, sys
from torch import nn

class Late(nn.Sequential):
    def forward(self, x):
        if os.environ.get("LEAVE") == str(len(x)):
            sys.exit(0)
        return super().forward(x)

def build(image):
    return Late(nn.Flatten(), nn.Linear(64, image.classes))
"""


def test_a_model_that_ends_the_program_is_an_error(gift, tmp_path, refuses, monkeypatch):
    """Also where it is called and not built: exit code 0 would look like success."""
    from PIL import Image

    Image.fromarray(IMAGE).save(tmp_path / "zero.png")
    mine = own_run(tmp_path, LATER)
    monkeypatch.setenv("LEAVE", "4")  # on the batch that a model is tried on
    assert "SystemExit: 0" in refuses("run", tmp_path / "home" / "net.py:build", "--lr", 1e-3, "--epochs", 1, "--fast")
    monkeypatch.setenv("LEAVE", "1")  # on the image that is asked for
    said = refuses("predict", mine.folder, tmp_path / "zero.png", runs=mine.folder.parent)
    assert "the code of the model ended the program with sys.exit(0), which is no success" in said
