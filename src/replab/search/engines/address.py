"""Whether a Ray cluster answers at an address: asked before torch is imported and anything is measured."""

from __future__ import annotations

import os
import socket

from replab.errors import RunError

ANSWER = 5  # seconds within which a cluster must be reached, and as many within which it must answer
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(3) + b"\4" + bytes(5)  # how HTTP/2, and so gRPC, begins
SETTINGS = b"\4"  # the kind of frame that a server of HTTP/2 answers with


def check_address(address: str | None) -> None:
    """Refuse one where nothing answers."""
    if not address or address in ("auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    try:
        with socket.create_connection((host, int(port)), timeout=ANSWER) as line:
            if os.environ.get("RAY_USE_TLS", "0") == "0":
                line.sendall(HELLO)
                answer = line.recv(9)  # Ray itself would wait for minutes for a server that is none
                if answer[3:4] != SETTINGS:
                    raise ValueError("what is there is not Ray")
    except (OSError, ValueError) as error:
        raise RunError(f"no Ray cluster answers at {address} ({error}); ray start --head starts one") from None
