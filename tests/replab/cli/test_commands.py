"""The command line: every command, and every bad input a user may give. One line, exit code 2, nothing left behind."""

import errno
import json
import os
import shutil
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from replab.report import write as report
from replab.settings.recipe import Recipe

SLOW = ("torch", "torch._dynamo", "optuna", "matplotlib", "sklearn", "torchvision", "PIL")


def in_a_process(*words, **more):
    """Run a command in a fresh process, whose last word is which slow packages it imported."""
    code = (
        "import sys\nfrom replab.cli import main\n"
        f"sys.argv = {['replab', *words]!r}\n"
        "try:\n    main()\nexcept SystemExit as end:\n    if end.code: raise\n"
        f"print('imported:', sorted({set(SLOW)} & set(sys.modules)))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "REPLAB_RUNS"}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, **more)


@pytest.fixture
def no_pictures(monkeypatch):
    """Figures are looked at elsewhere; drawing them takes most of a tiny run's time."""
    monkeypatch.setattr(report, "draw", lambda *args: [])


# -- real processes --------------------------------------------------------------------------------------------------


def test_a_whole_run_and_an_error_in_processes(tmp_path):
    done = in_a_process("run", "mlp", "--fast", "--set", "widths=[16]", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (folder,) = (tmp_path / "runs").iterdir()
    assert f"run folder: runs/{folder.name}" in done.stdout
    assert "test accuracy" in done.stdout
    assert f"report: runs/{folder.name}/report.md" in done.stdout
    assert "imported: ['PIL', 'matplotlib', 'optuna', 'torch']" in done.stdout  # nothing that it does not use
    assert done.stderr == ""  # no bars where nobody looks

    wrong = in_a_process("run", "mlpp", cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr == "replab: no model named 'mlpp'. Did you mean 'mlp'? (replab models lists all)\n"
    assert len(list((tmp_path / "runs").iterdir())) == 1


# -- commands, in this process ---------------------------------------------------------------------------------------


def test_show(replab):
    code, out, _ = replab("show", "cnn", "--set", "channels=[4,8]", "--size", "16")
    assert code == 0
    assert "Conv2d" in out
    assert "4×16×16" in out
    assert "total" in out
    code, out, _ = replab("show", "nanovit", "--mermaid")
    assert code == 0
    assert out.startswith("flowchart")


def test_show_needs_no_download(replab, monkeypatch, tmp_path):
    from replab.data import downloads

    monkeypatch.setattr(downloads, "fetch", lambda *_: pytest.fail("a download"))
    monkeypatch.setenv("REPLAB_DATA", str(tmp_path))
    code, out, err = replab("show", "cnn", "--data", "cifar10")
    assert code == 0, err
    assert "32×32×32" in out
    assert not list(tmp_path.iterdir())
    assert "32×12×12" in replab("show", "cnn", "--data", "cifar10", "--size", "12", "--classes", "cat,dog")[1]


def test_run_with_every_flag(replab, tmp_path, no_pictures):
    flags = {
        "lr": 1e-3, "epochs": 1, "seed": 7, "batch-size": 32, "optimizer": "sgd", "momentum": 0.9, "schedule": "cosine",
        "weight-decay": 1e-4, "clip-value": 0.1, "clip-norm": 1, "loss": "cross-entropy", "label-smoothing": 0.1,
        "augment": "flip,crop=1", "normalise": "half", "size": 10, "limit": 50, "set": "widths=[8]", "backend": "torch",
        "device": "cpu", "budget": "10m", "data": "digits", "runs": tmp_path / "runs", "trials": 2,
    }  # fmt: skip
    code, out, err = replab("run", "mlp", *(word for key, value in flags.items() for word in (f"--{key}", value)))
    assert code == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    recipe = Recipe.read(folder / "recipe.toml")
    assert (recipe.lr, recipe.seed, recipe.augment, recipe.size) == (0.001, 7, ("flip", "crop=1"), 10)
    assert (recipe.params, recipe.budget, recipe.search.trials) == ({"widths": [8]}, 600.0, 2)
    assert "cost: " in out
    assert "MiB (measured on a batch)" in out
    assert "search" not in out.split("\n\n")[0].replace("research", "")  # nothing was left open


def test_a_recipe_and_flags_beside_it(replab, tmp_path, no_pictures):
    (tmp_path / "r.toml").write_text('model = "mlp"\nlr = 0.1\nepochs = 1\nlimit = 50\n[params]\nwidths = [8]\n')
    code, _, err = replab("run", "--recipe", tmp_path / "r.toml", "--lr", 0.5, "--runs", tmp_path / "runs", "-q")
    assert code == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    recipe = Recipe.read(folder / "recipe.toml")
    assert (recipe.lr, recipe.params) == (0.5, {"widths": [8]})


def test_freezing_random_weights_is_said(replab, tmp_path, no_pictures):
    words = ["run", "mlp", "--fast", "--lr", 1e-3, "--set", "widths=[8]", "--runs", tmp_path / "runs"]
    code, out, err = replab(*words, "--freeze")
    assert code == 0, err
    assert "note: --freeze without --pretrained or --weights keeps the frozen layers at their random start" in out
    assert "note:" not in replab(*words)[1]


def test_fast_trains_the_epochs_that_are_given(replab, tmp_path, no_pictures):
    words = ["--fast", "--epochs", 3, "--lr", 1e-3, "--set", "widths=[8]"]
    code, out, err = replab("run", "mlp", *words, "--runs", tmp_path / "runs")
    assert code == 0, err
    assert "train: 3 epochs" in out
    (folder,) = (tmp_path / "runs").iterdir()
    assert len((folder / "epochs.jsonl").read_text().splitlines()) == 3


def test_quiet_says_nothing(replab, tmp_path, no_pictures):
    words = ["--fast", "--lr", 1e-3, "--epochs", 1, "--set", "widths=[8]", "--runs", tmp_path / "runs", "--quiet"]
    assert replab("run", "mlp", *words) == (0, "", "")


def test_search_of_more_than_the_rate(replab, tmp_path, no_pictures):
    words = ["--search", "weight_decay=[1e-5,1e-2]", "--search", "widths=[[4],[8]]", "--fast"]
    code, _, err = replab("run", "mlp", *words, "--runs", tmp_path / "runs")
    assert code == 0, err
    (folder,) = (tmp_path / "runs").iterdir()
    (trial,) = [json.loads(line) for line in (folder / "study.jsonl").read_text().splitlines()]
    assert trial["params"].keys() == {"lr", "weight_decay", "widths"}


def test_report_resume_leaderboard_predict(replab, a_run, tmp_path, no_pictures):
    runs = a_run.folder.parent
    (a_run.folder / "report.md").unlink()
    for command in ("report", "resume"):  # a finished run is not run again: its report is printed
        before = (a_run.folder / "model.safetensors").stat().st_mtime_ns
        code, out, err = replab(command, a_run.id, "--runs", runs)
        assert code == 0, err
        assert "test accuracy" in out
        assert (a_run.folder / "report.md").is_file()
        assert (a_run.folder / "model.safetensors").stat().st_mtime_ns == before
    code, out, _ = replab("leaderboard", "--runs", runs)
    assert code == 0
    assert a_run.id in out
    assert "best" in out
    code, out, err = replab("leaderboard", "--runs", runs, "--data", "mnist")
    assert (code, out) == (2, "")
    assert "(finished runs have digits)" in err
    Image.fromarray(np.full((16, 16, 3), 9, np.uint8)).save(tmp_path / "a.png")
    Image.fromarray(np.full((8, 8), 200, np.uint8)).save(tmp_path / "b.jpg")
    code, out, err = replab("predict", a_run.id, tmp_path / "a.png", tmp_path / "b.jpg", "--runs", runs)
    assert code == 0, err
    assert [line.split(": ")[0] for line in out.splitlines()] == [str(tmp_path / "a.png"), str(tmp_path / "b.jpg")]
    assert out.count("%") == 6


def test_compare(replab, tmp_path, no_pictures):
    text = "from torch import nn\ndef tiny(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 10))\n"
    (tmp_path / "net.py").write_text(text)
    words = ["--fast", "--lr", 1e-3, "--epochs", 1, "--runs", tmp_path / "runs"]
    code, out, err = replab("compare", "mlp", f"{tmp_path}/net.py:tiny", *words)
    assert code == 0, err
    assert "best" in out
    assert "650" in out  # the tiny one's parameters
    pictures = [line.removeprefix("figure: ") for line in out.splitlines() if line.startswith("figure: ")]
    assert pictures
    assert all(os.path.getsize(picture) > 1000 for picture in pictures)
    code, _, err = replab("compare", "mlp", "cnnn", "--fast", "--runs", tmp_path / "none")
    assert (code, "no model named 'cnnn'" in err) == (2, True)
    assert not (tmp_path / "none").exists()  # said before the first one's run


def test_an_interrupted_run_says_how_to_continue(replab, monkeypatch):
    from replab import api

    def interrupted(*_, events, **__):
        events.tell("run", folder="runs/a-run", model="mlp", data="digits")
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "run", interrupted)
    code, _, err = replab("run", "mlp")
    assert code == 130
    assert err.strip() == "replab: interrupted; replab resume runs/a-run continues it"


def test_an_interrupted_resume_says_how_to_continue_even_while_it_reads_the_images(replab, a_run, monkeypatch):
    from replab.training import prepare

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(prepare, "reopen", interrupted)
    code, _, err = replab("resume", a_run.id, "--runs", a_run.folder.parent)
    assert code == 130
    assert err.strip() == f"replab: interrupted; replab resume {a_run.folder} continues it"


def test_an_interrupted_run_of_a_notebook_says_how_to_continue(tmp_path, monkeypatch, capsys):
    from replab import api, pipeline

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "carry_out", interrupted)
    with pytest.raises(KeyboardInterrupt):
        api.run("mlp", lr=1e-3, epochs=1, limit=50, params={"widths": [4]}, runs=tmp_path)
    (folder,) = tmp_path.iterdir()
    assert f"interrupted; replab.resume('{folder}') continues it" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "offers"),
    [
        ("replab ru", ["run", "runs"]),
        ("replab run cn", ["cnn", "cnn64"]),
        ("replab run cnn --data fash", ["fashion-mnist"]),
        ("replab run cnn --optimizer a", ["adagrad", "adam", "adamw"]),
        ("replab report la", ["latest"]),
    ],
)
def test_a_shell_completes(words, offers, in_tmp):
    asked = {"_REPLAB_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(len(words.split()) - 1)}
    done = subprocess.run([sys.executable, "-m", "replab"], capture_output=True, text=True, env={**os.environ, **asked})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == offers


# -- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["mlp", "--set", "depth=3"], "mlp has no parameter 'depth'; --set takes: widths"),
        (["mlp", "--set", "widths=[0]"], "mlp needs widths to be whole numbers of at least 1, got [0]"),
        (["lenet"], "lenet needs images of at least 12x12, got 8x8; --size 28 resizes"),
        (["mlp", "--augment", "crop=x"], "crop=x"),
        (["mlp", "--augment", "crop=99"], "the pad must be below 8 pixels on images of 8x8, got 99; use a smaller one"),
        (["mlp", "--augment", "cutout=16"], "the side must be below 16 pixels on images of 8x8, got 16"),
        (["mlp", "--augmented-copy", "affine=5:8", "--lr", "1", "--epochs", "1"], "the shift must be below 8 pixels"),
        (["mlp", "--normalise", "0.5/0.5/1"], "normalise must be"),
        (["mlp", "--search", "weight_deca=[1,2]"], "Did you mean 'weight_decay'?"),
        (["mlp", "--search", "weight_decay=[2,1]"], "needs low < high, got [2, 1]"),
        (["mlp", "--search", "momentum=[0.5,1.5]"], "momentum must be from 0 to below 1, got 1.5"),
        (["mlp", "--search", "weight_decay"], "--search takes KEY=VALUE, got 'weight_decay'"),
        (["mlp", "--set", "widths=None"], "params.widths must be a number, text"),
        (["mlp", "--seed", "-1"], "seed must be from 0 to 4,294,967,295, got -1"),
    ],
)
def test_settings_that_need_the_model_or_the_images_to_be_refused(refuses, in_tmp, words, says):
    assert says in refuses("run", *words)


def test_lr_find_needs_two_steps(replab, in_tmp):
    code, out, err = replab("lr-find", "mlp", "--steps", 1)
    assert (code, out) == (2, "")
    assert err == "replab: --steps must be at least 2, got 1; 100 is the default\n"
    assert not list(in_tmp.iterdir())


def test_cuda_where_there_is_none(refuses, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    said = refuses("run", "mlp", "--device", "cuda")
    assert "--device cuda asks for cuda, and this torch finds none; --device cpu, or auto, works here" in said


def test_model_files_gone_wrong(refuses, tmp_path):
    file = tmp_path / "net.py"
    for text, says in (
        ("import nothing_of_that_name\n", "net.py does not import: ModuleNotFoundError: No module named"),
        ("def build(:\n", "net.py does not import: SyntaxError"),
        ("def other(): pass\n", "net.py has no function or class 'build'; it has other"),
        ("def build(): return 3\n", "must return a torch nn.Module, got int"),
        ("from torch import nn\ndef build(): return nn.Flatten()\n", "has no parameters to train"),
        ("from torch import nn\ndef build(): return nn.Sequential(nn.Flatten(), nn.Linear(64, 9))\n",
         "must give logits of shape (4, 10) for 4 images of 1x8x8, 10 classes, got shape (4, 9)"),
        ("from torch import nn\ndef build(): return nn.Sequential(nn.Flatten(), nn.Linear(63, 10))\n",
         "does not take images of 1x8x8, 10 classes; --size resizes (RuntimeError"),
        ("from torch import nn\ndef build(): return nn.Sequential(nn.Conv2d(3, 10, 8), nn.Flatten())\n",
         "it is made for colour images, and these are gray; a function of (image) that builds the first layer for"),
        ("from torch import nn\ndef build(): return nn.Sequential(nn.Flatten(), nn.Linear(192, 10))\n",
         "it is made for colour images, and these are gray"),
        ("def build(a, b): pass\n", "needs a, b; give them with --set a=..."),
    ):  # fmt: skip
        file.write_text(text)
        assert says in refuses("run", f"{file}:build")


def photos(folder, classes=("cat", "dog"), n=6):
    rng = np.random.default_rng(0)
    for name in classes:
        (folder / name).mkdir(parents=True)
        for i in range(n):
            Image.fromarray(rng.integers(0, 256, (8, 8, 3), dtype=np.uint8)).save(folder / name / f"{i}.png")
    return folder


def test_images_gone_wrong(refuses, tmp_path):
    folder = photos(tmp_path / "photos")
    odd = folder / "cat" / "odd.png"
    whole = (folder / "cat" / "0.png").read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"GIF? no: only words"):
        odd.write_bytes(data)
        said = refuses("run", "mlp", "--data", folder)
        assert "cat/odd.png" in said
        assert "--skip-broken leaves them out" in said
    odd.unlink()
    Image.new("RGB", (9, 8)).save(odd)
    said = refuses("run", "mlp", "--data", folder)
    assert "images must be of one size, got 8x8 (12), 9x8 (1); --size 8 resizes" in said
    odd.unlink()
    (folder / "bird").mkdir()
    shutil.copy(folder / "cat" / "0.png", folder / "bird" / "0.png")
    assert "bird" in refuses("run", "mlp", "--data", folder)
    (tmp_path / "empty").mkdir()
    assert "empty" in refuses("run", "mlp", "--data", tmp_path / "empty")


def test_images_without_classes(refuses, tmp_path):
    folder = photos(tmp_path / "all", classes=(".",))
    assert "needs labels; use CLASS/image.png folders" in refuses("run", "mlp", "--data", folder)


def test_a_zip_that_leaves_its_folder(refuses, tmp_path):
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("../../cat/0.png", b"")
    said = refuses("run", "mlp", "--data", tmp_path / "photos.zip")
    assert "names in a zip must stay inside it, got '../../cat/0.png'; create it again" in said
    (tmp_path / "broken.zip").write_bytes(b"PK\3\4 and no more")
    assert "broken.zip" in refuses("run", "mlp", "--data", tmp_path / "broken.zip")


def test_absent_and_offline(refuses, monkeypatch, tmp_path):
    from urllib.error import URLError

    from replab.data import downloads

    def offline(*_):
        raise URLError("no network")

    monkeypatch.setattr(downloads, "fetch", offline)
    monkeypatch.setenv("REPLAB_DATA", str(tmp_path / "data"))
    said = refuses("run", "mlp", "--data", "mnist")
    assert str(tmp_path / "data") in said
    assert "train-images-idx3-ubyte.gz" in said
    assert "--data digits" in said


def test_runs_that_are_none(refuses, a_run, tmp_path):
    runs = a_run.folder.parent
    (runs / "photos").mkdir()
    for command in (["report"], ["resume"], ["predict", "x.png"]):
        name, *rest = command
        assert "no run 'nothing'" in refuses(name, "nothing", *rest, runs=runs)
        assert f"Did you mean '{a_run.id}'?" in refuses(name, a_run.id + "x", *rest, runs=runs)
        assert "is not a run: environment.json is missing" in refuses(name, "photos", *rest, runs=runs)
    assert "x.png: No such file" in refuses("predict", a_run.id, "x.png", runs=runs)
    (tmp_path / "words.png").write_text("words")
    assert "words.png cannot be read" in refuses("predict", a_run.id, tmp_path / "words.png", runs=runs)
    a_run.record.write_text("recipe.toml", "lr = ")
    assert "recipe.toml is not valid TOML" in refuses("resume", a_run.id, runs=runs)


def test_other_images_than_the_run_began_with(refuses, replab, tmp_path, no_pictures):
    folder = photos(tmp_path / "photos")
    words = ["--lr", 1e-3, "--epochs", 1, "--set", "widths=[4]", "--runs", tmp_path / "runs", "-q"]
    code, _, err = replab("run", "mlp", "--data", folder, *words)
    assert code == 0, err
    (made,) = (tmp_path / "runs").iterdir()
    Image.new("RGB", (8, 8)).save(folder / "cat" / "0.png")
    said = refuses("resume", made.name, runs=tmp_path / "runs")
    assert "are not those run" in said
    assert "start a new run" in said


def test_a_runs_folder_that_cannot_be(refuses, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    words = ["run", "mlp", "--lr", 1e-3, "--epochs", 1, "--fast"]
    for runs in (tmp_path / "file", tmp_path / "file" / "deeper"):
        assert f"cannot write runs to {runs}" in refuses(*words, runs=runs)
        assert "--runs FOLDER names another" in refuses(*words, runs=runs)
    with monkeypatch.context() as patch:  # before anything is loaded or measured
        patch.setattr("replab.api.prepare", lambda *_, **__: pytest.fail("images were read first"))
        assert "cannot write runs to" in refuses(*words, runs=tmp_path / "file")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        assert "No space left on device; free some space or name another folder" in refuses(*words)


def test_a_disk_that_fills_up_leaves_a_run_to_resume(replab, tmp_path, monkeypatch, no_pictures):
    words = ["--lr", 1e-3, "--epochs", 3, "--limit", 50, "--set", "widths=[4]", "--runs", tmp_path / "runs"]
    save = torch.save

    def full(state, path):
        if state["epoch"] == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        save(state, path)

    with monkeypatch.context() as patch:
        patch.setattr(torch, "save", full)
        code, _, err = replab("run", "mlp", *words)
    assert code == 2
    assert err.count("\n") == 1
    (made,) = (tmp_path / "runs").iterdir()
    assert f"free some space or name another folder; then replab resume {made.name} continues" in err
    code, _, err = replab("resume", made.name, "--runs", tmp_path / "runs")
    assert code == 0, err
    assert len((made / "epochs.jsonl").read_text().splitlines()) == 3
