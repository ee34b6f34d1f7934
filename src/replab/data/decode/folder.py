"""A folder or zip of images → Dataset: listed, decoded once into the cache, split (see layout.py)."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from replab import files, interruption
from replab.data.decode import cache
from replab.data.decode.decoded import Allocate, Decoded, dataset
from replab.data.decode.layout import Layout, check_enough, is_ignored, layout, only_images
from replab.data.decode.pictures import Unreadable, decode, header
from replab.data.decode.reading import Reading
from replab.data.images import Dataset
from replab.errors import DataError

LARGEST_MEMBER = 512 * 2**20  # bytes, unpacked: a larger file in a zip is taken for a decompression bomb
MOST_MEMORY = 2**29  # bytes for the pictures that are being decoded; a single one may take more
PER_PIXEL = 12  # bytes: as read, with transparency, and as it is kept
WORTH_THREADS = 64 * 2**10  # bytes per file: below, decoding is mostly Python, and threads only wait for each other
LISTED = 10  # broken files that an error names
SAMPLE = 64  # headers that are read before anything is decoded, so that mixed sizes are refused early

Read = Callable[[str], bytes]


def load(
    path: Path,
    how: Reading,
    *,
    seed: int,
    name: str | None = None,
    constants: tuple[tuple[float, ...], tuple[float, ...]] | None = None,
) -> Dataset:
    """Images of a folder or zip, under its own name or `name`; `constants` are a published mean and std."""
    try:
        key, found = _from_folder(path, how) if path.is_dir() else _from_zip(path, how)
    except OSError as error:
        raise DataError(f"{error.filename or path} cannot be read ({error.strerror}); repair or remove it") from None
    own = path.resolve().name if path.is_dir() else path.stem
    return dataset(name or own, found, key, seed, constants)


def _from_folder(path: Path, how: Reading) -> tuple[str, Decoded]:
    names, links = _list_folder(path)
    names, notices = only_images(names)
    present = [(n, links[n]) for n in names if not n.endswith("/")]
    key = cache.content(present, f"folder, empty: {[n for n in names if n.endswith('/')]}, {how}")

    def read(name: str) -> bytes:
        return files.read(links[name], LARGEST_MEMBER)

    found = cache.decoded(key, lambda allocate: decode_plan(layout(names, str(path)), read, path, how, allocate))
    return key, found._replace(notices=notices)


def _from_zip(path: Path, how: Reading) -> tuple[str, Decoded]:
    if not zipfile.is_zipfile(path):
        raise DataError(f"{path} is neither a folder nor a zip of images; replab datasets lists the named sets")
    key = cache.content([("zip", path)], str(how))
    return key, cache.decoded(key, lambda allocate: _decode_zip(path, how, allocate))


def _list_folder(top: Path) -> tuple[list[str], dict[str, str]]:
    """Relative names of all files (and of empty folders, with a `/`), sorted, and where the files are."""
    links: dict[str, str] = {}  # plain text: Path objects would take longer than everything else
    empty = []

    def walk(folder: str, prefix: str, above: tuple[str, ...] = ()) -> None:
        real = os.path.realpath(folder)
        if real in above:  # a link back to a folder around it
            return
        entries = [e for e in os.scandir(folder) if not is_ignored(e.name)]
        if not entries and prefix:
            empty.append(prefix)
        for entry in entries:
            if entry.is_dir():
                walk(entry.path, f"{prefix}{entry.name}/", (*above, real))
            elif what := files.special(entry.path) if not entry.is_file() else "":
                raise DataError(f"{top}: every file must be an image, but {prefix}{entry.name} is {what}; remove it")
            else:
                links[prefix + entry.name] = entry.path

    walk(str(top), "")
    return sorted([*links, *empty]), links


def _decode_zip(path: Path, how: Reading, allocate: Allocate) -> Decoded:
    try:
        with zipfile.ZipFile(path) as archive:
            members = {}
            for member in archive.infolist():
                name = member.filename.replace("\\", "/")
                if name.startswith("/") or name[1:2] == ":" or ".." in name.split("/"):
                    raise DataError(
                        f"{path}: names in a zip must stay inside it, got {member.filename!r}; create it again"
                    )
                if is_ignored(name):
                    continue
                if member.flag_bits & 1:
                    raise DataError(f"{path}: {name} is encrypted; create it again without a password")
                if member.file_size > LARGEST_MEMBER:
                    raise DataError(f"{path}: {name} unpacks to {member.file_size:,} bytes, too many for an image")
                members[name] = member
            # of the folders' own entries only empty ones matter
            holding = {name[: i + 1] for name in members for i, c in enumerate(name[:-1]) if c == "/"}
            names, notices = only_images([n for n in members if n not in holding])
            plan = layout(names, str(path))
            found = decode_plan(plan, lambda n: _read_member(archive, members[n]), path, how, allocate)
            return found._replace(notices=notices)
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError) as error:  # versions that are not known, names
        raise DataError(f"{path} is a damaged zip ({error}); copy or download it again") from None


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    try:
        return archive.read(member)
    except Exception as error:  # zip, zlib, LZMA and bzip2 each have their own
        raise Unreadable(f"damaged in the zip: {error}") from None


def decode_plan(plan: Layout, read: Read, where: Path, how: Reading, allocate: Allocate) -> Decoded:
    """All files of a plan, in its order, or all that can be read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PIL's warnings about large or odd files: those are refused below, or fine
        if how.size is None:
            step = max(1, len(plan.files) // SAMPLE)
            _refuse_mixed_sizes(_sizes(plan.files[::step], read), plan, read, where)
        pixels, kept, broken = _pixels(plan, read, where, how, allocate)
    labels = None if plan.labels is None else np.array(plan.labels, np.int64)[kept]
    train = None if plan.train is None else int((kept < plan.train).sum())
    if broken:
        check_enough(labels, plan.classes, train, len(kept), f"{where} without its {len(broken):,} broken files")
    return Decoded.of(pixels, labels, plan.classes, train)._replace(skipped=tuple(broken))


def _pixels(
    plan: Layout, read: Read, where: Path, how: Reading, allocate: Allocate
) -> tuple[np.ndarray, np.ndarray, list[str]]:
    """(pixels, places in the plan of the files they are of, the other files and why they cannot be read)."""
    pixels: np.ndarray | None = None  # of the first image's shape, until a colour image comes after gray ones
    kept: list[int] = []
    broken: list[str] = []
    for place, image in enumerate(_decoded(plan.files, read, where, how)):
        interruption.heed()
        if isinstance(image, Unreadable):
            broken.append(f"{plan.files[place]} ({image})")
            continue
        i = len(kept)
        kept.append(place)
        if pixels is None:
            pixels = _room((len(plan.files), *image.shape), allocate, where)
        if image.shape[1:] != pixels.shape[2:]:
            _refuse_mixed_sizes(_sizes(plan.files, read), plan, read, where)
        if image.shape[0] > pixels.shape[1]:
            gray, pixels = pixels, _room((len(plan.files), *image.shape), allocate, where)
            pixels[:i] = gray[:i]
        pixels[i] = image  # a gray image fills all three channels
    if pixels is None or (broken and not how.skip_broken):
        listed = ", ".join(broken[:LISTED]) + (" …" if len(broken) > LISTED else "")
        way = "--skip-broken leaves them out" if pixels is not None else "replace them"
        raise DataError(
            f"{where}: every file must be an image, but {len(broken):,} of {len(plan.files):,} cannot be read:"
            f" {listed}; {way}"
        )
    return pixels[: len(kept)], np.array(kept), broken


def _room(shape: tuple[int, ...], allocate: Allocate, where: Path) -> np.ndarray:
    try:
        return allocate(shape)
    except MemoryError:
        n, channels, height, width = shape
        raise DataError(
            f"{where}: {n:,} images of {channels}x{height}x{width} do not fit into memory or the cache;"
            " --size 64 makes them smaller"
        ) from None


def _decoded(names: list[str], read: Read, where: Path, how: Reading) -> Iterator[np.ndarray | Unreadable]:
    """Each file's image, or why there is none, in order."""
    from tqdm.auto import tqdm

    def one(name: str) -> np.ndarray | Unreadable:
        try:
            return decode(read(name), size=how.size, fit=how.fit)
        except Unreadable as error:
            return error

    first = names[:: max(1, len(names) // SAMPLE)]
    pays = sum(_length(read, name) for name in first) > WORTH_THREADS * len(first)
    largest = max((w * h for w, h in _sizes(first, read)), default=1) if pays else 1
    threads = max(1, min(os.cpu_count() or 1, MOST_MEMORY // (largest * PER_PIXEL)))
    pool = ThreadPoolExecutor(threads) if pays and threads > 1 else None
    images = map(one, names) if pool is None else _ahead(pool, one, names, 2 * threads)
    try:
        yield from tqdm(images, f"decoding {where.name}", len(names), unit="image", disable=None)
    finally:
        if pool is not None:  # interrupted: images that are not decoded yet are not waited for
            pool.shutdown(cancel_futures=True)


def _ahead(pool: ThreadPoolExecutor, make: Callable[[str], Any], names: list[str], most: int) -> Iterator[Any]:
    """pool.map, of which at most so many results wait to be taken: large ones would fill the memory."""
    waiting: deque[Future[Any]] = deque()
    for name in names:
        waiting.append(pool.submit(make, name))
        if len(waiting) >= most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def _length(read: Read, name: str) -> int:
    try:
        return len(read(name))
    except Unreadable:
        return 0


def _sizes(files: Iterable[str], read: Read) -> Counter[tuple[int, int]]:
    """How many files have which (width, height); unreadable ones are left to the decoding to name."""
    found: Counter[tuple[int, int]] = Counter()
    for name in files:
        try:
            known = header(read(name))
        except Unreadable:
            continue
        found[known] += 1
    return found


def _refuse_mixed_sizes(sizes: Counter[tuple[int, int]], plan: Layout, read: Read, where: Path) -> None:
    if len(sizes) < 2:
        return
    sizes = _sizes(plan.files, read)
    listed = ", ".join(f"{w}x{h} ({count:,})" for (w, h), count in sizes.most_common(4))
    more = f" and {len(sizes) - 4} more sizes" if len(sizes) > 4 else ""
    side = min(min(pair) for pair in sizes)
    raise DataError(
        f"{where}: images must be of one size, got {listed}{more}; --size {side} resizes and crops them,"
        " --fit pad or --fit squish keeps the whole of each"
    )
