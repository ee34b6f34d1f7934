"""What a pickle would cost to read, found by walking over its opcodes: nothing in it is made or called.

A few bytes can take for ever. ((x, x), (x, x)) built of one shared x takes 2**depth steps to hash; one long number,
used as a key again and again, is hashed anew each time; a text is copied at every call; one opcode claims a memo of
2**31 places; a class whose name has 100,000 letters keeps torch busy for minutes with its error message. So names are
short, every value has a weight, about its bytes / 64 with all that it holds counted each time, and what the
opcodes take from the stack may together weigh no more than a budget that grows with the file.
"""

from __future__ import annotations

import pickletools
from typing import IO, Any

MOST_OPCODES = 1_000_000  # a few seconds; a checkpoint of 10,000 tensors has fewer
BUDGET = 20_000_000
HEAVIEST = 5_000_000  # one value: about 300 MB, or so many within one tuple
MOST_MEMO = 2**24
PER_UNIT = 64  # bytes
LONGEST_NAME = 1000  # of a class or function with its module

_MARK = object()
_UNHASHABLE = {"APPEND", "APPENDS", "SETITEM", "SETITEMS", "ADDITEMS", "BUILD"}  # leave a container as light as it was
_GET = {"GET", "BINGET", "LONG_BINGET"}
_NAMES = {"GLOBAL", "INST"}
_PUT = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}


class TooCostly(ValueError):
    """The pickle would take more time or memory than its size can justify."""


def check(file: IO[bytes]) -> None:
    """Walk over one pickle, to its end. ValueError for one that is damaged, TooCostly for one built to do harm."""
    start = file.tell()
    size = file.seek(0, 2)
    file.seek(start)
    left = BUDGET + 16 * size // PER_UNIT
    heaviest = HEAVIEST + 2 * size // PER_UNIT
    stack: list[Any] = []
    memo: dict[int, int] = {}
    for count, (opcode, arg, _) in enumerate(pickletools.genops(file)):
        if count > MOST_OPCODES:
            raise TooCostly(f"a pickle may have {MOST_OPCODES:,} opcodes, but this one has more: it is refused")
        name = opcode.name
        if name == "MARK":
            stack.append(_MARK)
        elif name in _GET:
            if arg not in memo:
                raise ValueError(f"place {arg} of the memo is empty")
            stack.append(memo[arg])
        elif name in _PUT:
            place: int = len(memo) if arg is None else arg  # MEMOIZE names none
            if place > MOST_MEMO:
                raise TooCostly(f"a pickle may remember {MOST_MEMO:,} values, but this one claims place {place:,}")
            memo[place] = _top(stack)
        else:
            taken = _take(stack, opcode)
            weight = sum(taken)
            left -= weight
            named = _bytes(arg) if name in _NAMES else PER_UNIT * weight if name == "STACK_GLOBAL" else 0
            if named > LONGEST_NAME:
                raise TooCostly(f"a name of a pickle may have {LONGEST_NAME:,} letters, but one here has more")
            if name == "DUP":
                made = [weight, weight]
            elif name in _UNHASHABLE:
                made = [taken[0]]
            else:
                own = 1 + (_bytes(arg) // PER_UNIT)
                made = [own + weight] * len(opcode.stack_after)
            stack += made
            if made and made[0] > heaviest:
                raise TooCostly(f"a value of a pickle may weigh {heaviest:,}, but one here weighs {made[0]:,}")
        if left < 0:
            raise TooCostly("the pickle would take far more time than a file of its size: it is refused")


def _top(stack: list[Any]) -> int:
    if not stack or stack[-1] is _MARK:
        raise ValueError("the stack of the pickle is empty")
    return int(stack[-1])


def _take(stack: list[Any], opcode: pickletools.OpcodeInfo) -> list[int]:
    """The weights that an opcode takes from the stack; the container first, where it fills one."""
    taken: list[int] = []
    for kind in reversed(opcode.stack_before):
        if kind is pickletools.markobject:
            continue
        if kind is pickletools.stackslice:
            while stack and stack[-1] is not _MARK:
                taken.append(stack.pop())
            if not stack:
                raise ValueError("a mark of the pickle is missing")
            stack.pop()
        else:
            if opcode.name == "POP" and stack and stack[-1] is _MARK:
                stack.pop()
                return taken
            taken.append(_top(stack))
            stack.pop()
    taken.reverse()
    return taken


def _bytes(arg: Any) -> int:
    if isinstance(arg, int):
        return arg.bit_length() // 8
    return len(arg) if isinstance(arg, (str, bytes, bytearray)) else 0
