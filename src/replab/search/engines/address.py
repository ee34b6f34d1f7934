"""Whether a Ray cluster answers at an address: asked before torch is imported and anything is measured."""

from __future__ import annotations

import os
import socket

from replab.errors import RunError

ANSWER = 5  # seconds within which a cluster must be reached, and as many within which it must answer
HEADERS, SETTINGS = 1, 4  # kinds of frames of HTTP/2, which gRPC and so Ray speaks
FRAMES = 20  # within which a server answers a call
OTHER = "what is there is not Ray"
NOT_FOUND = range(0x89, 0x8F)  # what a header begins with that says 204 to 500, where gRPC says 200 in any case


def check_address(address: str | None) -> None:
    """Refuse one where nothing answers: Ray itself would wait for minutes for a server that is none."""
    if not address or address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise RunError(f"--ray-address must be HOST:PORT, got {address}; for example {host or port or 'ray-head'}:6379")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER) as line:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                _ask(line)
    except (OSError, ValueError, OverflowError) as error:
        raise RunError(f"no Ray cluster answers at {address} ({error}); ray start --head starts one") from None


def _ask(line: socket.socket) -> None:
    """A call that no server knows: gRPC says so with an answer of its own, and other servers of HTTP/2 with a 404."""
    path, authority, kind = b"/replab/hello", b"ray", b"application/grpc"
    header = bytes([0x83, 0x86, 0x04, len(path)]) + path + bytes([0x01, len(authority)]) + authority
    header += bytes([0x0F, 0x10, len(kind)]) + kind + b"\x00\x02te\x08trailers"
    line.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(SETTINGS) + _frame(HEADERS, header, flags=5, stream=1))
    answer = line.makefile("rb")
    for place in range(FRAMES):
        size, kind_of, stream = _head(answer.read(9))
        if place == 0 and kind_of != SETTINGS:
            break
        content = answer.read(size)
        if kind_of == HEADERS and stream == 1:
            if content[:1] and content[0] in NOT_FOUND:
                break
            return
    raise ValueError(OTHER)


def _frame(kind: int, content: bytes = b"", flags: int = 0, stream: int = 0) -> bytes:
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


def _head(nine: bytes) -> tuple[int, int, int]:
    """(length, kind, stream) of a frame."""
    if len(nine) < 9:
        raise ValueError(OTHER)
    return int.from_bytes(nine[:3], "big"), nine[3], int.from_bytes(nine[5:], "big")
