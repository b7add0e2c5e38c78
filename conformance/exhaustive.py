"""Exhaustive conformance: every call of a scope, from every reachable state, on the real database.

The model is searched breadth first. For each state the database of that state is put back, and
every call that the scope offers is taken on the implementation; outcome and durable state are
compared. The databases are those that the implementation itself has made on the way: no state is
built by hand but the old stores of a scope, and no prefix is replayed.

The numbers that come out are the model's own: the same states, transitions and calls.
Work is split by levels of the search over any `concurrent.futures` executor.
"""

import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from conformance.implementation import Implementation
from conformance.lockstep import check_call, check_snapshot
from conformance.place import scratch_folder
from conformance.sqlite import make_subject
from conformance.subject import Divergence, Subject, describe_error
from model.checking.explore import Verdict
from model.checking.trace import Trace, TraceStep
from model.machine import Expected, action_name, outcome_name
from model.scopes import MACHINES

CHUNK_STATES = 32
DEFAULT_STATE_BUDGET = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """A divergence, and the shortest way there: the last step has the model's outcome."""

    divergence: Divergence
    trace: Trace


@dataclass(frozen=True, slots=True)
class Conformance:
    """What exhaustive conformance has covered.

    `snapshots` counts the states in which the implementation's own snapshot was compared.
    `problems` are sentences that make the verdict `fail` without a divergence.
    """

    machine: str
    scope: str
    counts: Expected
    outcomes: dict[tuple[str, str], int]
    snapshots: int
    found: tuple[Found, ...]
    problems: tuple[str, ...]
    is_complete: bool
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Fail where the two part; undetermined if the budget ended the search."""
        if self.found:
            return Verdict.FAIL
        if not self.is_complete:
            return Verdict.UNDETERMINED
        return Verdict.FAIL if self.problems else Verdict.PASS


@dataclass(slots=True)
class _Work:
    """What one chunk of states has shown."""

    transitions: int = 0
    snapshots: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    fresh: list[tuple[Any, Any, Any, Any]] = field(default_factory=list)
    found: list[tuple[Any, Divergence]] = field(default_factory=list)


def _pack(image: Any) -> bytes | tuple[bytes, ...]:
    if isinstance(image, bytes):
        return zlib.compress(image, 1)
    return tuple(zlib.compress(content, 1) for content in image[0])


def _unpack(packed: bytes | tuple[bytes, ...]) -> Any:
    if isinstance(packed, bytes):
        return zlib.decompress(packed)
    return tuple(zlib.decompress(content) for content in packed), ()


def check_states(
    machine_name: str,
    scope: Any,
    subject: Subject,
    chunk: Iterable[tuple[Any, Any]],
) -> _Work:
    """Take every call of the scope from each of these states, and compare."""
    machine = MACHINES[machine_name]
    work = _Work()
    seen = set()
    for state, packed in chunk:
        seen.add(machine.canonical(scope, state) if scope.is_symmetric else state)
        original = _unpack(packed)
        subject.restore(original, state)
        image = subject.image()
        work.snapshots += 1
        if (divergence := check_snapshot(machine, subject, state, image)) is not None:
            work.found.append((state, divergence))
        for action in machine.offered_actions(scope, state):
            checked = check_call(machine, subject, state, image, action)
            work.outcomes[action_name(type(action)), outcome_name(checked.outcome)] += 1
            if checked.divergence is not None:
                work.found.append((state, checked.divergence))
            elif checked.after is not state and checked.after != state:
                work.transitions += 1
                after = checked.after
                reached = machine.canonical(scope, after) if scope.is_symmetric else after
                if reached not in seen:
                    seen.add(reached)
                    work.fresh.append((after, _pack(subject.image()), state, action))
            if checked.has_changed or checked.divergence is not None:
                subject.restore(original, state)
                image = subject.image()
    return work


@lru_cache(maxsize=1)
def _subject_of_this_process(machine_name: str, scope: Any, folder: Path) -> Subject:
    own = folder / str(os.getpid())
    own.mkdir()
    return make_subject(machine_name, scope, own, has_images=True)


def _check_states_elsewhere(
    machine_name: str,
    scope: Any,
    folder: Path,
    chunk: list[tuple[Any, Any]],
) -> _Work:
    """Do `check_states` in a process of the executor, which keeps its subject."""
    return check_states(
        machine_name, scope, _subject_of_this_process(machine_name, scope, folder), chunk
    )


def _make_initial(
    subject: Subject, state: Any, absent: Any
) -> tuple[tuple[Any, Any] | None, str | None]:
    """Return an initial state with its database, or why the implementation can't be brought there.

    Only old stores can fail here, since an absent store needs nothing; the same mistake then shows
    as a divergence on the way from the absent one.
    """
    try:
        subject.install(state)
        return (state, _pack(subject.image())), None
    except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
        return None, f"no store for the initial state {state}: {describe_error(error)}"
    finally:
        subject.restore(absent, state)


class _Levels:
    """The levels of the search, merged from the chunks that check them."""

    def __init__(self, machine_name: str, scope: Any) -> None:
        self.machine = MACHINES[machine_name]
        self.scope = scope
        self.parents: dict[Any, tuple[Any, Any, Any] | None] = {}
        self.total = _Work()
        self.depth = 0
        self.problems: list[str] = []

    def key(self, state: Any) -> Any:
        """Return what a state is known by: itself, or its representative under symmetry."""
        return self.machine.canonical(self.scope, state) if self.scope.is_symmetric else state

    def search_from(
        self,
        start: tuple[Any, Any],
        check: Callable[[list[list[tuple[Any, Any]]]], Iterable[_Work]],
        *,
        state_budget: int,
        progress: Callable[[int], None],
    ) -> bool:
        """Search breadth first from an initial state; tell whether it came to its end.

        It ends early after a level in which the two part, or beyond the budget.
        """
        level = [start]
        self.parents.setdefault(self.key(start[0]), None)
        depth = 0
        while level and not self.total.found and len(self.parents) <= state_budget:
            chunks = [level[i : i + CHUNK_STATES] for i in range(0, len(level), CHUNK_STATES)]
            level = []
            for work in check(chunks):
                level += self.merge(work)
                progress(len(self.parents))
            depth += bool(level)
        self.depth = max(self.depth, depth)
        return not level

    def merge(self, work: _Work) -> list[tuple[Any, Any]]:
        """Add what a chunk has shown, and return its states that nobody has seen before."""
        total = self.total
        total.transitions += work.transitions
        total.snapshots += work.snapshots
        total.outcomes += work.outcomes
        total.found += work.found
        level = []
        for after, packed, state, action in work.fresh:
            link = (after, state, action)
            if self.parents.setdefault(self.key(after), link) is link:
                level.append((after, packed))
        return level

    def trace_to(self, state: Any, action: Any) -> Trace:
        """Return the way to a state that was checked, and one more action."""
        actions = [action]
        while (link := self.parents[self.key(state)]) is not None:
            _, state, previous = link
            actions.append(previous)
        steps = []
        current = state
        for each in reversed(actions):
            if isinstance(each, str):
                break  # a snapshot is no action
            current, outcome = self.machine.step(current, each)
            steps.append(TraceStep(each, outcome, current))
        return Trace(self.machine.name, self.scope.name, state, tuple(steps))


def check_exhaustively(
    machine_name: str,
    scope: Any,
    *,
    executor: Executor | None = None,
    implementation: Implementation | None = None,
    state_budget: int = DEFAULT_STATE_BUDGET,
    progress: Callable[[int], None] = lambda _states: None,
) -> Conformance:
    """Hold the SQLite implementation against the model over a whole scope.

    With an executor (of processes that know this package) the levels are split over it; the
    implementation is then the one in the tree. The search ends after the level in which the two
    part, or once more than `state_budget` states are known.
    """
    started = time.perf_counter()
    levels = _Levels(machine_name, scope)
    with scratch_folder() as folder:
        subject = make_subject(
            machine_name, scope, folder, implementation=implementation, has_images=True
        )
        absent = subject.image()
        initial_states = MACHINES[machine_name].initial_states(scope)
        made = [_make_initial(subject, state, absent) for state in initial_states]
        levels.problems += [problem for _, problem in made if problem is not None]
        if executor is not None:
            subject.close()  # a process that forks must not have a database open

        def check(chunks: list[list[tuple[Any, Any]]]) -> Iterable[_Work]:
            if executor is None:
                return (check_states(machine_name, scope, subject, chunk) for chunk in chunks)
            same = ([each] * len(chunks) for each in (machine_name, scope, folder))
            return executor.map(_check_states_elsewhere, *same, chunks)

        is_complete = True
        for start in [start for start, _ in made if start is not None]:
            is_complete &= levels.search_from(
                start, check, state_budget=state_budget, progress=progress
            )
            if not is_complete or levels.total.found:
                is_complete = False
                break
        if executor is None:
            subject.close()
    return _conclude(levels, is_complete=is_complete, seconds=time.perf_counter() - started)


def _conclude(levels: _Levels, *, is_complete: bool, seconds: float) -> Conformance:
    """Turn a search that has ended into its result."""
    total = levels.total
    outcomes = dict.fromkeys(levels.machine.pairs(), 0) | dict(total.outcomes)
    counts = Expected(len(levels.parents), total.transitions, sum(outcomes.values()), levels.depth)
    unreachable = levels.scope.unreachable
    problems = list(levels.problems)
    if is_complete and not total.found:
        names = sorted(" ".join(pair) for pair, count in outcomes.items() if not count)
        problems += [f"{name} was never seen" for name in names if name not in unreachable]
        if counts != levels.scope.expected:
            problems.append(f"the model has {levels.scope.expected}, covered were {counts}")
    return Conformance(
        machine=levels.machine.name,
        scope=levels.scope.name,
        counts=counts,
        outcomes=outcomes,
        snapshots=total.snapshots,
        found=tuple(
            Found(divergence, levels.trace_to(state, divergence.action))
            for state, divergence in total.found
        ),
        problems=tuple(problems),
        is_complete=is_complete,
        seconds=seconds,
    )
