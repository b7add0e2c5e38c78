"""What is tried: a start is databases, a call and the permit that it uses; each start once.

States that differ only in what other workers hold are one start. The databases are made by the
implementation itself, on real files and step by step along a shortest trace, and are what a store
leaves behind that was closed in good order; for the opening of stores, also with a log left over.

Not here: the boundaries of a call (they are found by running it), and how many cases a profile
takes (`profiles`).

Reading hint: `find_starts` says which; `Databases` makes their files.
"""

import contextlib
import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

from conformance.implementation import Implementation, load_implementation
from conformance.sqlite import make_subject
from conformance.subject import describe_error
from crash_harness.calls import (
    Open,
    empty_hands,
    operation_name,
    plain_call,
    step,
    strip_hands,
)
from crash_harness.files import Files, read_files, write_files
from model.admission_vocabulary import Tick
from model.checking.trace import Trace, TraceStep
from model.machine import Machine, Scope, action_name, outcome_name
from model.reservation_vocabulary import Crash
from model.scopes import MACHINES, SCOPES

NO_CALLS = (Tick, Crash)
"""Actions of the models that are no call of an implementation."""
HERE = Path()


@dataclass(frozen=True, slots=True)
class Start:
    """Databases, a call and its permit. `state` is as the search found it, with all hands.

    With `has_log`, the last commit before the call is still in the write-ahead log.
    """

    machine: str
    scope: str
    state: Any
    action: Any
    outcome: str
    has_log: bool = False

    @property
    def before(self) -> Any:
        """The state without the permits that the call does not use."""
        return strip_hands(self.state, self.action)

    @property
    def operation(self) -> str:
        """The name of the operation."""
        return operation_name(self.action)

    @property
    def pair(self) -> tuple[str, str]:
        """The operation and its outcome when nothing interrupts it."""
        return self.operation, self.outcome

    @property
    def key(self) -> tuple[Any, Any]:
        """What tells starts apart: durable state, call with permit, files."""
        call = plain_call(self.state, self.action, HERE)
        files = tuple(call.paths.values())
        return empty_hands(self.state), (call.operation, call.arguments, files, self.has_log)

    @property
    def digest(self) -> str:
        """A short name, the same in every run."""
        return hashlib.sha256(repr(self.key).encode()).hexdigest()[:8]


class Search:
    """The states of a scope, breadth first, with the way to each."""

    def __init__(self, machine: Machine[Any, Any, Any], scope: Scope) -> None:
        self.machine = machine
        self.scope = scope
        self.parents: dict[Any, tuple[Any, Any] | None] = {}

    def walk(self) -> Iterator[tuple[Any, Any, Any]]:
        """Yield each call of the scope from each state, with its outcome, nearest states first."""
        queue: list[Any] = []
        for state in self.machine.initial_states(self.scope):
            self.parents[state] = None
            queue.append(state)
        for state in queue:
            for action in self.machine.offered_actions(self.scope, state):
                after, outcome = self.machine.step(state, action)
                if after not in self.parents:
                    self.parents[after] = (state, action)
                    queue.append(after)
                yield state, action, outcome

    def path_to(self, state: Any) -> list[Any]:
        """Return the states on the shortest way, the initial one first."""
        path = [state]
        while (link := self.parents[path[-1]]) is not None:
            path.append(link[0])
        return path[::-1]

    def trace_to(self, state: Any) -> Trace:
        """Return the shortest trace to a state."""
        path = self.path_to(state)
        steps = []
        for before, after in pairwise(path):
            link = self.parents[after]
            action = None if link is None else link[1]
            steps.append(TraceStep(action, self.machine.step(before, action)[1], after))
        return Trace(self.machine.name, self.scope.name, path[0], tuple(steps))


@dataclass(frozen=True, slots=True)
class Found:
    """The distinct starts of a scope, nearest first, and the search that found them."""

    search: Search
    starts: tuple[Start, ...]


@lru_cache
def find_starts(machine_name: str, scope_name: str) -> Found:
    """Return the distinct starts of a scope, with the opening of each store."""
    search = Search(MACHINES[machine_name], SCOPES[machine_name][scope_name])
    starts: dict[Any, Start] = {}
    for state, action, outcome in search.walk():
        if not isinstance(action, NO_CALLS):
            start = Start(machine_name, scope_name, state, action, outcome_name(outcome))
            starts.setdefault(start.key, start)
    for state in tuple(search.parents):
        for action in _openings(state):
            name = outcome_name(step(search.machine, state, action)[1])
            for has_log in (False, True):
                start = Start(machine_name, scope_name, state, action, name, has_log)
                starts.setdefault(start.key, start)
    return Found(search, tuple(starts.values()))


def find_nearest(machine_name: str, scope_name: str, pairs: Iterable[tuple[str, str]]) -> Found:
    """Return the nearest start for each of these pairs of operation and outcome.

    The search ends when all are found; those that the scope lists as unreachable are left out.
    """
    search = Search(MACHINES[machine_name], SCOPES[machine_name][scope_name])
    no_calls = {action_name(kind) for kind in NO_CALLS}
    unreachable = search.scope.unreachable
    wanted = {p for p in pairs if p[0] not in no_calls and " ".join(p) not in unreachable}
    starts = []
    for state, action, outcome in search.walk() if wanted else ():
        pair = (operation_name(action), outcome_name(outcome))
        if pair in wanted:
            wanted.remove(pair)
            starts.append(Start(machine_name, scope_name, state, action, pair[1]))
        if not wanted:
            break
    return Found(search, tuple(starts))


def _openings(state: Any) -> list[Open]:
    """Return the opening of each store of a state."""
    if hasattr(state, "limits"):
        return [Open("admission")]
    return [*(Open("ledger", ledger.file) for ledger in state.ledgers), Open("receiver")]


def choose_starts(found: Found, seed: int) -> tuple[Start, ...]:
    """Return for each operation and outcome the nearest start, the fullest, and a drawn one."""
    by_pair: dict[tuple[str, str, bool], list[Start]] = {}
    for start in found.starts:
        by_pair.setdefault((*start.pair, start.has_log), []).append(start)
    snapshot = found.search.machine.snapshot
    rows = {state: count_rows(snapshot(state)) for state in found.search.parents}
    chosen: dict[Start, None] = {}
    for pair, starts in by_pair.items():
        drawn = random.Random(f"{seed} {pair}").choice(starts)
        fullest = max(starts, key=lambda start: rows[start.state])
        chosen |= dict.fromkeys((starts[0], fullest, drawn))
    return tuple(chosen)


def count_rows(snapshot: Any) -> int:
    """Return how many rows a snapshot shows."""
    if isinstance(snapshot, dict):
        return sum(count_rows(value) for value in snapshot.values())
    return len(snapshot) if isinstance(snapshot, list) else 0


class WayDiffers(Exception):
    """On the way to a start the implementation does not do what the model says."""


class Databases:
    """Makes the files of a state, and remembers them."""

    def __init__(
        self, search: Search, folder: Path, versions: Sequence[Implementation] = ()
    ) -> None:
        """Use a folder for the work, which holds nothing else.

        `versions` of the implementation are tried in turn: what a changed one can't make, the
        real one may. Without any it is the one in the tree.
        """
        self._search = search
        self._folder = folder
        self._versions = tuple(versions) or (load_implementation(),)
        self._made: dict[Any, Files] = {}
        self._names = store_names(search.scope)

    def files_of(self, state: Any, *, has_log: bool = False) -> Files:
        """Return the files of a state; `WayDiffers` if the implementation doesn't get there."""
        for here in self._search.path_to(state):
            if here not in self._made:
                self._made[here] = self._make(here)
        return self._make(state, has_log=True) if has_log else self._made[state]

    def _make(self, state: Any, *, has_log: bool = False) -> Files:
        """Take the last step to a state, on the files of the state before it."""
        reason = ""
        for version in self._versions:
            subject: Any = make_subject(
                self._search.machine.name,
                self._search.scope,
                self._folder,
                implementation=version,
            )
            with contextlib.closing(subject):
                try:
                    self._step(subject, state)
                except Exception as error:  # noqa: BLE001 - whatever it is, it is not the state
                    reason = describe_error(error)
                    continue
                if has_log:
                    return read_files(self._folder, self._names)
            return read_files(self._folder, self._names)
        raise WayDiffers(reason)

    def _step(self, subject: Any, state: Any) -> None:
        link = self._search.parents[state]
        if link is None:
            write_files(self._folder, read_nothing(self._names))
            subject.install(state)
        else:
            before, action = link
            subject.restore(_as_image(self._made[before]), before)
            subject.observe()  # the second connection keeps the log from being emptied
            outcome, expected = subject.apply(action), self._search.machine.step(before, action)[1]
            if outcome != expected:
                raise WayDiffers(f"{action} is {expected}, and was {outcome}")
        found = subject.observe()
        if found != state:
            raise WayDiffers(f"expected {state}, found {found}")


def _as_image(files: Files) -> Any:
    """Return files that were closed in good order as an image of their subject."""
    if files[0].name == "admission":
        return files[0].main
    return tuple(store.main for store in files), ()


def store_names(scope: Any) -> tuple[str, ...]:
    """Return the names of the database files of a scope, without suffix."""
    ledgers: Sequence[str] = getattr(scope, "ledgers", ())
    if not ledgers:
        return ("admission",)
    return (*(f"ledger-{file}" for file in ledgers), "receiver")


def read_nothing(names: Iterable[str]) -> Files:
    """Return databases that are all absent."""
    return read_files(Path("/nonexistent"), names)
