"""The server: addresses → pages. Runs by id, files by an allow-list; reading only."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from replab.errors import ReplabError, RunError
from replab.records.record import Record
from replab.report.page import assets
from replab.web import pages
from replab.web.guard import Guard
from replab.web.listing import Listing, Row, described, held_locks, state

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {".js": "text/javascript", ".css": "text/css"}
DOWNLOADS = {"report.html": "text/html", "report.md": "text/markdown", "recipe.toml": "application/toml"}


class Site:
    """The pages over one folder of runs."""

    def __init__(self, runs: Path, results: Path):
        self.listing, self.results = Listing(runs), results
        self.static = {path.name: path for path in assets.STATIC.iterdir() if path.suffix in KINDS}

    def routes(self) -> list[Route]:
        pages_ = {
            "/": self.runs,
            "/runs.json": self.runs_json,
            "/runs/{id}": self.run,
            "/runs/{id}/live.json": self.live,
            "/runs/{id}/files/{name}": self.file,
            "/compare": self.compare,
            "/ledger": self.ledger,
            "/catalogue": self.catalogue,
            "/static/{name}": self.script,
        }
        return [Route(path, refusing(page), methods=["GET"]) for path, page in pages_.items()]

    def rendered(self, template: str, **values: Any) -> HTMLResponse:
        frame = {"folder": str(self.listing.runs), "here": template.partition(".")[0]}
        return HTMLResponse(assets.environment(TEMPLATES).get_template(template).render(**frame, **values))

    def record(self, id: str) -> Record:
        record = self.listing.record(id)
        if record is None:
            raise NotThere("there is no such run in this folder")
        return record

    def now(self, record: Record) -> Row:
        """What the table of runs says of one run."""
        row = described(record)
        return {**row, **state(record, row, held_locks(), time.time())}

    # -- pages ---------------------------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        rows = self.listing.rows()
        settings, metrics = pages.columns(rows)
        return self.rendered("runs.html", rows=rows, settings=settings, metrics=metrics)

    def runs_json(self, request: Request) -> Response:
        return JSONResponse([{k: row[k] for k in ("run", "state", "progress", "live")} for row in self.listing.rows()])

    def run(self, request: Request) -> Response:
        record = self.record(request.path_params["id"])
        row = self.now(record)
        if row["finished"] and record.has("facts.json"):
            return self.rendered("run.html", row=row, **pages.report(record))
        data = pages.live(record, row) if not row["fault"] else {}
        return self.rendered("running.html", row=row, title=f"{row['model']} on {row['data']}", data=data)

    def live(self, request: Request) -> Response:
        record = self.record(request.path_params["id"])
        return JSONResponse(pages.live(record, self.now(record)))

    def file(self, request: Request) -> Response:
        record, name = self.record(request.path_params["id"]), request.path_params["name"]
        if name not in DOWNLOADS or not record.has(name) or not pages.within(record, name):
            raise NotThere("a run has " + ", ".join(DOWNLOADS) + " to download, once they are written")
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(record.read_bytes(name), media_type=DOWNLOADS[name], headers=headers)

    def compare(self, request: Request) -> Response:
        wanted = list(dict.fromkeys(request.query_params.getlist("run")))
        if not wanted:
            raise NotThere("choose runs in the table of runs, then Compare")
        return self.rendered("compare.html", **pages.comparison([self.record(id) for id in wanted]))

    def ledger(self, request: Request) -> Response:
        return self.rendered("ledger.html", data={}, **pages.ledger(self.results))

    def catalogue(self, request: Request) -> Response:
        return self.rendered("catalogue.html", **pages.catalogue())

    def script(self, request: Request) -> Response:
        path = self.static.get(request.path_params["name"])
        if path is None:
            raise NotThere("there is no such file")
        return Response(path.read_bytes(), media_type=KINDS[path.suffix])


class NotThere(RunError):
    pass


def refusing(page: Callable[[Request], Response]) -> Callable[[Request], Response]:
    """Errors are said as the command line says them."""

    def answer(request: Request) -> Response:
        try:
            return page(request)
        except ReplabError as error:
            return refused(str(error), 404 if isinstance(error, NotThere) else 409)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:  # JSON of other types than ours
            return refused(f"a file of the run is not replab's ({type(error).__name__}: {error})", 409)

    return answer


def refused(text: str, code: int) -> HTMLResponse:
    page = assets.environment(TEMPLATES).get_template("error.html").render(error=text, folder="", here="")
    return HTMLResponse(page, status_code=code)


def application(runs: Path, results: Path, hosts: frozenset[str] | None, token: str | None = None) -> Starlette:
    """`hosts` are the Host values that are served; None: any, and every request needs the token."""
    guard = Middleware(Guard, hosts=hosts, token=token or secrets.token_urlsafe(24))
    return Starlette(routes=Site(runs, results).routes(), middleware=[guard])
