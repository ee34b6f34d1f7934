"""The manifest: wherever a kill or a power cut falls, whole files are known as whole and damaged ones as damaged."""

import errno
import itertools
import json
import os
from pathlib import Path

import pytest

from replab import files
from replab.errors import FileError, RunError
from replab.records import checkpoint
from replab.records.manifest import NAME, Manifest
from replab.records.record import Record
from replab.records.verify import verify
from replab.settings.recipe import Recipe

HERE = {"replab": "0", "python": "3", "packages": {}, "device": "cpu", "processor": "x", "threads": 1}


@pytest.fixture
def record(tmp_path):
    return Record.create(tmp_path, Recipe(), HERE)


def save(state, file):
    file.write(json.dumps(state).encode())


def load(path):
    return json.loads(path.read_bytes())


def work(record):
    """What a training writes: rows, a checkpoint and times per epoch, then the checkpoints go."""
    with record.lock():
        if record.has("model.txt"):
            record.drop_checkpoints()
            return
        saved = record.checkpoint(load)
        rows = list(saved[1]) if saved else []
        for epoch in range(len(rows) + 1, 4):
            rows.append({"epoch": epoch, "loss": 1 / epoch})
            record.write_lines("epochs.jsonl", rows)
            record.write_checkpoint({"model": epoch}, rows, save)
            record.write_bytes(f"samples/{epoch}.png", bytes([epoch]))
        record.write_text("model.txt", "trained")
        record.drop_checkpoints()


def sound(folder):
    """Nothing looks damaged, and rows and checkpoint agree without a notice."""
    record = Record(folder)
    assert verify(record).problems == ()
    notices = []
    saved = record.checkpoint(load, notices.append) if not record.has("model.txt") else None
    assert notices == []
    if saved is not None:
        assert saved[0]["model"] == saved[0]["epoch"] == len(saved[1])


def die_at(step, after):
    """Let this process end at its n-th change of the disk, just before or just after it."""
    steps = itertools.count(1)

    def dying(real):
        def call(*args, **more):
            now = next(steps)
            if now == step and not after:
                os._exit(9)
            try:
                return real(*args, **more)
            finally:
                if now == step:
                    os._exit(9)

        return call

    for name in ("fsync", "replace", "unlink", "mkdir"):
        setattr(os, name, dying(getattr(os, name)))


@pytest.mark.parametrize("after", [False, True])
def test_killed_at_every_step(record, after):
    """Each time on the folder that the last kill left: old hashes never pile up into a false alarm."""
    kills = 0
    for step in itertools.cycle([3, 1, 5, 2, 7, 4, 9, 6, 14, 8, 11, 20, 13, 30]):
        child = os.fork()
        if child == 0:
            die_at(step, after)
            work(Record(record.folder))
            os._exit(0)
        ended = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        sound(record.folder)
        if ended == 0:
            break
        assert ended == 9
        kills += 1
    assert kills > 10
    assert [row["epoch"] for row in record.read_lines("epochs.jsonl")] == [1, 2, 3]


class Disk:
    """Notes every change, and says what a power cut may have left at any point.

    Content is on disk once its file was flushed; a rename or removal once its folder was, and until then it may be or
    may not be, each by itself.
    """

    def __init__(self, patch, folder):
        first = [p for p in folder.rglob("*") if p.is_file() and p.name != ".lock"]
        self.files = dict(zip(first, itertools.count()))  # path → number of a file, which it keeps when renamed
        self.first, self.content = dict(self.files), {self.files[p]: p.read_bytes() for p in first}
        self.changes, numbers = [], itertools.count(len(first))
        real = {name: getattr(os, name) for name in ("fsync", "replace", "unlink")}

        def fsync(handle):
            path = Path(os.readlink(f"/proc/self/fd/{handle}"))
            if path.is_dir():
                self.changes.append(("folder", path))
            else:
                number = self.files.setdefault(path, next(numbers))
                self.changes.append(("content", number, path.read_bytes()))
            real["fsync"](handle)

        def replace(source, target):
            number = self.files.pop(source, next(numbers))
            self.files[target] = number
            self.changes.append(("entry", source, target, number))
            real["replace"](source, target)

        def unlink(path, **more):
            self.files.pop(path, None)
            self.changes.append(("entry", path, path, None))
            real["unlink"](path, **more)

        for function in (fsync, replace, unlink):
            patch.setattr(os, function.__name__, function)

    def after_cut(self, at):
        """Every state of the disk that a cut after so many changes may leave: {path: content}."""
        entries, content, pending = dict(self.first), dict(self.content), []
        for kind, *what in self.changes[:at]:
            if kind == "content":
                content[what[0]] = what[1]
            elif kind == "entry":
                pending.append(what)
            else:
                entries = self.with_changes(entries, [change for change in pending if change[1].parent == what[0]])
                pending = [change for change in pending if change[1].parent != what[0]]
        for chosen in itertools.product([True, False], repeat=len(pending)):
            state = self.with_changes(entries, itertools.compress(pending, chosen))
            yield {path: content.get(number, b"") for path, number in state.items()}

    def with_changes(self, entries, changes):
        entries = dict(entries)
        for source, target, number in changes:
            entries.pop(source, None)
            if number is not None:
                entries[target] = number
        return entries


def test_the_power_cut_at_every_step(record, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        disk = Disk(patch, record.folder)
        work(record)
    seen = 0
    for at in range(len(disk.changes) + 1):
        for state in disk.after_cut(at):
            folder = tmp_path / "cut" / str(seen)
            for path, data in state.items():
                if not path.name.endswith(".tmp"):
                    file = folder / path.relative_to(record.folder)
                    file.parent.mkdir(parents=True, exist_ok=True)
                    file.write_bytes(data)
            sound(folder)
            seen += 1
    assert seen > 50


def grown(record, count=3):
    """epochs.jsonl as a training leaves it: the first row written, the others appended."""
    rows = []
    for epoch in range(1, count + 1):
        rows.append({"epoch": epoch})
        record.write_lines("epochs.jsonl", rows)
    return rows


def test_rows_are_appended_and_hashed_once(record, monkeypatch):
    with record.lock():
        rows, inode = grown(record), record.path("epochs.jsonl").stat().st_ino
        monkeypatch.setattr(Manifest, "_parse", None)  # its own lines need no reading
        record.write_lines("epochs.jsonl", [*rows, {"epoch": 4}])
        assert record.path("epochs.jsonl").stat().st_ino == inode
        assert record.path("epochs.jsonl").read_text() == "".join(f'{{"epoch": {n}}}\n' for n in range(1, 5))
        monkeypatch.undo()
        assert len(record.read_lines("epochs.jsonl")) == len(Record(record.folder).read_lines("epochs.jsonl")) == 4
    assert "size" not in record.manifest.entries()["epochs.jsonl"].line("epochs.jsonl")  # it has ended
    assert verify(Record(record.folder)).problems == ()


def test_an_append_cut_short_at_any_byte_is_no_damage(record):
    with record.lock():
        grown(record)
        whole, lines = record.path("epochs.jsonl").read_bytes(), record.path(NAME).read_bytes()
        for left in range(len(whole) + 1):
            record.path("epochs.jsonl").write_bytes(whole[:left] + b"\0" * (len(whole) - left))  # room, and no content
            other = Record(record.folder)
            if left < whole.index(b'{"epoch": 3'):
                with pytest.raises(RunError, match="is damaged"):
                    other.read_lines("epochs.jsonl")
            else:
                assert len(other.read_lines("epochs.jsonl")) == (3 if left == len(whole) else 2)
                assert verify(other).problems == ()
        # the next process writes it anew; a kill before the rename leaves what was whole
        record.path("epochs.jsonl").write_bytes(whole[:-3])
        other = Record(record.folder)
        other.manifest.announce({"epochs.jsonl": "0" * 64})
        assert len(Record(record.folder).read_lines("epochs.jsonl")) == 2
        other.manifest.settle()
        assert len(Record(record.folder).read_lines("epochs.jsonl")) == 2
        record.path(NAME).write_bytes(lines)


def test_what_was_changed_meanwhile_is_written_anew(record):
    with record.lock():
        rows = grown(record)
        for spoil in (lambda path: path.write_bytes(b"x"), lambda path: path.unlink()):
            spoil(record.path("epochs.jsonl"))
            rows.append({"epoch": len(rows) + 1})
            record.write_lines("epochs.jsonl", rows)
            assert len(Record(record.folder).read_lines("epochs.jsonl")) == len(rows)
        record.write_lines("epochs.jsonl", [dict(row) for row in rows[:2]])  # not the rows of before
        assert len(Record(record.folder).read_lines("epochs.jsonl")) == 2


def test_a_disk_that_is_full_in_the_middle_of_a_row(record, monkeypatch):
    with record.lock():
        rows = grown(record)
        append = files.append

        def half(path, data, **more):
            if path.name == NAME:
                return append(path, data, **more)
            append(path, data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(files, "append", half)
            with pytest.raises(FileError, match=r"cannot write .*epochs.jsonl: No space left .*; free some space"):
                record.write_lines("epochs.jsonl", [*rows, {"epoch": 4}])
        assert len(Record(record.folder).read_lines("epochs.jsonl")) == 3
        rows.append({"epoch": 4})
        record.write_lines("epochs.jsonl", rows)
        assert len(Record(record.folder).read_lines("epochs.jsonl")) == 4
    assert verify(Record(record.folder)).problems == ()


def test_damage_is_noticed_by_every_reader(record):
    record.write_lines("epochs.jsonl", [{"epoch": 1}, {"epoch": 2}])
    for damage in (lambda data: data[:-5], lambda data: bytes([data[0] ^ 1]) + data[1:], lambda data: b""):
        whole = record.path("epochs.jsonl").read_bytes()
        record.path("epochs.jsonl").write_bytes(damage(whole))
        for read in (record.read_lines, record.read_bytes, record.checked):
            with pytest.raises(RunError, match=r"epochs.jsonl is damaged: .*; replab verify .* says what can be done"):
                read("epochs.jsonl")
        record.path("epochs.jsonl").write_bytes(whole)
    assert len(record.read_lines("epochs.jsonl")) == 2


def test_damaged_content_does_not_become_good_by_being_replaced(record, monkeypatch):
    """The process ends between the new line of the manifest and the rename."""
    record.path("recipe.toml").write_bytes(b"damaged")

    def interrupt(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupt)
        with pytest.raises(KeyboardInterrupt):
            record.write_text("recipe.toml", "new")
    with pytest.raises(RunError, match="is damaged"):
        Record(record.folder).read_text("recipe.toml")
    record.write_text("recipe.toml", "new")
    assert record.read_text("recipe.toml") == "new"


def test_a_torn_last_line_is_dropped_and_others_are_reported(record):
    record.write_text("a", "1")
    with record.path(NAME).open("ab") as file:
        file.write(b'{"file": "a", "sha2')
    assert record.read_text("a") == "1"
    record.write_text("a", "2")
    assert record.read_text("a") == "2"
    lines = record.path(NAME).read_text().splitlines()
    assert all(json.loads(line) for line in lines)
    for line in ('{"file": "../x", "sha256": null, "was": null}', "[" * 100_000, "{}", '{"file": "a"}'):
        record.path(NAME).write_text("\n".join([line, *lines]) + "\n")
        manifest = Manifest(record.folder)
        assert set(manifest.entries()) == {"recipe.toml", "environment.json", "a"}
        assert manifest.damaged_lines == [1]


def test_the_manifest_has_one_line_per_file_when_the_writer_is_done(record):
    with record.lock():
        for i in range(5):
            record.write_text("a", str(i))
    assert len(record.path(NAME).read_text().splitlines()) == 3
    sound(record.folder)
    record.path("a").unlink()  # now it cannot be one that was never there
    assert [problem.name for problem in verify(record).problems] == ["a"]


def test_a_folder_without_manifest_is_read_as_it_is(record):
    """Runs of replab 0.1 have none."""
    record.path(NAME).unlink()
    record.path("recipe.toml").write_text('model = "mlp"\n')
    assert record.recipe().model == "mlp"
    record.write_text("report.md", "new")  # from now on it is known
    record.path("report.md").write_text("damaged")
    with pytest.raises(RunError, match="is damaged"):
        record.read_text("report.md")


def test_two_readers_and_a_writer(record):
    """Another process's record knows of what this one writes."""
    other = Record(record.folder)
    for text in ("1", "22", "333"):
        record.write_text("a", text)
        assert other.read_text("a") == text
    assert checkpoint.NEWEST not in other.manifest.entries()


def test_a_file_that_the_disk_does_not_give_back_is_one_line(tmp_path, monkeypatch):
    """The journal is hashed when a run ends, however it ends."""
    (tmp_path / "events.jsonl").write_text("{}\n")
    opened = Path.open

    def failing(path, *args, **kwargs):
        if path.name == "events.jsonl":
            raise OSError(errno.EIO, "Input/output error")
        return opened(path, *args, **kwargs)

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(FileError, match=r"cannot read .*events.jsonl: Input/output error"):
        Manifest(tmp_path).settle()
