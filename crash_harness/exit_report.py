"""What the exits at every boundary have shown, as values.

A row is an operation and a boundary, with the number of deaths there and the state that was found
after them. A failure is a trace from an initial state, with the boundaries at which it crashed.

Not here: how a table is drawn (`workbench.crash_report`).
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from conformance.subject import Divergence
from model.checking.explore import Verdict
from model.checking.trace_report import TraceReport

BEFORE, PARTLY, AFTER, UNCHANGED = "before", "partly", "after", "unchanged"
PLACES_FOUND = (BEFORE, PARTLY, AFTER, UNCHANGED)
"""Where in its call a state was found: before it, after some of its commits, after all of them,
or anywhere, where the call changes nothing durable."""


class UnknownName(LookupError):
    """There is no machine, profile, operation, boundary or case of this name."""


@dataclass(frozen=True, slots=True)
class CaseName:
    """The name of a case, by which it alone can be repeated.

    `start` is the short name of databases, call and permit. `second` is the boundary at which the
    repeated call died as well. `ending` is an exit, a kill, or the error that a statement returned.
    """

    machine: str
    scope: str
    operation: str
    start: str
    boundary: str
    ending: str = "exit"
    has_survivor: bool = False
    second: str | None = None

    def __str__(self) -> str:
        parts = [
            f"{self.machine} {self.scope}",
            f"{self.operation} from {self.start}",
            self.boundary,
        ]
        parts += [self.ending] * (self.ending != "exit")
        parts += ["survivor"] * self.has_survivor
        parts += [f"then {self.second}"] * (self.second is not None)
        return " / ".join(parts)

    @property
    def command(self) -> str:
        """The command that repeats this case."""
        return shlex.join(["admit-one", "crash", "--case", str(self)])

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the name that was written so; `UnknownName` if it is none."""
        match = _CASE.fullmatch(text)
        if match is None:
            raise UnknownName(f"{text!r} is no name of a case: {_CASE_FORM}")
        return cls(
            machine=match["machine"],
            scope=match["scope"],
            operation=match["operation"],
            start=match["start"],
            boundary=match["boundary"],
            ending=match["ending"] or "exit",
            has_survivor=match["survivor"] is not None,
            second=match["second"],
        )


_CASE_FORM = (
    "MACHINE SCOPE / OPERATION from START / BOUNDARY [/ ENDING] [/ survivor] [/ then BOUNDARY]"
)
_CASE = re.compile(
    r"(?P<machine>\w+) (?P<scope>[\w-]+) / (?P<operation>[\w ]+) from (?P<start>[0-9a-f]{8})"
    r" / (?P<boundary>[^/]+?)(?: / (?P<ending>kill|busy|io_error))?"
    r"(?: / (?P<survivor>survivor))?(?: / then (?P<second>[^/]+))?"
)


@dataclass(frozen=True, slots=True)
class Row:
    """An operation and a boundary: how many transactions had committed, and what was found.

    `commits` are those on the call's commonest course. `deaths` counts first and second deaths
    there, with and without a survivor; `faults` the errors returned there.
    """

    operation: str
    boundary: str
    commits: int
    deaths: int
    found: Mapping[str, int]
    faults: int
    failures: int
    seconds: float

    @property
    def follows_commit(self) -> bool:
        """Whether a commit is the last thing before the boundary."""
        return self.boundary.rpartition(": ")[2].startswith("after commit")


@dataclass(frozen=True, slots=True)
class Sample:
    """Something of which a share was taken, by lot: how many of how many."""

    what: str
    taken: int
    of: int


@dataclass(frozen=True, slots=True)
class FailedCase:
    """A case that failed: what differs, and the way there as a trace."""

    case: CaseName
    divergence: Divergence
    report: TraceReport


@dataclass(frozen=True, slots=True)
class ExitReport:
    """All that was covered and found.

    `problems` are where nothing was shown: a child that did not die at its boundary, or a start
    to which there was no way. `failures` are the first ones, `failed_cases` counts all.
    """

    machine: str
    profile: str
    seed: int
    rows: tuple[Row, ...]
    starts: int
    deaths: int
    second_deaths: int
    watched_deaths: int
    faults: int
    pairs: int
    samples: tuple[Sample, ...]
    failures: tuple[FailedCase, ...]
    failed_cases: int
    problems: tuple[str, ...]
    is_complete: bool
    workers: int
    seconds: float

    @property
    def cases(self) -> int:
        """Deaths and faults."""
        return self.deaths + self.faults

    @property
    def verdict(self) -> Verdict:
        """Fail where something is wrong or nothing was shown; undetermined if time ran out."""
        if self.failures or self.problems:
            return Verdict.FAIL
        return Verdict.PASS if self.is_complete and self.cases else Verdict.UNDETERMINED

    def row(self, operation: str, boundary: str) -> Row:
        """Return a row by its names."""
        for row in self.rows:
            if (row.operation, row.boundary) == (operation, boundary):
                return row
        raise LookupError(f"no row for {operation} / {boundary}")
