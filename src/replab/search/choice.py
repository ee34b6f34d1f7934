"""Which trial a search chooses."""

from __future__ import annotations

from collections.abc import Sequence

from replab.errors import ReplabError
from replab.records.trial import Trial


def best(trials: Sequence[Trial], choose: str = "best") -> Trial:
    """The complete trial of least value; a pruned one had no chance to be measured to its end.

    `one-standard-error`: the lower quartile of the rates that are as good but for noise, or the best one's own if that
    is smaller. The least of many noisy minima favours large rates, whose curves jump, and small rates end better on
    the whole set; but the very smallest take many epochs for nothing.
    """
    complete = [(t.value, t) for t in trials if t.state == "complete" and t.value is not None]
    if not complete:
        reasons = "; ".join(sorted({t.reason for t in trials})) or "no trial was run"
        raise ReplabError(f"no trial of {len(trials)} finished ({reasons}); give --lr, or a lower range in search.lr")
    least_value, least = min(complete, key=lambda pair: pair[0])
    if choose == "best" or "lr" not in least.params:
        return least
    as_good = sorted((t for value, t in complete if value <= least_value + least.error), key=lambda t: t.params["lr"])
    return min(as_good[(len(as_good) - 1) // 4], least, key=lambda t: t.params["lr"])
