"""What the environment may do to durable admission within finite bounds, and the machine.

A scope offers actions; it never decides what they do. Bounds live here, outside the
specification: which ids, tenants, texts and ticks exist, and how far generations go.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from model.admission import STEPS, advance, allowed_after_exit
from model.admission_answers import ANSWERS
from model.admission_properties import INVARIANTS, STEP_PROPERTIES
from model.admission_vocabulary import (
    ABSENT,
    GENERATION_MAX,
    LEASE_TICKS,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Init,
    Limits,
    Outcome,
    Quarantine,
    Record,
    Redrive,
    Resolve,
    State,
    Tick,
    Token,
    find_due,
    snapshot,
)
from model.admission_witnesses import WITNESSES
from model.machine import Expected, Machine


@dataclass(frozen=True, slots=True)
class AdmissionScope:
    """Bounds for durable admission.

    `ticks` are the values of `now` that are offered, earlier ones than the clock included;
    an empty tuple means that the clock moves by `Tick`, up to `last_tick`, and that the
    actions use it as it stands. `generation_limit`: claim and redrive are not offered where
    they would take a record from this generation to the next one.
    `other_limits` are offered to `init` on an existing store. Under symmetry ids are
    interchangeable, and so are tenants unless `keeps_tenants`.
    """

    name: str
    limits: Limits
    request_ids: tuple[str, ...]
    tenants: tuple[str, ...]
    payloads: tuple[str, ...]
    ticks: tuple[int, ...]
    generations: tuple[int, ...]
    generation_limit: int
    last_tick: int = 0
    lease_ticks: int = LEASE_TICKS
    starts_absent: bool = True
    other_limits: tuple[Limits, ...] = ()
    old_records: tuple[Record, ...] = ()
    is_symmetric: bool = False
    keeps_tenants: bool = False
    expected: Expected | None = None
    unreachable: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)


def initial_states(scope: AdmissionScope) -> tuple[State, ...]:
    """Return the states from which a search of the scope starts.

    Each of `old_records` adds a store that holds this record alone: one that has lived so
    long that no search gets there step by step (a generation next to its limit).
    """
    first = replace(ABSENT, lease_ticks=scope.lease_ticks)
    if not scope.starts_absent:
        first = replace(first, limits=scope.limits)
    old = tuple(
        State(limits=scope.limits, records=(record,), lease_ticks=scope.lease_ticks)
        for record in scope.old_records
    )
    return (first, *old)


def old_record(request_id: str, tenant: str, payload: str, *, is_quarantined: bool) -> Record:
    """Return a record one claim or redrive short of the last generation."""
    return Record(
        request_id=request_id,
        tenant=tenant,
        payload=payload,
        size_bytes=len(payload.encode()),
        sequence=1,
        state=QUARANTINED if is_quarantined else QUEUED,
        generation=GENERATION_MAX - 1,
        lease=None,
    )


def offered_actions(scope: AdmissionScope, state: State) -> tuple[Action, ...]:
    """Return what the environment may do next: every call of the scope, refused ones too."""
    limit = scope.generation_limit
    blocked: tuple[Action, ...] = ()
    if limit in [record.generation for record in state.records]:
        redrives = [
            Redrive(record.request_id, limit)
            for record in state.records
            if record.state is QUARANTINED and record.generation == limit
        ]
        claims = [
            Claim(now)
            for now in scope.ticks or (state.clock,)
            if (due := find_due(state, now)) is not None and due.generation == limit
        ]
        blocked = (*redrives, *claims)
    clock = None if scope.ticks else state.clock
    return _offered(scope, clock, blocked, is_absent=state.limits is None)


@lru_cache(maxsize=4096)
def _offered(
    scope: AdmissionScope, clock: int | None, blocked: tuple[Action, ...], *, is_absent: bool
) -> tuple[Action, ...]:
    """Return the calls of a scope at this clock, without those that it doesn't offer."""
    ticks = scope.ticks if clock is None else (clock,)
    tokens = [Token(r, g) for r in scope.request_ids for g in scope.generations]
    inits = () if not scope.starts_absent else (scope.limits, *scope.other_limits)
    actions: list[Action] = [Init(limits) for limits in inits[: 1 if is_absent else None]]
    actions += [
        Admit(r, t, p) for r in scope.request_ids for t in scope.tenants for p in scope.payloads
    ]
    actions += [Claim(now) for now in ticks]
    actions += [Resolve(token, now) for token in tokens for now in ticks]
    actions += [Quarantine(token, now) for token in tokens for now in ticks]
    actions += [Redrive(token.request_id, token.generation) for token in tokens]
    actions += [CancelUnstarted(r) for r in scope.request_ids]
    if clock is not None and clock < scope.last_tick and not is_absent:
        actions.append(Tick())
    return tuple(action for action in actions if action not in blocked)


def canonical(scope: AdmissionScope, state: State) -> State:
    """Return the state's representative: ids and tenants renamed in order of first appearance.

    Ids are interchangeable, and so are tenants: no step looks at more than whether two are
    equal, and a scope offers the same calls for each. Records stand in the order of admission,
    so the first appearance gives one representative for each class.
    """
    ids: dict[str, str] = {}
    tenants: dict[str, str] = {}
    for record in state.records:
        if record.request_id not in ids:
            ids[record.request_id] = scope.request_ids[len(ids)]
        if record.tenant not in tenants:
            tenants[record.tenant] = (
                record.tenant if scope.keeps_tenants else scope.tenants[len(tenants)]
            )
    if all(old == new for names in (ids, tenants) for old, new in names.items()):
        return state
    records = tuple(
        replace(r, request_id=ids[r.request_id], tenant=tenants[r.tenant]) for r in state.records
    )
    effects = tuple(replace(e, request_id=ids[e.request_id]) for e in state.effects)
    return replace(state, records=records, effects=effects)


_CLOCKED_ERRORS = (Answer.STORE_MISSING, Answer.CLOCK_REGRESSION)

ADMISSION: Machine[State, Action, Outcome] = Machine(
    name="admission",
    steps=STEPS,
    outcomes={
        Init: (Answer.READY, Answer.LIMITS_MISMATCH),
        Admit: (
            Answer.ACCEPTED,
            Answer.REPLAY,
            Answer.CONFLICT,
            Answer.OVERSIZE,
            Answer.GLOBAL_FULL,
            Answer.TENANT_FULL,
            Answer.STORE_MISSING,
        ),
        Claim: ("claimed", Answer.NOTHING_DUE, *_CLOCKED_ERRORS, Answer.GENERATION_EXHAUSTED),
        Resolve: (Answer.DONE, Answer.STALE, *_CLOCKED_ERRORS),
        Quarantine: (Answer.QUARANTINED, Answer.STALE, *_CLOCKED_ERRORS),
        Redrive: (
            Answer.QUEUED,
            Answer.STALE,
            Answer.STORE_MISSING,
            Answer.GENERATION_EXHAUSTED,
        ),
        CancelUnstarted: (Answer.CANCELLED, Answer.NOT_CANCELLED, Answer.STORE_MISSING),
        Tick: (Answer.TICKED,),
    },
    invariants=INVARIANTS,
    step_properties=(*STEP_PROPERTIES, *ANSWERS),
    answers=ANSWERS,
    witnesses=WITNESSES,
    initial_states=initial_states,
    offered_actions=offered_actions,
    canonical=canonical,
    snapshot=snapshot,
    advance=advance,
    allowed_after_exit=allowed_after_exit,
)
