"""Every reader of files from elsewhere: the seeds its cases are made of, and how one is read.

A reader may answer or refuse by its own error, in one line. Anything else is a failure: another exception, more than a
gibibyte, more than five seconds, or something that was run.
"""

import contextlib
import io
import json
import os
import pickle
import shutil
from pathlib import Path

import numpy as np

from replab.errors import ReplabError

FIXTURES = Path(__file__).parents[1] / "replab" / "fixtures" / "runs-0.1.0" / "searched"


# replab report says of these that a file of the run is not replab's
NOT_OURS = (ReplabError, KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, ZeroDivisionError)


class Target:
    text, ending = False, ".bin"
    refusals: tuple = (ReplabError,)

    def __init__(self, place):
        self.place = place  # a folder of its own

    def seeds(self):
        """Whole files, as bytes."""
        raise NotImplementedError

    def read(self, path):
        raise NotImplementedError


def saved(save, *args, **more):
    buffer = io.BytesIO()
    save(*args, **more) if args and args[0] is buffer else save(buffer, *args, **more)
    return buffer.getvalue()


class Idx(Target):
    def __init__(self, place):
        from replab.data.decode.published_files import Broken

        super().__init__(place)
        self.refusals = (Broken,)

    def seeds(self):
        return [b"\0\0\x08\x03\0\0\0\x04\0\0\0\x05\0\0\0\x06" + bytes(120), b"\0\0\x08\x01\0\0\0\x04abcd"]

    def read(self, path):
        from replab.data.decode.published_files import read_idx

        read_idx(path)


class IdxGz(Idx):
    ending = ".gz"

    def seeds(self):
        import gzip

        return [gzip.compress(seed, mtime=0) for seed in super().seeds()]


def pictures():
    from PIL import Image

    rng, found = np.random.default_rng(0), []
    gray, colour = rng.integers(0, 255, (9, 7), np.uint8), rng.integers(0, 255, (9, 7, 3), np.uint8)
    exif = Image.Exif()
    exif[0x0112] = 6
    for kind, array, more in (
        ("PNG", gray, {}), ("PNG", colour, {"exif": exif}), ("JPEG", colour, {"exif": exif}), ("GIF", gray, {}),
        ("BMP", colour, {}), ("TIFF", gray, {"exif": exif}), ("WEBP", colour, {}), ("PPM", colour, {}),
    ):  # fmt: skip
        buffer = io.BytesIO()
        Image.fromarray(array).save(buffer, kind, **more)
        found.append(buffer.getvalue())
    return found


class Images(Target):
    def seeds(self):
        return pictures()

    def read(self, path):
        from replab.data.decode.as_pixels import as_pixels

        as_pixels(path, 3, 8, 8)


class Zip(Target):
    ending = ".zip"

    def seeds(self):
        import zipfile

        found = []
        for names in (("a/{}.png", "b/{}.png"), ("train/a/{}.png", "train/b/{}.png", "test/a/{}.png", "test/b/{}.png")):
            buffer = io.BytesIO()
            with zipfile.ZipFile(buffer, "w") as archive:
                for name in names:
                    for number in range(3):
                        member = zipfile.ZipInfo(name.format(number))  # of no date
                        archive.writestr(member, pictures()[0], zipfile.ZIP_DEFLATED)
            found.append(buffer.getvalue())
        return found

    def read(self, path):
        from replab.data.load import load

        load(str(path))


class Npz(Target):
    ending = ".npz"

    def seeds(self):
        x, y = np.zeros((12, 6, 6), np.uint8), np.arange(12) % 3
        return [saved(np.savez, x=x, y=y), saved(np.savez_compressed, x_train=x, y_train=y, x_test=x, y_test=y)]

    def read(self, path):
        from replab.data.load import load

        load(str(path))


class Csv(Target):
    text, ending = True, ".csv"

    def seeds(self):
        for name, data in zip("ab", pictures()[:2]):
            (self.place / f"{name}.png").write_bytes(data)
        rows = "".join(f"{name}.png,{label}\n" for name, label in zip("abab", "xyxy"))
        split = "".join(
            f"{name}.png,{label},{half}\n" for half in ("train", "test") for name, label in zip("abab", "xyxy")
        )
        return [f"path,label\n{rows}".encode(), f"path,label,split\n{split}".encode()]

    def read(self, path):
        from replab.data.load import load

        load(str(path), size=8)


class Cifar(Target):
    def __init__(self, place):
        from replab.data.decode.published_files import Broken

        super().__init__(place)
        self.refusals = (Broken,)

    def seeds(self):
        batch = {"data": np.zeros((2, 3072), np.uint8), "labels": [0, 1], "filenames": ["a", "b"]}
        evil = {"data": Evil(self.place / "run"), "labels": [0]}
        return [pickle.dumps(batch, protocol=p) for p in range(6)] + [pickle.dumps(evil, protocol=p) for p in (0, 2, 5)]

    def read(self, path):
        from replab.data.decode.published_files import read_cifar

        read_cifar(path, path.read_bytes(), "labels")


class Evil:
    """Would make a file, if it were run."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


class Recipe(Target):
    text, ending = True, ".toml"

    def seeds(self):
        from replab.settings.recipe import Recipe as Real

        table = Real().replace(
            lr=0.1, epochs=3, params={"widths": [1, 2]}, augment=("flip",), search={"space": {"a": [1]}}
        )
        return [table.to_toml().encode(), Real().to_toml().encode(), b"model = 'mlp'\nepochs = 1_000\nlr = 1e-3\n"]

    def read(self, path):
        from replab.settings.recipe import Recipe as Real

        Real.read(path).described()


class Pack(Target):
    text, ending = True, ".toml"

    def seeds(self):
        from replab.replication import packs

        return [path.read_bytes() for path in sorted(packs.FOLDER.glob("*.toml"))[:3]]

    def read(self, path):
        from replab.replication.packs import from_file

        named = path.with_name("lab9.toml")
        named.write_bytes(path.read_bytes())
        from_file(named)


def state():
    import torch

    return {"a.weight": torch.zeros(3, 2), "a.bias": torch.zeros(3, dtype=torch.float64), "n": torch.tensor(3)}


class Safetensors(Target):
    ending = ".safetensors"

    def seeds(self):
        import safetensors.torch

        return [safetensors.torch.save(state()), safetensors.torch.save(state(), {"format": "pt"})]

    def read(self, path):
        from replab.models.pretrained.weights import from_file

        from_file(path, str(path))


class Pth(Target):
    ending = ".pth"

    def seeds(self):
        import torch

        found = []
        for value in (state(), {"state_dict": state()}, {"x": Evil(self.place / "run")}):
            for zipped in (True, False):
                buffer = io.BytesIO()
                torch.save(value, buffer, _use_new_zipfile_serialization=zipped)
                found.append(buffer.getvalue())
        return [*found, b"\x80\x02K\x01\x85" + b"2\x86" * 40 + b"q\x00}h\x00K\x01s."]

    def read(self, path):
        from replab.models.pretrained.weights import from_file

        from_file(path, str(path))


class MyTorch(Target):
    refusals = (ValueError,)

    def __init__(self, place):
        super().__init__(place)
        self.others = (Pth(place), Safetensors(place), Npz(place), Cifar(place))

    def seeds(self):
        return [seed for other in self.others for seed in other.seeds()]

    def read(self, path):
        import mytorch

        mytorch.load(path)


class RunFolder(Target):
    """One file of a run is another; the manifest that would tell is gone."""

    text = True
    names = (
        "recipe.toml", "chosen.toml", "environment.json", "input.json", "facts.json", "metrics.json", "epochs.jsonl",
        "study.jsonl", "split.json", "cuts.json", "times.jsonl", "predictions.npz", "explanations.npz", "filters.npy",
        "model.safetensors",
    )  # fmt: skip

    def seeds(self):
        return [bytes([number]) + (FIXTURES / name).read_bytes() for number, name in enumerate(self.names)]

    def read(self, path):
        from replab.records.record import Record
        from replab.records.values import Values
        from replab.records.verify import verify
        from replab.report import terminal
        from replab.report.markdown import markdown
        from replab.runs.audit import own_findings
        from replab.runs.compare import table
        from replab.runs.run import finished_runs

        data = path.read_bytes()
        folder = self.place / "runs" / "spoilt"
        if not folder.is_dir():
            shutil.copytree(FIXTURES, folder)
        name = self.names[data[0] % len(self.names)] if data else self.names[0]
        (folder / name).write_bytes(data[1:])
        try:
            record = Record(folder)
            verify(record)
            table(finished_runs(folder.parent))
            for reading in (
                lambda: own_findings(Values(record)),
                lambda: terminal.lines(record),
                lambda: markdown(Values(record), []),
                lambda: Values(record).explanations,
                lambda: Values(record).filters,
                record.weights,
            ):
                with contextlib.suppress(*NOT_OURS):
                    reading()
        finally:
            (folder / name).write_bytes((FIXTURES / name).read_bytes())


class Checkpoint(Target):
    ending = ".pt"

    def seeds(self):
        import torch

        rows = "".join(json.dumps({"epoch": i + 1, "loss": 0.5}) + "\n" for i in range(2))
        value = {"epoch": 2, "rows": rows, "model": state(), "optimizers": {"all": {"state": {}, "param_groups": []}}}
        within = {**value, "within": {"sizes": [4], "logs": {"loss": torch.zeros(1)}, "generator": [torch.zeros(8)]}}
        found = []
        for each in (value, within):
            buffer = io.BytesIO()
            torch.save(each, buffer)
            found.append(buffer.getvalue())
        return found

    def read(self, path):
        from replab.backends import backend
        from replab.records.record import Record

        folder = self.place / "runs" / "begun"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "checkpoint.pt").write_bytes(path.read_bytes())
        Record(folder).checkpoint(backend.get("torch").load)


class Rows(Target):
    text, ending = True, ".jsonl"

    def seeds(self):
        lines = (Path(__file__).parents[2] / "results" / "rows.jsonl").read_bytes().splitlines(keepends=True)
        return [b"".join(lines[:2]), lines[0]]

    def read(self, path):
        from replab.replication import results

        folder = self.place / "results"
        folder.mkdir(exist_ok=True)
        (folder / "rows.jsonl").write_bytes(path.read_bytes())
        results.read(folder)


class Page(Target):
    """Requests: a method, a path with its query, and headers, as lines."""

    text = True

    def seeds(self):
        paths = (
            "/", "/runs.json", "/runs/searched", "/runs/searched/live", "/compare?run=searched&run=interrupted",
            "/ledger", "/catalogue", "/static/page.css", "/runs/searched/files/recipe.toml", "/?token=x",
        )  # fmt: skip
        return [f"GET {path}\nhost: 127.0.0.1:8265\nsec-fetch-site: none\n".encode() for path in paths]

    def read(self, path):
        import asyncio

        from replab.web.app import Site, application

        if not hasattr(self, "app"):
            site = Site(FIXTURES.parent, FIXTURES.parent / "none")
            self.app = application(site, frozenset({"127.0.0.1:8265"}), "secret")
        first, *rest = path.read_bytes().split(b"\n")
        method, _, url = first.partition(b" ")
        plain, _, query = url.partition(b"?")
        headers = [tuple(part.strip() for part in line.split(b":", 1)) for line in rest if b":" in line]
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "",
            "method": method.decode("latin1"), "path": plain.decode("utf-8", "replace"), "raw_path": plain,
            "query_string": query, "headers": [(k.lower(), v) for k, v in headers], "server": ("127.0.0.1", 8265),
            "client": ("127.0.0.1", 1),
        }  # fmt: skip
        sent = []

        async def receive():
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message):
            sent.append(message)

        asyncio.run(self.app(scope, receive, send))
        assert sent[0]["status"] < 500, sent[0]["status"]


TARGETS = {
    kind.__name__.lower(): kind
    for kind in (Idx, IdxGz, Images, Zip, Npz, Csv, Cifar, Recipe, Pack, Safetensors, Pth, MyTorch, RunFolder,
                 Checkpoint, Rows, Page)
}  # fmt: skip
