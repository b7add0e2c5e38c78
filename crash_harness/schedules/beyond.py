"""The scopes of the schedules beside TINY: what TINY can't show, or has no room for.

`BEYOND` has the outcomes that TINY can't reach: a tenant's own limit, two ledgers that disagree
about an id, a confirmation of what is not there.

`ROOM` has room for two at once: two records are accepted, two ids have an effect, and a forged
receipt meets an attempt. In TINY there is one slot and one intent, so that two calls which both
get something new are always about the same one.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from model.admission_vocabulary import Limits
from model.reservation_scope import ReservationScope
from model.reservation_vocabulary import IDEMPOTENT, OpenIntent, Receipt
from model.scopes import ADMISSION_TINY

_FORGED = (Receipt("i1", "p", 9),)
_TENANTS = replace(
    ADMISSION_TINY,
    name="TENANTS",
    limits=Limits(2, 6, 1, 3, 3),
    payloads=("中",),
    generations=(1,),
    generation_limit=1,
    old_records=(),
    expected=None,
    unreachable={},
)

BEYOND: Mapping[str, Any] = {
    "admission": _TENANTS,
    "reservation": ReservationScope(
        name="LEDGERS",
        ledgers=("L1", "L2"),
        workers=(("a", "L1"), ("b", "L2")),
        openings=(
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
            OpenIntent("L2", "i1", "q", IDEMPOTENT, 1),
        ),
        forged_receipts=_FORGED,
    ),
}

ROOM: Mapping[str, Any] = {
    "admission": replace(
        _TENANTS,
        name="ROOM",
        limits=Limits(2, 6, 2, 6, 3),
        tenants=("A",),
        ticks=(0,),
        other_limits=(),
        starts_absent=False,
    ),
    "reservation": ReservationScope(
        name="ROOM",
        ledgers=("L1",),
        workers=(("a", "L1"), ("b", "L1")),
        openings=(
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
            OpenIntent("L1", "i2", "p", IDEMPOTENT, 1),
        ),
        forged_receipts=_FORGED,
        starts_absent=False,
    ),
}
