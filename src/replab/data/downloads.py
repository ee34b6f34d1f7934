"""Where the published sets are downloaded from, over https alone, and the SHA-256 of each of their files.

A file is downloaded elsewhere, checked and renamed, so that a half or another one is never taken for it. One that was
in place already is compared too: images that are not the published ones are used, and the run says so.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from replab import files, interruption
from replab.data.decode.reach import absent
from replab.errors import DataError

TIMEOUT = 30.0  # seconds without a byte
LARGEST = 2**32  # bytes of one download

PLACES = {
    "MNIST": "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "FashionMNIST": "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    "CIFAR10": "https://www.cs.toronto.edu/~kriz/",
    "CIFAR100": "https://www.cs.toronto.edu/~kriz/",
    "SVHN": "https://ufldl.stanford.edu/housenumbers/",
}
SHA256: dict[str, dict[str, str]] = {
    "MNIST": {
        "train-images-idx3-ubyte.gz": "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "train-labels-idx1-ubyte.gz": "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "t10k-images-idx3-ubyte.gz": "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "t10k-labels-idx1-ubyte.gz": "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
        "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    },
    "FashionMNIST": {
        "train-images-idx3-ubyte.gz": "3aede38d61863908ad78613f6a32ed271626dd12800ba2636569512369268a84",
        "train-labels-idx1-ubyte.gz": "a04f17134ac03560a47e3764e11b92fc97de4d1bfaf8ba1a3aa29af54cc90845",
        "t10k-images-idx3-ubyte.gz": "346e55b948d973a97e58d2351dde16a484bd415d4595297633bb08f03db6a073",
        "t10k-labels-idx1-ubyte.gz": "67da17c76eaffca5446c3361aaab5c3cd6d1c2608764d35dfb1850b086bf8dd5",
        "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    },
    "CIFAR10": {
        "cifar-10-python.tar.gz": "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
    },
    "CIFAR100": {
        "cifar-100-python.tar.gz": "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
    },
    "SVHN": {
        "train_32x32.mat": "435e94d69a87fde4fd4d7f3dd208dfc32cb6ae8af2240d066de1df7508d083b8",
        "test_32x32.mat": "cdce80dfb2a2c4c6160906d0bd7c68ec5a99d7ca4831afa54f09182025b6a75b",
    },
}


def download(name: str, wanted: Sequence[str], published: str, root: Path, problem: object) -> None:
    """Each file goes into a temporary folder, is checked, and is then renamed into place."""
    part = None
    try:
        root.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=".download-", dir=root))
        for file in wanted:
            if (root / file).is_file() and problem is None:
                continue
            filename = Path(file).name
            fetch(PLACES[published] + filename, part / filename, SHA256[published][filename])
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            files.rename(part / filename, root / file)
    except OSError as error:  # URLError is one
        reason = " ".join(str(error).split())
        raise DataError(absent(name, wanted, problem or "it is not", reason)) from None
    finally:
        if part is not None:
            shutil.rmtree(part, ignore_errors=True)


class _HttpsOnly(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if not newurl.startswith("https://"):
            raise urllib.error.URLError(f"it leads to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def fetch(url: str, path: Path, sha256: str) -> None:
    """Download one file with a progress bar, if its SHA-256 is (or begins with) the one that is known."""
    from tqdm.auto import tqdm

    if not url.startswith("https://"):
        raise urllib.error.URLError(f"{url} is not https")
    digest = hashlib.sha256()
    opener = urllib.request.build_opener(_HttpsOnly())
    with (
        contextlib.closing(opener.open(url, timeout=TIMEOUT)) as answer,
        open(path, "wb") as file,
        tqdm(desc=path.name, total=_length(answer), unit="B", unit_scale=True, disable=None) as bar,
    ):
        while block := answer.read(2**18):
            interruption.heed()
            digest.update(block)
            file.write(block)
            bar.update(len(block))
            if bar.n > LARGEST:
                raise urllib.error.URLError(f"it has more than {LARGEST:,} bytes")
    if not digest.hexdigest().startswith(sha256):
        path.unlink()
        raise urllib.error.URLError(f"{url} is not what was published: SHA-256 {digest.hexdigest()}, not {sha256}")


def _length(answer: Any) -> int | None:
    text = answer.headers.get("content-length", "")
    return int(text) if text.isdecimal() else None


def differing(published: str, paths: Sequence[Path]) -> list[str]:
    """Names of the files whose SHA-256 is known and another one."""
    known = SHA256.get(published, {})
    return [path.name for path in paths if path.name in known and _sha256(path) != known[path.name]]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
