"""TensorBoard's event files by hand: protocol buffers in checksummed records. TensorBoard reads them like its own."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any


def _table() -> list[int]:
    """CRC-32C, the checksum of the records; zlib has only CRC-32."""
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
        table.append(byte)
    return table


_CRC = _table()


def _masked_crc(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ _CRC[crc & 0xFF ^ byte]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data: bytes) -> bytes:
    """length, its checksum, the data, its checksum."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", _masked_crc(length)) + data + struct.pack("<I", _masked_crc(data))


# Protocol buffers: every field is its number and wire type, then the value.


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def whole(field: int, value: int) -> bytes:
    return varint(field << 3) + varint(value)


def double(field: int, value: float) -> bytes:
    return varint(field << 3 | 1) + struct.pack("<d", value)


def single(field: int, value: float) -> bytes:
    return varint(field << 3 | 5) + struct.pack("<f", value)


def text(field: int, value: str | bytes) -> bytes:
    data = value.encode() if isinstance(value, str) else value
    return varint(field << 3 | 2) + varint(len(data)) + data


def doubles(field: int, values: Iterable[float]) -> bytes:
    return text(field, b"".join(struct.pack("<d", value) for value in values))


# The messages: Event, Summary.Value and what a value may be.


def event(wall_time: float, step: int | None, content: bytes) -> bytes:
    return double(1, wall_time) + (b"" if step is None else whole(2, int(step))) + content


FILE_VERSION = text(3, "brain.Event:2")


def summary(tag: str, value: bytes) -> bytes:
    return text(5, text(1, text(1, tag) + value))


def scalar(value: float) -> bytes:
    return single(2, value)


def image(height: int, width: int, channels: int, png: bytes) -> bytes:
    return text(4, whole(1, height) + whole(2, width) + whole(3, channels) + text(4, png))


def histogram(values: Any, limits: Any, counts: Any) -> bytes:
    total = double(1, float(values.min())) + double(2, float(values.max())) + double(3, values.size)
    total += double(4, float(values.sum())) + double(5, float((values * values).sum()))
    return text(5, total + doubles(6, limits) + doubles(7, counts))


def words(content: str) -> bytes:
    """A string tensor with the text plugin's name beside it."""
    tensor = whole(1, 7) + text(2, text(2, whole(1, 1))) + text(8, content)  # DT_STRING, shape (1,)
    return text(9, text(1, text(1, "text"))) + text(8, tensor)
