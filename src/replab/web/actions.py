"""What the page asks for by POST, with the token: a model at work, a run started or stopped. Answers in JSON."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from replab.errors import RecipeError, ReplabError, RunError
from replab.records.record import Record
from replab.web import forms, jobs, looks
from replab.web.guard import LARGEST
from replab.web.listing import Listing, NotThere
from replab.web.workshop import Busy, Workshop

Act = Callable[[Request, bytes], dict[str, Any]]


class Actions:
    """Each works in a thread of the server's, never on its event loop."""

    def __init__(self, listing: Listing, trusted: frozenset[str], may_start: bool = True):
        self.listing, self.may_start = listing, may_start
        self.workshop, self.jobs = Workshop(trusted), jobs.Jobs(listing.runs)
        self._costing = threading.Lock()

    def routes(self) -> list[Route]:
        acts: dict[str, Act] = {
            "/runs/{id}/predict": lambda request, body: self.workshop.predict(self.record(request), body),
            "/runs/{id}/maps": lambda request, body: self.workshop.maps(self.record(request), body),
            "/runs/{id}/walk": lambda request, body: self.workshop.walk(self.record(request), parsed(body)),
            "/runs/{id}/points": lambda request, body: self.workshop.points(self.record(request)),
            "/runs/{id}/stop": self.stop,
            "/runs/{id}/resume": self.resume,
            "/start": self.start,
            "/start/cost": self.cost,
            "/models/{name}": lambda request, body: self.look(looks.model, request),
            "/data/{name}": lambda request, body: self.look(looks.data, request),
        }
        return [Route(path, answering(act), methods=["POST"]) for path, act in acts.items()]

    def record(self, request: Request) -> Record:
        return self.listing.record(request.path_params["id"])

    def look(self, at: Callable[[str], dict[str, Any]], request: Request) -> dict[str, Any]:
        with self.workshop.turn():
            return at(request.path_params["name"])

    def start(self, request: Request, body: bytes) -> dict[str, Any]:
        self.check_start()
        recipe, words = forms.wanted(parsed(body), str(self.listing.runs))
        return {"run": self.jobs.start(recipe, words)}

    def cost(self, request: Request, body: bytes) -> dict[str, Any]:
        self.check_start()
        _, words = forms.wanted(parsed(body), str(self.listing.runs))
        if not self._costing.acquire(blocking=False):
            raise Busy("another cost is being measured; try again in a moment")
        try:
            return {"cost": jobs.cost(words), "command": forms.command(words)}
        finally:
            self._costing.release()

    def stop(self, request: Request, body: bytes) -> dict[str, Any]:
        self.check_start()
        self.jobs.stop(self.record(request).id)
        return {}

    def resume(self, request: Request, body: bytes) -> dict[str, Any]:
        self.check_start()
        record = self.record(request)
        if record.has("metrics.json") and record.has("report.html"):
            raise RunError(f"run {record.id} is finished")
        self.jobs.resume(record.id)
        return {}

    def check_start(self) -> None:
        if not self.may_start:
            raise RunError("runs are started and stopped from the machine that serves this page, not over the network")


def answering(act: Act) -> Callable[[Request], Any]:
    """An act as an endpoint; errors are said as the command line says them."""

    async def answer(request: Request) -> Response:
        try:
            body = await request.body()
        except ClientDisconnect:
            return JSONResponse({"error": f"at most {LARGEST:,} bytes are taken"}, 413)
        try:
            return JSONResponse(await run_in_threadpool(act, request, body))
        except ReplabError as error:
            code = 404 if isinstance(error, NotThere) else 503 if isinstance(error, Busy) else 409
            return JSONResponse({"error": str(error)}, code)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, OSError) as error:
            return JSONResponse({"error": f"a file of the run is not replab's ({type(error).__name__}: {error})"}, 409)

    return answer


def parsed(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except (ValueError, RecursionError):
        raise RecipeError("the request is not JSON") from None
