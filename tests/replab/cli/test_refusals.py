"""What needs no computing is answered at once: refusals, lists and help import neither torch nor optuna."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SLOW = ("torch", "optuna")
OLD_RUNS = Path(__file__).parents[1] / "fixtures" / "runs-0.1.0"

ANSWERS = {  # command → what it prints
    "--help": "Published experiments",
    "--version": "replab ",
    "run --help": "Fine-tuning",
    "sweep --help": "--optimizer",
    "models": "1,147,914 parameters",
    "datasets": "fashion-mnist",
    f"leaderboard --runs {OLD_RUNS}": "against the best",
    f"runs --runs {OLD_RUNS}": "training: ",
    "runs --runs none": "no runs in none; replab run makes one",
    "leaderboard --runs none": "no finished runs",
    "replicate --list": "(n = 3",  # measured results come with replab, without a checkout
}
REFUSALS = {  # command → the whole line, or its beginning
    "run cnnn": "no model named 'cnnn'. Did you mean 'cnn'? (replab models lists all)",
    "run nets.py:build": "no model file nets.py: looked in ",
    "run nets.py": "a model file is given as FILE.py:FUNCTION, got 'nets.py'; for example nets.py:build",
    "run mlp --data nosuch": "no data set named 'nosuch'.",
    "run mlp --data ./nowhere": "no folder or zip of images at ./nowhere; replab datasets lists the named ones",
    "run mlp --epoch 3": "no option named '--epoch'. Did you mean '--epochs'? (replab run --help lists all)",
    "run mlp --lr": "option '--lr' requires an argument (replab --help shows how)",
    "run mlp --lr fast": "lr must be a number, got 'fast'; 1e-3 is a common start",
    "run mlp --budget soon": "a time is written 90s, 10m or 1h30m, got 'soon'",
    "run mlp --optimizer lion": "optimizer must be one of adagrad, adam, adamw,",
    "run mlp --augment flp": "augment must be one of",
    "run mlp --device tpu": "device must be auto, cpu, cuda, cuda:N or mps, got 'tpu'; the default is auto",
    "run mlp --normalise often": "normalise must be dataset, half,",
    "run mlp --augmented-copy flp --lr 1 --epochs 1": "no augmentation named 'flp'. Did you mean 'flip'?",
    "run --recipe bad.toml": "bad.toml, line 1: no recipe key named 'epoch'. Did you mean 'epochs'?",
    "run --recipe none.toml": "cannot read the recipe none.toml: No such file or directory",
    "run mlp --log-level loud": "no log level named 'loud'. (--log-level takes error, warning, info, debug)",
    "run mlp --workers 0": "--workers must be auto or a whole number of at least 1, got '0'; leave it out",
    "run mlp --engine ray --ray-address 127.0.0.1:1": "no Ray cluster answers at 127.0.0.1:1 (",
    "resume latest --engine ray --ray-address 127.0.0.1:1": "no Ray cluster answers at 127.0.0.1:1 (",
    "run mlp --track cvs": "no tracker named 'cvs'. Did you mean 'csv'?",
    "compare mlp cnnn": "no model named 'cnnn'.",
    "sweep vae --set beta=1": "sweep needs exactly one --set KEY=VALUE,VALUE, got 0;",
    "lr-find cnnn": "no model named 'cnnn'.",
    "show cnnn": "no model named 'cnnn'.",
    "transfer mlp --widths few": "transfer needs --widths 64,128,256",
    "data nosuch": "no data set named 'nosuch'.",
    "replicate lab9/resnet": "no ",
    "rum": "no command named 'rum'. Did you mean 'run'? (replab --help lists all)",
    "predict": "missing argument 'RUN' (replab predict --help shows how)",
    "run mlp --lr abc": "lr must be a number, got 'abc'; 1e-3 is a common start",
    "run mlp extra": "got unexpected extra argument(s) (extra) (replab run --help shows how)",
    "train cnn": "no command named 'train'. Did you mean 'run'? (replab --help lists all)",
    "compare": "missing argument 'models' (replab compare --help shows how)",
    "run mlp --epochs 0": "epochs must be at least 1, got 0; leave it out to search",
    "run mlp --epochs 2.5": "epochs must be a whole number, got '2.5'; leave it out to search",
    "run mlp --seed x": "seed must be a whole number, got 'x'; the default is 3407",
    "run mlp --limit 1": "limit must be at least 2 images, got 1; leave it out for all images",
    "run mlp --batch-size 0": "batch_size must be at least 1, got 0; the default is 128",
    "run mlp --momentum 1": "momentum must be from 0 to below 1, got 1.0; 0.9 is common",
    "run mlp --schedule cosine": "--schedule cosine needs to know its length, got no epochs; give --epochs",
    "run mlp --freeze --freeze-until a": "--freeze and --freeze-until cannot be combined, got --freeze-until a;",
    "run mlp --pretrained --weights a.pth": "--pretrained and --weights cannot be combined, got --weights a.pth;",
    "run mlp --backend mytorch --freeze": "mytorch does not support --freeze; use --backend torch",
    "run mlp --backend jax": "backend must be one of torch, mytorch, got 'jax'; the default is torch",
    "run mlp --loss hinge": "loss must be one of cross-entropy, focal, squared-error or FILE.py:FUNCTION, got 'hinge'",
    "run mlp --head svm": "head must be one of linear, mlp, logistic, knn, got 'svm'; the default is linear",
    "run mlp --trials 0": "search.trials must be at least 1, got 0; the default is 20",
    "run mlp --lr-range 1,0.1": "search.lr must be [low, high] with 0 < low < high, got [1.0, 0.1]",
    "run mlp --lr-range fast": "search.lr must be two numbers, low and high, got 'fast'",
    "run mlp --set widths": "--set takes KEY=VALUE, got 'widths'; for example --set channels=[16,32]",
    "run mlp --label-smoothing 2": "label_smoothing must be from 0 to below 1, got 2.0; 0 turns it off",
    "run mlp --mup --optimizer sgd": "--mup needs Adam, got --optimizer sgd; use --optimizer adam",
    "run mlp --budget 0": "budget must be above 0 seconds, got 0.0; try --budget 10m",
    "run mlp --task sing": "task must be one of auto, ",
    "leaderboard --sort size": "no column named 'size'. (--sort takes accuracy, loss,",
    "leaderboard --data nosuch": "no data set among the finished runs named 'nosuch'. (there are no finished runs)",
    "report nothing --runs none": "no run 'nothing': there is no folder none; --runs FOLDER names another",
    "resume latest --runs none": "no run 'latest': there is no folder none; --runs FOLDER names another",
    "verify nothing --runs none": "no run 'nothing': there is no folder none; --runs FOLDER names another",
    "embed nothing --runs none": "no run 'nothing': there is no folder none; --runs FOLDER names another",
    "generate latest --out grid.jpg": "--out must end in .png, got grid.jpg; the grid is written as PNG",
    "explain latest": "missing argument 'image' (replab explain --help shows how)",
    "fidelity latest": "missing option '--by' (replab fidelity --help shows how)",
    "sweep vae --set a=1,2 --set b=1,2": "sweep needs exactly one --set KEY=VALUE,VALUE, got 2;",
    "replicate lab9/resnet9 --budget soon": "a time is written 90s, 10m or 1h30m, got 'soon'",
    "transfer mlp --rates 2": "transfer needs --widths 64,128,256, --rates of at least 3",
    "doctor --cleen": "no option named '--cleen'. Did you mean '--clean'? (replab doctor --help lists all)",
    "models cnn": "got unexpected extra argument(s) (cnn) (replab models --help shows how)",
    "--verson": "no option named '--verson'. Did you mean '--version'? (replab --help lists all)",
}

RUNNER = f"""
import contextlib, io, json, sys
from replab.cli import main
answers = {{}}
for words in json.load(sys.stdin):
    sys.argv, code = ["replab", *words.split()], 0
    before, out, err = set(sys.modules), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as end:
            code = end.code
    slow = sorted({set(SLOW)} & (set(sys.modules) - before))
    answers[words] = {{"code": code, "out": out.getvalue(), "err": err.getvalue(), "slow": slow}}
json.dump(answers, sys.stdout)
"""


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Every command in one fresh process, with the slow packages that each was the first to import."""
    folder = tmp_path_factory.mktemp("answers")
    (folder / "bad.toml").write_text("epoch = 3\n")
    environment = {**os.environ, "COLUMNS": "200", "REPLAB_RUNS": str(folder / "runs")}
    done = subprocess.run(
        [sys.executable, "-c", RUNNER], input=json.dumps([*ANSWERS, *REFUSALS]), capture_output=True, text=True,
        cwd=folder, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in folder.iterdir()) == ["bad.toml"], "something was left behind"
    return json.loads(done.stdout)


@pytest.mark.parametrize("words", ANSWERS)
def test_answered_without_torch(answers, words):
    answer = answers[words]
    assert (answer["code"] or 0, answer["slow"]) == (0, []), answer["err"]
    assert ANSWERS[words] in answer["out"]


@pytest.mark.parametrize("words", REFUSALS)
def test_refused_in_one_line_without_torch(answers, words):
    answer = answers[words]
    assert (answer["code"], answer["slow"], answer["out"]) == (2, [], "")
    assert answer["err"].count("\n") == 1
    assert answer["err"].startswith(f"replab: {REFUSALS[words]}")
