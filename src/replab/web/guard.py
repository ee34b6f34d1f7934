"""What every request must pass: the right Host and Origin, a token for whatever changes state, and strict headers.

Host: a name of somebody else's that resolves to this machine must not read its runs (DNS rebinding). Origin: another
page in the same browser must not send requests. Nothing changes by a GET.
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
COOKIE = "replab-token"
LARGEST = 4_000_000  # bytes of a request


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
        cookie = self.hosts is None and not fault and self.in_address(scope)

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                own = [(k.encode(), v.encode()) for k, v in HEADERS.items()]
                kept = [(k, v) for k, v in message.get("headers", []) if k.decode().lower() not in HEADERS]
                if cookie:
                    value = f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                    own.append((b"set-cookie", value.encode()))
                message = {**message, "headers": [*kept, *own]}
            await send(message)

        if not fault:
            return await self.app(scope, receive, guarded)
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
        if int(headers.get("content-length") or 0) > LARGEST:
            return 413, f"at most {LARGEST:,} bytes are taken"
        if scope["method"] not in READS and not self.same(headers.get("x-replab-token", "")):
            return 403, "whatever changes state needs the token of the page; load the page again"
        if self.hosts is None and not (self.in_address(scope) or self.same(self.cookie(headers.get("cookie", "")))):
            return 403, "this page needs its token: open the address that replab view printed"
        return None

    def same(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self.token.encode())

    def in_address(self, scope: Any) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])
        return self.same(given[0])

    def cookie(self, text: str) -> str:
        pairs = (part.strip().partition("=") for part in text.split(";"))
        return next((value for name, _, value in pairs if name == COOKIE), "")
