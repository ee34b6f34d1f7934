"""replab view on a free port, in a thread of the tests."""

import threading
import time
from pathlib import Path

from replab.web.serve import serve


def served(runs: Path, trusted: frozenset[str] = frozenset(), results: Path = Path("no-results")) -> tuple[str, str]:
    """(address, token) of the page over this folder."""
    told: list[tuple[str, str]] = []
    arguments = (runs, results, "127.0.0.1", 0, None, lambda *pair: told.append(pair), trusted)
    threading.Thread(target=serve, args=arguments, daemon=True).start()
    while not told:
        time.sleep(0.01)
    return told[0]
