"""Each property of durable admission speaks up when exactly what it forbids has happened."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from model.admission import step
from model.admission_scope import ADMISSION
from model.admission_vocabulary import (
    ABSENT,
    CANCELLED,
    DONE,
    GENERATION_MAX,
    INFLIGHT,
    QUARANTINED,
    QUEUED,
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
    Record,
    Redrive,
    Resolve,
    State,
    Token,
)
from model.machine import property_sentence

EMPTY = State(limits=Limits())
WORK = Record("r1", "A", "中", 3, 1, QUEUED, 0, None)
MORE = replace(WORK, request_id="r2", sequence=2)
HELD = replace(WORK, state=INFLIGHT, generation=1, lease=5)
ASIDE = replace(WORK, state=QUARANTINED, generation=1)
FINISHED = replace(WORK, state=DONE, generation=1)
TOKEN = Token("r1", 1)


def _store(*records: Record, effects: tuple[Effect, ...] = ()) -> State:
    return replace(EMPTY, records=records, effects=effects)


INVARIANT_EXAMPLES: dict[str, tuple[tuple[State, str], ...]] = {
    "outstanding_work_stays_within_the_limits": (
        (
            replace(_store(WORK, MORE), limits=Limits(global_slots=1)),
            "global_slots is 1 and global_bytes is 256, but 2 records with 6 bytes",
        ),
        (replace(_store(WORK), limits=Limits(global_bytes=2)), "r1 (queued, 3 bytes)"),
        (replace(_store(WORK, MORE), limits=Limits(tenant_slots=1)), "tenant A has 2 records"),
        (replace(_store(ASIDE), limits=Limits(tenant_bytes=2)), "with 3 bytes outstanding"),
    ),
    "sequence_numbers_count_the_admissions": (
        (_store(replace(WORK, sequence=2)), "r1 was admitted as number 1, not 2"),
    ),
    "a_record_is_done_exactly_when_it_has_one_effect": (
        (_store(FINISHED), "done is 1 r1, but effects are there for none"),
        (_store(WORK, effects=(Effect(1, "r1"),)), "done is none, but effects are there for 1 r1"),
        (_store(FINISHED, effects=(Effect(1, "r1", "real"),)), "the effect of r1 is 'real'"),
    ),
    "a_record_has_a_lease_exactly_when_inflight": (
        (_store(replace(WORK, lease=3)), "r1 is queued with lease 3"),
        (_store(replace(HELD, lease=None)), "r1 is inflight with lease none"),
    ),
    "generations_fit_the_state_of_their_record": (
        (_store(replace(HELD, generation=0)), "r1 is inflight at generation 0"),
        (_store(replace(WORK, state=CANCELLED, generation=1)), "r1 is cancelled at generation 1"),
    ),
    "ids_are_unique": ((_store(WORK, replace(WORK, sequence=2)), "the request ids are r1; r1"),),
    "a_size_is_the_length_in_utf8_bytes": (
        (_store(replace(WORK, size_bytes=1)), "a payload of 3 bytes, and size 1"),
    ),
    "an_absent_store_is_empty": ((replace(ABSENT, clock=3), "absent with clock 3"),),
    "generations_and_leases_keep_their_bounds": (
        (_store(replace(ASIDE, generation=GENERATION_MAX + 1)), "1000000001"),
        (_store(replace(HELD, lease=6)), "r1 has lease 6 at tick 0"),
    ),
}

Case = tuple[State, Action, Outcome, State, str]
REDRIVE = Redrive("r1", 1)
STEP_EXAMPLES: dict[str, Case] = {
    "refusals_change_nothing": (
        _store(WORK),
        Admit("r1", "A", "中"),
        Answer.REPLAY,
        _store(WORK, effects=(Effect(1, "r1"),)),
        "after replay, effects went from none to effect (sequence 1",
    ),
    "the_clock_never_goes_back": (
        EMPTY,
        Claim(3),
        Answer.NOTHING_DUE,
        EMPTY,
        "at tick 3 the answer was nothing_due, and the clock is 0",
    ),
    "generations_never_go_down": (
        _store(ASIDE),
        REDRIVE,
        Answer.QUEUED,
        _store(WORK),
        "r1 went from generation 1 to 0",
    ),
    "terminal_is_for_ever": (
        _store(FINISHED),
        Init(),
        Answer.READY,
        _store(replace(FINISHED, state=CANCELLED)),
        "state done, generation 1, lease none) became record (request_id r1",
    ),
    "identity_is_permanent": (
        _store(WORK),
        Init(),
        Answer.READY,
        _store(replace(WORK, tenant="B")),
        "became record (request_id r1, tenant B",
    ),
    "limits_never_change": (
        EMPTY,
        Init(Limits(global_slots=9)),
        Answer.READY,
        replace(EMPTY, limits=Limits(global_slots=9)),
        "to limits (global_slots 9",
    ),
    "usage_moves_only_by_acceptance_and_by_a_terminal_state": (
        _store(ASIDE),
        REDRIVE,
        Answer.QUEUED,
        _store(replace(ASIDE, state=CANCELLED, generation=2)),
        "queued changed the usage from [1, 3] to [0, 0]",
    ),
    "a_new_token_is_newer_than_every_earlier_one": (
        replace(_store(HELD), clock=5),
        Claim(5),
        Claimed(TOKEN),
        replace(_store(replace(HELD, lease=10)), clock=5),
        "r1 was at generation 1, the new token has 1",
    ),
    "only_the_current_token_finishes_a_record": (
        _store(replace(HELD, generation=2)),
        Resolve(TOKEN, 0),
        Answer.DONE,
        _store(replace(FINISHED, generation=2), effects=(Effect(1, "r1"),)),
        "but the record has generation 2",
    ),
    "a_claimed_record_is_never_cancelled": (
        _store(replace(WORK, generation=2)),
        CancelUnstarted("r1"),
        Answer.CANCELLED,
        _store(replace(WORK, state=CANCELLED, generation=2)),
        "generation 2, lease none) became record (request_id r1",
    ),
    "only_a_tick_moves_the_clock": (
        EMPTY,
        Admit("r1", "A", "中"),
        Answer.ACCEPTED,
        replace(_store(WORK), clock=5),
        "from 0 to 5",
    ),
    "a_store_is_ready_only_for_its_own_limits": (
        EMPTY,
        Init(Limits(global_slots=9)),
        Answer.READY,
        EMPTY,
        "was ready, and the store has limits (global_slots 4",
    ),
    "an_admit_is_decided_in_order": (
        replace(_store(WORK), limits=Limits(global_slots=1)),
        Admit("r1", "A", "中"),
        Answer.GLOBAL_FULL,
        replace(_store(WORK), limits=Limits(global_slots=1)),
        "was global_full, and should be replay",
    ),
    "an_accepted_record_is_what_was_asked_for": (
        EMPTY,
        Admit("r1", "A", "中"),
        Answer.ACCEPTED,
        _store(replace(WORK, payload="国")),
        "the new records are record (request_id r1, tenant A, payload 国",
    ),
    "a_record_moves_one_step_of_its_life_cycle": (
        _store(ASIDE),
        REDRIVE,
        Answer.QUEUED,
        _store(replace(WORK, generation=1)),
        "redrive (request_id r1, generation 1) was queued, and changed record (",
    ),
    "a_claim_takes_the_first_record_that_is_due": (
        _store(WORK, MORE),
        Claim(0),
        Claimed(Token("r2", 1)),
        _store(WORK, replace(MORE, state=INFLIGHT, generation=1, lease=5)),
        "the first due is record (request_id r1",
    ),
    "nobody_is_refused_without_a_reason": (
        _store(HELD),
        Quarantine(TOKEN, 0),
        Answer.STALE,
        _store(HELD),
        "was stale, and there was record (request_id r1",
    ),
}

EXACT = frozenset(
    {
        "only_a_tick_moves_the_clock",
        "a_store_is_ready_only_for_its_own_limits",
        "an_admit_is_decided_in_order",
        "an_accepted_record_is_what_was_asked_for",
        "a_record_moves_one_step_of_its_life_cycle",
        "a_claim_takes_the_first_record_that_is_due",
        "nobody_is_refused_without_a_reason",
    }
)
"""These say "exactly when", so that they may speak beside a narrower property."""


@pytest.mark.parametrize("name", [check.__name__ for check in ADMISSION.invariants])
def test_an_invariant_speaks_up_in_exactly_its_own_bad_states(name: str) -> None:
    """Each invariant names the offending values of a state that breaks no other one."""
    examples = INVARIANT_EXAMPLES[name]

    clauses = [
        {check.__name__: clause for check in ADMISSION.invariants if (clause := check(state))}
        for state, _ in examples
    ]

    assert [list(found) for found in clauses] == [[name]] * len(examples)
    for found, (_, words) in zip(clauses, examples, strict=True):
        assert words in found[name]


@pytest.mark.parametrize("name", [check.__name__ for check in ADMISSION.step_properties])
def test_a_step_property_speaks_up_at_exactly_its_own_bad_step(name: str) -> None:
    """Each step property names the offending values of a step that breaks no narrower one."""
    before, action, outcome, after, words = STEP_EXAMPLES[name]

    clauses = {
        check.__name__: clause
        for check in ADMISSION.step_properties
        if (clause := check(before, action, outcome, after))
    }

    assert words in clauses[name]
    assert set(clauses) - EXACT <= {name}


@pytest.mark.parametrize("name", [check.__name__ for check in ADMISSION.step_properties])
def test_no_property_speaks_up_at_the_right_step(name: str) -> None:
    """Where the model itself takes the step of an example, every step property is silent."""
    before, action, *_ = STEP_EXAMPLES[name]

    after, outcome = step(before, action)

    clauses = [check(before, action, outcome, after) for check in ADMISSION.step_properties]
    assert clauses == [None] * len(clauses)


def test_every_property_has_a_name_and_a_sentence_of_its_own() -> None:
    """Each property's docstring begins with one sentence, and no two properties share a name."""
    checks: list[Callable[..., object]] = [*ADMISSION.invariants, *ADMISSION.step_properties]

    sentences = {check.__name__: property_sentence(check) for check in checks}

    assert len(sentences) == len(set(sentences.values())) == len(checks)
    assert all(sentence.endswith(".") for sentence in sentences.values())
