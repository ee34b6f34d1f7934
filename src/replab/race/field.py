"""How many race, in how many rounds of which length: no more than the first round has time for."""

from __future__ import annotations

from math import log
from typing import Any

from replab.race.probe import SHARE
from replab.settings.words import duration

LAST = 2.0  # times the length of another round: the last one decides, and slow models need it
SEEN = 0.25  # of what it would get as the winner is the least that the first round has time for, for each
State = dict[str, Any]  # race.json


def leave_out(state: State) -> None:
    """Whom the first round has no time for.

    Many models seen for a moment would be won by one that learns little, but at once. So first come those whose usual
    training takes about the winner's time: smaller ones could not use it, larger ones have too little of it. Then
    whoever still fits.
    """
    most = (1 - SHARE) * state["budget"]
    racing = {name: one for name, one in state["entrants"].items() if not one["out"]}
    field, costs = 0, 0.0
    for name in sorted(racing, key=lambda name: abs(log(max(racing[name]["whole"], 1e-9) / most))):
        cost = min(racing[name]["whole"], most)
        if field < 2 or costs + cost <= length_of(state, field + 1) / SEEN:  # two race at least
            field, costs = field + 1, costs + cost
        else:
            small = f"too small: its usual training takes {duration(cost)}, and the winner has {duration(most)}"
            out = small if cost < most else "left out: others come nearer to the winner's time"
            racing[name] |= {"out": out, "needs": 2 * state["budget"]}


def length_of(state: State, racing: int) -> float:
    """Seconds of the next round: what is left of the race's, in equal rounds and a longer last one."""
    rounds = rounds_of(racing)
    left = max(SHARE * state["budget"] - state["spent"], 0.1 * state["budget"])
    return float(left * (LAST if rounds == 1 else 1.0) / (rounds - 1 + LAST))


def rounds_of(entrants: int) -> int:
    """How many rounds halve so many down to three or fewer, and one more between those."""
    rounds = 1
    while entrants > 3:
        entrants, rounds = entrants // 2, rounds + 1
    return rounds
