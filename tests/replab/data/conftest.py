"""Each test has a cache and a data folder of its own, and no network."""

from urllib.error import URLError

import pytest

from replab.data.decode import archives as torchvision_sets


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("REPLAB_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setenv("REPLAB_DATA", str(tmp_path_factory.mktemp("data")))

    def offline(url, folder, filename, md5):
        (folder / filename).write_bytes(b"half")  # as a download that breaks off leaves it
        raise URLError("no network")

    monkeypatch.setattr(torchvision_sets, "fetch", offline)
