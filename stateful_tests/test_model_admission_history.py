"""Durable admission, the rules about what stays for ever: A13 to A18, on the model."""

from dataclasses import replace

import pytest

from model.admission import step
from model.admission_vocabulary import (
    CANCELLED,
    GENERATION_MAX,
    INFLIGHT,
    LEASE_TICKS,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Limits,
    Outcome,
    Quarantine,
    Record,
    RecordState,
    Redrive,
    Resolve,
    State,
    Tick,
    Token,
    compute_usage,
    snapshot,
)

TOKEN = Token("r1", 1)
ADMIT = Admit("r1", "A", "中")
OPEN = State(limits=Limits())


def run(*actions: Action, state: State = OPEN) -> tuple[State, Outcome]:
    """Take the actions in order, and return the last state and outcome."""
    outcome: Outcome = Answer.READY
    for action in actions:
        state, outcome = step(state, action)
    return state, outcome


def at_generation(generation: int, state: RecordState) -> State:
    """Return a store with one record at this generation."""
    lease = 0 if state is INFLIGHT else None
    return replace(OPEN, records=(Record("r1", "A", "中", 3, 1, state, generation, lease),))


@pytest.mark.parametrize(
    "life",
    [
        [],
        [ADMIT, Claim(0)],
        [ADMIT, Claim(0), Claim(5)],
        [ADMIT, Claim(0), Quarantine(TOKEN, 0)],
        [ADMIT, Claim(0), Quarantine(TOKEN, 0), Redrive("r1", 1)],
        [ADMIT, Claim(0), Resolve(TOKEN, 0)],
        [ADMIT, CancelUnstarted("r1")],
    ],
    ids=["unknown", "claimed", "expired", "quarantined", "redriven", "done", "cancelled"],
)
def test_a13_nothing_but_unclaimed_work_is_cancelled(life: list[Action]) -> None:
    """An unknown id, any claim and an earlier cancel forbid it, also after a redrive."""
    state, _ = run(*life)

    assert run(CancelUnstarted("r1"), state=state) == (state, Answer.NOT_CANCELLED)


def test_a13_a_cancel_and_a_claim_race_both_ways() -> None:
    """Whoever comes first leaves nothing for the other."""
    claim_first = run(ADMIT, Claim(0), CancelUnstarted("r1"))
    cancel_first = run(ADMIT, CancelUnstarted("r1"), Claim(0))

    assert claim_first[1] is Answer.NOT_CANCELLED
    assert cancel_first[1] is Answer.NOTHING_DUE


@pytest.mark.parametrize("end", [(CancelUnstarted("r1"),), (Claim(0), Resolve(TOKEN, 0))])
def test_a14_a_terminal_record_never_comes_back(end: tuple[Action, ...]) -> None:
    """A replay of a terminal id takes no charge, and no claim, redrive or cancel moves it."""
    ended, _ = run(ADMIT, *end)

    after, outcome = run(
        Redrive("r1", 1), CancelUnstarted("r1"), Claim(0), Admit("r1", "A", "中"), state=ended
    )

    assert (after, outcome) == (ended, Answer.REPLAY)
    assert compute_usage(after.records) == (0, 0)


def test_a15_a_snapshot_names_everything_in_the_order_of_admission() -> None:
    """Usage is count and bytes, tenants are those with outstanding work, all values are plain."""
    state, _ = run(Admit("r2", "B", "x"), ADMIT, Claim(1), Resolve(Token("r2", 1), 2), Claim(3))

    seen = snapshot(state)

    assert seen == {
        "limits": {
            "global_slots": 4,
            "global_bytes": 256,
            "tenant_slots": 2,
            "tenant_bytes": 128,
            "item_bytes": 96,
        },
        "usage": [1, 3],
        "tenants": {"A": [1, 3]},
        "clock": 3,
        "records": [
            {
                "request_id": "r2",
                "tenant": "B",
                "payload": "x",
                "size": 1,
                "sequence": 1,
                "state": "done",
                "generation": 1,
                "lease": None,
            },
            {
                "request_id": "r1",
                "tenant": "A",
                "payload": "中",
                "size": 3,
                "sequence": 2,
                "state": "inflight",
                "generation": 1,
                "lease": 8,
            },
        ],
        "effects": [{"request_id": "r2", "value": "synthetic-completed"}],
    }


@pytest.mark.parametrize("record_state", [QUEUED, INFLIGHT])
def test_a16_a_claim_stops_at_the_last_generation(record_state: RecordState) -> None:
    """A record at generation 10⁹ is not skipped, and neither it nor the clock changes."""
    last = at_generation(GENERATION_MAX, record_state)
    state, _ = run(Admit("r2", "A", ""), state=last)

    assert run(Claim(7), state=state) == (state, Answer.GENERATION_EXHAUSTED)


@pytest.mark.parametrize("record_state", [QUEUED, INFLIGHT])
def test_a16_the_last_generation_is_handed_out(record_state: RecordState) -> None:
    """From generation 10⁹ - 1 a claim still works."""
    state = at_generation(GENERATION_MAX - 1, record_state)

    assert run(Claim(0), state=state)[1] == Claimed(Token("r1", GENERATION_MAX))


def test_a16_a_redrive_stops_at_the_last_generation() -> None:
    """A matching redrive at 10⁹ is exhausted, another one is stale, and nothing changes."""
    state = at_generation(GENERATION_MAX, QUARANTINED)

    assert run(Redrive("r1", GENERATION_MAX), state=state) == (state, Answer.GENERATION_EXHAUSTED)
    assert run(Redrive("r1", GENERATION_MAX - 1), state=state) == (state, Answer.STALE)


def test_a16_a_lease_may_reach_five_ticks_past_the_last_one() -> None:
    """A claim at tick 10⁹ has a lease that no tick can end."""
    state, _ = run(ADMIT, Claim(10**9))

    assert state.records[0].lease == 10**9 + LEASE_TICKS
    assert run(Claim(10**9), state=state)[1] is Answer.NOTHING_DUE
    assert run(Resolve(TOKEN, 10**9), state=state)[1] is Answer.DONE


def test_a17_history_is_unbounded() -> None:
    """Ten accepted and finished tasks leave usage [0, 0], ten identities and ten effects."""
    state = OPEN

    for i in range(10):
        name = f"r{i}"
        state, outcome = run(
            Admit(name, "A", "x"), Claim(i), Resolve(Token(name, 1), i), state=state
        )
        assert outcome is Answer.DONE

    assert compute_usage(state.records) == (0, 0)
    assert [record.sequence for record in state.records] == list(range(1, 11))
    assert [effect.request_id for effect in state.effects] == [f"r{i}" for i in range(10)]


def test_a17_effects_stand_in_the_order_of_admission() -> None:
    """Work that is finished first has its effect behind that of older work."""
    state, _ = run(
        ADMIT,
        Admit("r2", "A", ""),
        Claim(0),
        Claim(0),
        Resolve(Token("r2", 1), 0),
        Resolve(TOKEN, 0),
    )

    assert [effect.sequence for effect in state.effects] == [1, 2]


def test_a18_a_tenant_cap_is_no_reservation() -> None:
    """With A and B at two each, C is refused although it never asked before."""
    four = [Admit(f"{tenant}{i}", tenant, "") for tenant in "AB" for i in range(2)]

    assert run(*four, Admit("C0", "C", ""))[1] is Answer.GLOBAL_FULL


def test_a_cancelled_record_is_as_it_was_but_for_its_state() -> None:
    """A cancel keeps everything that was accepted."""
    before, _ = run(ADMIT)

    after, outcome = run(CancelUnstarted("r1"), state=before)

    assert outcome is Answer.CANCELLED
    assert after.records == (replace(before.records[0], state=CANCELLED),)


def test_a_tick_moves_the_clock_by_one() -> None:
    """The action that scopes of the model alone have changes nothing else."""
    assert run(Tick()) == (replace(OPEN, clock=1), Answer.TICKED)
