"""Durable admission: accept work only while a budget of outstanding work allows it.

The specification of section A of `docs/protocols.md`; the numbers A1 … A18 are its rules.
Read it from top to bottom: vocabulary, state, derivations, steps, invariants, step
properties, witnesses.

Not modelled: time (the clock is an integer that callers bring along), storage and its
errors (an error of the storage is never an outcome), who may call, input that A16 forbids
(it never reaches a step), and the order in which waiting callers get the store.

The order of the guards in a step is part of the specification.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import ClassVar

LEASE_TICKS = 5
GENERATION_MAX = 10**9
EFFECT_VALUE = "synthetic-completed"

# ── Vocabulary ────────────────────────────────────────────────────────────────────────────


class RecordState(StrEnum):
    """Where a record stands; the first three are outstanding, the last two terminal."""

    QUEUED = "queued"
    INFLIGHT = "inflight"
    QUARANTINED = "quarantined"
    DONE = "done"
    CANCELLED = "cancelled"


QUEUED, INFLIGHT, QUARANTINED, DONE, CANCELLED = RecordState
OUTSTANDING = frozenset({QUEUED, INFLIGHT, QUARANTINED})
TERMINAL = frozenset({DONE, CANCELLED})


@dataclass(frozen=True, slots=True)
class Limits:
    """The budget, stored when the store is created; the defaults can be checked by hand."""

    global_slots: int = 4
    global_bytes: int = 256
    tenant_slots: int = 2
    tenant_bytes: int = 128
    item_bytes: int = 96


@dataclass(frozen=True, slots=True)
class Token:
    """The right to finish one claim: a record's id, and the generation of that claim."""

    request_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class Init:
    """Create the store with these limits, or accept one that has them (A1)."""

    limits: Limits = Limits()  # noqa: RUF009 - frozen, so it can be shared


@dataclass(frozen=True, slots=True)
class Admit:
    """Ask for a piece of work to be accepted (A2 … A6)."""

    request_id: str
    tenant: str
    payload: str


@dataclass(frozen=True, slots=True)
class Claim:
    """Ask for the next piece of work (A8)."""

    now: int


@dataclass(frozen=True, slots=True)
class Resolve:
    """Report a claimed piece of work as finished (A10)."""

    token: Token
    now: int


@dataclass(frozen=True, slots=True)
class Quarantine:
    """Set a claimed piece of work aside (A11)."""

    token: Token
    now: int


@dataclass(frozen=True, slots=True)
class Redrive:
    """Put a quarantined piece of work back in the queue (A12)."""

    request_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class CancelUnstarted:
    """Withdraw a piece of work that nobody has claimed yet (A13)."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Tick:
    """Move the clock by one: for scopes of the model alone, no action of the protocol."""


Action = Init | Admit | Claim | Resolve | Quarantine | Redrive | CancelUnstarted | Tick


class Answer(StrEnum):
    """The outcomes that carry no value."""

    READY = "ready"
    ACCEPTED = "accepted"
    REPLAY = "replay"
    CONFLICT = "conflict"
    OVERSIZE = "oversize"
    GLOBAL_FULL = "global_full"
    TENANT_FULL = "tenant_full"
    NOTHING_DUE = "nothing_due"
    DONE = "done"
    QUARANTINED = "quarantined"
    QUEUED = "queued"
    CANCELLED = "cancelled"
    STALE = "stale"
    NOT_CANCELLED = "not_cancelled"
    TICKED = "ticked"
    STORE_MISSING = "store_missing"
    LIMITS_MISMATCH = "limits_mismatch"
    CLOCK_REGRESSION = "clock_regression"
    GENERATION_EXHAUSTED = "generation_exhausted"


@dataclass(frozen=True, slots=True)
class Claimed:
    """A record was handed out; the token is the only current one for it."""

    token: Token
    kind: ClassVar[str] = "claimed"


Outcome = Answer | Claimed

ERRORS = frozenset(
    {
        Answer.STORE_MISSING,
        Answer.LIMITS_MISMATCH,
        Answer.CLOCK_REGRESSION,
        Answer.GENERATION_EXHAUSTED,
    }
)
"""Outcomes that an implementation raises as exceptions; they change nothing, the clock included."""

BINDS_NOTHING = frozenset(
    {
        Answer.REPLAY,
        Answer.CONFLICT,
        Answer.OVERSIZE,
        Answer.GLOBAL_FULL,
        Answer.TENANT_FULL,
        Answer.NOT_CANCELLED,
    }
)
"""Refusals after which the whole store is what it was (A3); redrive's `stale` is one more."""

# ── State ─────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Record:
    """An accepted piece of work; it stays for ever (A14, A17)."""

    request_id: str
    tenant: str
    payload: str = field(hash=False)  # not hashed: three fields tell nearly all records apart
    size_bytes: int = field(hash=False)
    sequence: int = field(hash=False)
    state: RecordState
    generation: int
    lease: int | None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a finished piece of work left behind, exactly once."""

    sequence: int
    request_id: str
    value: str = EFFECT_VALUE


@dataclass(frozen=True, slots=True)
class State:
    """The whole durable state; `limits` is None while the store is absent.

    `records` stand in the order of admission, `effects` by the sequence number of their record.
    """

    limits: Limits | None = field(hash=False)
    clock: int = 0
    records: tuple[Record, ...] = ()
    effects: tuple[Effect, ...] = field(default=(), hash=False)
    lease_ticks: int = field(default=LEASE_TICKS, hash=False)


ABSENT = State(limits=None)

# ── Derivations ───────────────────────────────────────────────────────────────────────────


def find_record(state: State, request_id: str) -> Record | None:
    """Return the record with this id, terminal ones included (A14)."""
    for record in state.records:
        if record.request_id == request_id:
            return record
    return None


def compute_usage(records: Iterable[Record], tenant: str | None = None) -> tuple[int, int]:
    """Return count and bytes of the outstanding records, of one tenant or of all (A4, A7)."""
    count = size_bytes = 0
    for record in records:
        if record.state in OUTSTANDING and tenant in (None, record.tenant):
            count += 1
            size_bytes += record.size_bytes
    return count, size_bytes


def is_due(record: Record, now: int) -> bool:
    """Tell whether a claim may hand this record out: queued, or its lease has expired (A8)."""
    if record.state is INFLIGHT:
        return record.lease is not None and record.lease <= now
    return record.state is QUEUED


def find_due(state: State, now: int) -> Record | None:
    """Return the record that a claim hands out: the lowest sequence number that is due (A8)."""
    for record in state.records:
        if is_due(record, now):
            return record
    return None


def find_held(state: State, token: Token, now: int) -> Record | None:
    """Return the record that this token still holds: inflight, same generation, lease running."""
    record = find_record(state, token.request_id)
    if record is None or record.state is not INFLIGHT:
        return None
    if record.generation != token.generation:
        return None
    if record.lease is None or record.lease <= now:
        return None
    return record


def set_clock(state: State, now: int) -> State:
    """Return the state with its clock at `now`."""
    return state if now == state.clock else replace(state, clock=now)


def put_record(state: State, record: Record) -> State:
    """Return the state with this record in place of the earlier one with its sequence number."""
    index = record.sequence - 1
    records = (*state.records[:index], record, *state.records[index + 1 :])
    return replace(state, records=records)


def snapshot(state: State) -> dict[str, object]:
    """Return what a reader sees of an existing store (A15): plain values, as JSON has them."""
    tenants = dict.fromkeys(r.tenant for r in state.records if r.state in OUTSTANDING)
    limits = state.limits or Limits()
    return {
        "limits": {name: getattr(limits, name) for name in Limits.__dataclass_fields__},
        "usage": list(compute_usage(state.records)),
        "tenants": {tenant: list(compute_usage(state.records, tenant)) for tenant in tenants},
        "clock": state.clock,
        "records": [
            {
                "request_id": r.request_id,
                "tenant": r.tenant,
                "payload": r.payload,
                "size": r.size_bytes,
                "sequence": r.sequence,
                "state": str(r.state),
                "generation": r.generation,
                "lease": r.lease,
            }
            for r in state.records
        ],
        "effects": [
            {"request_id": e.request_id, "sequence": e.sequence, "value": e.value}
            for e in state.effects
        ],
    }


# ── Steps ─────────────────────────────────────────────────────────────────────────────────


def init(state: State, action: Init) -> tuple[State, Outcome]:
    """Create the store, or accept an existing one whose limits are equal (A1)."""
    if state.limits is None:
        return replace(state, limits=action.limits), Answer.READY
    if state.limits != action.limits:
        return state, Answer.LIMITS_MISMATCH
    return state, Answer.READY


def admit(state: State, action: Admit) -> tuple[State, Outcome]:
    """Accept work if it is new and the budget has room for it: identity first (A2 … A6)."""
    limits = state.limits
    if limits is None:
        return state, Answer.STORE_MISSING
    known = find_record(state, action.request_id)
    if known is not None:  # at full capacity too, and in every state of the record
        if known.tenant == action.tenant and known.payload == action.payload:
            return state, Answer.REPLAY
        return state, Answer.CONFLICT
    size_bytes = len(action.payload.encode())  # bytes, not characters (A5)
    if size_bytes > limits.item_bytes:
        return state, Answer.OVERSIZE
    count, used_bytes = compute_usage(state.records)
    if count + 1 > limits.global_slots or used_bytes + size_bytes > limits.global_bytes:
        return state, Answer.GLOBAL_FULL
    count, used_bytes = compute_usage(state.records, action.tenant)
    if count + 1 > limits.tenant_slots or used_bytes + size_bytes > limits.tenant_bytes:
        return state, Answer.TENANT_FULL
    record = Record(
        request_id=action.request_id,
        tenant=action.tenant,
        payload=action.payload,
        size_bytes=size_bytes,
        sequence=len(state.records) + 1,
        state=QUEUED,
        generation=0,
        lease=None,
    )
    return replace(state, records=(*state.records, record)), Answer.ACCEPTED


def claim(state: State, action: Claim) -> tuple[State, Outcome]:
    """Hand out the first record that is due, under a new generation and a new lease (A8)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    if action.now < state.clock:
        return state, Answer.CLOCK_REGRESSION
    due = find_due(state, action.now)
    if due is None:
        return set_clock(state, action.now), Answer.NOTHING_DUE
    if due.generation == GENERATION_MAX:  # claim doesn't skip it (A16)
        return state, Answer.GENERATION_EXHAUSTED
    claimed = replace(
        due,
        state=INFLIGHT,
        generation=due.generation + 1,
        lease=action.now + state.lease_ticks,
    )
    token = Token(claimed.request_id, claimed.generation)
    return put_record(set_clock(state, action.now), claimed), Claimed(token)


def resolve(state: State, action: Resolve) -> tuple[State, Outcome]:
    """Finish a record that the token still holds: the effect and the state in one step (A10)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    if action.now < state.clock:
        return state, Answer.CLOCK_REGRESSION
    held = find_held(state, action.token, action.now)
    state = set_clock(state, action.now)  # whatever the outcome (A9)
    if held is None:
        return state, Answer.STALE
    effect = Effect(held.sequence, held.request_id)
    effects = tuple(sorted((*state.effects, effect), key=lambda each: each.sequence))
    done = replace(held, state=DONE, lease=None)
    return put_record(replace(state, effects=effects), done), Answer.DONE


def quarantine(state: State, action: Quarantine) -> tuple[State, Outcome]:
    """Set a record aside that the token still holds; it keeps its charge (A11, A7)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    if action.now < state.clock:
        return state, Answer.CLOCK_REGRESSION
    held = find_held(state, action.token, action.now)
    state = set_clock(state, action.now)
    if held is None:
        return state, Answer.STALE
    return put_record(state, replace(held, state=QUARANTINED, lease=None)), Answer.QUARANTINED


def redrive(state: State, action: Redrive) -> tuple[State, Outcome]:
    """Queue a quarantined record again under a new generation; no charge, no refusal (A12)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    record = find_record(state, action.request_id)
    if record is None or record.state is not QUARANTINED:
        return state, Answer.STALE
    if record.generation != action.generation:
        return state, Answer.STALE
    if record.generation == GENERATION_MAX:
        return state, Answer.GENERATION_EXHAUSTED
    queued = replace(record, state=QUEUED, generation=record.generation + 1)
    return put_record(state, queued), Answer.QUEUED


def cancel_unstarted(state: State, action: CancelUnstarted) -> tuple[State, Outcome]:
    """Cancel a record that was never claimed; any claim forbids it for ever (A13)."""
    if state.limits is None:
        return state, Answer.STORE_MISSING
    record = find_record(state, action.request_id)
    if record is None or record.state is not QUEUED or record.generation != 0:
        return state, Answer.NOT_CANCELLED
    return put_record(state, replace(record, state=CANCELLED)), Answer.CANCELLED


def tick(state: State, action: Tick) -> tuple[State, Outcome]:  # noqa: ARG001 - a step's shape
    """Move the clock by one."""
    return replace(state, clock=state.clock + 1), Answer.TICKED


# A table in place of one `match`, because the search looks an action's step up once a call;
# a test holds it against the union `Action`.
STEPS = {
    Init: init,
    Admit: admit,
    Claim: claim,
    Resolve: resolve,
    Quarantine: quarantine,
    Redrive: redrive,
    CancelUnstarted: cancel_unstarted,
    Tick: tick,
}


def step(state: State, action: Action) -> tuple[State, Outcome]:
    """Return the state after the action, and its outcome; total and pure."""
    return STEPS[type(action)](state, action)  # type: ignore[operator]


def allowed_after_exit(state: State, action: Action, commits: int) -> frozenset[State]:
    """Return the states that may be found after a process left this action (C1).

    `commits` is the number of transactions that had committed before the exit: each action
    is one, so before its commit the state is unchanged, and after it the step is complete.
    """
    return frozenset({state if commits == 0 else step(state, action)[0]})
