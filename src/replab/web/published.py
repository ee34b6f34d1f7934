"""The ledger as one page that can be published as it is: style and script inside, nothing fetched."""

from __future__ import annotations

from pathlib import Path

from replab.report.page import assets
from replab.web.app import TEMPLATES
from replab.web.ledger import ledger


def page(results: Path) -> str:
    script, css = assets.joined("ledger.js"), assets.style()
    template = assets.environment(TEMPLATES).get_template("published.html")
    head = {"title": "Ledger", "css": css, "policy": assets.policy(script, css)}
    return str(template.render(**head, script=script, **ledger(results)))
