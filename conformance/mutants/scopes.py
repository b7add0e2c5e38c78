"""Scopes for mistakes that TINY and SMALL can't show: small ones that look at one thing each."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from model.admission_vocabulary import Limits
from model.reservation_scope import ReservationScope
from model.reservation_vocabulary import IDEMPOTENT, NON_IDEMPOTENT, OpenIntent
from model.scopes import ADMISSION_TINY, SCOPES

TEXTS = replace(
    ADMISSION_TINY,
    name="TEXTS",
    limits=Limits(global_slots=1, global_bytes=9, tenant_slots=1, tenant_bytes=9, item_bytes=9),
    request_ids=("r1",),
    tenants=("A", "a"),
    payloads=('{"a":1}', '{"a": 1}', "é", "e\u0301", "E\u0301", "é ", "é\0", "中中中中"),
    ticks=(0,),
    generations=(1,),
    generation_limit=1,
    other_limits=(),
    old_records=(),
    expected=None,
)
"""Texts that are equal in some sense but not code point by code point (A2), and one that has fewer
characters than the item limit and more bytes (A5)."""


FIELDS = ReservationScope(
    name="FIELDS",
    ledgers=("L1",),
    workers=(("a", "L1"),),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "q", IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 2),
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
    ),
)
"""Openings of an intent that differ in one value each (B1)."""

TWICE = ReservationScope(
    name="TWICE",
    ledgers=("L1", "L2"),
    workers=(("a", "L1"), ("b", "L2")),
    openings=(
        OpenIntent("L1", "i1", "p", NON_IDEMPOTENT, 1),
        OpenIntent("L2", "i1", "q", NON_IDEMPOTENT, 1),
    ),
    starts_absent=False,
)
"""Two calls of a non-idempotent id, from two ledgers, with two payloads: two effects (B5)."""

CONFLICTS = ReservationScope(
    name="CONFLICTS",
    ledgers=("L1", "L2"),
    workers=(("a", "L1"), ("b", "L2")),
    openings=(
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 1),
        OpenIntent("L2", "i1", "q", IDEMPOTENT, 2),
        OpenIntent("L2", "i1", "p", NON_IDEMPOTENT, 1),
    ),
    starts_absent=False,
)
"""Two ledgers that disagree on an id, in its payload alone and in its safety alone (B5)."""

_OWN: Mapping[tuple[str, str], Any] = {
    ("admission", "TEXTS"): TEXTS,
    ("reservation", "FIELDS"): FIELDS,
    ("reservation", "CONFLICTS"): CONFLICTS,
    ("reservation", "TWICE"): TWICE,
}


def find_scope(machine: str, name: str) -> Any:
    """Return the scope in which a mutant is killed."""
    return _OWN[machine, name] if (machine, name) in _OWN else SCOPES[machine][name]
