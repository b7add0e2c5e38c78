"""A trace as a few letters of an address: `1.3k.0-5f00aa`.

Each call is its place among the calls that are offered there, in base 36. In front stands the
number of the initial state and a colon, unless it is the first; at the end a check of what the
calls were, so that an address from another version of a scope is refused, never misread.
"""

import re
from urllib.parse import urlencode

from workbench.play.board import MOST_STEPS, Board, Position

MOST_CHARACTERS = 3 * MOST_STEPS + 16
CHECK_CHARACTERS = 6
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_TRACE = re.compile(
    r"(?:(?P<start>[0-9]):)?"
    r"(?P<steps>[0-9a-z]{1,2}(?:\.[0-9a-z]{1,2})*)?"
    r"(?:-(?P<check>[0-9a-f]{6}))?"
)


class AddressError(ValueError):
    """These letters are no trace of the board, and why."""


def encode_trace(position: Position) -> str:
    """Return the trace of a position; empty for the first initial state."""
    start = f"{position.start}:" if position.start else ""
    if not position.steps:
        return start
    steps = ".".join(_encode_number(step.index) for step in position.steps)
    return f"{start}{steps}-{position.check[:CHECK_CHARACTERS]}"


def decode_trace(board: Board, text: str) -> Position:
    """Return the position that a trace leads to; the check may be left out."""
    if len(text) > MOST_CHARACTERS:
        raise AddressError(f"the trace has {len(text)} characters; {MOST_CHARACTERS} are the most")
    found = _TRACE.fullmatch(text)
    if found is None:
        raise AddressError("the trace is not of the form 0.1k.3-5f00aa: it may have been cut")
    numbers = [int(each, 36) for each in (found["steps"] or "").split(".") if each]
    if len(numbers) > MOST_STEPS:
        raise AddressError(f"the trace has {len(numbers)} steps; {MOST_STEPS} are the most")
    try:
        position = board.begin(int(found["start"] or 0))
    except LookupError as error:
        raise AddressError(str(error)) from error
    for number, index in enumerate(numbers, start=1):
        offered = position.offered_actions()
        if index >= len(offered):
            raise AddressError(
                f"step {number} is call {index}, and {board.scope.name} offers {len(offered)} "
                "there, from 0"
            )
        position = position.follow(position.take(index, offered[index]))
    if found["check"] and not position.check.startswith(found["check"]):
        raise AddressError(
            "its check is wrong: the trace was changed, or made with another version of the scope"
        )
    return position


def build_query(position: Position) -> str:
    """Return the path and the query that open a position again."""
    board = position.board
    values = {"t": encode_trace(position)}
    if board.beside is not None:
        values["mutant"] = board.beside.mutant.name
    query = urlencode({name: value for name, value in values.items() if value}, safe=":.")
    return f"{board.path}?{query}" if query else board.path


def _encode_number(number: int) -> str:
    high, low = divmod(number, len(_DIGITS))
    return (_DIGITS[high] if high else "") + _DIGITS[low]
