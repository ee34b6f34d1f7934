"""What every request must pass: the right Host and Origin, a token for whatever changes state, and strict headers.

Host: a name of somebody else's that resolves to this machine must not read its runs (DNS rebinding). Origin: another
page in the same browser must not send requests. Nothing changes by a GET. The token is in the address that
`replab view` prints, then in a cookie: another user of this machine reaches the port too, and must not start anything.
"""

from __future__ import annotations

import hmac
from typing import Any
from urllib.parse import parse_qs

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
READS = ("GET", "HEAD")
COOKIE = "replab-token-"  # and the port: pages of other ports have their own
TOKEN = "replab.token"  # in the scope of a request that knows the token: its page may be handed it
LARGEST = 16_000_000  # bytes of a request


class Guard:
    """ASGI middleware. `hosts`: the Host values that are served; None: any, and every request needs the token."""

    def __init__(self, app: Any, hosts: frozenset[str] | None, token: str):
        self.app, self.hosts, self.token = app, hosts, token

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await self.app(scope, receive, send)
        if scope["type"] != "http":
            return None
        fault = self.fault(scope)
        cookie = not fault and self.in_address(scope)
        if not fault and (cookie or self.same(self.cookie(scope))):
            scope[TOKEN] = self.token

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                kept = [(k, v) for k, v in message.get("headers", []) if k.decode().lower() not in HEADERS]
                if cookie:
                    value = f"{cookie_name(scope)}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                    own.append((b"set-cookie", value.encode()))
                message = {**message, "headers": [*kept, *own]}
            await send(message)

        if not fault:
            return await self.app(scope, bounded(receive), guarded)
        code, text = fault
        headers = [(b"content-type", b"text/plain; charset=utf-8")]
        await guarded({"type": "http.response.start", "status": code, "headers": headers})
        await guarded({"type": "http.response.body", "body": text.encode() + b"\n"})
        return None

    def fault(self, scope: Any) -> tuple[int, str] | None:
        """Why a request is refused; None where it is not."""
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope["headers"]}
        host = headers.get("host", "")
        if self.hosts is not None and host.lower() not in self.hosts:
            return 421, f"this page is served as {min(self.hosts)}, not as {host[:100]!r}"
        origin = headers.get("origin")
        if origin is not None and origin.lower() != f"http://{host.lower()}":
            return 403, "a request of another page is refused"
        if headers.get("sec-fetch-site") == "cross-site" and headers.get("sec-fetch-mode") != "navigate":
            return 403, "a request of another page is refused"
        length = headers.get("content-length") or "0"
        if not length.isdecimal() or int(length) > LARGEST:
            return 413, f"at most {LARGEST:,} bytes are taken"
        if scope["method"] not in READS and not self.same(headers.get("x-replab-token", "")):
            return 403, "whatever changes state needs the token of the page; load the page again"
        if self.hosts is None and not (self.in_address(scope) or self.same(self.cookie(scope))):
            return 403, "this page needs its token: open the address that replab view printed"
        return None

    def same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def in_address(self, scope: Any) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        return self.same(given[0])

    def cookie(self, scope: Any) -> str:
        text = header(scope, b"cookie")
        pairs = (part.strip().partition("=") for part in text.split(";"))
        return next((value for name, _, value in pairs if name == cookie_name(scope)), "")


def header(scope: Any, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name), "")


def cookie_name(scope: Any) -> str:
    port = header(scope, b"host").rpartition(":")[2]
    return COOKIE + (port if port.isdecimal() else "80")


def bounded(receive: Any) -> Any:
    """A request that says no length is cut off at LARGEST, as if its sender had gone."""
    taken = 0

    async def take() -> Any:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        return message if taken <= LARGEST else {"type": "http.disconnect"}

    return take
