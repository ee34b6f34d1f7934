"""Each test has a cache and a data folder of its own, and no network."""

from urllib.error import URLError

import pytest

from replab.data import downloads


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("REPLAB_DATA", str(tmp_path_factory.mktemp("data")))

    def offline(url, path, sha256):
        path.write_bytes(b"half")  # as a download that breaks off leaves it
        raise URLError("no network")

    monkeypatch.setattr(downloads, "fetch", offline)
