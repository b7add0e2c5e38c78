"""A failing run of a rule-based machine as a program: read from Hypothesis, shortened, printed.

Hypothesis stops shrinking after a number of steps, and may leave calls that the failure doesn't
need; here each call is left out in turn, as long as the program still fails in the same way.

Not here: simpler values, which are Hypothesis' own work.
"""

import ast
import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from conformance.subject import Divergence
from model.checking.trace import Trace

BEGIN: Final = 1
"""The line on which a run begins, after the one that makes the machine; both stay."""
MOST_REPLAYS: Final = 200
LAST_LINE: Final = "state.teardown()"


class Parted(AssertionError):
    """The implementation and its model part, or a property of the model is broken.

    `kind` says what differs, in the words of `conformance.subject.Divergence` where they fit.
    `found` is the divergence and the trace to it, where a plain call has shown it.
    """

    def __init__(self, kind: str, text: str, found: tuple[Divergence, Trace] | None = None) -> None:
        super().__init__(text)
        self.kind = kind
        self.found = found


def describe_differences(expected: Any, found: Any, path: str = "state") -> list[str]:
    """Return where two values of a model differ, a line for each place, as deep as need be."""
    if expected == found:
        return []
    if is_dataclass(expected) and type(expected) is type(found):
        return [
            line
            for field in fields(expected)
            for line in describe_differences(
                getattr(expected, field.name), getattr(found, field.name), f"{path}.{field.name}"
            )
        ]
    if isinstance(expected, tuple) and isinstance(found, tuple) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [
            line
            for number, (one, other) in pairs
            for line in describe_differences(one, other, f"{path}[{number}]")
        ]
    return [f"{path}: expected {expected!r}, found {found!r}"]


def read_lines(error: BaseException, machine_name: str) -> list[str]:
    """Return the statements of the failing run that Hypothesis has noted at the error.

    An empty list if there is none.
    """
    notes = "\n".join(getattr(error, "__notes__", ()))
    notes = re.sub(r"<(\w+\.\w+): '[^']*'>", r"\1", notes)  # members of enumerations
    start, end = notes.find(f"state = {machine_name}()"), notes.find(LAST_LINE)
    if not 0 <= start <= end:
        return []
    return [ast.unparse(statement) for statement in ast.parse(notes[start:end]).body]


def shorten(
    lines: list[str], kind: str, run: Callable[[list[str]], BaseException | None]
) -> list[str]:
    """Leave out every call without which the program still fails in the same way; bounded."""

    def fails(shorter: list[str]) -> bool:
        error = run(shorter)
        return isinstance(error, Parted) and error.kind == kind

    last = len(lines) - 2  # the one after it is the call that fails
    for position in range(last, max(last - MOST_REPLAYS, BEGIN), -1):
        shorter = lines[:position] + lines[position + 1 :]
        if fails(shorter):
            lines = shorter
    for begin in _leave_lists_out(lines[BEGIN]):
        shorter = [*lines[:BEGIN], begin, *lines[BEGIN + 1 :]]
        if fails(shorter):
            return shorter
    return lines


def _leave_lists_out(line: str) -> Iterator[str]:
    """Yield the call with all of its lists empty, then with one of them empty."""
    call = ast.parse(line, mode="eval").body
    if not isinstance(call, ast.Call):
        return
    lists = [each.value for each in call.keywords if isinstance(each.value, ast.List)]
    full = [(each, each.elts) for each in lists if each.elts]
    for chosen in (full, *([pair] for pair in full)) if full else ():
        for each, _ in chosen:
            each.elts = []
        yield ast.unparse(call)
        for each, elements in chosen:
            each.elts = elements


def run_lines(lines: list[str], header: str, names: dict[str, Any]) -> BaseException | None:
    """Run a program with these names in place of what its header imports; return its error."""
    namespace: dict[str, Any] = {}
    exec(header, namespace)  # noqa: S102 - imports of our own
    namespace.update(names)
    try:
        exec("\n".join(lines), namespace)  # noqa: S102 - calls that Hypothesis has just made
    except Exception as error:  # noqa: BLE001 - what comes out is what is being looked for
        return error
    finally:
        namespace["state"].teardown()
    return None


def format_program(lines: list[str], header: str) -> str:
    """Return the text of a program, a statement on a line.

    Signs that join the one before them are written as escapes: otherwise two texts that differ
    would look the same.
    """
    text = "".join(_escape(character) for character in "\n".join([*lines, LAST_LINE]))
    return f"{header}\n{text}\n"


def _escape(character: str) -> str:
    is_joining = unicodedata.combining(character) or unicodedata.category(character) == "Cf"
    return ascii(character)[1:-1] if is_joining else character
