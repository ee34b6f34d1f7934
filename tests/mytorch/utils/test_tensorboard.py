"""SummaryWriter's files: read back record by record, checksums included."""

import struct

import numpy as np
import pytest

import mytorch
from mytorch.utils.tensorboard import SummaryWriter, events


def test_the_checksum_is_crc32c():
    crc = (events._masked_crc(b"123456789") - 0xA282EAD8) & 0xFFFFFFFF
    assert (crc << 15 | crc >> 17) & 0xFFFFFFFF == 0xE3069283  # the checksum's published test value


def records(path):
    data = path.read_bytes()
    while data:
        (length,) = struct.unpack("<Q", data[:8])
        body = data[12 : 12 + length]
        assert data[8:12] == struct.pack("<I", events._masked_crc(data[:8]))
        assert data[12 + length : 16 + length] == struct.pack("<I", events._masked_crc(body))
        yield body
        data = data[16 + length :]


def fields(message):
    """number → value of a protocol buffer message; the last one where a number repeats."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        if key & 7 == 0:
            found[key >> 3] = varint()
        else:
            size = {1: 8, 5: 4}.get(key & 7) or varint()
            found[key >> 3] = message[at : at + size]
            at += size
    return found


def test_what_is_written_can_be_read(tmp_path):
    with SummaryWriter(tmp_path / "log") as writer:
        writer.add_scalar("Loss/train", mytorch.tensor(0.25), 3)
        writer.add_histogram("weights", mytorch.arange(10.0), 4)
        writer.add_image("digit", mytorch.rand(1, 5, 6), 0)
        writer.add_images("digits", mytorch.rand(4, 3, 5, 6))
        writer.add_text("note", "plain words")
        writer.add_scalars("both", {"a": 1.0, "b": 2.0}, 1)
        writer.add_graph(mytorch.nn.ReLU(), mytorch.ones(1))
        writer.flush()
    (path,) = (tmp_path / "log").glob("events.out.tfevents.*")
    first, *rest = [fields(body) for body in records(path)]
    assert first[3] == b"brain.Event:2"
    values = {}
    for each in rest:
        value = fields(fields(each[5])[1])
        values[value[1].decode()] = (each.get(2, 0), value)
    assert set(values) == {"Loss/train", "weights", "digit", "digits", "note/text_summary"}
    step, scalar = values["Loss/train"]
    assert step == 3
    assert struct.unpack("<f", scalar[2]) == (0.25,)
    histogram = fields(values["weights"][1][5])
    assert struct.unpack("<5d", b"".join(histogram[n] for n in range(1, 6))) == (0, 9, 10, 45, 285)
    assert sum(np.frombuffer(histogram[7])) == 10
    picture = fields(values["digit"][1][4])
    assert (picture[1], picture[2], picture[3]) == (5, 6, 1)
    assert picture[4].startswith(b"\x89PNG")
    assert b"plain words" in values["note/text_summary"][1][8]
    assert sorted(folder.name for folder in (tmp_path / "log").iterdir() if folder.is_dir()) == ["both_a", "both_b"]
    with pytest.raises(ValueError, match="no element"):
        SummaryWriter(tmp_path / "other").add_histogram("x", mytorch.ones(0))
