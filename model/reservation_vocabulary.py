"""The words of the dispatch budget: actions, outcomes, state, and what is derived from a state.

The first part of the specification; `model.reservation` has the steps.
"""

from dataclasses import dataclass, field, replace
from typing import ClassVar

from model.machine import Value, Word

# ── Vocabulary ────────────────────────────────────────────────────────────────────────────


class Safety(Word):
    """What the receiver promises of a repeated call."""

    IDEMPOTENT = "idempotent"
    NON_IDEMPOTENT = "non_idempotent"


IDEMPOTENT, NON_IDEMPOTENT = Safety


@dataclass(frozen=True, slots=True)
class Permit(Value):
    """The right to one call, handed out by the commit of its reservation."""

    ledger: str
    intent_id: str
    seq: int
    payload: str
    safety: Safety


@dataclass(frozen=True, slots=True)
class Receipt(Value):
    """The receiver's word that it did the business: `ticket` is the number of the effect."""

    intent_id: str
    payload: str
    ticket: int


@dataclass(frozen=True, slots=True)
class InitLedger(Value):
    """Create a ledger under a name, or accept one that has it; `ledger` is the file."""

    ledger: str
    name: str


@dataclass(frozen=True, slots=True)
class InitReceiver(Value):
    """Create the receiver, or accept an existing one."""


@dataclass(frozen=True, slots=True)
class OpenIntent(Value):
    """Write an intent into a ledger, with the most reservations that it may ever get (B1)."""

    ledger: str
    intent_id: str
    payload: str
    safety: Safety
    cap: int


@dataclass(frozen=True, slots=True)
class Reserve(Value):
    """A worker asks its ledger for the right to one more call (B2)."""

    worker: str
    intent_id: str


@dataclass(frozen=True, slots=True)
class Enter(Value):
    """A worker enters the receiver with a permit: its call is logged (B4, B5)."""

    worker: str
    intent_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Perform(Value):
    """The receiver does the business of a call that has entered (B5)."""

    worker: str
    intent_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Send(Value):
    """A worker sends a permit: `Enter`, then `Perform`, with nothing in between."""

    worker: str
    intent_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Confirm(Value):
    """Somebody brings a receipt to a ledger, for one of its reservations (B6)."""

    ledger: str
    intent_id: str
    seq: int
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class Attempt(Value):
    """A worker runs reserve, send and confirm (B12).

    `meanwhile` is what another process does between the receiver's answer and the confirmation.
    """

    worker: str
    intent_id: str
    meanwhile: Confirm | None = None


@dataclass(frozen=True, slots=True)
class Crash(Value):
    """A worker's process dies; a new one takes its place, with empty hands (B11)."""

    worker: str


Action = (
    InitLedger
    | InitReceiver
    | OpenIntent
    | Reserve
    | Enter
    | Perform
    | Send
    | Confirm
    | Attempt
    | Crash
)


class Answer(Word):
    """The outcomes that carry no value; what stands below each is shown to learners."""

    READY = "ready"
    """The ledger exists under this name, or the receiver exists."""
    OPENED = "opened"
    """The intent is new, and is in the ledger now."""
    UNCHANGED = "unchanged"
    """The intent was there before, with these values."""
    CONFLICT = "conflict"
    """The id is known, with other values."""
    CONFIRMED = "confirmed"
    """The business is done, and the receipt is in the ledger."""
    UNKNOWN = "unknown_requires_reconciliation"
    """A call was made or not, nobody knows, and it must not be made twice."""
    EXHAUSTED = "budget_exhausted"
    """Every unit of the cap is spent."""
    ENTERED = "entered"
    """The call is in the receiver's log."""
    ALREADY_CONFIRMED = "already_confirmed"
    """This receipt was stored before."""
    REJECTED = "rejected"
    """The receipt does not fit the intent, or another one is stored."""
    CRASHED = "crashed"
    """The process is gone, and its permits with it."""
    STORE_MISSING = "store_missing"
    """Nobody has created the ledger, or the receiver."""
    LEDGER_MISMATCH = "ledger_mismatch"
    """The ledger exists, under another name."""
    UNKNOWN_INTENT = "unknown_intent"
    """The ledger has no such intent."""
    PERMIT_USED = "permit_used"
    """The permit was sent before."""
    NOT_HELD = "not_held"
    """No process can take this step: the worker has no such permit, or no such call under way.
    It makes the steps total; no scope offers it."""


@dataclass(frozen=True, slots=True)
class Reserved(Value):
    """The reservation is committed, and this is the permit."""

    permit: Permit
    kind: ClassVar[str] = "reserved"


@dataclass(frozen=True, slots=True)
class Received(Value):
    """The receiver did the business, now or for an earlier call."""

    receipt: Receipt
    kind: ClassVar[str] = "received"


@dataclass(frozen=True, slots=True)
class Confirmed(Value):
    """An attempt ended with a confirmed intent, and this is the stored receipt."""

    receipt: Receipt
    kind: ClassVar[str] = "confirmed"


Outcome = Answer | Reserved | Received | Confirmed

ERRORS = frozenset(
    {
        Answer.STORE_MISSING,
        Answer.LEDGER_MISMATCH,
        Answer.UNKNOWN_INTENT,
        Answer.PERMIT_USED,
        Answer.NOT_HELD,
    }
)
"""Outcomes that an implementation raises as exceptions; they change nothing."""

# ── State ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Reservation(Value):
    """One numbered unit of the budget, spent for ever (B3)."""

    seq: int
    is_acknowledged: bool = False


@dataclass(frozen=True, slots=True)
class Intent(Value):
    """What is to be done at the receiver, and how often it may be tried.

    `spent` and the rows of `reservations` are kept apart, so that a wrong one shows.
    """

    intent_id: str
    payload: str
    safety: Safety
    cap: int
    spent: int = 0
    receipt: Receipt | None = None
    reservations: tuple[Reservation, ...] = ()


@dataclass(frozen=True, slots=True)
class Ledger(Value):
    """A sender's durable book.

    `name` is None while the file is absent; `intents` stand in the order of their ids.
    """

    file: str
    name: str | None = None
    intents: tuple[Intent, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Call(Value):
    """One entry at the receiver: an instrument, which nothing reads to decide anything (B5)."""

    ledger: str
    intent_id: str
    seq: int


@dataclass(frozen=True, slots=True)
class Identity(Value):
    """What the receiver keeps of an id's first call; no payload under `non_idempotent`."""

    intent_id: str
    safety: Safety
    payload: str | None


@dataclass(frozen=True, slots=True)
class Effect(Value):
    """One business row at the receiver; `ticket` counts them from 1."""

    ticket: int
    intent_id: str
    payload: str


@dataclass(frozen=True, slots=True)
class Receiver(Value):
    """The other side: `calls` are sorted (a bag), `identities` by id, `effects` by ticket."""

    exists: bool = False
    calls: tuple[Call, ...] = ()
    identities: tuple[Identity, ...] = ()
    effects: tuple[Effect, ...] = ()


class Stage(Word):
    """What has become of a permit in a worker's hand."""

    FRESH = "fresh"
    ENTERED = "entered"
    USED = "used"


@dataclass(frozen=True, slots=True)
class Held(Value):
    """A permit in a worker's hand: fresh, in a call under way, or used."""

    permit: Permit
    stage: Stage = Stage.FRESH


@dataclass(frozen=True, slots=True)
class Worker(Value):
    """A process that works for one ledger; its hand is volatile, in the order of reserving."""

    name: str
    ledger: str
    hand: tuple[Held, ...] = ()


@dataclass(frozen=True, slots=True)
class State(Value):
    """All ledgers, the receiver, and the workers with what they have in their hands."""

    ledgers: tuple[Ledger, ...]
    receiver: Receiver
    workers: tuple[Worker, ...] = field(default=())


# ── Derivations ───────────────────────────────────────────────────────────────────────────


def find_ledger(state: State, file: str) -> Ledger:
    """Return the ledger in this file, absent or not."""
    for ledger in state.ledgers:
        if ledger.file == file:
            return ledger
    message = f"the state has no ledger file {file!r}"
    raise LookupError(message)


def find_worker(state: State, name: str) -> Worker:
    """Return the worker with this name."""
    for worker in state.workers:
        if worker.name == name:
            return worker
    message = f"the state has no worker {name!r}"
    raise LookupError(message)


def find_intent(ledger: Ledger, intent_id: str) -> Intent | None:
    """Return the intent with this id in a ledger."""
    for intent in ledger.intents:
        if intent.intent_id == intent_id:
            return intent
    return None


def find_held(worker: Worker, intent_id: str, seq: int) -> Held | None:
    """Return the permit with this number in a worker's hand, used or not."""
    for held in worker.hand:
        if held.permit.intent_id == intent_id and held.permit.seq == seq:
            return held
    return None


def has_unacknowledged(intent: Intent) -> bool:
    """Tell whether some reservation has no acknowledgement: its call may have been made (B8)."""
    return any(not reservation.is_acknowledged for reservation in intent.reservations)


def put_ledger(state: State, ledger: Ledger) -> State:
    """Return the state with this ledger in place of the one with its file."""
    ledgers = tuple(ledger if old.file == ledger.file else old for old in state.ledgers)
    return replace(state, ledgers=ledgers)


def put_intent(state: State, file: str, intent: Intent) -> State:
    """Return the state with this intent in a ledger, new or in place of the one with its id."""
    ledger = find_ledger(state, file)
    others = tuple(old for old in ledger.intents if old.intent_id != intent.intent_id)
    intents = tuple(sorted((*others, intent), key=lambda each: each.intent_id))
    return put_ledger(state, replace(ledger, intents=intents))


def put_hand(state: State, worker: Worker, hand: tuple[Held, ...]) -> State:
    """Return the state with these permits in a worker's hand."""
    workers = tuple(
        replace(old, hand=hand) if old.name == worker.name else old for old in state.workers
    )
    return replace(state, workers=workers)


def set_stage(state: State, worker: Worker, permit: Permit, stage: Stage) -> State:
    """Return the state with a permit in a worker's hand at another stage."""
    hand = tuple(Held(permit, stage) if old.permit == permit else old for old in worker.hand)
    return put_hand(state, worker, hand)
