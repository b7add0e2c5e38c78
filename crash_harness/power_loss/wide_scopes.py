"""The scopes of the generated sequences: payloads of several pages, and room for many of them."""

from typing import Any

from model.admission_scope import AdmissionScope
from model.admission_vocabulary import Limits
from model.reservation_scope import ReservationScope
from model.reservation_vocabulary import IDEMPOTENT, NON_IDEMPOTENT, OpenIntent

SEVERAL_PAGES = "中" * 3_500
"""10,500 bytes: a payload that needs overflow pages of 4,096 bytes."""

WIDE_SCOPES: dict[str, Any] = {
    "admission": AdmissionScope(
        name="power-loss",
        limits=Limits(6, 50_000, 4, 40_000, 20_000),
        request_ids=tuple(f"r{number}" for number in range(1, 9)),
        tenants=("A", "B"),
        payloads=("", "aa", SEVERAL_PAGES),
        ticks=(0, 1, 6),
        generations=(1, 2, 3),
        generation_limit=4,
    ),
    "reservation": ReservationScope(
        name="power-loss",
        ledgers=("L1", "L2"),
        workers=(("a", "L1"), ("b", "L1"), ("c", "L2")),
        openings=(
            OpenIntent("L1", "i1", "p", IDEMPOTENT, 6),
            OpenIntent("L1", "i2", SEVERAL_PAGES, IDEMPOTENT, 6),
            OpenIntent("L1", "i3", "q", NON_IDEMPOTENT, 2),
            OpenIntent("L2", "i1", "p", IDEMPOTENT, 3),
            OpenIntent("L2", "i4", SEVERAL_PAGES, NON_IDEMPOTENT, 2),
        ),
    ),
}
