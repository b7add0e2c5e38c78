"""Scopes that look at one thing each, which TINY and SMALL can't show; all but one are tiny.

What such a scope reaches is listed, and it must reach that: all else is no concern of it.
"""

from collections.abc import Mapping
from typing import Any

from model.admission_scope import ADMISSION, AdmissionScope
from model.admission_vocabulary import Limits
from model.machine import Expected, Machine
from model.reservation_scope import RESERVATION, ReservationScope
from model.reservation_vocabulary import IDEMPOTENT, NON_IDEMPOTENT, OpenIntent

OWN_CLOCK = "the clock moves by the tick that each action brings along"
NO_INIT = "the store exists from the start"


def _all_but(
    machine: Machine[Any, Any, Any], why: str, rows: Mapping[str, str], witnesses: str
) -> dict[str, str]:
    """Return what a scope doesn't reach, each with the reason.

    Given is what it reaches: rows of the protocol's table, as an action's outcomes, and witnesses.
    A search that reaches anything else says so, and a misspelt name as well.
    """
    reached = {f"{action} {outcome}" for action in rows for outcome in rows[action].split()}
    reached |= set(witnesses.split())
    names = [" ".join(pair) for pair in machine.pairs()]
    names += [witness.__name__ for witness in machine.witnesses]
    return {name: why for name in names if name not in reached}


ADMISSION_SUMS = AdmissionScope(
    name="SUMS",
    limits=Limits(global_slots=3, global_bytes=5, tenant_slots=3, tenant_bytes=3, item_bytes=3),
    request_ids=("r1", "r2", "r3", "r4"),
    tenants=("A", "B"),
    payloads=("", "a", "中"),
    ticks=(0,),
    generations=(),
    generation_limit=0,
    starts_absent=False,
    is_symmetric=True,
    expected=Expected(states=6445, transitions=13710, calls=181238, depth=8),
    unreachable={
        "tick ticked": OWN_CLOCK,
        "admit oversize": "every payload is within the item limit",
        "a_tenant_is_full_by_slots": "the global slots are as few, and are met first",
        **{
            f"{action} store_missing": NO_INIT
            for action in ("admit", "claim", "resolve", "quarantine", "redrive", "cancel_unstarted")
        },
        "init ready": NO_INIT,
        "init limits_mismatch": NO_INIT,
        **dict.fromkeys(
            (
                "claim claimed",
                "claim clock_regression",
                "claim generation_exhausted",
                "resolve done",
                "resolve stale",
                "resolve clock_regression",
                "quarantine quarantined",
                "quarantine stale",
                "quarantine clock_regression",
                "redrive queued",
                "redrive stale",
                "redrive generation_exhausted",
                "a_record_is_inflight",
                "a_record_is_quarantined",
                "a_record_is_done",
                "a_finished_request_is_replayed",
                "a_token_is_stale_after_a_new_claim",
                "a_token_is_stale_by_its_lease_alone",
                "a_third_generation_is_claimed",
                "a_redriven_record_is_not_cancelled",
                "quarantined_work_fills_the_store",
            ),
            "no claim is offered: the scope is about sums",
        ),
    },
)

ADMISSION_TEXTS = AdmissionScope(
    name="TEXTS",
    limits=Limits(global_slots=1, global_bytes=9, tenant_slots=1, tenant_bytes=9, item_bytes=9),
    request_ids=("r1",),
    tenants=("A", "a"),
    payloads=('{"a":1}', '{"a": 1}', "é", "e\u0301", "E\u0301", "é ", "é\0", "中中中中"),
    ticks=(0,),
    generations=(1,),
    generation_limit=1,
    expected=Expected(states=72, transitions=71, calls=1570, depth=4),
    unreachable=_all_but(
        ADMISSION,
        "the scope is about texts",
        {
            "init": "ready",
            "admit": "accepted replay conflict oversize store_missing",
            "claim": "claimed nothing_due store_missing",
            "resolve": "done stale store_missing",
            "quarantine": "quarantined stale store_missing",
            "redrive": "stale store_missing",
            "cancel_unstarted": "cancelled not_cancelled store_missing",
        },
        """
        a_record_is_queued
        a_record_is_inflight
        a_record_is_quarantined
        a_record_is_done
        a_record_is_cancelled
        a_finished_request_is_replayed
        a_cancelled_request_is_replayed
        a_replay_meets_a_full_store
        """,
    ),
)
"""Texts that are equal in some sense but not code point by code point (A2), and one that has fewer
characters than the item limit and more bytes (A5)."""

RESERVATION_FIELDS = ReservationScope(
    name="FIELDS",
    ledgers=("L1",),
    workers=(("a", "L1"),),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "q", IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
    ),
    expected=Expected(states=190, transitions=436, calls=2646, depth=10),
    unreachable=_all_but(
        RESERVATION,
        "the scope is about the values of an opening",
        {
            "init_ledger": "ready ledger_mismatch",
            "init_receiver": "ready",
            "open_intent": "opened unchanged conflict store_missing",
            "reserve": (
                "reserved confirmed "
                "unknown_requires_reconciliation budget_exhausted store_missing unknown_intent"
            ),
            "enter": "entered permit_used store_missing",
            "perform": "received",
            "send": "received permit_used store_missing",
            "confirm": "confirmed already_confirmed rejected",
            "attempt": (
                "confirmed unknown_requires_reconciliation "
                "budget_exhausted store_missing unknown_intent"
            ),
            "crash": "crashed",
        },
        """
        unknown_with_the_holder_dead_and_no_call
        unknown_with_the_holder_dead_and_one_call
        unknown_with_budget_left
        a_permit_is_sent_after_the_confirmation
        exhausted_with_no_call_and_no_permit_in_any_hand
        confirmed_while_an_entered_reservation_is_unacknowledged
        a_call_is_answered_without_a_new_effect
        a_call_dies_between_entering_and_performing
        a_permit_is_used_before_its_call_is_answered
        spent_calls_and_effects_all_differ
        """,
    ),
)
"""Openings of an intent that differ in one value each (B1)."""

RESERVATION_TWICE = ReservationScope(
    name="TWICE",
    ledgers=("L1", "L2"),
    workers=(("a", "L1"), ("b", "L2")),
    openings=(
        OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 1),
        OpenIntent("L2", "i1", "q", NON_IDEMPOTENT, 1),
    ),
    starts_absent=False,
    expected=Expected(states=116, transitions=272, calls=1572, depth=8),
    unreachable=_all_but(
        RESERVATION,
        "the scope is about two calls of one id",
        {
            "open_intent": "opened unchanged",
            "reserve": "reserved confirmed unknown_requires_reconciliation unknown_intent",
            "enter": "entered permit_used",
            "perform": "received",
            "send": "received permit_used",
            "confirm": "confirmed already_confirmed rejected unknown_intent",
            "attempt": "confirmed unknown_requires_reconciliation unknown_intent",
            "crash": "crashed",
        },
        """
        unknown_with_the_holder_dead_and_no_call
        unknown_with_the_holder_dead_and_one_call
        unknown_comes_before_exhausted
        a_call_dies_between_entering_and_performing
        a_permit_is_used_before_its_call_is_answered
        """,
    ),
)
"""Two calls of a non-idempotent id, from two ledgers, with two payloads: two effects (B5)."""

RESERVATION_CONFLICTS = ReservationScope(
    name="CONFLICTS",
    ledgers=("L1", "L2"),
    workers=(("a", "L1"), ("b", "L2")),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
        OpenIntent("L2", "i1", "q", IDEMPOTENT, 2),
        OpenIntent("L2", "i1", "p", NON_IDEMPOTENT, 1),
    ),
    starts_absent=False,
    expected=Expected(states=752, transitions=2631, calls=11909, depth=11),
    unreachable=_all_but(
        RESERVATION,
        "the scope is about ledgers that disagree",
        {
            "open_intent": "opened unchanged conflict",
            "reserve": (
                "reserved confirmed unknown_requires_reconciliation budget_exhausted unknown_intent"
            ),
            "enter": "entered permit_used",
            "perform": "received conflict",
            "send": "received conflict permit_used",
            "confirm": "confirmed already_confirmed rejected unknown_intent",
            "attempt": (
                "confirmed conflict unknown_requires_reconciliation budget_exhausted unknown_intent"
            ),
            "crash": "crashed",
        },
        """
        unknown_with_the_holder_dead_and_no_call
        unknown_with_the_holder_dead_and_one_call
        unknown_comes_before_exhausted
        a_permit_is_sent_after_the_confirmation
        exhausted_with_no_call_and_no_permit_in_any_hand
        confirmed_while_an_entered_reservation_is_unacknowledged
        a_call_is_answered_without_a_new_effect
        a_call_dies_between_entering_and_performing
        a_permit_is_used_before_its_call_is_answered
        spent_calls_and_effects_all_differ
        two_ledgers_disagree_on_an_id
        """,
    ),
)
"""Two ledgers that disagree on an id, in its payload alone and in its safety alone (B5)."""

RESERVATION_IDS = ReservationScope(
    name="IDS",
    ledgers=("L1",),
    workers=(("a", "L1"),),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
        OpenIntent("L1", "i2", "p", IDEMPOTENT, 1),
    ),
    starts_absent=False,
    expected=Expected(states=1350, transitions=4689, calls=23976, depth=12),
    unreachable=_all_but(
        RESERVATION,
        "the scope is about two ids with one payload",
        {
            "open_intent": "opened unchanged",
            "reserve": "reserved confirmed budget_exhausted unknown_intent",
            "enter": "entered permit_used",
            "perform": "received",
            "send": "received permit_used",
            "confirm": "confirmed already_confirmed rejected unknown_intent",
            "attempt": "confirmed budget_exhausted unknown_intent",
            "crash": "crashed",
        },
        """
        a_permit_is_sent_after_the_confirmation
        exhausted_with_no_call_and_no_permit_in_any_hand
        confirmed_while_an_entered_reservation_is_unacknowledged
        a_call_is_answered_without_a_new_effect
        a_call_dies_between_entering_and_performing
        a_permit_is_used_before_its_call_is_answered
        spent_calls_and_effects_all_differ
        """,
    ),
)
"""Two ids with the same payload at one receiver: an id is told by its name alone (B5)."""
