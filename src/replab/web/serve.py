"""Serving the page: a port of this machine alone, unless a token is given for others."""

from __future__ import annotations

import secrets
import socket
from collections.abc import Callable
from pathlib import Path

from replab.errors import RecipeError

LOCAL = ("127.0.0.1", "localhost", "::1")


def serve(
    runs: Path,
    results: Path,
    host: str,
    port: int,
    token: str | None,
    ready: Callable[[str, str], None] = lambda address, token: None,
    trusted: frozenset[str] = frozenset(),
) -> list[str]:
    """Until interrupted. `ready` is told the address to open and the token. Returns the runs that ended with it."""
    if host not in LOCAL and not token:
        raise RecipeError(
            f"--host {host} shows every run in {runs} to whoever reaches this machine; --token SECRET must be given too"
        )
    import uvicorn

    from replab.web.app import Site, application

    listening = bound(host, port)
    taken = listening.getsockname()[1]
    names = None if token else frozenset(f"{name}:{taken}" for name in ("127.0.0.1", "localhost", "[::1]"))
    site = Site(runs, results, trusted, may_start=host in LOCAL)
    token = token or secrets.token_urlsafe(24)
    app = application(site, names, token)
    shown = socket.gethostname() if host in ("0.0.0.0", "::") else f"[{host}]" if ":" in host else host
    ready(f"http://{shown}:{taken}/", token)
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", lifespan="off"
    )
    try:
        uvicorn.Server(settings).run([listening])
    finally:
        stopped = site.actions.jobs.stop_all()
    return stopped


def bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever is told the address may come before the server does
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise RecipeError(f"cannot serve on {host}:{port} ({reason}); --port 0 takes a free port") from None
    return listening
