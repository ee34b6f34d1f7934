"""Structure-aware mutation: bytes are flipped, cut and repeated; numbers grow; members of archives are spoilt in place.

Everything is drawn from one random.Random, so that a case is its number.
"""

import io
import re
import struct
import zipfile

NUMBERS = (0, 1, -1, 127, 128, 255, 256, 32767, 65535, 65536, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**64 - 1)
WORDS = (
    b"[" * 3000, b"{" * 3000, b'{"a":' * 2000, b"9" * 5000, b"1e999", b"NaN", b"-Infinity", b"null", b"true", b'""',
    b"[]", b"{}", b"-1", b"\x00", b"\xff\xfe", b"\n", b"\r\n", b"\x1b[2J", b"../../../../etc/passwd", b"<script>", b"|",
    b"%s%n", "\u202e".encode(), b"a" * 100_000,
)  # fmt: skip
OPCODES = b"(.0123FIJKLMNPQRSTUVX]abcdeghijlopqrstu})" + bytes(range(0x80, 0x99))
NAMES = ("../a", "/a", "a/", "a\x1bb", "x" * 300, "A", ".", "\n")


def mutated(data, rng, text=False):
    """A few changes at once."""
    for _ in range(rng.choice((1, 1, 1, 2, 3, 6))):
        if data[:4] == b"PK\3\4" and rng.random() < 0.7:
            data = in_archive(data, rng, text)
        else:
            data = (in_text if text and rng.random() < 0.7 else in_bytes)(data, rng)
    return data


def in_bytes(data, rng):
    at = rng.randrange(len(data) + 1)
    what = rng.randrange(9)
    if what == 0 and data:
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
    if what == 1:
        return data[:at]
    if what == 2:
        return data[at:]
    if what == 3:
        return data[:at] + rng.randbytes(rng.choice((1, 2, 4, 8, 64))) + data[at:]
    if what == 4:
        number = rng.choice(NUMBERS) % 2**64
        form = rng.choice(("<B", "<H", ">H", "<I", ">I", "<Q", ">Q"))
        packed = struct.pack(form, number % 2 ** (8 * struct.calcsize(form)))
        at = rng.randrange(min(len(data), rng.choice((64, 512, 10**9))) + 1)
        return data[:at] + packed + data[at + len(packed) :]
    if what == 5:
        end = min(len(data), at + rng.choice((1, 4, 16, 256, 4096)))
        return data[:at] + data[at:end] * rng.choice((2, 3, 50)) + data[end:]
    if what == 6:
        end = min(len(data), at + rng.choice((1, 4, 16, 256)))
        return data[:at] + data[end:]
    if what == 7:
        return data[:at] + rng.choice(WORDS) + data[at:]
    return data[:at] + bytes(rng.choice(OPCODES) for _ in range(rng.choice((1, 2, 8)))) + data[at:]


def in_text(data, rng):
    """A number, a word or a line is another."""
    tokens = list(re.finditer(rb"-?\d[\d.e+-]*|\"[^\"\n]{0,60}\"|\b[a-z_]{2,30}\b|[\[\]{}=:,]", data[:200_000]))
    if not tokens:
        return in_bytes(data, rng)
    one, other = rng.choice(tokens), rng.choice(tokens)
    new = rng.choice((other[0], rng.choice(WORDS), str(rng.choice(NUMBERS)).encode()))
    return data[: one.start()] + new + data[one.end() :]


def in_archive(data, rng, text):
    """One member is changed and its checksum with it, or its name is; the rest stays whole."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [(info, archive.read(info)) for info in archive.infolist()]
    except Exception:  # spoilt already
        return in_bytes(data, rng)
    if not members:
        return in_bytes(data, rng)
    chosen, out = rng.randrange(len(members)), io.BytesIO()
    packed = rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA))
    with zipfile.ZipFile(out, "w") as archive:
        for place, (info, content) in enumerate(members):
            name = info.filename
            if place == chosen:
                how = rng.randrange(8)
                if how == 0:
                    name = rng.choice(
                        ("../" + name, "/" + name, name + "/", "a\x1bb", "x" * 300, name.upper(), ".", "\n")
                    )
                elif how == 1:
                    continue
                elif how == 2:
                    content = bytes(rng.choice((0, 10**6, 10**7)))
                else:
                    content = (in_text if text and rng.random() < 0.5 else in_bytes)(content, rng)
            archive.writestr(zipfile.ZipInfo(name), content, packed)  # of no date: the same bytes at every time
    return out.getvalue()
