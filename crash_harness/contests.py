"""Runs contests between real processes, and judges what they answered and left.

Every repetition is judged whole: each answer and the final state, hands and snapshot included,
must come out of some order of the model's steps that respects real time (`contest_order`); the
counts are checked too, but alone they are no verdict. Three verdicts: a worker that hangs, or a
search for an order that gives up, is `undetermined`, since a call without an answer has not
failed (C2).

Chance here is the operating system's; the seed deals the parts, the order of starting, and where
a worker gives up the processor.

Not here: schedules that are chosen.

Reading hint: `run_contests`, then `play`.
"""

import itertools
import random
import shlex
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from conformance.changed_source import Change
from conformance.place import scratch_folder
from crash_harness.contest_list import CONTESTS, Contest
from crash_harness.contest_order import Explanation, explain
from crash_harness.contest_pool import LIMIT_SECONDS, Pool, WorkerLost, WorkerProcess
from crash_harness.contest_worker import READY, Answered, Call, Cast, Enlist, Manner, Raised, Seen
from model.checking.explore import Verdict
from model.checking.history import History, Operation, format_timeline, make_history
from model.checking.linearizability import JudgedHistory
from model.checking.verdicts import conclude
from model.machine import outcome_name
from model.scopes import MACHINES

REPETITIONS: Mapping[str, int] = {"quick": 5, "full": 50, "nightly": 500}
EAGERNESS = (0.5, 1.0, 1.0)
"""The shares of eager workers from which each repetition draws one."""
SHOWN_FAILURES = 3
LAST_WORDS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Failure:
    """A repetition that does not pass: what is wrong, what happened, and what comes closest."""

    verdict: Verdict
    repetition: int
    problem: str
    history: tuple[str, ...] = ()
    closest: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Played:
    """One repetition: the answers of each round, the state at the end, and who changed something.

    `changing` are the calls that changed something, in the order that explains all. `failure` is
    None where all of it is as the model has it, and `unexplained` the round that no order explains,
    if that is what is wrong. `met` says how many pairs of calls of one round were under way at the
    same time, out of how many.
    """

    answers: tuple[Mapping[str, Any], ...]
    state: Any
    snapshot: Any
    changing: tuple[Operation, ...]
    met: tuple[int, int]
    failure: Failure | None
    unexplained: JudgedHistory | None


@dataclass(frozen=True, slots=True)
class ContestResult:
    """What the repetitions of a contest have shown.

    `tallies` counts the repetitions by their outcomes ("2 accepted, 10 tenant_full"). `winners`
    and `orders` are the distinct sets and sequences of workers whose calls changed something, as
    far as answers and state tell them apart: how much of the contest the scheduler has shown.
    """

    name: str
    claim: str
    repetitions: int
    tallies: Mapping[str, int]
    winners: int
    orders: int
    met: float
    failures: tuple[Failure, ...]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """Fail if any repetition failed, then undetermined, then pass."""
        failed = [failure.verdict for failure in self.failures]
        return conclude([*failed, *[Verdict.PASS] * self.repetitions])


@dataclass(frozen=True, slots=True)
class ContestReport:
    """All contests of a run, and the command that repeats each that did not pass.

    `unexplained` are the rounds that no order explains, each with the name of its contest.
    """

    profile: str
    seed: int
    results: tuple[ContestResult, ...]
    seconds: float
    unexplained: tuple[tuple[str, JudgedHistory], ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Fail if any contest failed, then undetermined, then pass."""
        return conclude([result.verdict for result in self.results])

    def repeat(self, name: str) -> str:
        """Return the command that runs one contest of this run again."""
        options = ["--contest", name, "--profile", self.profile, "--seed", str(self.seed)]
        return shlex.join(["admit-one", "race", *options])


def select_contests(names: Sequence[str] | None) -> tuple[Contest, ...]:
    """Return the contests with these names, all without names; `LookupError` for an unknown one."""
    known = {contest.name: contest for contest in CONTESTS}
    for name in names or ():
        if name not in known:
            raise LookupError(f"no contest {name!r}; there are {', '.join(known)}")
    return CONTESTS if names is None else tuple(known[name] for name in names)


def run_contests(
    profile: str,
    *,
    seed: int,
    names: Sequence[str] | None = None,
    changes: Sequence[Change] = (),
    limit_seconds: float = LIMIT_SECONDS,
    progress: Callable[[int], None] = lambda _repetitions: None,
) -> ContestReport:
    """Repeat each contest as often as the profile says, on workers that are started once.

    `changes` are made in the workers' copies of the implementation. A contest ends at its third
    failure, and at the first worker that is lost. `progress` is told the repetitions done.
    """
    started = time.perf_counter()
    done = 0
    unexplained: list[tuple[str, JudgedHistory]] = []

    def count() -> None:
        nonlocal done
        done += 1
        progress(done)

    with Pool(changes=changes, limit_seconds=limit_seconds) as pool:
        results = tuple(
            _repeat(pool, contest, REPETITIONS[profile], seed, count, unexplained=unexplained)
            for contest in select_contests(names)
        )
    seconds = time.perf_counter() - started
    return ContestReport(profile, seed, results, seconds, tuple(unexplained))


def _repeat(
    pool: Pool,
    contest: Contest,
    repetitions: int,
    seed: int,
    count: Callable[[], None],
    *,
    unexplained: list[tuple[str, JudgedHistory]],
) -> ContestResult:
    """Repeat a contest; the rounds that no order explains are added to `unexplained`."""
    started = time.perf_counter()
    tallies: Counter[str] = Counter()
    orders: set[tuple[tuple[str, str], ...]] = set()
    failures: list[Failure] = []
    met = (0, 0)
    played = 0
    for repetition in range(repetitions):
        lot = random.Random(f"{seed} {contest.name} {repetition}")
        try:
            shown = play(pool, contest, lot, keeps_open=bool(repetition % 2))
        except WorkerLost as lost:
            verdict = Verdict.UNDETERMINED if lost.has_hung else Verdict.FAIL
            failures.append(Failure(verdict, repetition, str(lost)))
            break
        played += 1
        met = (met[0] + shown.met[0], met[1] + shown.met[1])
        tallies[" / ".join(describe_tally(answers) for answers in shown.answers)] += 1
        orders.add(tuple((each.process, repr(each.action)) for each in shown.changing))
        if shown.failure is not None:
            failures.append(replace(shown.failure, repetition=repetition))
        if shown.unexplained is not None:
            unexplained.append((contest.name, shown.unexplained))
        count()
        if len(failures) == SHOWN_FAILURES:
            break
    return ContestResult(
        name=contest.name,
        claim=contest.claim,
        repetitions=played,
        tallies=dict(sorted(tallies.items())),
        winners=len({frozenset(order) for order in orders}),
        orders=len(orders),
        met=met[0] / max(1, met[1]),
        failures=tuple(failures),
        seconds=time.perf_counter() - started,
    )


def describe_tally(answers: Mapping[str, Any]) -> str:
    """Return how often each outcome came: "2 accepted, 10 tenant_full"."""
    counts = Counter(outcome_name(outcome) for outcome in answers.values())
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items())) or "nobody"


def play(pool: Pool, contest: Contest, lot: random.Random, *, keeps_open: bool) -> Played:
    """Run a contest once, in a folder of its own; `WorkerLost` brings everybody's last words."""
    with scratch_folder() as folder, pool.borrow(len(contest.workers) + 1) as borrowed:
        observer, *others = borrowed
        parts = list(contest.workers)
        lot.shuffle(parts)
        team = dict(zip(parts, others, strict=True))
        game = _Game(contest, observer, team, folder, lot, lot.choice(EAGERNESS))
        try:
            return game.play(keeps_open=keeps_open and contest.is_on_open_stores)
        except WorkerLost as lost:
            if lost.has_hung:
                _wait_for_last_words(others)
            words = "\n  ".join(worker.last_words() for worker in borrowed)
            raise WorkerLost(f"{lost}\n  all workers:\n  {words}", has_hung=lost.has_hung) from lost


def _have_met(left: Operation, right: Operation) -> bool:
    """Tell whether two calls were under way at the same time."""
    if left.returned is None or right.returned is None:
        return True
    return left.called < right.returned and right.called < left.returned


def _wait_for_last_words(workers: Sequence[WorkerProcess]) -> None:
    """Let the workers reach their own limits, all of them together within a second."""
    deadline = time.monotonic() + LAST_WORDS_SECONDS
    for worker in workers:
        worker.wait_for_last_words(max(0.0, deadline - time.monotonic()))


@dataclass(slots=True)
class _Game:
    """One repetition under way; the model's state goes along with what is observed."""

    contest: Contest
    observer: WorkerProcess
    team: Mapping[str, WorkerProcess]
    folder: Path
    lot: random.Random
    eagerness: float
    answers: list[Mapping[str, Any]] = field(default_factory=list)
    history: list[str] = field(default_factory=list)
    changing: list[Operation] = field(default_factory=list)
    met: tuple[int, int] = (0, 0)
    unexplained: JudgedHistory | None = None

    def play(self, *, keeps_open: bool) -> Played:
        """Set the store up, run the rounds, and judge each as soon as all have answered."""
        contest = self.contest
        self.observer.tell(Enlist(contest.machine, contest.cast, self.folder))
        state, failure = self._set_up()
        for name, worker in self.team.items():
            cast = Cast(
                contest.cast.ledgers, tuple(w for w in contest.cast.workers if w[0] == name)
            )
            worker.tell(Enlist(contest.machine, cast, self.folder, keeps_open=keeps_open))
        snapshot = None
        for number, plan in enumerate(contest.rounds):
            if failure is not None:
                break
            operations = self._release(plan(self.answers))
            seen = self._observe()
            failure = self._judge(number, state, operations, seen)
            if isinstance(seen, Seen):
                state, snapshot = seen.state, seen.snapshot
        for worker in (self.observer, *self.team.values()):
            worker.leave()
        return Played(
            answers=tuple(self.answers),
            state=state,
            snapshot=snapshot,
            changing=tuple(self.changing),
            met=self.met,
            failure=failure,
            unexplained=self.unexplained,
        )

    def _set_up(self) -> tuple[Any, Failure | None]:
        """Bring the store into the state in which the contest begins."""
        state = self.contest.initial
        for action in self.contest.setup:
            state, expected = MACHINES[self.contest.machine].step(state, action)
            found = self.observer.call(Call(action))
            self.history.append(f"set-up: {action} → {outcome_name(found)}")
            if found != expected:
                problem = f"set-up: {action} must answer {expected}, not {outcome_name(found)}"
                return state, self._fail(problem, found)
        return state, None

    def _release(self, actions: Mapping[str, Any]) -> list[Operation]:
        """Have everybody say READY, release them together, and collect their answers."""
        for name, action in actions.items():
            manner = Manner(self.lot.randrange(2**32), self.lot.random() < self.eagerness)
            self.team[name].tell(Call(action, is_gated=True, manner=manner))
        for name in actions:
            self.team[name].expect(READY)
        released = [name for name in self.team if name in actions]  # as the lot has dealt them
        for name in released:
            self.team[name].release()
        said = {name: self.team[name].hear() for name in actions}
        return [
            Operation(name, action, said[name].outcome, said[name].called, said[name].returned)
            if isinstance(said[name], Answered)
            else Operation(name, action, said[name], 0, 0)
            for name, action in actions.items()
        ]

    def _observe(self) -> Seen | Raised:
        """Read the durable state, and what each worker has in its hands."""
        seen = self.observer.look()
        if isinstance(seen, Raised) or self.contest.machine == "admission":
            return seen
        hands = []
        for name in self.contest.workers:
            looked = self.team[name].look()
            if isinstance(looked, Raised):
                return looked
            hands += looked.state.workers
        return replace(seen, state=replace(seen.state, workers=tuple(hands)))

    def _judge(
        self, number: int, before: Any, operations: Sequence[Operation], seen: Seen | Raised
    ) -> Failure | None:
        """Return what is wrong with a round, None if some order of the model explains all of it."""
        self.answers.append({each.process: each.outcome for each in operations})
        pairs = [_have_met(*pair) for pair in itertools.combinations(operations, 2)]
        self.met = (self.met[0] + sum(pairs), self.met[1] + len(pairs))
        history = make_history(self.contest.machine, list(operations))
        self.history += [f"round {number + 1}, released together:", *format_timeline(history)]
        for each in operations:
            if isinstance(each.outcome, Raised):
                problem = f"{each.process} {each.action} {each.outcome.kind}"
                return self._fail(problem, each.outcome)
        if isinstance(seen, Raised):
            return self._fail(f"the state can't be read: {seen.kind}", seen)
        machine = MACHINES[self.contest.machine]
        explanation = explain(machine, before, history, seen.state)
        if explanation.verdict is not Verdict.PASS:
            return self._fail_unexplained(history, explanation)
        self.changing += explanation.changing
        expected = machine.snapshot(seen.state)
        if seen.snapshot != expected:
            return self._fail(f"the snapshot is {seen.snapshot}, the state gives {expected}")
        counts = Counter(outcome_name(outcome) for outcome in self.answers[-1].values())
        if counts not in self.contest.tallies[number]:
            allowed = " or ".join(str(dict(tally)) for tally in self.contest.tallies[number])
            return self._fail(f"the outcomes are {dict(counts)}; allowed: {allowed}")
        return None

    def _fail_unexplained(self, history: History, explanation: Explanation) -> Failure:
        self.unexplained = JudgedHistory(history, explanation.judged, is_whole=False)
        is_failure = explanation.verdict is Verdict.FAIL
        return Failure(
            explanation.verdict,
            0,
            "no order of the model's steps explains the answers and the state"
            if is_failure
            else "the search for an order gave up",
            tuple(self.history),
            (
                *(f"{each.process} {each.action} → {each.outcome}" for each in explanation.order),
                *(f"but {mismatch}" for mismatch in explanation.mismatches),
            ),
        )

    def _fail(self, problem: str, raised: Any = None) -> Failure:
        error = (raised.trace.strip().splitlines()[-1],) if isinstance(raised, Raised) else ()
        return Failure(Verdict.FAIL, 0, problem, tuple(self.history), error)
