"""Published weights whose whole SHA-256 is not known: not taken unasked, and remembered by hash once trusted."""

import hashlib
import json

import pytest
import torch

from replab import api
from replab.backends.torchvision_cpu import torchvision
from replab.data import downloads
from replab.errors import ModelError
from replab.models.pretrained import backbones, hashes, names

MODEL, FILE, DIGITS = "torchvision:shufflenet_v2_x0_5", "shufflenetv2_x0.5-f707e7126e.pth", "f707e7126e"
WANTED = {"model": MODEL, "pretrained": True, "params": {"side": 32}, "limit": 20, "lr": 1e-3, "epochs": 1}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A user's cache and configuration, and a server whose file fits the digits of its name. What was downloaded."""
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("REPLAB_CONFIG", str(tmp_path / "config"))
    taken = []

    def fetch(url, path, sha256):
        taken.append((url.rpartition("/")[2], sha256))
        torch.save(torchvision.models.shufflenet_v2_x0_5().state_dict(), path)

    def digest(path):  # of other bytes another one, but for the first digits, which nobody can make in a test
        return DIGITS + hashlib.sha256(path.read_bytes()).hexdigest()[len(DIGITS) :]

    monkeypatch.setattr(downloads, "fetch", fetch)
    monkeypatch.setattr(backbones, "digest", digest)
    monkeypatch.setattr(names, "check_reachable", lambda model: None)
    return taken


def test_the_table_is_of_files_that_torchvision_names():
    models = torchvision.models.list_models(torchvision.models)
    files = {name: backbones._weights(name).url.rpartition("/")[2] for name in models}
    assert {name: names.file_of(name) for name in models} == files  # found without importing it
    assert set(hashes.SHA256) <= set(files.values())
    for file, sha256 in hashes.SHA256.items():
        assert sha256.startswith(file.rpartition("-")[2].removesuffix(".pth"))
        assert len(sha256) == hashes.WHOLE
        assert set(sha256) <= set("0123456789abcdef")


def test_what_is_known_by_a_few_digits_is_not_taken_unasked(store, tmp_path, refuses):
    said = refuses("run", MODEL, "--pretrained", "--limit", 20, "--runs", tmp_path / "runs")
    assert f"{FILE} is not taken unasked: only {DIGITS} of its SHA-256 is known" in said
    assert f"replab run {MODEL} --pretrained --trust takes it and remembers its hash, or --weights PATH" in said
    assert not store
    assert not (tmp_path / "runs").exists()
    path = names.weights_folder() / FILE  # nor is one that lies in the cache
    path.parent.mkdir(parents=True)
    path.write_bytes(b"somebody's")
    with pytest.raises(ModelError, match="is not taken unasked"):
        api.prepare(**WANTED)


def test_what_was_trusted_is_remembered_by_its_whole_hash(store, tmp_path):
    asked = []
    api.prepare(**WANTED, trust=lambda text: asked.append(text) or True)
    assert asked == [f"{FILE}: only {DIGITS} of its SHA-256 is known"]
    assert store == [(FILE, DIGITS)]
    path = names.weights_folder() / FILE
    assert list(json.loads((tmp_path / "config" / "trusted.json").read_text())) == [backbones.digest(path)]
    assert [found.name for found in path.parent.iterdir()] == [FILE]  # beside the file nothing is believed
    api.prepare(**WANTED)
    assert backbones.accepted(MODEL) == backbones.digest(path)
    path.write_bytes(b"another file that fits the digits")
    with pytest.raises(
        ModelError, match=f"{FILE} is not whole: its SHA-256 does not begin {backbones.accepted(MODEL)}"
    ):
        api.prepare(**WANTED, trust=True)
    path.unlink()
    backbones.fetched(MODEL, backbones.accepted(MODEL))
    assert store[-1] == (FILE, backbones.accepted(MODEL))
    (tmp_path / "config" / "trusted.json").write_text("{")  # what cannot be read trusts nothing
    with pytest.raises(ModelError, match="is not taken unasked"):
        backbones.accepted(MODEL)


def test_a_worker_takes_the_file_of_the_process_that_asked(store, tmp_path):
    path = backbones.fetched(MODEL, DIGITS)
    (tmp_path / "config" / "trusted.json").unlink()
    backbones.fetched(MODEL, backbones.digest(path))
    assert not (tmp_path / "config" / "trusted.json").exists()  # it was told; its user said nothing


@pytest.mark.parametrize("mark", ["", DIGITS, 64 * "0"])
def test_only_a_whole_hash_that_fits_the_name_is_believed(store, tmp_path, mark):
    (tmp_path / "config").mkdir()
    entry = {"functions": [f"weights:{FILE}"], "paths": []}
    (tmp_path / "config" / "trusted.json").write_text(json.dumps({mark: entry}))
    with pytest.raises(ModelError, match="is not taken unasked"):
        backbones.accepted(MODEL)
