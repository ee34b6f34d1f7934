"""Files from elsewhere that are broken on purpose: one line, exit code 2, nothing left behind, and never a hang."""

import gzip
import io
import lzma
import os
import pickle
import struct
import zipfile

import numpy as np
import pytest
import torch
from PIL import Image

from replab.backends import torch_file
from replab.data.decode import folder as folders
from replab.data.decode.published_files import Broken, read_idx
from replab.data.load import load
from replab.errors import DataError, RunError
from replab.records.record import Record, sweep
from replab.records.values import Values
from replab.replication import results
from replab.report import write as report
from replab.settings.recipe import Recipe

TRAIN = ("--lr", 0.1, "--epochs", 1, "--limit", 20)


def png(size=(8, 8), **more):
    buffer = io.BytesIO()
    Image.new("L", size).save(buffer, "PNG", **more)
    return buffer.getvalue()


@pytest.fixture
def pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    return tmp_path / "pipe.png"


def test_pipes_and_devices_are_named_and_not_waited_for(refuses, pipe, tmp_path, a_run):
    assert "is a pipe; --data takes" in refuses("run", "mlp", "--data", pipe)
    assert "is a device; --data takes" in refuses("run", "mlp", "--data", "/dev/zero")
    assert "it is a pipe, not a file" in refuses("run", "--recipe", pipe)
    assert "it is a device, not a file" in refuses("run", "--recipe", "/dev/zero")
    assert "no weights at" in refuses("run", "mlp", "--weights", pipe, *TRAIN)
    assert "it is a pipe, not a file" in refuses("predict", a_run.id, pipe, runs=a_run.folder.parent)
    assert "it is a device, not a file" in refuses("predict", a_run.id, "/dev/zero", runs=a_run.folder.parent)
    for name in "ab":
        (tmp_path / "set" / name).mkdir(parents=True)
        for number in range(3):
            (tmp_path / "set" / name / f"{number}.png").write_bytes(png())
    os.mkfifo(tmp_path / "set" / "b" / "x.png")
    assert "b/x.png is a pipe; remove it" in refuses("run", "mlp", "--data", tmp_path / "set")


def test_no_data_is_not_the_current_folder(refuses):
    assert refuses("run", "mlp", "--data", "") == (
        "replab: --data must name a data set or a path, got nothing; . is the current folder"
    )


def idx(*sizes, content=b"", magic=b"\0\0\x08"):
    return magic + bytes([len(sizes)]) + b"".join(struct.pack(">I", n) for n in sizes) + content


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"\0\0\x08\x03\0\0", "ends within its header"),
        (idx(2**32 - 1, 2**32 - 1, 2**32 - 1), "more than"),
        (idx(65536, 65536, content=b"abc"), "but it has 3 bytes"),
        (idx(2, content=b"abc"), "but it has more bytes"),
        (b"", "no IDX file"),
    ],
)
def test_an_idx_file_whose_header_lies(tmp_path, data, says):
    for path, content in ((tmp_path / "x", data), (tmp_path / "x.gz", gzip.compress(data))):
        path.write_bytes(content)
        with pytest.raises(Broken, match=says):
            read_idx(path)


def test_a_gz_that_unpacks_to_gigabytes_is_read_as_far_as_its_header_says(tmp_path):
    part = gzip.compress(bytes(2**24))
    (tmp_path / "x.gz").write_bytes(gzip.compress(idx(3)) + part * 128)  # 2 GiB in 2 MiB
    with pytest.raises(Broken, match="but it has more bytes"):
        read_idx(tmp_path / "x.gz")


def test_archives_that_zip_does_not_know(refuses, tmp_path):
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name in ("a/0.png", "a/1.png", "b/0.png", "b/1.png"):
            archive.writestr(name, png())
    whole = path.read_bytes()
    at = whole.index(b"a/0.png") + 30
    path.write_bytes(whole[:at] + b"\xff" * 8 + whole[at + 8 :])
    assert "a/0.png" in refuses("run", "mlp", "--data", path)
    at = whole.rindex(b"PK\1\2")
    path.write_bytes(whole[: at + 6] + b"\xff\0" + whole[at + 8 :])  # the version that is needed
    assert "x.zip" in refuses("run", "mlp", "--data", path)
    assert lzma.LZMAError is not None


def test_many_large_pictures_are_decoded_few_at_a_time(tmp_path, monkeypatch):
    """20 of 62 megapixels: at most as many at once as the memory for them allows."""
    at_once, most = [0], [0]
    real = folders.decode

    def counted(data, **more):
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        try:
            return real(data, **more)
        finally:
            at_once[0] -= 1

    monkeypatch.setattr(folders, "decode", counted)
    monkeypatch.setattr(folders, "header", lambda data: (7900, 7900))
    monkeypatch.setattr(folders, "WORTH_THREADS", 0)
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "cache"))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        for number in range(20):
            archive.writestr(f"{'ab'[number % 2]}/{number}.png", png())
    assert len(load(str(tmp_path / "x.zip")).train) + len(load(str(tmp_path / "x.zip")).test) == 20
    assert most[0] == 1


def test_a_picture_with_broken_exif_is_read(tmp_path, a_run, replab):
    (tmp_path / "x.png").write_bytes(png(exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + b"\xff" * 40))
    code, _, err = replab("predict", a_run.id, tmp_path / "x.png", "--runs", a_run.folder.parent)
    assert code == 0, err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    "text",
    ["a = " + "[" * 10_000, "epochs = " + "9" * 10_000, "epochs = " + "9" * 4000, "lr = " + "9" * 400, "x" * 2_000_000],
)
def test_recipes_that_are_deep_or_huge(refuses, tmp_path, text):
    (tmp_path / "x.toml").write_text(text)
    assert "x.toml" in refuses("run", "--recipe", tmp_path / "x.toml")


def bomb(depth=40):
    """((…), (…)) of one shared tuple, as a key: 2**depth steps to hash."""
    return b"\x80\x02K\x01\x85" + b"2\x86" * depth + b"q\x00}h\x00K\x01s."


@pytest.mark.parametrize(
    "data",
    [
        bomb(),
        b"\x80\x02}r\xff\xff\xff\x7f.",
        b"\x80\x02\x8d" + b"\xff" * 7 + b"\x7fabc.",
        b"\x80\x02" + b"K\x010" * 10_000,
        b"\x80\x02c" + b"m" * 20_000 + b"\nname\n.",
        b"\x80\x04\x8c\x01mX\x20\x4e\x00\x00" + b"n" * 20_000 + b"\x93.",
    ],
    ids=["hash bomb", "giant memo", "giant text", "endless", "long name of a module", "long name in a module"],
)
def test_pickles_that_would_take_for_ever(refuses, tmp_path, data, monkeypatch):
    import mytorch
    from mytorch import pickle_budget
    from replab.data.decode.published_files import read_cifar

    monkeypatch.setattr(pickle_budget, "MOST_OPCODES", 10_000)
    for name in ("plain.pth", "zipped.pth"):
        path = tmp_path / name
        if name == "plain.pth":
            path.write_bytes(data)
        else:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("x/data.pkl", data)
                archive.writestr("x/version", "3")
        assert "is refused: it is not a plain state dict" in refuses("run", "mlp", "--weights", path, *TRAIN)
        with pytest.raises(ValueError, match="pth"):
            mytorch.load(path)
    with pytest.raises(Broken):
        read_cifar(tmp_path / "x", data, "labels")


def test_an_archive_of_tensors_that_unpacks_to_more_than_it_has(tmp_path):
    buffer = io.BytesIO()
    torch.save({"a": torch.zeros(10**6)}, buffer)
    with (
        zipfile.ZipFile(buffer) as old,
        zipfile.ZipFile(tmp_path / "x.pth", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(ValueError, match=r"torch\.save writes no such file"):
        torch_file.check(tmp_path / "x.pth")
    (tmp_path / "y.pth").write_bytes(buffer.getvalue())
    torch_file.check(tmp_path / "y.pth")
    torch.save({"a": torch.zeros(3)}, tmp_path / "z.pth", _use_new_zipfile_serialization=False)
    torch_file.check(tmp_path / "z.pth")


ODD = "a\nb|<b>*\x1b[2J"


def test_names_of_classes_obey_nothing_anywhere(replab, tmp_path, monkeypatch):
    for name in (ODD, "plain"):
        (tmp_path / "set" / name).mkdir(parents=True)
        for number in range(8):
            Image.new("L", (8, 8), number * 20).save(tmp_path / "set" / name / f"{number}.png")
    code, out, err = replab("data", tmp_path / "set", "--out", tmp_path / "x.png")
    assert code == 0, err
    assert "\x1b" not in out + err
    words = ("run", "mlp", "--data", tmp_path / "set", "--lr", 0.1, "--epochs", 1, "--runs", tmp_path / "runs")
    code, out, err = replab(*words)
    assert code == 0, err
    assert "\x1b" not in out + err
    (run,) = (tmp_path / "runs").glob("2*")
    for name in ("report.md", "report.html"):
        text = (run / name).read_text()
        assert "\x1b" not in text
        assert "<b>*" not in text
    line = next(line for line in (run / "report.md").read_text().splitlines() if "plain" in line and "|" in line)
    assert line.startswith("|")
    code, out, err = replab("predict", run.name, tmp_path / "set" / ODD / "0.png", "--runs", tmp_path / "runs")
    assert code == 0, err
    assert out.count("\n") == 1
    assert "\x1b" not in out


def test_a_file_that_cannot_be_written_is_one_line(refuses, replab, tmp_path, a_run):
    (tmp_path / "file").write_text("")
    code, _, err = replab("data", "digits", "--out", tmp_path / "file" / "x.png")
    assert code == 2, err
    assert err.count("\n") == 1
    assert "cannot write" in err
    (a_run.folder / "figures").rename(tmp_path / "away")
    (a_run.folder / "figures").write_text("")
    assert "cannot write" in refuses("report", a_run.id, runs=a_run.folder.parent)


@pytest.mark.parametrize("name", ["input.json", "facts.json", "split.json", "environment.json"])
def test_a_report_without_a_file_it_needs(refuses, a_run, name, monkeypatch):
    monkeypatch.setattr(report, "draw", lambda *args: [])
    (a_run.folder / name).unlink()
    (a_run.folder / "manifest.jsonl").unlink()
    assert name in refuses("report", a_run.id, runs=a_run.folder.parent)


def test_damaged_explanations(a_run):
    for arrays in ({"index": np.arange(3)}, {"index": np.array(5)}, {"index": np.array([0]), "0/facts": np.zeros(1)}):
        np.savez(a_run.folder / "explanations.npz", **arrays)
        (a_run.folder / "manifest.jsonl").unlink(missing_ok=True)
        with pytest.raises(RunError, match=r"explanations\.npz"):
            _ = Values(Record(a_run.folder)).explanations


def test_absurd_threads(refuses, a_run):
    a_run.record.write_json("environment.json", {**a_run.record.read_json("environment.json", {}), "threads": 10**9})
    said = refuses("predict", a_run.id, "x.png", runs=a_run.folder.parent)
    assert "1,000,000,000 threads" in said or "cannot read x.png" in said
    assert "1,000,000,000 threads" in refuses("resume", a_run.id, runs=a_run.folder.parent)


def test_an_audit_of_an_unfinished_run(refuses, a_run):
    (a_run.folder / "metrics.json").unlink()
    assert f"is not finished; replab resume {a_run.id} finishes it" in refuses(
        "audit", a_run.id, runs=a_run.folder.parent
    )


def test_a_last_row_that_was_cut_short_is_dropped(tmp_path):
    from pathlib import Path

    rows = (Path(__file__).parents[2] / "results" / "rows.jsonl").read_bytes().splitlines(keepends=True)[:3]
    said = []
    (tmp_path / "rows.jsonl").write_bytes(b"".join(rows)[:-40])
    assert len(results.read(tmp_path, said.append)) == 2
    assert "its last line was cut short" in said[0]
    (tmp_path / "rows.jsonl").write_bytes(b"".join(rows)[:-1])  # lacks its end alone
    assert len(results.read(tmp_path, said.append)) == 3
    assert len(said) == 1


def test_folders_that_early_kills_left_are_removed(tmp_path):
    young, old, run, other = (tmp_path / f"20200101-00000{i}-mlp-digits" for i in range(4))
    for folder in (young, old, run, other):
        folder.mkdir()
        (folder / "recipe.toml").write_text(Recipe().to_toml())
        (folder / "recipe.toml.1234.tmp").write_text("")
    (run / "environment.json").write_text("{}")
    (other / "notes.txt").write_text("mine")
    for folder in (old, run, other):
        os.utime(folder, (0, 0))
    sweep(tmp_path)
    assert sorted(path.name[14] for path in tmp_path.iterdir()) == ["0", "2", "3"]
    assert Record.all(tmp_path)[0].folder == run


def test_a_table_with_names_that_no_file_can_have(tmp_path):
    for name in ("a\0b", "x" * 5000, "/dev/zero"):
        (tmp_path / "x.csv").write_text(f"path,label\n{name},a\n{name},b\n")
        with pytest.raises(DataError, match="x"):
            load(str(tmp_path / "x.csv"))


def test_pickle_is_refused_and_nothing_is_run(tmp_path, refuses):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "run"),)

    (tmp_path / "x.pth").write_bytes(pickle.dumps(Evil()))
    refuses("run", "mlp", "--weights", tmp_path / "x.pth", *TRAIN)
    assert not (tmp_path / "run").exists()
