"""Takes one start through all that its profile asks for: every boundary, survivors, second exits.

The work of one core. Values in, values out, so that it can run in a process of its own.

Not here: which starts there are (`cases`), what is right (`judge`), and the sum of it all
(`exits`).
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Self

from crash_harness.boundaries import Boundary
from crash_harness.calls import empty_hands, operation_name, repeat_of, step
from crash_harness.cases import Start
from crash_harness.exit_profiles import ExitProfile, is_drawn
from crash_harness.exit_report import AFTER, BEFORE, PARTLY, UNCHANGED, CaseName
from crash_harness.faults import try_faults
from crash_harness.files import Files, content_of
from crash_harness.forking import HarnessError
from crash_harness.judge import Bench, Seen, Situation, Traced, Wrong

SURVIVORS = "deaths with a survivor, of the first deaths"
SECONDS = "distinct files after a first death, from which the repeated call dies too"
FAULTS = "starts at whose statements errors are returned"
MOST_FAILURES = 20
"""Failures that a piece of work brings home with all that is known about them; the rest count."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """One crash on the way of a case: the call, where it was left, and what was found."""

    action: Any
    boundary: str
    commits: int
    state: Any


@dataclass(frozen=True, slots=True)
class RawFailure:
    """A failed case, with the crashes on its way after the start."""

    start: Start
    case: CaseName
    crashes: tuple[Crashed, ...]
    wrong: Wrong


@dataclass(frozen=True, slots=True)
class Selection:
    """Which cases are wanted: all, or those at a boundary, or one by its name."""

    boundary: str | None = None
    case: CaseName | None = None

    def wants(self, boundary: str) -> bool:
        """Tell whether first deaths at this boundary are wanted."""
        if self.case is not None:
            return boundary == self.case.boundary
        return self.boundary in (None, boundary)


@dataclass(slots=True)
class Work:
    """What a number of starts has shown, to be added up."""

    starts: int = 0
    second_deaths: int = 0
    watched_deaths: int = 0
    deaths: Counter[tuple[str, str]] = field(default_factory=Counter)
    faults: Counter[tuple[str, str]] = field(default_factory=Counter)
    found: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    failed: Counter[tuple[str, str]] = field(default_factory=Counter)
    spent: Counter[tuple[str, str]] = field(default_factory=Counter)
    commits: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    orders: dict[tuple[str, ...], str] = field(default_factory=dict)
    pairs: set[tuple[str, str]] = field(default_factory=set)
    taken: Counter[str] = field(default_factory=Counter)
    offered: Counter[str] = field(default_factory=Counter)
    failures: list[RawFailure] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def __iadd__(self, other: "Work") -> Self:
        for name in ("starts", "second_deaths", "watched_deaths"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for name in ("deaths", "faults", "found", "failed", "spent", "commits", "taken", "offered"):
            getattr(self, name).update(getattr(other, name))
        self.orders |= other.orders
        self.pairs |= other.pairs
        self.failures += other.failures
        self.problems += other.problems
        return self


class Examiner:
    """Examines starts on a bench."""

    def __init__(
        self, bench: Bench, profile: ExitProfile, seed: int, selection: Selection | None = None
    ) -> None:
        """Take the cases of this profile that are selected."""
        self.bench = bench
        self.profile = profile
        self.seed = seed
        self.selection = selection or Selection()
        self.work = Work()

    def examine(self, start: Start, files: Files) -> None:
        """Take every case of a start; what the harness can't show is a problem, never a pass."""
        self.work.starts += 1
        self.work.pairs.add(start.pair)
        try:
            self._examine(start, Situation(start.before, start.action, files))
        except HarnessError as error:
            self.work.problems.append(f"{start.operation} from {start.digest}: {error}")

    def _examine(self, start: Start, situation: Situation) -> None:
        named = CaseName(start.machine, start.scope, start.operation, start.digest, "")
        traced, seen, files = self.bench.trace(situation)
        self.work.orders[tuple(each.name for each in traced.boundaries)] = start.operation
        last = Seen(seen.state, (*traced.wrongs, *seen.wrongs)), files
        wanted = [each for each in traced.boundaries if self.selection.wants(each.name)]
        here = _Here(start, situation, traced, named, last)
        left = self._die_first(here, wanted)
        self._die_watched(here, wanted)
        self._die_again(here, left)
        self._fail_statements(here)

    def _die_first(self, here: "_Here", wanted: list[Boundary]) -> list["_Left"]:
        """Take the first deaths, and return the distinct files that they left."""
        left: dict[Any, _Left] = {}
        untouched = content_of(here.situation.files)
        for boundary in wanted:
            for case in self._endings(replace(here.named, boundary=boundary.name)):
                seen, files = self._die(here, boundary, case.ending)
                if self._is_selected(case):
                    self._note(here, case, boundary, (), seen)
                content = content_of(files)
                if not seen.wrongs and content != untouched:
                    crash = Crashed(
                        here.situation.action, boundary.name, boundary.commits, seen.state
                    )
                    left.setdefault((content, seen.state), _Left(crash, case, files))
        return list(left.values())

    def _die(self, here: "_Here", boundary: Boundary, ending: str) -> tuple[Seen, Files]:
        """Die at a boundary; the traced run has died at the last one already."""
        started = time.perf_counter()
        if boundary is here.traced.boundaries[-1] and ending == "exit":
            return here.last
        result = self.bench.die(here.situation, here.traced, boundary.index, way=ending)
        key = (here.operation, boundary.name)
        self.work.spent[key] += time.perf_counter() - started  # type: ignore[assignment]
        return result

    def _endings(self, case: CaseName) -> Iterator[CaseName]:
        """Yield a case with each of the ways in which it is to die."""
        one = self.selection.case
        if one is not None:
            yield replace(case, ending=one.ending if one.ending in ("exit", "kill") else "exit")
        elif self.profile.dies_both_ways:
            yield case
            yield replace(case, ending="kill")
        else:
            is_killed = is_drawn(self.profile.kills, self.seed, f"{case} kill")
            yield replace(case, ending="kill") if is_killed else case

    def _is_selected(self, case: CaseName) -> bool:
        return self.selection.case in (None, case)

    def _die_watched(self, here: "_Here", wanted: list[Boundary]) -> None:
        """Take first deaths again, while another connection has the databases open."""
        if not self.bench.has_survivor(here.situation):
            return
        for boundary in wanted:
            named = replace(here.named, boundary=boundary.name, has_survivor=True)
            for case in self._endings(named):
                if not self._is_selected(case):
                    continue
                self.work.offered[SURVIVORS] += 1
                if not is_drawn(self.profile.survivors, self.seed, str(case)):
                    continue
                self.work.taken[SURVIVORS] += 1
                seen = self.bench.die_watched(
                    here.situation, here.traced, boundary.index, way=case.ending
                )
                self._note(here, case, boundary, (), seen)
                self.work.watched_deaths += 1

    def _die_again(self, here: "_Here", left: Iterable["_Left"]) -> None:
        """Repeat the call on what first deaths left, and die in it, at each boundary."""
        one = self.selection.case
        if one is not None and one.second is None:
            return
        for first in left:
            self.work.offered[SECONDS] += 1
            if not is_drawn(self.profile.seconds, self.seed, f"{first.case} again"):
                continue
            self.work.taken[SECONDS] += 1
            action = repeat_of(here.situation.action)
            again = Situation(first.crash.state, action, first.files)
            traced, seen, files = self.bench.trace(again)
            last = Seen(seen.state, (*traced.wrongs, *seen.wrongs)), files
            there = _Here(here.start, again, traced, first.case, last)
            self.work.orders[tuple(each.name for each in traced.boundaries)] = there.operation
            for boundary in traced.boundaries:
                case = replace(first.case, second=boundary.name)
                if self._takes_second(there, boundary):
                    self._die_second(there, boundary, case, first.crash)

    def _die_second(
        self, there: "_Here", boundary: Boundary, case: CaseName, first: Crashed
    ) -> None:
        """Die at a boundary of the repeated call, and again with a survivor if that is wanted."""
        if self._is_selected(case):
            seen, _ = self._die(there, boundary, case.ending)
            self._note(there, case, boundary, (first,), seen)
            self.work.second_deaths += 1
        watched = replace(case, has_survivor=True)
        one = self.selection.case
        if one == watched or (one is None and self.profile.watches_seconds):
            seen = self.bench.die_watched(
                there.situation, there.traced, boundary.index, way=case.ending
            )
            self._note(there, watched, boundary, (first,), seen)
            self.work.second_deaths += 1
            self.work.watched_deaths += 1

    def _takes_second(self, there: "_Here", boundary: Boundary) -> bool:
        """Tell whether the profile has second deaths at this boundary."""
        is_left_out = self.profile.is_narrow and there.operation == "attempt"
        return boundary.is_beside_commit or not is_left_out

    def _fail_statements(self, here: "_Here") -> None:
        """Return errors from the statements of the call in place of exits."""
        one = self.selection.case
        if one is not None and one.ending in ("exit", "kill"):
            return
        self.work.offered[FAULTS] += 1
        if not is_drawn(self.profile.faults, self.seed, f"{here.named} faults"):
            return
        self.work.taken[FAULTS] += 1
        for tried in try_faults(self.bench, here.situation):
            case = replace(here.named, boundary=tried.boundary.name, ending=str(tried.fault.ending))
            if self.selection.wants(tried.boundary.name) and self._is_selected(case):
                key = (here.operation, tried.boundary.name)
                self.work.faults[key] += 1
                self._note_wrongs(here, case, tried.boundary, (), tried.seen)

    def _note(
        self,
        here: "_Here",
        case: CaseName,
        boundary: Boundary,
        crashes: tuple[Crashed, ...],
        seen: Seen,
    ) -> None:
        """Count a death, what was found after it, and what is wrong."""
        key = (here.operation, boundary.name)
        self.work.deaths[key] += 1
        self.work.commits[(*key, boundary.commits)] += 1
        if seen.state is not None:
            self.work.found[(*key, self._place(here.situation, seen.state))] += 1
        self._note_wrongs(here, case, boundary, crashes, seen)

    def _note_wrongs(
        self,
        here: "_Here",
        case: CaseName,
        boundary: Boundary,
        crashes: tuple[Crashed, ...],
        seen: Seen,
    ) -> None:
        if not seen.wrongs:
            return
        self.work.failed[here.operation, boundary.name] += 1
        if len(self.work.failures) < MOST_FAILURES:
            crash = Crashed(here.situation.action, boundary.name, boundary.commits, seen.state)
            self.work.failures.append(
                RawFailure(here.start, case, (*crashes, crash), seen.wrongs[0])
            )

    def _place(self, situation: Situation, state: Any) -> str:
        """Return where in its call a state was found."""
        before = empty_hands(situation.state)
        after = empty_hands(step(self.bench.machine, situation.state, situation.action)[0])
        if before == after == state:
            return UNCHANGED
        return {before: BEFORE, after: AFTER}.get(state, PARTLY)


@dataclass(frozen=True, slots=True)
class _Here:
    """A call on databases, with its trace: what its deaths have in common."""

    start: Start
    situation: Situation
    traced: Traced
    named: CaseName
    last: tuple[Seen, Files]

    @property
    def operation(self) -> str:
        """The name of the operation that is called here."""
        return operation_name(self.situation.action)


@dataclass(frozen=True, slots=True)
class _Left:
    """What a first death left behind."""

    crash: Crashed
    case: CaseName
    files: Files
