"""How traces of durable admission are told to a person.

`explain_outcome` follows the guards of `model.admission` in their order.
"""

from collections.abc import Iterable
from dataclasses import fields

from model.admission_vocabulary import (
    DONE,
    GENERATION_MAX,
    INFLIGHT,
    OUTSTANDING,
    QUARANTINED,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
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
    compute_usage,
    find_due,
    find_record,
)
from model.checking.trace import Trace
from model.checking.trace_words import (
    Entities,
    Hop,
    Narrator,
    count,
    imply,
    put_entity,
    quote,
    say_name,
    say_plain_outcome,
    say_value,
)

STORE = "store"
OPERATOR = "operator"

# ── Words ─────────────────────────────────────────────────────────────────────────────────


def describe_action(action: Action) -> str:
    """Return a call in a few words: "claim at tick 5"."""
    match action:
        case Init(limits):
            return f"init with limits {say_limits(limits)}"
        case Admit(request_id, tenant, payload):
            return f"admit {say_name(request_id)} of {say_name(tenant)}, {quote(payload)}"
        case Claim(now):
            return f"claim at tick {now}"
        case Resolve(token, now):
            return f"resolve {_say_token(token)} at tick {now}"
        case Quarantine(token, now):
            return f"quarantine {_say_token(token)} at tick {now}"
        case Redrive(request_id, generation):
            return f"redrive {_say_token(Token(request_id, generation))}"
        case CancelUnstarted(request_id):
            return f"cancel {say_name(request_id)} if it was never claimed"
        case Tick():
            return "tick"


def describe_outcome(outcome: Outcome) -> str:
    """Return an outcome in a few words."""
    if isinstance(outcome, Claimed):
        return f"claimed {_say_token(outcome.token)}"
    return say_plain_outcome(outcome)


def say_limits(limits: Limits) -> str:
    """Return the five limits in their order."""
    return ", ".join(str(getattr(limits, each.name)) for each in fields(limits))


def _say_token(token: Token) -> str:
    return f"{say_name(token.request_id)} under generation {token.generation}"


def list_entities(state: State) -> Entities:
    """Return the limits, the clock, each record and each effect."""
    entities: Entities = {}
    if state.limits is not None:
        names = [each.name for each in fields(state.limits)]
        entities["limits"] = {name: str(getattr(state.limits, name)) for name in names}
    entities["clock"] = {"tick": str(state.clock)}
    entities["lease"] = {"ticks": str(state.lease_ticks)}
    for record in state.records:
        values = {
            "state": record.state.value,
            "tenant": say_name(record.tenant),
            "payload": quote(record.payload),
            "sequence": str(record.sequence),
            "generation": str(record.generation),
            "lease": say_value(record.lease),
        }
        is_right = record.size_bytes == len(record.payload.encode())
        values["size_bytes"] = imply(str(record.size_bytes), is_implied=is_right)
        put_entity(entities, say_name(record.request_id), values)
    for effect in state.effects:
        values = {"value": effect.value, "sequence": str(effect.sequence)}
        put_entity(entities, f"effect of {say_name(effect.request_id)}", values)
    return entities


def describe_store(state: State) -> str:
    """Return what a store is like, in a few words: "a store with one queued record"."""
    if state.limits is None:
        return "an absent store"
    if not state.records:
        return "an empty store"
    if len(state.records) > 1:
        return f"a store with {count(len(state.records), 'record')}"
    (record,) = state.records
    is_old = record.generation >= GENERATION_MAX - 1
    return f"a store with one {record.state} record{' near the generation limit' * is_old}"


def list_outstanding(records: Iterable[Record], tenant: str | None, *, with_bytes: bool) -> str:
    """Return the outstanding records in words: "r1 (inflight), r2 (queued)"."""
    chosen = [r for r in records if r.state in OUTSTANDING and tenant in (None, r.tenant)]
    return ", ".join(
        f"{say_name(r.request_id)} ({r.state}"
        + (f", {count(r.size_bytes, 'byte', is_in_digits=True)})" if with_bytes else ")")
        for r in chosen
    )


# ── Why this outcome ──────────────────────────────────────────────────────────────────────


def explain_outcome(state: State, action: Action, outcome: Outcome) -> str:
    """Return why the specification answers so, with the values that decide it."""
    if isinstance(action, Tick):
        return "a tick moves the clock by one"
    if outcome is Answer.STORE_MISSING or (state.limits is None and not isinstance(action, Init)):
        return "nobody has created the store"
    if outcome is Answer.CLOCK_REGRESSION and isinstance(action, Claim | Resolve | Quarantine):
        return f"the stored clock stands at {state.clock}, and tick {action.now} is earlier"
    match action:
        case Init():
            return _explain_init(state)
        case Admit():
            return _explain_admit(state, action, outcome)
        case Claim(now):
            return _explain_claim(state, now)
        case Resolve(token, now) | Quarantine(token, now):
            return _explain_token(state, token, now)
        case Redrive():
            return _explain_redrive(state, action, outcome)
        case CancelUnstarted(request_id):
            record = find_record(state, request_id)
            if record is None:
                return f"no record is called {say_name(request_id)}"
            return f"{_say_record(record)} at generation {record.generation}"


def _explain_init(state: State) -> str:
    if state.limits is None:
        return "there was no store"
    return f"the store was created with limits {say_limits(state.limits)}"


def _explain_admit(state: State, action: Admit, outcome: Outcome) -> str:
    name, limits = say_name(action.request_id), state.limits
    known = find_record(state, action.request_id)
    if known is not None and outcome is Answer.REPLAY:
        return f"{name} is known, with this tenant and this payload"
    if known is not None:
        return f"{name} is known, as {say_name(known.tenant)}'s {quote(known.payload)}"
    if limits is None:
        return "nobody has created the store"
    if outcome is Answer.OVERSIZE:
        return f"item_bytes is {limits.item_bytes}, and the payload is {quote(action.payload)}"
    size_bytes = len(action.payload.encode())
    for tenant, answer in ((None, Answer.GLOBAL_FULL), (action.tenant, Answer.TENANT_FULL)):
        if outcome is answer:
            return _explain_full(state, limits, tenant, size_bytes)
    taken, used_bytes = compute_usage(state.records)
    mine, my_bytes = compute_usage(state.records, action.tenant)
    return (
        f"{name} is new, and there is room: {taken} of {limits.global_slots} slots and "
        f"{used_bytes} of {limits.global_bytes} bytes are taken, by {say_name(action.tenant)} "
        f"{mine} of {limits.tenant_slots} slots and {my_bytes} of {limits.tenant_bytes} bytes"
    )


def _explain_full(state: State, limits: Limits, tenant: str | None, size_bytes: int) -> str:
    scope = "global" if tenant is None else "tenant"
    whose = "" if tenant is None else f" for {say_name(tenant)}"
    taken, used_bytes = compute_usage(state.records, tenant)
    slots = getattr(limits, f"{scope}_slots")
    if taken + 1 > slots:
        named = list_outstanding(state.records, tenant, with_bytes=False)
        return f"{scope}_slots is {slots}, and {_say_outstanding(taken)}{whose}" + (
            f": {named}" if named else ""
        )
    room = getattr(limits, f"{scope}_bytes")
    named = list_outstanding(state.records, tenant, with_bytes=True)
    return f"{scope}_bytes is {room}, and {used_bytes} and {size_bytes} are more{whose}" + (
        f": {named}" if named else ""
    )


def _say_outstanding(number: int) -> str:
    return f"{count(number, 'record')} {'is' if number == 1 else 'are'} outstanding"


def _explain_claim(state: State, now: int) -> str:
    due = find_due(state, now)
    if due is not None:
        first = f"{say_name(due.request_id)} is the first record that is due"
        if due.state is INFLIGHT:
            return f"{first}: its lease ended at tick {due.lease}"
        return f"{first}: it is queued, at generation {due.generation}"
    if not state.records:
        return "there is no record"
    return f"no record is due at tick {now}: " + ", ".join(map(_say_record, state.records))


def _explain_token(state: State, token: Token, now: int) -> str:
    record = find_record(state, token.request_id)
    if record is None:
        return f"no record is called {say_name(token.request_id)}"
    if record.state is not INFLIGHT:
        return _say_record(record)
    if record.generation != token.generation:
        return f"{say_name(token.request_id)} is at generation {record.generation}"
    name = say_name(token.request_id)
    if record.lease is None or record.lease <= now:
        return f"the lease of {name} ended at tick {say_value(record.lease)}, and it is tick {now}"
    return f"the lease of {name} runs until tick {record.lease}, and it is tick {now}"


def _explain_redrive(state: State, action: Redrive, outcome: Outcome) -> str:
    record = find_record(state, action.request_id)
    if record is None:
        return f"no record is called {say_name(action.request_id)}"
    if record.state is not QUARANTINED:
        return _say_record(record)
    last = ", and that is the last one" if outcome is Answer.GENERATION_EXHAUSTED else ""
    return f"{_say_record(record)} at generation {record.generation}{last}"


def _say_record(record: Record) -> str:
    lease = f" until tick {record.lease}" if record.lease is not None else ""
    return f"{say_name(record.request_id)} is {record.state}{lease}"


# ── What is false, with its values ────────────────────────────────────────────────────────


def teach_limits(trace: Trace) -> str | None:
    """Say which limit is exceeded, and by which records."""
    state: State = trace.states[-1]
    if state.limits is None:
        return None
    tenants = dict.fromkeys(record.tenant for record in state.records)
    for tenant in (None, *tenants):
        scope = "global" if tenant is None else "tenant"
        whose = "" if tenant is None else f" for {say_name(tenant)}"
        taken, used_bytes = compute_usage(state.records, tenant)
        slots = getattr(state.limits, f"{scope}_slots")
        room = getattr(state.limits, f"{scope}_bytes")
        if taken > slots:
            named = list_outstanding(state.records, tenant, with_bytes=False)
            outstanding = _say_outstanding(taken)
            return (
                f"{scope}_slots is {slots}, and after step {len(trace)} {outstanding}{whose}: "
                f"{named}"
            )
        if used_bytes > room:
            named = list_outstanding(state.records, tenant, with_bytes=True)
            return (
                f"{scope}_bytes is {room}, and after step {len(trace)} {used_bytes} bytes are "
                f"outstanding{whose}: {named}"
            )
    return None


def teach_effects(trace: Trace) -> str | None:
    """Say which record has too many effects, or too few."""
    state: State = trace.states[-1]
    for record in state.records:
        effects = sum(effect.request_id == record.request_id for effect in state.effects)
        if effects != (record.state is DONE):
            number = count(effects, "effect")
            return f"{_say_record(record)} after step {len(trace)}, and it has {number}"
    return None


LESSONS = {
    "outstanding_work_stays_within_the_limits": teach_limits,
    "a_record_is_done_exactly_when_it_has_one_effect": teach_effects,
}

# ── Who talks to whom ─────────────────────────────────────────────────────────────────────


def find_hops(trace: Trace, index: int) -> tuple[Hop, ...]:
    """Return the one message of a step; a claim and what is done with its token share a lane."""
    step = trace.steps[index]
    return (Hop(step.process or _name_caller(trace, index), STORE, describe_action(step.action)),)


def _name_caller(trace: Trace, index: int) -> str:
    match trace.steps[index].action:
        case Admit(_, tenant, _):
            return f"tenant {say_name(tenant)}"
        case CancelUnstarted(request_id):
            admitted = [step.action for step in trace.steps if isinstance(step.action, Admit)]
            tenants = [each.tenant for each in admitted if each.request_id == request_id]
            return f"tenant {say_name(tenants[0])}" if tenants else OPERATOR
        case Claim():
            return _name_worker(trace, index)
        case Resolve(token, _) | Quarantine(token, _):
            claims = [
                number
                for number, step in enumerate(trace.steps[:index])
                if isinstance(step.outcome, Claimed) and step.outcome.token == token
            ]
            return _name_worker(trace, claims[-1]) if claims else "worker without a claim"
        case _:
            return OPERATOR


def _name_worker(trace: Trace, index: int) -> str:
    """Each claim that hands out a token is by a worker of its own."""
    claims = sum(isinstance(step.outcome, Claimed) for step in trace.steps[:index])
    return f"worker {claims + 1}"


ADMISSION_NARRATOR = Narrator(
    describe_action,
    describe_outcome,
    list_entities,
    explain_outcome,
    LESSONS,
    find_hops,
    describe_store,
)
