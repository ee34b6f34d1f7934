"""The server: addresses → pages. Runs by id, files by an allow-list; what changes or computes is in actions.py."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from replab.errors import ReplabError
from replab.records.record import Record
from replab.report.page import assets
from replab.web import explore, forms, pages
from replab.web.actions import Actions
from replab.web.guard import TOKEN, Guard
from replab.web.ledger import ledger
from replab.web.listing import Listing, NotThere, Row, described, held_locks, state

TEMPLATES = Path(__file__).parent / "templates"
KINDS = {".js": "text/javascript", ".css": "text/css"}
DOWNLOADS = {"report.html": "text/html", "report.md": "text/markdown", "recipe.toml": "application/toml"}


class Site:
    """The pages over one folder of runs."""

    def __init__(self, runs: Path, results: Path, trusted: frozenset[str] = frozenset(), may_start: bool = True):
        self.listing, self.results, self.trusted = Listing(runs), results, trusted
        self.actions = Actions(self.listing, trusted, may_start)
        self.static = {path.name: path for path in assets.STATIC.iterdir() if path.suffix in KINDS}

    def routes(self) -> list[Route]:
        pages_ = {
            "/": self.runs,
            "/runs.json": self.runs_json,
            "/runs/{id}": self.run,
            "/runs/{id}/live.json": self.live,
            "/runs/{id}/files/{name}": self.file,
            "/runs/{id}/explore": self.explore,
            "/start": self.start,
            "/compare": self.compare,
            "/ledger": self.ledger,
            "/catalogue": self.catalogue,
            "/static/{name}": self.script,
        }
        reading = [Route(path, refusing(page), methods=["GET"]) for path, page in pages_.items()]
        return [*reading, *self.actions.routes()]

    def rendered(self, request: Request | None, template: str, **values: Any) -> HTMLResponse:
        token = request.scope.get(TOKEN, "") if request is not None else ""
        frame = {"folder": str(self.listing.runs), "here": template.partition(".")[0], "token": token}
        return HTMLResponse(assets.environment(TEMPLATES).get_template(template).render(**frame, **values))

    def now(self, record: Record) -> Row:
        """What the table of runs says of one run."""
        row = described(record)
        return {**row, **state(record, row, held_locks(), time.time())}

    # -- pages ---------------------------------------------------------------------------------------------------------

    def runs(self, request: Request) -> Response:
        rows = self.listing.rows()
        return self.rendered(request, "runs.html", rows=rows, **pages.columns(rows))

    def runs_json(self, request: Request) -> Response:
        return JSONResponse([{k: row[k] for k in ("run", "state", "progress", "live")} for row in self.listing.rows()])

    def run(self, request: Request) -> Response:
        record = self.listing.record(request.path_params["id"])
        row = self.now(record)
        if row["finished"] and record.has("facts.json"):
            return self.rendered(request, "run.html", row=row, **pages.report(record))
        data = self.following(record, row) if not row["fault"] else {}
        return self.rendered(request, "running.html", row=row, title=f"{row['model']} on {row['data']}", data=data)

    def following(self, record: Record, row: Row) -> dict[str, Any]:
        """What a page asks for again and again while a run goes on."""
        jobs = self.actions.jobs
        return {**pages.live(record, row), "owned": jobs.owns(record.id), "failure": jobs.failure(record.id)}

    def live(self, request: Request) -> Response:
        record = self.listing.record(request.path_params["id"])
        return JSONResponse(self.following(record, self.now(record)))

    def explore(self, request: Request) -> Response:
        record = self.listing.record(request.path_params["id"])
        row = self.now(record)
        shown = explore.shown(record, self.trusted)
        return self.rendered(request, "explore.html", run=record.id, title=f"{row['model']} on {row['data']}", **shown)

    def start(self, request: Request) -> Response:
        return self.rendered(request, "start.html", groups=forms.groups(), models=forms.models())

    def file(self, request: Request) -> Response:
        record, name = self.listing.record(request.path_params["id"]), request.path_params["name"]
        if name not in DOWNLOADS or not record.has(name) or not pages.within(record, name):
            raise NotThere("a run has " + ", ".join(DOWNLOADS) + " to download, once they are written")
        headers = {"content-disposition": f'attachment; filename="{name}"'}
        return Response(record.read_bytes(name), media_type=DOWNLOADS[name], headers=headers)

    def compare(self, request: Request) -> Response:
        wanted = list(dict.fromkeys(request.query_params.getlist("run")))
        if not wanted:
            raise NotThere("choose runs in the table of runs, then Compare")
        return self.rendered(request, "compare.html", **pages.comparison([self.listing.record(id) for id in wanted]))

    def ledger(self, request: Request) -> Response:
        rows = ledger(self.results, self.listing.records().values())
        return self.rendered(request, "ledger.html", **rows)

    def catalogue(self, request: Request) -> Response:
        return self.rendered(request, "catalogue.html", **pages.catalogue())

    def script(self, request: Request) -> Response:
        path = self.static.get(request.path_params["name"])
        if path is None:
            raise NotThere("there is no such file")
        return Response(path.read_bytes(), media_type=KINDS[path.suffix])


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
    page = assets.environment(TEMPLATES).get_template("error.html").render(error=text, folder="", here="", token="")
    return HTMLResponse(page, status_code=code)


def application(site: Site, hosts: frozenset[str] | None, token: str) -> Starlette:
    """`hosts` are the Host values that are served; None: any, and every request needs the token."""
    return Starlette(routes=site.routes(), middleware=[Middleware(Guard, hosts=hosts, token=token)])
