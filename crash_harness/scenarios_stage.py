"""Where a frozen scenario plays: real files, real processes, and the model's state beside them.

Each call is taken on the model too, and every outcome and every state that is read is compared
with it. So a stored result can't be made up: what differs from the model is a problem, whatever
the file of results says.

Not here: which scenarios there are (`scenarios_admission`, `scenarios_dispatch`), and the
comparison with the stored results (`scenarios`).

Reading hint: `Play`.
"""

import contextlib
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from crash_harness.contest_list import LEDGER, Contest
from crash_harness.contest_order import find_differences
from crash_harness.contest_pool import Pool, WorkerProcess
from crash_harness.contest_worker import (
    HELD,
    Answered,
    Call,
    Cast,
    Enlist,
    Execute,
    Look,
    Raised,
    Stop,
)
from crash_harness.contests import Played, play, select_contests
from model.admission_vocabulary import ABSENT, Claimed
from model.machine import outcome_name
from model.reservation_vocabulary import (
    Confirmed,
    Ledger,
    Received,
    Receiver,
    Reserved,
    State,
    Worker,
)
from model.scopes import MACHINES

ADMISSION_FILE = "admission"
LEDGER_FILE = f"ledger-{LEDGER}"
RECEIVER_FILE = "receiver"


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """A field of a scenario that is not what it must be."""

    scenario: str
    field: str
    expected: Any
    found: Any


@dataclass(slots=True)
class Stage:
    """What a scenario needs to play: the pool, a folder, and a list for what is wrong."""

    scenario: str
    pool: Pool
    folder: Path
    problems: list[FieldDifference] = field(default_factory=list)
    stores: int = 0

    @contextlib.contextmanager
    def admission(self) -> Iterator["Play"]:
        """Yield a play on an admission store that does not exist yet."""
        with self._play("admission", Cast(), ABSENT) as opened:
            yield opened

    @contextlib.contextmanager
    def dispatch(self, *workers: str) -> Iterator["Play"]:
        """Yield a play on a ledger and a receiver that don't exist yet, with these workers."""
        cast = Cast((LEDGER,), tuple((name, LEDGER) for name in workers))
        hands = tuple(Worker(name, LEDGER) for name in workers)
        with self._play("reservation", cast, State((Ledger(LEDGER),), Receiver(), hands)) as opened:
            yield opened

    def race(self, name: str) -> Played:
        """Run a contest once; what no order of the model explains is a problem."""
        contest: Contest = select_contests([name])[0]
        played = play(self.pool, contest, random.Random(self.scenario), keeps_open=False)
        if played.failure is not None:
            found = "; ".join((played.failure.problem, *played.failure.closest))
            self.problems.append(FieldDifference(self.scenario, name, contest.claim, found))
        return played

    @contextlib.contextmanager
    def _play(self, machine: str, cast: Cast, initial: Any) -> Iterator["Play"]:
        self.stores += 1
        folder = self.folder / f"store-{self.stores}"
        folder.mkdir()
        with self.pool.borrow(1) as (worker,):
            opened = Play(self, Enlist(machine, cast, folder), initial, worker)
            worker.tell(opened.enlist)
            yield opened
            worker.leave()


@dataclass(slots=True)
class Play:
    """One store, the model's state of it, and a process that makes the calls on it."""

    stage: Stage
    enlist: Enlist
    state: Any
    worker: WorkerProcess
    calls: int = 0

    def call(self, action: Any) -> str:
        """Make a call in the process of this play; return its outcome in words."""
        self.calls += 1
        self.state, expected = MACHINES[self.enlist.machine].step(self.state, action)
        return self._compare_outcome(action, expected, self.worker.call(Call(action)))

    def exit_at(self, action: Any, stop: Stop, commits: int) -> int | str:
        """Make a call in a process of its own, which leaves at the stop; return its exit code.

        The model is left in the one state that it allows after that many commits. A process that
        answers has not left where it had to: then its answer is returned in place of the code.
        """
        machine = MACHINES[self.enlist.machine]
        with self.stage.pool.borrow(1) as (worker,):
            worker.tell(self.enlist)
            worker.tell(Call(action, stop=stop))
            code = worker.wait_for_exit()
        (self.state,) = machine.allowed_after_exit(self.state, action, commits)
        if isinstance(code, int):
            return code
        said = code.outcome if isinstance(code, Answered) else code
        found = f"no exit, but an answer: {describe_outcome(said)}"
        self._report("exit code", stop.exit_code, found)
        return found

    def race_in_order(self, first: Any, second: Any) -> tuple[str, str]:
        """Make two calls in two processes, the second while the first is held at its commit."""
        machine = MACHINES[self.enlist.machine]
        with self.stage.pool.borrow(2) as (leader, follower):
            holds = ((leader, first, "commit"), (follower, second, "begin immediate"))
            for worker, action, statement in holds:
                worker.tell(self.enlist)
                stop = Stop(ADMISSION_FILE, "before", statement)
                worker.tell(Call(action, stop=stop))
                worker.expect(HELD)
            follower.release()
            leader.release()
            said = [worker.hear() for worker in (leader, follower)]
            for worker in (leader, follower):
                worker.leave()
        words = []
        for action, each in zip((first, second), said, strict=True):
            self.state, expected = machine.step(self.state, action)
            found = each.outcome if isinstance(each, Answered) else each
            words.append(self._compare_outcome(action, expected, found))
        return words[0], words[1]

    def execute(self, database: str, statements: Sequence[str], state: Any) -> None:
        """Run SQL past the protocol; the state that it makes is said, since the model has none."""
        self.worker.execute(Execute(database, tuple(statements)))
        self.state = state

    def see(self) -> dict[str, Any]:
        """Return the snapshot that a fresh connection gives, after comparing the whole state."""
        self.worker.tell(Look())
        seen = self.worker.hear()
        if isinstance(seen, Raised):
            self._report("state", "a state of the model", seen.kind)
            return {}
        for path, expected, found in find_differences(self._durable(), seen.state):
            self._report(f"state.{path}", expected, found)
        expected_snapshot = MACHINES[self.enlist.machine].snapshot(seen.state)
        for path, expected, found in find_differences(expected_snapshot, seen.snapshot):
            self._report(f"snapshot.{path}", expected, found)
        snapshot: dict[str, Any] = seen.snapshot or {}
        return snapshot

    def _durable(self) -> Any:
        """Return the model's state without the permits of other processes."""
        if self.enlist.machine == "admission":
            return self.state
        hands = tuple(replace(worker, hand=()) for worker in self.state.workers)
        return replace(self.state, workers=hands)

    def _compare_outcome(self, action: Any, expected: Any, found: Any) -> str:
        if found != expected:
            label = f"outcome of call {self.calls}, {action}"
            self._report(label, describe_outcome(expected), describe_outcome(found))
        return describe_outcome(found)

    def _report(self, label: str, expected: Any, found: Any) -> None:
        self.stage.problems.append(FieldDifference(self.stage.scenario, label, expected, found))


def describe_outcome(outcome: Any) -> str:
    """Return an outcome in the protocol's words, with its value."""
    match outcome:
        case Claimed(token):
            return f"claimed {token.request_id} at generation {token.generation}"
        case Reserved(permit):
            return f"reserved seq {permit.seq}"
        case Received(receipt):
            return f"received ticket {receipt.ticket}"
        case Confirmed(receipt):
            return f"confirmed with ticket {receipt.ticket}"
        case _:
            return outcome_name(outcome)
