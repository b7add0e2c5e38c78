"""Process exit at every boundary of every operation: the engine, and one crash for other engines.

`run_exits` takes the cases of a profile, on one core or on several, and returns a report.
`Crasher` kills one call on the live databases of a subject, for a rule of a Hypothesis machine.

Not here: what a case is (`cases`), how it is taken (`examine`) and judged (`judge`).
"""

import itertools
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.changed_source import Change, load_changed_implementation
from conformance.implementation import load_implementation
from conformance.place import scratch_folder
from conformance.run_end import starting_processes
from crash_harness.boundaries import merge_orders
from crash_harness.cases import (
    Databases,
    Found,
    Start,
    WayDiffers,
    choose_starts,
    find_nearest,
    find_starts,
)
from crash_harness.examine import Examiner, Selection, Work
from crash_harness.exit_profiles import PROFILES, ExitProfile
from crash_harness.exit_report import (
    PLACES_FOUND,
    CaseName,
    ExitReport,
    FailedCase,
    Row,
    Sample,
    UnknownName,
)
from crash_harness.exit_trace import explain
from crash_harness.files import Files
from crash_harness.judge import Bench
from model.scopes import SCOPES

TINY, SMALL = "TINY", "SMALL"
CHUNK_STARTS = 4
AHEAD = 3
"""Pieces of work that wait for each worker."""
Order = tuple[Start, Files]


@dataclass(frozen=True, slots=True)
class Plan:
    """What all workers of a run need to know."""

    machine: str
    profile: ExitProfile
    seed: int
    selection: Selection
    changes: tuple[Change, ...]
    pragmas: tuple[tuple[str, Any], ...]


def run_exits(
    machine: str,
    profile: str = "quick",
    *,
    seed: int = 1,
    operation: str | None = None,
    boundary: str | None = None,
    case: CaseName | None = None,
    changes: Iterable[Change] = (),
    pragmas: Mapping[str, Any] | None = None,
    workers: int = 1,
    stops_at_failure: bool = False,
    budget_seconds: float | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> ExitReport:
    """Let real processes die at every boundary, and judge what they leave.

    `operation` and `boundary` select cases by name, `case` a single one. `changes` are made to
    the implementation in memory, `pragmas` take the place of its settings. `workers` are processes
    that judge, each with a lean parent of its own; one works in this process. `progress` is told
    the starts that are done, and how many there are. With `stops_at_failure` a run ends soon after
    the first failure; with `budget_seconds` it gives up after them (undetermined). `UnknownName`
    if a name leads nowhere.
    """
    clock = _Clock(budget_seconds, stops_at_failure=stops_at_failure)
    plan = Plan(
        machine=machine,
        profile=_find(PROFILES, profile, "profile"),
        seed=seed,
        selection=Selection(boundary, case),
        changes=tuple(changes),
        pragmas=tuple(sorted((pragmas or {}).items())),
    )
    groups = _plan_groups(plan, operation)
    total = sum(len(starts) for _, starts in groups)
    work = Work()
    lost: list[str] = []
    with scratch_folder() as folder:
        for found, starts in groups:
            orders = _make_orders(plan, found, starts, folder, lost)
            scope = found.search.scope.name
            for part in _take(plan, scope, orders, folder=folder, workers=workers, clock=clock):
                work += part
                clock.has_failed = bool(work.failures)
                progress(work.starts, total)
    work.problems += lost
    is_complete = work.starts + len(lost) == total
    if is_complete and (boundary is not None or case is not None):
        _require_a_death(work, operation, boundary, case)
    searches = {found.search.scope.name: found.search for found, _ in groups}
    failures = tuple(explain(searches[each.start.scope], each) for each in work.failures)
    report = _report(plan, work, failures, is_complete=is_complete)
    return replace(report, workers=workers, seconds=clock.seconds)


def _report(
    plan: Plan, work: Work, failures: tuple[FailedCase, ...], *, is_complete: bool
) -> ExitReport:
    """Turn the sum of all work into a report."""
    return ExitReport(
        machine=plan.machine,
        profile=plan.profile.name,
        seed=plan.seed,
        rows=_make_rows(work),
        starts=work.starts,
        deaths=work.deaths.total(),
        second_deaths=work.second_deaths,
        watched_deaths=work.watched_deaths,
        faults=work.faults.total(),
        pairs=len(work.pairs),
        samples=tuple(Sample(what, work.taken[what], of) for what, of in work.offered.items()),
        failures=failures,
        failed_cases=work.failed.total(),
        problems=tuple(work.problems),
        is_complete=is_complete,
        workers=1,
        seconds=0.0,
    )


class _Clock:
    """How long a run has taken, and whether it is to end before everything is done."""

    def __init__(self, budget_seconds: float | None, *, stops_at_failure: bool) -> None:
        self._started = time.perf_counter()
        self._budget_seconds = budget_seconds
        self._stops_at_failure = stops_at_failure
        self.has_failed = False

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._started

    def is_over(self) -> bool:
        """Tell whether nothing more is to be begun."""
        if self._budget_seconds is not None and self.seconds > self._budget_seconds:
            return True
        return self._stops_at_failure and self.has_failed


def _find(named: Mapping[str, Any], name: str, what: str) -> Any:
    if name not in named:
        raise UnknownName(f"there is no {what} {name!r}; there are {', '.join(named)}")
    return named[name]


def _plan_groups(plan: Plan, operation: str | None) -> list[tuple[Found, tuple[Start, ...]]]:
    """Return the starts of a run, with the search of each scope that has some.

    TINY is taken as the profile says; what it can't reach comes from its nearest start in SMALL.
    """
    _find(SCOPES, plan.machine, "machine")
    tiny = find_starts(plan.machine, TINY)
    reached = {start.pair for start in tiny.starts}
    missing = [pair for pair in tiny.search.machine.pairs() if pair not in reached]
    small = find_nearest(plan.machine, SMALL, missing)
    one = plan.selection.case
    known = dict.fromkeys(start.operation for start in (*tiny.starts, *small.starts))
    if operation is not None and operation not in known:
        raise UnknownName(f"there is no operation {operation!r}; there are {', '.join(known)}")
    takes_all = plan.profile.takes_every_start or one is not None
    groups = [
        (tiny, tiny.starts if takes_all else choose_starts(tiny, plan.seed)),
        (small, small.starts),
    ]
    wanted = []
    for found, starts in groups:
        chosen = [start for start in starts if operation in (None, start.operation)]
        if one is not None:
            chosen = [
                start
                for start in chosen
                if (start.scope, start.operation) == (one.scope, one.operation)
                and start.digest == one.start
            ]
        wanted.append((found, tuple(chosen)))
    if not any(starts for _, starts in wanted):
        raise UnknownName(f"there is no case {str(one)!r}")
    return wanted


def _make_orders(
    plan: Plan, found: Found, starts: Sequence[Start], folder: Path, problems: list[str]
) -> Iterator[Order]:
    """Yield starts with their files; where there is no way to one, that is a problem."""
    own = folder / f"databases-{found.search.scope.name}"
    own.mkdir()
    changed = [load_changed_implementation(plan.changes)] if plan.changes else []
    databases = Databases(found.search, own, [*changed, load_implementation()])
    for start in starts:
        try:
            files = databases.files_of(start.state, has_log=start.has_log)
        except WayDiffers as error:
            problems.append(f"no way to {start.operation} from {start.digest}: {error}")
            continue
        yield start, files


def _take(
    plan: Plan,
    scope: str,
    orders: Iterator[Order],
    *,
    folder: Path,
    workers: int,
    clock: _Clock,
) -> Iterator[Work]:
    """Yield the work on a few starts after another."""
    if workers == 1:
        own = folder / f"bench-{scope}"
        own.mkdir()
        with _open_bench(plan, scope, own) as bench:
            while not clock.is_over() and (chunk := list(itertools.islice(orders, CHUNK_STARTS))):
                yield _examine(plan, bench, chunk)
        return
    spawn = multiprocessing.get_context(
        "spawn"
    )  # whoever judges has databases open, and never forks
    with ProcessPoolExecutor(workers, mp_context=spawn) as pool:
        pending: set[Future[Work]] = set()
        while True:
            while len(pending) < AHEAD * workers and not clock.is_over():
                chunk = list(itertools.islice(orders, CHUNK_STARTS))
                if not chunk:
                    break
                with starting_processes():
                    pending.add(pool.submit(_examine_elsewhere, plan, scope, folder, chunk))
            if not pending:
                return
            finished, pending = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()


def _open_bench(plan: Plan, scope: str, folder: Path) -> Bench:
    return Bench(plan.machine, scope, folder, changes=plan.changes, pragmas=dict(plan.pragmas))


def _examine(plan: Plan, bench: Bench, chunk: Iterable[Order]) -> Work:
    examiner = Examiner(bench, plan.profile, plan.seed, plan.selection)
    for start, files in chunk:
        examiner.examine(start, files)
    return examiner.work


@lru_cache(maxsize=1)
def _bench_of_this_process(plan: Plan, scope: str, folder: Path) -> Bench:
    own = folder / f"bench-{scope}-{os.getpid()}"
    own.mkdir()
    return _open_bench(plan, scope, own)


def _examine_elsewhere(plan: Plan, scope: str, folder: Path, chunk: list[Order]) -> Work:
    """Do `_examine` in a process of the pool, which keeps its bench and its lean parent."""
    return _examine(plan, _bench_of_this_process(plan, scope, folder), chunk)


def _require_a_death(
    work: Work, operation: str | None, boundary: str | None, case: CaseName | None
) -> None:
    """Raise `UnknownName` if a selection by name has selected nothing."""
    if work.deaths or work.faults or work.problems:
        return
    if case is not None:
        raise UnknownName(f"there is no case {str(case)!r}")
    names = merge_orders(order for order, name in work.orders.items() if operation in (None, name))
    where = f"{operation} has no boundary" if operation else "there is no boundary"
    raise UnknownName(f"{where} {boundary!r}; there are {', '.join(names)}")


def _make_rows(work: Work) -> tuple[Row, ...]:
    """Return a row for each operation and boundary, in the order of the call."""
    operations = dict.fromkeys(name for name, _ in (*work.deaths, *work.faults))
    rows = []
    for operation in operations:
        orders = (order for order, name in work.orders.items() if name == operation)
        for boundary in merge_orders(orders):
            key = (operation, boundary)
            if not work.deaths[key] and not work.faults[key]:
                continue
            commits = {c: n for (*place, c), n in work.commits.items() if tuple(place) == key}
            rows.append(
                Row(
                    operation=operation,
                    boundary=boundary,
                    commits=max(commits, key=commits.__getitem__, default=0),
                    deaths=work.deaths[key],
                    found={place: work.found[(*key, place)] for place in PLACES_FOUND},
                    faults=work.faults[key],
                    failures=work.failed[key],
                    seconds=work.spent[key],
                )
            )
    return tuple(rows)
