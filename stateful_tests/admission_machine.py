"""The rule-based machine of durable admission: what is possible, what is stale, and faults.

A run begins with an absent store. Two store objects of one file stay open and take turns;
each of them, or all connections at once, may be closed and opened again at any time.

Reading hint: the rules are verbs; what they draw from is in `admission_choices`.
"""

from enum import StrEnum
from typing import ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from conformance.implementation import Implementation
from conformance.place import dump
from conformance.sqlite_admission import AdmissionSubject
from model.admission_scope import ADMISSION
from model.admission_vocabulary import (
    ABSENT,
    OUTSTANDING,
    Action,
    Init,
    Limits,
    State,
    compute_usage,
    find_record,
    move_record,
    put_record,
)
from stateful_tests import admission_choices as choices
from stateful_tests.conformance_machine import ConformanceMachine, drawn
from stateful_tests.failing_program import Parted
from stateful_tests.faults import (
    FAULT_NAMES,
    Busy,
    Fault,
    Full,
    IoError,
    IoErrorAtCommit,
    Moment,
)
from stateful_tests.invalid_input import ADMISSION_CALLS, InvalidCall, convert
from stateful_tests.machine_run import MachineReport, run_machine

FILE = "admission"
STATEMENTS_WITH_OPENING = 26
IO_ERRORS = st.builds(
    IoError,
    statement=st.integers(0, STATEMENTS_WITH_OPENING),
    moment=st.sampled_from(Moment),
)
COMMIT_ERRORS = st.builds(IoErrorAtCommit, moment=st.sampled_from(Moment))
FULL_DISKS = st.builds(Full, file=st.just(FILE), spare_pages=st.integers(0, 2))
FAULTS = st.one_of(st.just(Busy(FILE)), FULL_DISKS, COMMIT_ERRORS, IO_ERRORS)


class Turn(StrEnum):
    """How a run goes on with other connections; a member is what it is counted as."""

    OTHER_STORE = "second store object"
    NEW_STORE = "store reopened"
    RESTART = "restart"
    READ_BESIDE_A_WRITER = "read beside a writer"


class AdmissionMachine(ConformanceMachine):
    """The SQLite admission store beside the model of durable admission."""

    model = ADMISSION
    header: ClassVar[str] = (
        "from model.admission_vocabulary import *\n"
        "from stateful_tests.admission_machine import AdmissionMachine, Turn\n"
        "from stateful_tests.faults import *\n"
        "from stateful_tests.invalid_input import InvalidCall\n"
    )
    event_names = (
        *FAULT_NAMES,
        *(how.value for how in Turn),
        "aged record",
        "invalid input",
        "invalid input to an absent store",
    )
    unreachable: ClassVar = {
        "tick ticked": "no action of the protocol; the clock moves by the tick of each action",
    }

    state: State

    def bind(self) -> None:
        """Bind two store objects to one file."""
        self.place = self.make_place(FILE)
        self.subject, self.other = (
            AdmissionSubject(self.place, self.version, keeps_open=True) for _ in range(2)
        )
        self.state = ABSENT
        self.is_aged = False

    @initialize(
        early=st.lists(choices.choose_any(ABSENT), max_size=2),
        invalid=st.lists(st.sampled_from(ADMISSION_CALLS), max_size=1),
        faults=st.lists(st.one_of(FULL_DISKS, COMMIT_ERRORS, IO_ERRORS), max_size=1),
        limits=choices.choose_limits(),
    )
    def begin(
        self, early: list[Action], invalid: list[InvalidCall], faults: list[Fault], limits: Limits
    ) -> None:
        """Call an absent store, then create it; the first try may meet a fault."""
        for action in early:
            self.take(action)
        for call in invalid:
            self.pass_invalid_input(call)
        for fault in faults:
            self.take_under_fault(Init(limits), fault)
        self.take(Init(limits))

    # ── Actions ───────────────────────────────────────────────────────────────────────────

    @rule(action=drawn(lambda self: choices.choose_progress(self.state)))
    def advance(self, action: Action) -> None:
        """Take an action that the model knows to lead on."""
        self.take(action)

    @rule(action=drawn(lambda self: choices.choose_any(self.state)))
    def call(self, action: Action) -> None:
        """Take any action, stale tokens, wrong ticks and too large payloads included."""
        self.take(action)

    @precondition(lambda self: bool(not self.is_aged and self.state.effects))
    @precondition(lambda self: bool(_find_outstanding(self.state)))
    @rule(
        request_id=drawn(lambda self: st.sampled_from(_find_outstanding(self.state))),
        generation=st.sampled_from(choices.LAST_GENERATIONS),
    )
    def age(self, request_id: str, generation: int) -> None:
        """Give a record a generation as if it had been claimed and redriven for ages."""
        record = find_record(self.state, request_id)
        connection = self.place.observer()
        if record is None or connection is None:
            raise LookupError(f"there is no record {request_id!r} to age")
        connection.execute(
            "update task set generation = ? where request_id = ?", (generation, request_id)
        )
        old = move_record(record, record.state, generation=generation, lease=record.lease)
        self.state = put_record(self.state, old)
        self.is_aged = True
        self.note("aged record")

    @precondition(lambda self: self.has_moved)
    @rule(call=st.sampled_from(ADMISSION_CALLS))
    def pass_invalid_input(self, call: InvalidCall) -> None:
        """Call with an argument that is not allowed: the store must not even be opened."""
        rows = dump(self.place.observer())
        function = getattr(self.version.admission, call.function)
        arguments = [convert(value, self.version) for value in call.arguments]
        self.expect_invalid_input(
            call, lambda: function(self.place.path, *arguments, connect=self.place.connect)
        )
        if dump(self.place.observer()) != rows:
            raise Parted("input", f"{call}: expected an untouched store")
        self.note("invalid input" if rows else "invalid input to an absent store")

    # ── Store objects, and faults ─────────────────────────────────────────────────────────

    @precondition(lambda self: self.has_moved)
    @rule(how=st.sampled_from(Turn))
    def turn(self, how: Turn) -> None:
        """Go on with other connections; or read a snapshot while a writer holds the lock."""
        match how:
            case Turn.OTHER_STORE:
                self.subject, self.other = self.other, self.subject
            case Turn.NEW_STORE:
                self.subject.reopen()
            case Turn.RESTART:
                self.other.close()
                self.subject.close()
                self.compare_state()
                self.compare_snapshot()
            case Turn.READ_BESIDE_A_WRITER:
                with self.storage.watch(Busy(FILE), self.place.path):
                    self.compare_snapshot()
        self.has_moved = False
        self.note(how.value)

    @rule(action=drawn(lambda self: choices.choose_risk(self.state)), fault=FAULTS)
    def meet(self, action: Action, fault: Fault) -> None:
        """Take an action that meets a fault, and go on from the state that is found."""
        self.take_under_fault(action, fault)

    def compare_sums(self) -> None:
        """Compare count and bytes of the outstanding work, added up by SQL, with the model's."""
        connection = self.place.observer()
        if connection is None:
            return
        rows = connection.execute(_OUTSTANDING).fetchall()
        found = {tenant: (count, size_bytes) for tenant, count, size_bytes in rows}
        records = self.state.records
        tenants = {record.tenant for record in records if record.state in OUTSTANDING}
        expected = {tenant: compute_usage(records, tenant) for tenant in tenants}
        if found != expected:
            text = f"outstanding work by tenant: expected {expected}, found {found}"
            raise Parted("sums", text)


_OUTSTANDING = """
    select cast(i.tenant as text), count(*), sum(length(i.payload))
    from intent i join task t on t.request_id = i.request_id
    where t.state not in ('done', 'cancelled')
    group by i.tenant
"""


def _find_outstanding(state: State) -> list[str]:
    return [record.request_id for record in state.records if record.state in OUTSTANDING]


def run_admission_machine(
    *,
    max_examples: int,
    stateful_step_count: int,
    seed: int | None,
    implementation: Implementation | None = None,
    shrinks: bool = True,
) -> MachineReport:
    """Run the machine of durable admission, on the implementation in the tree or on another."""
    return run_machine(
        AdmissionMachine,
        max_examples=max_examples,
        stateful_step_count=stateful_step_count,
        seed_number=seed,
        implementation=implementation,
        shrinks=shrinks,
    )
