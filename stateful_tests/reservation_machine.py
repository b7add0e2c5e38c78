"""The rule-based machine of the dispatch budget: two ledgers, three workers, one receiver, faults.

A run begins without any store. Each worker has store objects of its own, which stay open until
they are closed or the worker dies. An error of the storage in the middle of a send makes the
worker die as well, unless nothing has changed: what it had in its hand is of no more use.

Reading hint: the rules are verbs; what they draw from is in `reservation_choices`.
"""

from collections import Counter
from dataclasses import replace
from enum import StrEnum
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from conformance.implementation import Implementation
from conformance.place import Place, Rows, dump
from conformance.sqlite_reservation import ReservationSubject
from model.reservation_scope import RESERVATION
from model.reservation_vocabulary import (
    Action,
    Answer,
    Call,
    Crash,
    Enter,
    Held,
    InitLedger,
    InitReceiver,
    Intent,
    Perform,
    Send,
    Stage,
    State,
    Worker,
    find_held,
    find_ledger,
    find_worker,
)
from stateful_tests import reservation_choices as choices
from stateful_tests.conformance_machine import ConformanceMachine, drawn
from stateful_tests.failing_program import Parted
from stateful_tests.faults import FAULT_NAMES, Busy, Fault, Full, IoError, IoErrorAtCommit, Moment
from stateful_tests.invalid_input import LEDGER_CALLS, InvalidCall, convert
from stateful_tests.machine_run import MachineReport, run_machine

RECEIVER = "receiver"
STATEMENTS_OF_A_CALL = 20
STATEMENTS_WITH_OPENING = 60
COMMITS_OF_AN_ATTEMPT = 4
IO_ERRORS = st.builds(
    IoError,
    statement=st.one_of(
        st.integers(0, STATEMENTS_OF_A_CALL), st.integers(0, STATEMENTS_WITH_OPENING)
    ),
    moment=st.sampled_from(Moment),
)
COMMIT_ERRORS = st.builds(
    IoErrorAtCommit,
    transaction=st.one_of(st.just(0), st.integers(0, COMMITS_OF_AN_ATTEMPT - 1)),
    moment=st.sampled_from(Moment),
)
PAGES = st.integers(0, 2)


class Turn(StrEnum):
    """How a run goes on with other connections; a member is what it is counted as."""

    NEW_STORES = "stores reopened"
    RESTART = "restart"
    READ_BESIDE_WRITERS = "read beside writers"


def find_files(state: State) -> list[str]:
    """Return the files that exist."""
    files = [ledger.file for ledger in state.ledgers if ledger.name is not None]
    return [*files, RECEIVER] if state.receiver.exists else files


def _choose_fault(state: State) -> st.SearchStrategy[Fault]:
    files = st.sampled_from(find_files(state))
    return st.one_of(
        st.builds(Busy, file=files),
        st.builds(Full, file=files, spare_pages=PAGES),
        COMMIT_ERRORS,
        IO_ERRORS,
    )


class ReservationMachine(ConformanceMachine):
    """SQLite sender ledgers and an SQLite receiver beside the model of the dispatch budget."""

    model = RESERVATION
    header: ClassVar[str] = (
        "from model.reservation_vocabulary import *\n"
        "from stateful_tests.faults import *\n"
        "from stateful_tests.invalid_input import InvalidCall\n"
        "from stateful_tests.reservation_machine import ReservationMachine, Turn\n"
    )
    event_names = (
        *FAULT_NAMES,
        *(how.value for how in Turn),
        "permit used by a send that failed",
        "worker died of an error",
        "invalid input",
        "invalid input to an absent store",
    )

    subject: ReservationSubject
    state: State

    def bind(self) -> None:
        """Bind ledgers, receiver and workers; no file exists."""
        self.subject = ReservationSubject(
            {file: self.make_place(file) for file in choices.LEDGER_NAMES},
            self.make_place(RECEIVER),
            choices.WORKERS,
            self.version,
            keeps_open=True,
        )
        self.state = choices.ABSENT

    @initialize(
        early=st.lists(choices.choose_any(choices.ABSENT), max_size=2),
        invalid=st.lists(st.sampled_from(LEDGER_CALLS), max_size=1),
        faults=st.lists(
            st.one_of(st.builds(Full, file=st.just("L1"), spare_pages=PAGES), COMMIT_ERRORS),
            max_size=1,
        ),
        is_receiver_late=st.sampled_from([False, False, True]),
    )
    def begin(
        self,
        early: list[Action],
        invalid: list[InvalidCall],
        faults: list[Fault],
        *,
        is_receiver_late: bool,
    ) -> None:
        """Call absent stores, then create them; the first try may meet a fault."""
        for action in early:
            self.take(action)
        for call in invalid:
            self.pass_invalid_input(call)
        for ledger in self.state.ledgers:
            action = InitLedger(ledger.file, ledger.name or choices.LEDGER_NAMES[ledger.file][0])
            for fault in faults:
                self.take_under_fault(action, fault)
            self.take(action)
        if not is_receiver_late:
            self.take(InitReceiver())

    def take(self, action: Action) -> Any:
        """Take an action on both sides; nobody can use a permit that is in no hand."""
        self._require_permit(action)
        return super().take(action)

    def take_under_fault(self, action: Action, fault: Fault) -> None:
        """Take an action that meets a fault; nobody can use a permit that is in no hand."""
        self._require_permit(action)
        super().take_under_fault(action, fault)

    def _require_permit(self, action: Action) -> None:
        if not isinstance(action, Enter | Perform | Send):
            return
        held = find_held(find_worker(self.state, action.worker), action.intent_id, action.seq)
        if held is None or (isinstance(action, Perform) and held.stage is not Stage.ENTERED):
            raise LookupError(f"{action}: {action.worker} holds no such permit, or no such call")

    # ── Actions ───────────────────────────────────────────────────────────────────────────

    @rule(action=drawn(lambda self: choices.choose_progress(self.state)))
    def advance(self, action: Action) -> None:
        """Take an action that the model knows to lead on."""
        self.take(action)

    @rule(action=drawn(lambda self: choices.choose_any(self.state)))
    def call(self, action: Action) -> None:
        """Take any action, used permits, forged receipts and other names included."""
        self.take(action)

    @precondition(lambda self: any(worker.hand for worker in self.state.workers))
    @rule(action=choices.choose_crash())
    def crash(self, action: Action) -> None:
        """Let a worker die; a new one takes its place with empty hands."""
        self.take(action)

    @precondition(lambda self: self.has_moved)
    @rule(call=st.sampled_from(LEDGER_CALLS))
    def pass_invalid_input(self, call: InvalidCall) -> None:
        """Call with an argument that is not allowed: the ledger must not even be opened."""
        place = self.subject.ledgers["L1"]
        rows = dump(place.observer())
        function = getattr(self.version.reservation, call.function)
        arguments = [convert(value, self.version) for value in call.arguments]
        self.expect_invalid_input(
            call, lambda: function(place.path, *arguments, connect=place.connect)
        )
        if dump(place.observer()) != rows:
            raise Parted("input", f"{call}: expected an untouched store")
        self.note("invalid input" if rows else "invalid input to an absent store")

    # ── Store objects, and faults ─────────────────────────────────────────────────────────

    @precondition(lambda self: self.has_moved)
    @rule(how=st.sampled_from(Turn))
    def turn(self, how: Turn) -> None:
        """Go on with other connections; or read snapshots while writers hold the locks."""
        match how:
            case Turn.NEW_STORES:
                self.subject.reopen()
            case Turn.RESTART:
                self.subject.close()
                self.compare_state()
                self.compare_snapshot()
            case Turn.READ_BESIDE_WRITERS:
                for file in find_files(self.state):
                    fault = Busy(file)
                    with self.storage.watch(fault, self.path_of(fault)):
                        self.compare_snapshot()
        self.has_moved = False
        self.note(how.value)

    @rule(
        action=drawn(lambda self: choices.choose_risk(self.state)),
        fault=drawn(lambda self: _choose_fault(self.state)),
    )
    def meet(self, action: Action, fault: Fault) -> None:
        """Take an action that meets a fault, and go on from the state that is found."""
        self.take_under_fault(action, fault)

    def durable(self, state: State) -> State:
        """Return the state with empty hands."""
        return replace(state, workers=())

    def content(self) -> Any:
        """Return the content of all files."""
        return self.subject.image()[0]

    def settle(self, action: Action, observed: State) -> State:
        """Judge the hands after an error: only the permit that was on its way may have moved."""
        expected = self.state.workers
        if isinstance(action, Enter | Perform | Send):
            self._judge_permit(action, observed)
            others = _without(observed, action)
            expected = _without(self.state, action)
        else:
            others = observed.workers
        if others != expected:
            raise Parted("hands", f"{action}: expected the hands {expected}, found {others}")
        if not isinstance(action, Enter | Perform | Send) or observed == self.state:
            return observed
        self.note("worker died of an error")
        self.subject.apply(Crash(action.worker))
        return self.subject.observe()

    def _judge_permit(self, action: Enter | Perform | Send, observed: State) -> None:
        """A permit whose call is logged must be used, and a used one must stay it (B4)."""
        held = find_held(find_worker(observed, action.worker), action.intent_id, action.seq)
        if held is None:
            raise Parted("hands", f"{action}: the permit is gone from the hand")
        call = Call(held.permit.ledger, action.intent_id, action.seq)
        if held.stage is Stage.FRESH:
            if call in observed.receiver.calls:
                text = f"{action}: the call is logged, and its permit is not used"
                raise Parted("hands", text)
            return
        again = Send(action.worker, action.intent_id, action.seq)
        found = self.subject.apply(again)
        if found is not Answer.PERMIT_USED or self.subject.observe() != observed:
            text = f"{again} after an error: expected permit_used, found {found}"
            raise Parted("hands", text)
        self.note("permit used by a send that failed")

    def compare_sums(self) -> None:
        """Compare numbers that SQL counts in the rows with the model's."""
        for file, place in self.subject.ledgers.items():
            expected: Rows = [
                (i.intent_id, i.spent, len(i.reservations), _count_acknowledged(i))
                for i in find_ledger(self.state, file).intents
            ]
            self._compare_rows(place, _SPENT, expected)
        receiver = self.state.receiver
        calls = Counter((call.ledger, call.intent_id) for call in receiver.calls)
        effects = Counter(effect.intent_id for effect in receiver.effects)
        self._compare_rows(self.subject.receiver, _CALLS, [(*k, n) for k, n in calls.items()])
        self._compare_rows(self.subject.receiver, _EFFECTS, [(k, n) for k, n in effects.items()])

    def _compare_rows(self, place: Place, sql: str, expected: Rows) -> None:
        connection = place.observer()
        if connection is None:
            return
        found = connection.execute(sql).fetchall()
        if sorted(found) != sorted(expected):
            text = f"{' '.join(sql.split())}: expected {expected}, found {found}"
            raise Parted("sums", text)


_SPENT = """
    select intent_id, spent,
           (select count(*) from reservation r where r.intent_id = i.intent_id),
           (select count(ticket) from reservation r where r.intent_id = i.intent_id)
    from intent i
"""
_CALLS = "select ledger, intent_id, count(*) from call group by ledger, intent_id"
_EFFECTS = "select intent_id, count(*) from effect group by intent_id"


def _count_acknowledged(intent: Intent) -> int:
    return sum(reservation.is_acknowledged for reservation in intent.reservations)


def _without(state: State, action: Enter | Perform | Send) -> tuple[Worker, ...]:
    """Return the workers without the permit that the action uses."""
    return tuple(
        replace(worker, hand=tuple(h for h in worker.hand if not _is_used_by(action, worker, h)))
        for worker in state.workers
    )


def _is_used_by(action: Enter | Perform | Send, worker: Worker, held: Held) -> bool:
    key = (worker.name, held.permit.intent_id, held.permit.seq)
    return key == (action.worker, action.intent_id, action.seq)


def run_reservation_machine(
    *,
    max_examples: int,
    stateful_step_count: int,
    seed: int | None,
    implementation: Implementation | None = None,
    shrinks: bool = True,
) -> MachineReport:
    """Run the machine of the dispatch budget, on the implementation in the tree or on another."""
    return run_machine(
        ReservationMachine,
        max_examples=max_examples,
        stateful_step_count=stateful_step_count,
        seed_number=seed,
        implementation=implementation,
        shrinks=shrinks,
    )
