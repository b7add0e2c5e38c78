"""Durable admission, rule by rule: examples on the model, with the numbers of the protocol."""

from dataclasses import replace

import pytest

from model.admission import step
from model.admission_vocabulary import (
    ABSENT,
    CANCELLED,
    DONE,
    INFLIGHT,
    LEASE_TICKS,
    OUTSTANDING,
    QUARANTINED,
    QUEUED,
    TERMINAL,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Effect,
    Init,
    Limits,
    Outcome,
    Quarantine,
    RecordState,
    Redrive,
    Resolve,
    State,
    Tick,
    Token,
    compute_usage,
)

TOKEN = Token("r1", 1)
ADMIT = Admit("r1", "A", "中")
OPEN = State(limits=Limits())
WAYS: dict[RecordState, tuple[Action, ...]] = {
    QUEUED: (ADMIT,),
    INFLIGHT: (ADMIT, Claim(0)),
    QUARANTINED: (ADMIT, Claim(0), Quarantine(TOKEN, 0)),
    DONE: (ADMIT, Claim(0), Resolve(TOKEN, 0)),
    CANCELLED: (ADMIT, CancelUnstarted("r1")),
}
"""A way to a record in each state."""


def run(*actions: Action, state: State = OPEN) -> tuple[State, Outcome]:
    """Take the actions in order, and return the last state and outcome."""
    outcome: Outcome = Answer.READY
    for action in actions:
        state, outcome = step(state, action)
    return state, outcome


def fill(*payloads: tuple[str, str], limits: Limits | None = None) -> tuple[State, Outcome]:
    """Admit one payload after the other, each given with its tenant."""
    admits = [Admit(f"r{i}", tenant, text) for i, (tenant, text) in enumerate(payloads, start=1)]
    return run(*admits, state=replace(OPEN, limits=limits or Limits()))


def test_a1_init_creates_the_store_with_its_limits() -> None:
    """The default limits are 4, 256, 2, 128 and 96."""
    state, outcome = run(Init(), state=ABSENT)

    assert (state, outcome) == (State(limits=Limits(4, 256, 2, 128, 96)), Answer.READY)


@pytest.mark.parametrize("name", Limits.__dataclass_fields__)
def test_a1_init_refuses_each_other_limit_and_changes_nothing(name: str) -> None:
    """One different limit is enough for a mismatch; the equal ones are accepted."""
    other = replace(Limits(), **{name: 1})

    assert run(ADMIT, Init(other)) == (run(ADMIT)[0], Answer.LIMITS_MISMATCH)
    assert run(ADMIT, Init()) == (run(ADMIT)[0], Answer.READY)


@pytest.mark.parametrize(
    "action",
    [
        ADMIT,
        Claim(7),
        Resolve(TOKEN, 7),
        Quarantine(TOKEN, 7),
        Redrive("r1", 1),
        CancelUnstarted("r1"),
    ],
    ids=repr,
)
def test_a1_every_other_action_finds_an_absent_store_missing(action: Action) -> None:
    """Nothing is created before init."""
    assert run(action, state=ABSENT) == (ABSENT, Answer.STORE_MISSING)


@pytest.mark.parametrize(
    ("admit", "expected"),
    [
        (ADMIT, Answer.REPLAY),
        (Admit("r1", "B", "中"), Answer.CONFLICT),
        (Admit("r1", "A", "国"), Answer.CONFLICT),
        (Admit("r1", "A", "中 "), Answer.CONFLICT),
        (Admit("r1", "A", "x" * 999), Answer.CONFLICT),
    ],
)
@pytest.mark.parametrize("record_state", RecordState)
def test_a2_identity_comes_before_size_and_capacity_in_every_state(
    record_state: RecordState, admit: Admit, expected: Answer
) -> None:
    """A known id is a replay or a conflict, also when the store has no room for anything."""
    state, _ = run(*WAYS[record_state])
    full = replace(state, limits=Limits(0, 0, 0, 0, 0))

    assert run(admit, state=full) == (full, expected)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("é", "e\u0301"),
        ("a", "A"),
        ("a", "a "),
        ('{"a":1,"b":2}', '{"b":2,"a":1}'),
        ("", "\0"),
    ],
)
def test_a2_payloads_are_compared_code_point_by_code_point(first: str, second: str) -> None:
    """Normal forms, case, spaces, the order of JSON keys and NUL all make another payload."""
    _, outcome = run(Admit("r1", "A", first), Admit("r1", "A", second))

    assert outcome is Answer.CONFLICT


@pytest.mark.parametrize("other", ["R1", "r1 ", "r１"])
def test_a2_ids_that_look_alike_are_different(other: str) -> None:
    """Case, a trailing space and a wide digit make another id."""
    assert run(ADMIT, Admit(other, "A", "中"))[1] is Answer.ACCEPTED


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        (Limits(0, 0, 0, 0, 2), Answer.OVERSIZE),
        (Limits(0, 9, 0, 9, 3), Answer.GLOBAL_FULL),
        (Limits(9, 2, 9, 2, 3), Answer.GLOBAL_FULL),
        (Limits(1, 3, 0, 3, 3), Answer.TENANT_FULL),
        (Limits(1, 3, 1, 2, 3), Answer.TENANT_FULL),
        (Limits(1, 3, 1, 3, 3), Answer.ACCEPTED),
    ],
)
def test_a2_size_comes_before_the_store_and_the_store_before_the_tenant(
    limits: Limits, expected: Answer
) -> None:
    """The first guard that applies decides; equality with a limit is allowed (A4)."""
    assert run(ADMIT, state=replace(OPEN, limits=limits))[1] is expected


def test_a3_a_refused_id_may_come_back_with_other_content() -> None:
    """`three` is refused for its tenant, and accepted with another payload after a cancel."""
    full, refusal = fill(("A", "a"), ("A", "b"), ("A", "c"))

    _, outcome = run(CancelUnstarted("r1"), Admit("r3", "A", "other"), state=full)

    assert (refusal, outcome) == (Answer.TENANT_FULL, Answer.ACCEPTED)


@pytest.mark.parametrize(
    "action",
    [
        ADMIT,
        Admit("r1", "B", "中"),
        Admit("r2", "A", "x" * 97),
        Admit("r2", "B", "x"),
        CancelUnstarted("r9"),
        Redrive("r1", 1),
    ],
    ids=repr,
)
def test_a3_refusals_bind_nothing(action: Action) -> None:
    """After a refusal the very same state is there."""
    state, _ = run(ADMIT, state=replace(OPEN, limits=Limits(global_slots=1)))

    after, _ = run(action, state=state)

    assert after is state


@pytest.mark.parametrize(
    ("payloads", "limits", "expected"),
    [
        ([("A", "中" * 30), ("A", "x" * 39)], Limits(), Answer.TENANT_FULL),
        ([("A", "中" * 30), ("A", "x" * 38)], Limits(), Answer.ACCEPTED),
        ([("A", "x" * 96), ("B", "x" * 96), ("C", "x" * 65)], Limits(), Answer.GLOBAL_FULL),
        ([("A", "x" * 96), ("B", "x" * 96), ("C", "x" * 64)], Limits(), Answer.ACCEPTED),
        ([("A", ""), ("A", ""), ("A", "")], Limits(), Answer.TENANT_FULL),
        ([("A", ""), ("A", ""), ("B", ""), ("B", "")], Limits(), Answer.ACCEPTED),
        ([("A", ""), ("A", ""), ("B", ""), ("B", ""), ("C", "")], Limits(), Answer.GLOBAL_FULL),
        ([("A", "x" * 97)], Limits(), Answer.OVERSIZE),
        ([("A", "x" * 96)], Limits(), Answer.ACCEPTED),
    ],
)
def test_a4_the_frozen_sums_of_slots_and_bytes(
    payloads: list[tuple[str, str]], limits: Limits, expected: Answer
) -> None:
    """30 × 中 is 90 bytes, 38 more fit a tenant and 39 don't; after 192 bytes 64 fit, 65 don't."""
    assert fill(*payloads, limits=limits)[1] is expected


@pytest.mark.parametrize(
    ("payload", "size_bytes"), [("", 0), ("中", 3), ("é", 2), ("e\u0301", 3), ("😀", 4), ("\0", 1)]
)
def test_a5_a_size_is_counted_in_utf8_bytes(payload: str, size_bytes: int) -> None:
    """The size is that of the encoded text, and an item of exactly the limit is accepted."""
    limits = replace(Limits(), item_bytes=size_bytes)

    state, outcome = run(Admit("r1", "A", payload), state=replace(OPEN, limits=limits))

    assert outcome is Answer.ACCEPTED
    assert state.records[0].size_bytes == size_bytes


def test_a6_of_two_writers_one_takes_the_last_slot() -> None:
    """Whoever comes second, in either order, finds the store full."""
    first, second = Admit("r1", "A", ""), Admit("r2", "B", "")
    one_slot = replace(OPEN, limits=Limits(global_slots=1))

    assert run(first, second, state=one_slot)[1] is Answer.GLOBAL_FULL
    assert run(second, first, state=one_slot)[1] is Answer.GLOBAL_FULL


@pytest.mark.parametrize("record_state", RecordState)
def test_a7_a_charge_is_held_until_the_record_is_terminal(record_state: RecordState) -> None:
    """Usage is [1, 3] in each outstanding state, and [0, 0] in each terminal one."""
    state, _ = run(*WAYS[record_state])

    assert state.records[0].state is record_state
    assert compute_usage(state.records) == ((0, 0) if record_state in TERMINAL else (1, 3))
    assert set(RecordState) == OUTSTANDING | TERMINAL


def test_a7_the_life_cycle_of_one_task_keeps_its_charge() -> None:
    """Usage stays [1, 3] through expiry, stale token, quarantine and redrive, then [0, 0]."""
    life: list[Action] = [
        ADMIT,
        Claim(0),
        Claim(5),
        Resolve(Token("r1", 1), 5),
        Quarantine(Token("r1", 2), 6),
        Redrive("r1", 2),
        Claim(7),
        Resolve(Token("r1", 4), 8),
        Resolve(Token("r1", 4), 8),
    ]

    walk = [run(*life[:count]) for count in range(1, len(life) + 1)]

    assert [compute_usage(state.records) for state, _ in walk] == [(1, 3)] * 7 + [(0, 0)] * 2
    assert [outcome for _, outcome in walk] == [
        Answer.ACCEPTED,
        Claimed(Token("r1", 1)),
        Claimed(Token("r1", 2)),
        Answer.STALE,
        Answer.QUARANTINED,
        Answer.QUEUED,
        Claimed(Token("r1", 4)),
        Answer.DONE,
        Answer.STALE,
    ]
    assert walk[-1][0].effects == (Effect(1, "r1", "synthetic-completed"),)


def test_a8_a_claim_takes_the_lowest_sequence_number_that_is_due() -> None:
    """An expired record comes before a younger queued one; a running lease is passed over."""
    two, _ = run(ADMIT, Admit("r2", "A", ""), Claim(0))

    assert run(Claim(4), state=two)[1] == Claimed(Token("r2", 1))
    assert run(Claim(5), state=two)[1] == Claimed(Token("r1", 2))


def test_a8_a_redriven_record_keeps_its_place_in_the_order() -> None:
    """An old record that is queued again is claimed before a younger one."""
    state, _ = run(*WAYS[QUARANTINED], Admit("r2", "A", ""), Redrive("r1", 1))

    assert run(Claim(0), state=state)[1] == Claimed(Token("r1", 3))


@pytest.mark.parametrize(("now", "is_expired"), [(10, False), (11, False), (12, True), (13, True)])
def test_a8_a_lease_has_expired_exactly_from_its_last_tick_on(
    now: int, *, is_expired: bool
) -> None:
    """A lease taken at tick 7 ends at tick 12, for a claim and for the token alike."""
    state, _ = run(ADMIT, Claim(7))

    assert state.records[0].lease == 7 + LEASE_TICKS
    assert run(Claim(now), state=state)[1] == (
        Claimed(Token("r1", 2)) if is_expired else Answer.NOTHING_DUE
    )
    done = run(Resolve(TOKEN, now), state=state)[1]
    aside = run(Quarantine(TOKEN, now), state=state)[1]
    assert [done, aside] == (
        [Answer.STALE] * 2 if is_expired else [Answer.DONE, Answer.QUARANTINED]
    )


@pytest.mark.parametrize(
    "action",
    [Claim(9), Resolve(TOKEN, 9), Quarantine(TOKEN, 9), Resolve(Token("r9", 1), 9)],
    ids=repr,
)
def test_a9_the_clock_moves_whatever_the_outcome(action: Action) -> None:
    """Nothing due, a stale token and an unknown id all store the tick; an equal one is fine."""
    after, outcome = run(action, action)

    assert outcome in (Answer.NOTHING_DUE, Answer.STALE)
    assert after == replace(OPEN, clock=9)


@pytest.mark.parametrize("action", [Claim(8), Resolve(TOKEN, 8), Quarantine(TOKEN, 8)], ids=repr)
@pytest.mark.parametrize("record_state", RecordState)
def test_a9_a_clock_regression_comes_first_and_changes_nothing(
    action: Action, record_state: RecordState
) -> None:
    """An earlier tick is refused before the token is looked at."""
    state = replace(run(*WAYS[record_state])[0], clock=9)

    assert run(action, state=state) == (state, Answer.CLOCK_REGRESSION)


@pytest.mark.parametrize("action", [ADMIT, Redrive("r1", 1), CancelUnstarted("r1"), Init()])
def test_a9_calls_without_a_tick_leave_the_clock(action: Action) -> None:
    """Only claim, resolve and quarantine bring a tick."""
    state = replace(OPEN, clock=9)

    assert run(action, state=state)[0].clock == 9


@pytest.mark.parametrize("token", [Token("r1", 0), Token("r1", 1), Token("r1", 3), Token("r2", 2)])
def test_a10_a11_another_token_is_stale_and_moves_the_clock_alone(token: Token) -> None:
    """An older, a newer and an unknown token finish nothing."""
    state, _ = run(ADMIT, Claim(0), Claim(5))

    for action in (Resolve(token, 6), Quarantine(token, 6)):
        assert run(action, state=state) == (replace(state, clock=6), Answer.STALE)


@pytest.mark.parametrize("record_state", [state for state in RecordState if state is not INFLIGHT])
def test_a10_a11_only_an_inflight_record_can_be_finished(record_state: RecordState) -> None:
    """In every other state the token of its generation is stale."""
    state, _ = run(*WAYS[record_state])
    token = Token("r1", state.records[0].generation)

    assert run(Resolve(token, 0), state=state) == (state, Answer.STALE)
    assert run(Quarantine(token, 0), state=state) == (state, Answer.STALE)


@pytest.mark.parametrize("record_state", RecordState)
@pytest.mark.parametrize("generation", [0, 1, 2])
def test_a12_only_a_quarantined_record_of_that_generation_is_redriven(
    record_state: RecordState, generation: int
) -> None:
    """A redrive answers queued under a new generation, or stale."""
    state, _ = run(*WAYS[record_state])

    after, outcome = run(Redrive("r1", generation), state=state)

    is_redriven = record_state is QUARANTINED and generation == 1
    assert outcome is (Answer.QUEUED if is_redriven else Answer.STALE)
    if is_redriven:
        assert after.records == (replace(state.records[0], state=QUEUED, generation=2),)
    else:
        assert after is state


def test_a12_a_redrive_is_never_refused_for_capacity() -> None:
    """A store without any room takes a quarantined record back, and an unknown id is stale."""
    state = replace(run(*WAYS[QUARANTINED])[0], limits=Limits(0, 0, 0, 0, 0))

    assert run(Redrive("r1", 1), state=state)[1] is Answer.QUEUED
    assert run(Redrive("r9", 1), state=state) == (state, Answer.STALE)


def test_a9_a_tick_moves_the_clock_by_one_and_nothing_else() -> None:
    """The clock that stands alone, as scope X has it, goes on by one from wherever it is."""
    for clock in (0, 1, 2, 5):
        state = replace(run(*WAYS[INFLIGHT])[0], clock=clock)

        assert run(Tick(), state=state) == (replace(state, clock=clock + 1), Answer.TICKED)
