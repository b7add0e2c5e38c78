"""The words of durable admission: actions, outcomes, state, and what is derived from a state.

The first part of the specification; `model.admission` has the steps.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import ClassVar

from model.machine import Value, Word

LEASE_TICKS = 5
GENERATION_MAX = 10**9
EFFECT_VALUE = "synthetic-completed"

# ── Vocabulary ────────────────────────────────────────────────────────────────────────────


class RecordState(Word):
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
class Limits(Value):
    """The budget, stored when the store is created; the defaults can be checked by hand."""

    global_slots: int = 4
    global_bytes: int = 256
    tenant_slots: int = 2
    tenant_bytes: int = 128
    item_bytes: int = 96


@dataclass(frozen=True, slots=True)
class Token(Value):
    """The right to finish one claim: a record's id, and the generation of that claim."""

    request_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class Init(Value):
    """Create the store with these limits, or accept one that has them (A1)."""

    limits: Limits = Limits()


@dataclass(frozen=True, slots=True)
class Admit(Value):
    """Ask for a piece of work to be accepted (A2 … A6)."""

    request_id: str
    tenant: str
    payload: str


@dataclass(frozen=True, slots=True)
class Claim(Value):
    """Ask for the next piece of work (A8)."""

    now: int


@dataclass(frozen=True, slots=True)
class Resolve(Value):
    """Report a claimed piece of work as finished (A10)."""

    token: Token
    now: int


@dataclass(frozen=True, slots=True)
class Quarantine(Value):
    """Set a claimed piece of work aside (A11)."""

    token: Token
    now: int


@dataclass(frozen=True, slots=True)
class Redrive(Value):
    """Put a quarantined piece of work back in the queue (A12)."""

    request_id: str
    generation: int


@dataclass(frozen=True, slots=True)
class CancelUnstarted(Value):
    """Withdraw a piece of work that nobody has claimed yet (A13)."""

    request_id: str


@dataclass(frozen=True, slots=True)
class Tick(Value):
    """Move the clock by one: for scopes of the model alone, no action of the protocol."""


Action = Init | Admit | Claim | Resolve | Quarantine | Redrive | CancelUnstarted | Tick


class Answer(Word):
    """The outcomes that carry no value; what stands below each is shown to learners."""

    READY = "ready"
    """The store exists, with these limits."""
    ACCEPTED = "accepted"
    """The work is new, there was room for it, and it is in the store now."""
    REPLAY = "replay"
    """The id was accepted before, with this tenant and this payload."""
    CONFLICT = "conflict"
    """The id was accepted before, with another tenant or another payload."""
    OVERSIZE = "oversize"
    """The payload alone is larger than any payload may be."""
    GLOBAL_FULL = "global_full"
    """All tenants together have left no room for it."""
    TENANT_FULL = "tenant_full"
    """The store has room, but its tenant has no share left."""
    NOTHING_DUE = "nothing_due"
    """No piece of work can be handed out now."""
    DONE = "done"
    """The work is finished, and has its effect."""
    QUARANTINED = "quarantined"
    """The work is set aside."""
    QUEUED = "queued"
    """The work is back in the queue."""
    CANCELLED = "cancelled"
    """The work is withdrawn, before anybody had claimed it."""
    STALE = "stale"
    """The token or the generation is not the current one."""
    NOT_CANCELLED = "not_cancelled"
    """There is no such work, or it is no longer as it was admitted."""
    TICKED = "ticked"
    """The clock has moved by one."""
    STORE_MISSING = "store_missing"
    """Nobody has created the store."""
    LIMITS_MISMATCH = "limits_mismatch"
    """The store exists, with other limits."""
    CLOCK_REGRESSION = "clock_regression"
    """The tick is earlier than the stored clock."""
    GENERATION_EXHAUSTED = "generation_exhausted"
    """The record has had its last generation."""


@dataclass(frozen=True, slots=True)
class Claimed(Value):
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
class Record(Value):
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
class Effect(Value):
    """What a finished piece of work left behind, exactly once."""

    sequence: int
    request_id: str
    value: str = EFFECT_VALUE


@dataclass(frozen=True, slots=True)
class State(Value):
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
    if record is None or record.state is not INFLIGHT or record.generation != token.generation:
        return None
    return record if record.lease is not None and record.lease > now else None


def set_clock(state: State, now: int) -> State:
    """Return the state with its clock at `now`."""
    return state if now == state.clock else replace(state, clock=now)


def move_record(
    record: Record, state: RecordState, *, generation: int | None = None, lease: int | None = None
) -> Record:
    """Return the record in another state; its identity, payload and place are permanent (A14).

    It keeps its generation unless a new one is given, and has a lease only if one is given.
    """
    # Spelled out, since a search spends its time here, and `replace` takes three times as long.
    return Record(
        record.request_id,
        record.tenant,
        record.payload,
        record.size_bytes,
        record.sequence,
        state,
        record.generation if generation is None else generation,
        lease,
    )


def put_record(state: State, record: Record) -> State:
    """Return the state with this record in place of the earlier one with its sequence number."""
    index = record.sequence - 1
    records = (*state.records[:index], record, *state.records[index + 1 :])
    return State(state.limits, state.clock, records, state.effects, state.lease_ticks)


def snapshot(state: State) -> dict[str, object] | None:
    """Return what a reader sees of the store (A15), as JSON has it; None while it is absent."""
    if state.limits is None:
        return None
    tenants = dict.fromkeys(r.tenant for r in state.records if r.state in OUTSTANDING)
    return {
        "limits": {name: getattr(state.limits, name) for name in Limits.__dataclass_fields__},
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
        "effects": [{"request_id": e.request_id, "value": e.value} for e in state.effects],
    }
