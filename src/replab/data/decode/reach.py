"""Whether a set that is not on disk could be downloaded, found out in two seconds and without torch."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies

from replab import files
from replab.errors import DataError

PATIENCE = 2.0  # seconds, for names and connection together


def check(name: str, forms: Sequence[Sequence[str]], hosts: Sequence[str]) -> None:
    """Refuse a set of which no form, files of the data folder, is there or to be had from one of the hosts."""
    root = files.data_root()
    if any(all((root / file).is_file() for file in form) for form in forms):
        return
    reasons = [obstacle(host) for host in hosts]
    if all(reasons):
        raise DataError(absent(name, forms[-1], "it is not", reasons[0]))


def absent(name: str, needed: Sequence[str], problem: object, reason: str) -> str:
    return (
        f"{name}: {problem} in {files.data_root()}, and it cannot be downloaded ({reason});"
        f" put {', '.join(needed)} there, or use --data digits"
    )


def obstacle(address: str) -> str:
    """Why there is no connection to this address, or to the proxy that leads there; empty where there is one."""
    scheme = urlsplit(address).scheme
    through = urlsplit(getproxies().get(scheme, address))
    host, port = through.hostname or "", through.port or (443 if through.scheme == "https" else 80)
    found = [f"no answer from {host} in {PATIENCE:g} s"]

    def connect() -> None:
        try:
            socket.create_connection((host, port), PATIENCE).close()
            found.append("")
        except OSError as error:
            found.append(f"no connection to {host}: {error.strerror or error}")

    thread = Thread(target=connect, daemon=True)  # a name server may let one wait for longer
    thread.start()
    thread.join(PATIENCE)
    return found[-1]
