"""The scopes of both machines: finite bounds as data, with the exact numbers of a full search.

TINY has a few hundred states, SMALL at most 50,000, MEDIUM at least 100,000.
TINY and SMALL together reach every (action, outcome) pair of their machine.
The narrow ones (`narrow_scopes`) look at one thing each that TINY and SMALL can't show.
X is an independent cross-check: other tools have counted the same bounds.

A number here was found by a search, and holds it from then on: a search that silently
shrank fails. `unreachable` lists what a scope can't reach, and why; an unlisted gap fails.
"""

from dataclasses import replace
from typing import Any

from model.admission_scope import ADMISSION, AdmissionScope, old_record
from model.admission_vocabulary import Limits
from model.machine import Expected, Machine
from model.narrow_scopes import (
    ADMISSION_SUMS,
    ADMISSION_TEXTS,
    NO_INIT,
    OWN_CLOCK,
    RESERVATION_CONFLICTS,
    RESERVATION_FIELDS,
    RESERVATION_IDS,
    RESERVATION_TWICE,
)
from model.reservation_scope import RESERVATION, ReservationScope
from model.reservation_vocabulary import IDEMPOTENT, NON_IDEMPOTENT, OpenIntent, Receipt

_NO_OLD_RECORD = "no record starts near the last generation"

ADMISSION_TINY = AdmissionScope(
    name="TINY",
    limits=Limits(global_slots=1, global_bytes=3, tenant_slots=1, tenant_bytes=3, item_bytes=3),
    request_ids=("r1", "r2"),
    tenants=("A", "B"),
    payloads=("中", "aaaa"),
    ticks=(0, 5),
    generations=(1, 2, 10**9),
    generation_limit=2,
    other_limits=(Limits(1, 3, 1, 3, 4),),
    old_records=(
        old_record("r1", "A", "中", is_quarantined=False),
        old_record("r1", "A", "中", is_quarantined=True),
    ),
    expected=Expected(states=414, transitions=2156, calls=18089, depth=9),
    unreachable={
        "tick ticked": OWN_CLOCK,
        "admit tenant_full": "the global limits are met first",
        "a_tenant_is_full_by_slots": "the global limits are met first",
        "a_tenant_is_full_by_bytes": "the global limits are met first",
        "the_store_is_full_by_slots": "the only payload that fits takes all the bytes",
        "the_store_is_full_by_bytes": "the only payload that fits takes all the slots",
        "a_third_generation_is_claimed": "the generation limit is 2",
    },
)

ADMISSION_SMALL = AdmissionScope(
    name="SMALL",
    limits=Limits(global_slots=2, global_bytes=4, tenant_slots=1, tenant_bytes=2, item_bytes=3),
    request_ids=("r1", "r2", "r3"),
    tenants=("A", "B"),
    payloads=("", "aa", "中", "aaaa"),
    ticks=(0, 5),
    generations=(1, 2, 3),
    generation_limit=3,
    other_limits=(Limits(2, 4, 1, 2, 4),),
    is_symmetric=True,
    expected=Expected(states=25135, transitions=157936, calls=1899347, depth=19),
    unreachable={
        "tick ticked": OWN_CLOCK,
        "claim generation_exhausted": _NO_OLD_RECORD,
        "redrive generation_exhausted": _NO_OLD_RECORD,
        "a_tenant_is_full_by_bytes": "a tenant has one slot, so its work never adds up",
    },
)

ADMISSION_MEDIUM = replace(
    ADMISSION_SMALL,
    name="MEDIUM",
    payloads=("", "aa", "中"),
    is_symmetric=False,
    expected=Expected(states=301299, transitions=1890980, calls=20960057, depth=19),
    unreachable={
        **ADMISSION_SMALL.unreachable,
        "admit oversize": "every payload is within the item limit",
    },
)

ADMISSION_X = AdmissionScope(
    name="X",
    limits=Limits(global_slots=2, global_bytes=5, tenant_slots=2, tenant_bytes=4, item_bytes=3),
    request_ids=("r1", "r2", "r3"),
    tenants=("A", "B"),
    payloads=("aa", "aaa"),
    ticks=(),
    last_tick=4,
    lease_ticks=2,
    generations=(1, 2, 3),
    generation_limit=3,
    starts_absent=False,
    expected=Expected(states=1406741, transitions=3299260, calls=60919575, depth=21),
    unreachable={
        "init ready": NO_INIT,
        "init limits_mismatch": NO_INIT,
        **{
            f"{action} store_missing": NO_INIT
            for action in ("admit", "claim", "resolve", "quarantine", "redrive", "cancel_unstarted")
        },
        **{
            f"{action} clock_regression": "the actions use the clock as it stands"
            for action in ("claim", "resolve", "quarantine")
        },
        "admit oversize": "every payload is within the item limit",
        "claim generation_exhausted": _NO_OLD_RECORD,
        "redrive generation_exhausted": _NO_OLD_RECORD,
        "a_tenant_is_full_by_slots": "the global slots are as few, and are met first",
    },
)
ADMISSION_X_IDS = replace(
    ADMISSION_X,
    name="X-ids",
    is_symmetric=True,
    keeps_tenants=True,
    expected=Expected(states=234621, transitions=550980, calls=10160411, depth=21),
)
ADMISSION_X_IDS_TENANTS = replace(
    ADMISSION_X,
    name="X-ids-tenants",
    is_symmetric=True,
    expected=Expected(states=117313, transitions=275522, calls=5080315, depth=21),
)

_FORGED = (Receipt("i1", "p", 9), Receipt("i1", "other", 1), Receipt("other", "p", 1))
_ONE_LEDGER = "one ledger never disagrees with itself about an id"

RESERVATION_TINY = ReservationScope(
    name="TINY",
    ledgers=("L1",),
    workers=(("a", "L1"), ("b", "L1")),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 1),
    ),
    expected=Expected(states=239, transitions=723, calls=3803, depth=10),
    unreachable={
        "perform conflict": _ONE_LEDGER,
        "send conflict": _ONE_LEDGER,
        "attempt conflict": _ONE_LEDGER,
        "attempt rejected": "no forged receipt is offered",
        "confirm store_missing": "no receipt exists before the ledger, and none is forged",
        "confirm unknown_intent": "no receipt exists before the intent, and none is forged",
        "two_ledgers_disagree_on_an_id": _ONE_LEDGER,
        "unknown_with_budget_left": "the non-idempotent intent has cap 1",
        "exhausted_with_a_cap_of_zero": "no intent has cap zero",
    },
)

RESERVATION_SMALL = ReservationScope(
    name="SMALL",
    ledgers=("L1", "L2"),
    workers=(("a", "L1"), ("b", "L1"), ("c", "L2")),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
        OpenIntent("L1", "i2", "p", IDEMPOTENT, 0),
        OpenIntent("L2", "i1", "p", NON_IDEMPOTENT, 2),
        OpenIntent("L2", "i1", "q", IDEMPOTENT, 1),
    ),
    forged_receipts=_FORGED,
    has_races=True,
    expected=Expected(states=27388, transitions=162267, calls=1837043, depth=17),
    unreachable={
        "unknown_comes_before_exhausted": "the non-idempotent intent has cap 2, and spends 1",
    },
)

RESERVATION_MEDIUM = replace(
    RESERVATION_SMALL,
    name="MEDIUM",
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 3),
        OpenIntent("L2", "i1", "p", NON_IDEMPOTENT, 1),
        OpenIntent("L2", "i1", "q", IDEMPOTENT, 1),
    ),
    forged_receipts=_FORGED[:1],
    expected=Expected(states=234276, transitions=1577208, calls=9255866, depth=19),
    unreachable={},
)

MACHINES: dict[str, Machine[Any, Any, Any]] = {
    ADMISSION.name: ADMISSION,
    RESERVATION.name: RESERVATION,
}

SCOPES: dict[str, dict[str, Any]] = {
    ADMISSION.name: {
        scope.name: scope
        for scope in (
            ADMISSION_TINY,
            ADMISSION_SMALL,
            ADMISSION_SUMS,
            ADMISSION_TEXTS,
            ADMISSION_MEDIUM,
            ADMISSION_X,
            ADMISSION_X_IDS,
            ADMISSION_X_IDS_TENANTS,
        )
    },
    RESERVATION.name: {
        scope.name: scope
        for scope in (
            RESERVATION_TINY,
            RESERVATION_SMALL,
            RESERVATION_FIELDS,
            RESERVATION_TWICE,
            RESERVATION_IDS,
            RESERVATION_CONFLICTS,
            RESERVATION_MEDIUM,
        )
    },
}
