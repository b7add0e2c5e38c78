"""Witnesses are not shown by less than they say: cases that look alike, and are not it."""

from dataclasses import replace

import pytest

from model.admission import step as take_admission_step
from model.admission_scope import ADMISSION
from model.admission_vocabulary import (
    CANCELLED,
    INFLIGHT,
    QUARANTINED,
    QUEUED,
    Action,
    Admit,
    CancelUnstarted,
    Claim,
    Limits,
    Record,
    Resolve,
    State,
    Token,
)

ROOMY = Limits(9, 9, 9, 9, 9)
ASIDE = Record("r1", "A", "a", 1, 1, QUARANTINED, 1, None)
HELD = replace(ASIDE, state=INFLIGHT, generation=2, lease=5)
BIG = Admit("r2", "A", "aaa")

NEAR_MISSES: list[tuple[str, Limits, tuple[Record, ...], Action]] = [
    ("quarantined_work_fills_the_store", replace(ROOMY, global_bytes=2), (), BIG),
    ("quarantined_work_fills_the_store", replace(ROOMY, tenant_bytes=2), (), BIG),
    (
        "quarantined_work_fills_the_store",
        replace(ROOMY, global_slots=2),
        (ASIDE, replace(ASIDE, request_id="r3", sequence=2, state=QUEUED)),
        BIG,
    ),
    ("the_store_is_full_by_bytes", replace(ROOMY, global_bytes=2), (), BIG),
    ("the_store_is_full_by_bytes", replace(ROOMY, global_bytes=3, global_slots=1), (ASIDE,), BIG),
    ("a_tenant_is_full_by_bytes", replace(ROOMY, tenant_bytes=2), (), BIG),
    ("a_tenant_is_full_by_bytes", replace(ROOMY, tenant_bytes=3, tenant_slots=1), (ASIDE,), BIG),
    ("the_store_is_full_by_slots", replace(ROOMY, global_slots=1, global_bytes=2), (ASIDE,), BIG),
    ("a_tenant_is_full_by_slots", replace(ROOMY, tenant_slots=1, tenant_bytes=2), (ASIDE,), BIG),
    ("a_tenant_is_refused_without_having_asked_before", replace(ROOMY, global_bytes=2), (), BIG),
    (
        "a_tenant_is_refused_without_having_asked_before",
        replace(ROOMY, global_slots=1),
        (ASIDE,),
        BIG,
    ),
    ("both_budgets_are_full", replace(ROOMY, global_slots=1), (ASIDE,), BIG),
    ("a_replay_meets_a_full_store", ROOMY, (ASIDE,), Admit("r1", "A", "a")),
    ("a_token_is_stale_after_a_new_claim", ROOMY, (HELD,), Resolve(Token("r1", 3), 0)),
    ("a_token_is_stale_after_a_new_claim", ROOMY, (ASIDE,), Resolve(Token("r1", 0), 0)),
    ("a_token_is_stale_by_its_lease_alone", ROOMY, (HELD,), Resolve(Token("r1", 2), 6)),
    ("a_token_is_stale_by_its_lease_alone", ROOMY, (HELD,), Resolve(Token("r1", 1), 5)),
    ("a_third_generation_is_claimed", ROOMY, (replace(HELD, generation=1),), Claim(5)),
    ("a_redriven_record_is_not_cancelled", ROOMY, (HELD,), CancelUnstarted("r1")),
    (
        "a_redriven_record_is_not_cancelled",
        ROOMY,
        (replace(ASIDE, state=CANCELLED, generation=0),),
        CancelUnstarted("r1"),
    ),
    ("a_finished_request_is_replayed", ROOMY, (HELD,), Admit("r1", "A", "a")),
    ("a_cancelled_request_is_replayed", ROOMY, (HELD,), Admit("r1", "A", "a")),
]


@pytest.mark.parametrize(
    ("name", "limits", "records", "action"),
    NEAR_MISSES,
    ids=[f"{name}-{i}" for i, (name, *_) in enumerate(NEAR_MISSES)],
)
def test_a_near_miss_is_no_witness(
    name: str, limits: Limits, records: tuple[Record, ...], action: Action
) -> None:
    """An empty store is never "full", a lease that ended earlier is no boundary, and so on."""
    (witness,) = [each for each in ADMISSION.witnesses if each.__name__ == name]
    before = State(limits, records=records)

    after, outcome = take_admission_step(before, action)

    assert not witness(before, action, outcome, after)


def test_every_admission_witness_but_the_record_states_has_a_near_miss() -> None:
    """A new witness needs one, so that it can't be true of everything."""
    names = {witness.__name__ for witness in ADMISSION.witnesses}

    without = names - {name for name, *_ in NEAR_MISSES}

    assert all(name.startswith("a_record_is_") for name in without)
