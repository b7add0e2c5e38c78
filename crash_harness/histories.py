"""Histories of real processes: random calls on one store, some die, and the model judges.

N processes call one after another, each what its seed and its own answers suggest; all of them
share one store. Some end at a statement inside a transaction, and their last call stays without
an answer. The merged history must be linearizable, and the state that a fresh connection finds
must be one in which an explaining order can end.

Which interleaving happens is up to the operating system: the seed decides what is called, not when.
A history that failed can be kept in a file, and judged again.
"""

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from conformance.changed_source import Change
from conformance.place import scratch_folder
from crash_harness.contest_pool import Pool, WorkerLost, WorkerProcess
from crash_harness.contest_worker import Answered, Call, Cast, Enlist, Manner, Raised, Seen, Stop
from crash_harness.history_callers import AdmissionCaller, Caller, ReservationCaller
from model.admission_vocabulary import ABSENT, Init, Limits
from model.checking.explore import Verdict
from model.checking.history import (
    UNKNOWN,
    History,
    Operation,
    load_history,
    make_history,
)
from model.checking.linearizability import JudgedHistory, Linearizability, check_history
from model.machine import action_name, outcome_name
from model.reservation_vocabulary import (
    InitLedger,
    InitReceiver,
    Ledger,
    OpenIntent,
    Receiver,
    Safety,
    State,
    Worker,
)
from model.scopes import MACHINES

PROCESSES = 4
MOST_PROCESSES = 64
"""More than a kept history has."""
_PROCESS = re.compile(r"w[0-9]{1,2}")
CALLS = 10
DEATHS = 0.5
"""In how many runs one of the processes dies."""
EXIT_CODE = 75
MOST_STATEMENTS = 5
LIMITS = Limits(global_slots=2, global_bytes=6, tenant_slots=2, tenant_bytes=6, item_bytes=3)
OPENINGS = (
    OpenIntent("L1", "i1", "p", Safety.IDEMPOTENT, 3),
    OpenIntent("L1", "n1", "p", Safety.NON_IDEMPOTENT, 3),
    OpenIntent("L2", "i1", "p", Safety.IDEMPOTENT, 2),
)


@dataclass(frozen=True, slots=True)
class FailedHistory:
    """A history that the model does not explain, or whose judge gave up."""

    run: int
    history: History
    judged: Linearizability


@dataclass(slots=True)
class HistoryReport:
    """What a number of runs has covered."""

    machine: str
    seed: int
    runs: int = 0
    operations: int = 0
    unanswered: int = 0
    overlaps: int = 0
    steps: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    failed: list[FailedHistory] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        """Fail if a history is not explained; undetermined if one could not be judged.

        Histories in which nothing overlapped have shown nothing.
        """
        verdicts = {each.judged.verdict for each in self.failed}
        if Verdict.FAIL in verdicts:
            return Verdict.FAIL
        return Verdict.UNDETERMINED if verdicts or not self.overlaps else Verdict.PASS


@dataclass(frozen=True, slots=True)
class _Stage:
    """What a run needs of its machine: how the store begins, who calls, and what can be found."""

    machine: str
    cast: Cast
    setting: tuple[Any, ...]
    initial: Any
    callers: tuple[Caller, ...]
    view: Callable[[Any], Any]
    databases: tuple[str, ...]


def _make_stage(machine: str, processes: int) -> _Stage:
    names = [f"w{number}" for number in range(1, processes + 1)]
    if machine == "admission":
        initial = MACHINES[machine].step(ABSENT, Init(LIMITS))[0]
        callers: tuple[Caller, ...] = tuple(AdmissionCaller() for _ in names)
        setting: tuple[Any, ...] = (Init(LIMITS),)
        return _Stage(machine, Cast(), setting, initial, callers, _whole, ("admission",))
    workers = tuple((name, "L2" if name == names[-1] else "L1") for name in names)
    files = ("L1", "L2")
    setting = (*(InitLedger(file, file) for file in files), InitReceiver(), *OPENINGS)
    state: Any = State(
        ledgers=tuple(Ledger(file) for file in files),
        receiver=Receiver(),
        workers=tuple(Worker(*each) for each in workers),
    )
    for action in setting:
        state, _ = MACHINES[machine].step(state, action)
    callers = tuple(
        ReservationCaller(name, ledger, [o.intent_id for o in OPENINGS if o.ledger == ledger])
        for name, ledger in workers
    )
    databases = ("ledger-L1", "ledger-L2", "receiver")
    return _Stage(machine, Cast(files, workers), setting, state, callers, _durable, databases)


def _whole(state: Any) -> Any:
    return state


def _durable(state: Any) -> Any:
    """Return what survives: hands are gone with their processes."""
    return (state.ledgers, state.receiver)


def run_histories(
    machine: str,
    *,
    runs: int,
    seed: int,
    processes: int = PROCESSES,
    calls: int = CALLS,
    changes: Sequence[Change] = (),
    progress: Callable[[int], None] = lambda _runs: None,
) -> HistoryReport:
    """Record and judge this many histories."""
    report = HistoryReport(machine, seed)
    started = time.perf_counter()
    with Pool(changes=changes) as pool:
        for run in range(runs):
            chance = random.Random(f"{seed} {machine} {run}")
            stage = _make_stage(machine, processes)
            history = _record(pool, stage, calls, chance)
            _add(report, run, history, _judge(stage, history))
            progress(run + 1)
            if report.failed:
                break
    report.seconds = time.perf_counter() - started
    return report


def _record(pool: Pool, stage: _Stage, calls: int, chance: random.Random) -> History:
    """Let the processes loose on a new store; return their history, and what is found after."""
    machine, processes = stage.machine, len(stage.callers)
    victim = chance.randrange(processes) if chance.random() < DEATHS else None
    seeds = [chance.random() for _ in range(processes)]
    clients: list[_Client] = []
    with scratch_folder() as folder, pool.borrow(processes + 1) as workers:
        for worker in workers:
            worker.tell(Enlist(machine, stage.cast, folder))
        for action in stage.setting:
            workers[-1].call(Call(action))
        for number, worker in enumerate(workers[:processes]):
            dies_from = chance.randrange(1, calls) if number == victim else calls
            own = random.Random(seeds[number])
            caller = stage.callers[number]
            clients.append(_Client(worker, f"w{number + 1}", caller, own, stage, dies_from))
        with ThreadPoolExecutor(processes) as threads:
            list(threads.map(lambda client: client.call_often(calls), clients))
        seen = workers[-1].look()
        for worker in workers:
            if not worker.is_lost:
                worker.leave()
    operations = [operation for client in clients for operation in client.operations]
    problems = [client.problem for client in clients if client.problem]
    if isinstance(seen, Raised):
        problems.append(seen.trace)
    found = seen.state if isinstance(seen, Seen) else None
    return make_history(machine, operations, found, "\n".join(problems))


@dataclass(slots=True)
class _Client:
    """The parent's thread for one process: it gives the calls, and writes down the answers.

    From its call number `dies_from` on, the process is told to end at a statement.
    """

    worker: WorkerProcess
    name: str
    caller: Caller
    chance: random.Random
    stage: _Stage
    dies_from: int
    operations: list[Operation] = field(default_factory=list)
    problem: str = ""

    def call_often(self, calls: int) -> None:
        """Make the calls, one after another, until the process has died or all are made."""
        for count in range(calls):
            if not self._call(self._draw_stop() if count >= self.dies_from else None):
                return

    def _draw_stop(self) -> Stop:
        """Return a statement at which the process ends, if its next call gets that far."""
        return Stop(
            database=self.chance.choice(self.stage.databases),
            place=self.chance.choice(("before", "after")),
            statement="",
            nth=self.chance.randint(1, MOST_STATEMENTS),
            exit_code=EXIT_CODE,
        )

    def _call(self, stop: Stop | None) -> bool:
        """Make one call; tell whether the process is there for another one."""
        action = self.caller.choose(self.chance)
        called = time.monotonic_ns()
        try:
            manner = Manner(self.chance.randrange(1 << 30), is_eager=False)
            self.worker.tell(Call(action, stop=stop, manner=manner))
            said = self.worker.hear()
        except WorkerLost as lost:
            self.operations.append(Operation(self.name, action, UNKNOWN, called, None))
            if stop is None or lost.has_hung:
                self.problem = str(lost)
            return False
        if not isinstance(said, Answered):
            self.operations.append(Operation(self.name, action, UNKNOWN, called, None))
            self.problem = f"{self.name}: {action!r}: {getattr(said, 'trace', said)}"
            return False
        answered = Operation(self.name, action, said.outcome, said.called, said.returned)
        self.operations.append(answered)
        self.caller.learn(action, said.outcome)
        return True


def _judge(stage: _Stage, history: History) -> Linearizability:
    """Judge a history by its answers, by what was found, and by what else went wrong."""
    machine = MACHINES[stage.machine]
    judged = check_history(machine, stage.initial, history, final=history.found, view=stage.view)
    if not history.problem:
        return judged
    return Linearizability(Verdict.FAIL, judged.order, None, history.problem, (), judged.steps)


def _add(report: HistoryReport, run: int, history: History, judged: Linearizability) -> None:
    """Add a judged history to the report."""
    report.runs += 1
    report.operations += len(history.operations)
    report.unanswered += sum(each.outcome is UNKNOWN for each in history.operations)
    report.overlaps += count_overlaps(history)
    report.steps += judged.steps
    report.outcomes.update(
        (action_name(type(each.action)), outcome_name(each.outcome)) for each in history.operations
    )
    if judged.verdict is not Verdict.PASS:
        report.failed.append(FailedHistory(run, history, judged))


def judge_kept(text: str) -> JudgedHistory:
    """Judge a kept history again, as when it was recorded.

    `TraceFormatError` if it is none; `LookupError` if it has other processes than a run here, or
    no call.
    """
    history = load_history(text)
    if not history.operations:
        raise LookupError("it has no call, so that there is nothing to judge")
    names = {operation.process for operation in history.operations}
    stage = _make_stage(history.machine, max([PROCESSES, *map(_number_of, names)]))
    return JudgedHistory(history, _judge(stage, history))


def _number_of(process: str) -> int:
    """Return the number of a process: "w3" is the third."""
    number = int(process[1:]) if _PROCESS.fullmatch(process) else 0
    if not 1 <= number <= MOST_PROCESSES:
        raise LookupError(f"no process of a run here is called {process!r}")
    return number


def count_overlaps(history: History) -> int:
    """Return how many operations were called while another process was inside one."""
    overlaps = 0
    for operation in history.operations:
        overlaps += any(
            other.called < operation.called
            and (other.returned is None or other.returned > operation.called)
            for other in history.operations
            if other.process != operation.process
        )
    return overlaps
