"""What the environment of an admission store may do next, drawn from what the model knows.

Live ids and tokens come first and most often, stale ones are mixed in on purpose. The simplest
choice stands first everywhere: a failing run shrinks toward it.
"""

from collections.abc import Callable
from typing import Final

from hypothesis import strategies as st

from model.admission_vocabulary import (
    CANCELLED,
    GENERATION_MAX,
    INFLIGHT,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    CancelUnstarted,
    Claim,
    Init,
    Limits,
    Quarantine,
    Record,
    Redrive,
    Resolve,
    State,
    Token,
    compute_usage,
    find_due,
    find_record,
)
from stateful_tests.values import (
    MOST_PAYLOAD_BYTES,
    NAMES,
    NUMBER_MAX,
    PAYLOADS,
    STRANGER,
    UNITS,
    at_the_edges,
    fill,
    find_lookalikes,
    mostly,
)

COMMON_LIMITS: Final = (
    Limits(),
    Limits(4, 6, 3, 6, 5),
    Limits(4, 12, 1, 6, 6),
    Limits(3, 9, 3, 4, 5),
)
EXTREME_LIMITS: Final = (Limits(*[0] * 5), Limits(*[NUMBER_MAX] * 5))
LIMITS: Final = (*COMMON_LIMITS, *COMMON_LIMITS, *EXTREME_LIMITS)
"""Each of the common ones meets another limit first: slots or bytes, globally or of a tenant."""

TENANTS: Final = ("A", "a", "A ")
LAST_TICKS: Final = (NUMBER_MAX - 6, NUMBER_MAX - 1, NUMBER_MAX)
LAST_GENERATIONS: Final = (GENERATION_MAX - 2, GENERATION_MAX - 1, GENERATION_MAX)


def choose_limits() -> st.SearchStrategy[Limits]:
    """Draw the limits of a new store."""
    return st.sampled_from(LIMITS)


def choose_init(state: State) -> st.SearchStrategy[Action]:
    """Draw the stored limits, or others."""
    stored = [] if state.limits is None else [state.limits]
    return st.builds(Init, limits=st.sampled_from([*stored, *LIMITS]))


@st.composite
def _payloads(draw: st.DrawFn, state: State, tenant: str) -> str:
    """Draw a text that is easily confused, or one whose size is at a limit or at what is left."""
    limits = state.limits
    sizes: tuple[int, ...] = ()
    if limits is not None:
        rooms = (
            limits.item_bytes,
            limits.global_bytes - compute_usage(state.records)[1],
            limits.tenant_bytes - compute_usage(state.records, tenant)[1],
        )
        sizes = at_the_edges(rooms, MOST_PAYLOAD_BYTES)
    if not sizes or not draw(st.booleans()):
        return draw(st.sampled_from(PAYLOADS))
    return fill(draw(st.sampled_from(sizes)), draw(st.sampled_from(UNITS)))


@st.composite
def choose_admit(draw: st.DrawFn, state: State) -> Action:
    """Draw an id that the store doesn't know, and what is to be done."""
    known = {record.request_id for record in state.records}
    fresh = [name for name in NAMES if name not in known]
    request_id = draw(st.sampled_from([*fresh, f"r{len(known) + 1}"]))
    tenant = draw(st.sampled_from(TENANTS))
    return Admit(request_id, tenant, draw(_payloads(state, tenant)))


@st.composite
def choose_repeated_admit(draw: st.DrawFn, state: State) -> Action:
    """Draw an id that the store knows, with the same content or with a little of it changed."""
    record: Record = draw(st.sampled_from(state.records))
    other_tenant = next(tenant for tenant in TENANTS if tenant != record.tenant)
    payloads = (*find_lookalikes(record.payload), record.payload + "a", "")
    same = Admit(record.request_id, record.tenant, record.payload)
    others = [Admit(record.request_id, record.tenant, payload) for payload in payloads]
    return draw(mostly([same], [Admit(record.request_id, other_tenant, record.payload), *others]))


@st.composite
def _ticks(draw: st.DrawFn, state: State, lease: int | None = None) -> int:
    """Draw the clock, the end of a lease, or a tick beside one of them; too early ones too."""
    leases = [record.lease for record in state.records if record.lease is not None]
    ends = leases if lease is None else [lease]
    groups = (ends, [end - 1 for end in ends], at_the_edges([state.clock, *ends], NUMBER_MAX))
    ticks = [[tick for tick in group if state.clock - 1 <= tick <= NUMBER_MAX] for group in groups]
    return draw(st.sampled_from(draw(st.sampled_from([[state.clock], *filter(None, ticks)]))))


@st.composite
def _tokens(draw: st.DrawFn, state: State) -> Token:
    """Draw a current token, one of another generation, or one of a record that isn't inflight."""
    inflight = [record for record in state.records if record.state is INFLIGHT]
    live = [Token(record.request_id, record.generation) for record in inflight]
    earlier = [Token(r.request_id, r.generation - 1) for r in inflight if r.generation > 1]
    stale = [
        Token(record.request_id, generation)
        for record in state.records
        for generation in at_the_edges([record.generation], NUMBER_MAX)
        if record.state is not INFLIGHT or generation != record.generation
    ]
    groups = [group for group in (live, live, earlier) if group]
    return draw(st.sampled_from(draw(st.sampled_from([*groups, [*stale, Token(STRANGER, 1)]]))))


def choose_claim(state: State) -> st.SearchStrategy[Action]:
    """Draw a claim at a tick."""
    return st.builds(Claim, now=_ticks(state))


def choose_last_claim(state: State) -> st.SearchStrategy[Action]:
    """Draw a claim at one of the last ticks that there are."""
    ticks = [tick for tick in LAST_TICKS if tick >= state.clock]
    return st.builds(Claim, now=st.sampled_from(ticks))


@st.composite
def _uses(draw: st.DrawFn, state: State) -> tuple[Token, int]:
    """Draw a token, and a tick that matters to its record."""
    token = draw(_tokens(state))
    record = find_record(state, token.request_id)
    return token, draw(_ticks(state, None if record is None else record.lease))


@st.composite
def choose_resolve(draw: st.DrawFn, state: State) -> Action:
    """Draw a token to resolve at a tick."""
    return Resolve(*draw(_uses(state)))


@st.composite
def choose_quarantine(draw: st.DrawFn, state: State) -> Action:
    """Draw a token to quarantine at a tick."""
    return Quarantine(*draw(_uses(state)))


def choose_redrive(state: State) -> st.SearchStrategy[Action]:
    """Draw a quarantined record with its generation, or another record, or generation."""
    live = [Redrive(r.request_id, r.generation) for r in state.records if r.state is QUARANTINED]
    stale = [
        Redrive(record.request_id, generation)
        for record in state.records
        for generation in at_the_edges([record.generation], NUMBER_MAX)
    ]
    return mostly(live, [*stale, Redrive(STRANGER, 1)])


def choose_cancel(state: State) -> st.SearchStrategy[Action]:
    """Draw a record that nobody has claimed, or any other."""
    live = [CancelUnstarted(r.request_id) for r in state.records if r.state is QUEUED]
    stale = [CancelUnstarted(r.request_id) for r in state.records if r.state is not CANCELLED]
    return mostly(live, [*stale, CancelUnstarted(STRANGER)])


@st.composite
def choose_progress(draw: st.DrawFn, state: State) -> Action:
    """Draw an action that changes more than the clock, one kind as likely as another."""
    now = state.clock
    records = state.records
    kinds: list[list[Action]] = []
    admits: list[Action] = [
        Admit(f"r{len(records) + 1}", tenant, payload)
        for tenant in TENANTS[:2]
        for payload in ("a", "中")
    ]
    if find_record(state, f"r{len(records) + 1}") is None:
        kinds.append(admits)
    expiries = [record.lease for record in records if record.lease is not None]
    ticks = [tick for tick in (now, *expiries) if now <= tick <= NUMBER_MAX]
    claims: list[Action] = [Claim(tick) for tick in ticks if find_due(state, tick) is not None]
    kinds += [claims, claims]
    held = [
        (Token(record.request_id, record.generation), tick)
        for record in records
        if record.lease is not None
        for tick in (now, record.lease - 1)
        if now <= tick <= NUMBER_MAX and tick < record.lease
    ]
    kinds.append([Resolve(token, tick) for token, tick in held])
    kinds.append([Quarantine(token, tick) for token, tick in held])
    kinds.append([Redrive(r.request_id, r.generation) for r in records if r.state is QUARANTINED])
    kinds.append(
        [CancelUnstarted(r.request_id) for r in records if r.state is QUEUED and not r.generation]
    )
    return draw(st.sampled_from(draw(st.sampled_from([kind for kind in kinds if kind]))))


@st.composite
def choose_any(draw: st.DrawFn, state: State) -> Action:
    """Draw any action: what the store may be asked at all, refused or not."""
    choosers: list[Callable[[State], st.SearchStrategy[Action]]] = [
        choose_admit,
        choose_claim,
        choose_resolve,
        choose_quarantine,
        choose_redrive,
        choose_cancel,
        *([choose_repeated_admit] if state.records else []),
        choose_init,
        *([choose_last_claim] if state.effects else []),
    ]
    return draw(draw(st.sampled_from(choosers))(state))


@st.composite
def choose_risk(draw: st.DrawFn, state: State) -> Action:
    """Draw an action to meet a fault: mostly one that changes something."""
    chooser = choose_any if draw(st.booleans()) else choose_progress
    return draw(chooser(state))
