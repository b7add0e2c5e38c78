"""The values that the implementation hands out: frozen, hashable, and numbers told by value."""

import dataclasses
import importlib
import pkgutil
from contextlib import closing
from pathlib import Path

import pytest

import impl.sqlite
from impl.sqlite import reservation
from impl.sqlite.reservation import Ledger, ReserveRefusal
from impl.sqlite.vocabulary import Permit, Safety

MODULES = [
    importlib.import_module(f"{impl.sqlite.__name__}.{each.name}")
    for each in pkgutil.iter_modules(impl.sqlite.__path__)
]
KINDS = [
    kind
    for module in MODULES
    for kind in vars(module).values()
    if isinstance(kind, type)
    and dataclasses.is_dataclass(kind)
    and kind.__module__ == module.__name__
]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__qualname__)
def test_every_kind_of_value_is_frozen(kind: type) -> None:
    """It has slots, can be a member of a set, and can't be changed in place."""
    assert vars(kind)["__dataclass_params__"].frozen
    assert "__slots__" in vars(kind)
    assert kind.__hash__ is not None


def test_the_values_of_a_permit_are_read_only() -> None:
    """Whoever has it can't make it one for another payload."""
    permit = Permit(ledger="L1", intent_id="i1", seq=1, payload="p", safety=Safety("idempotent"))

    with pytest.raises(dataclasses.FrozenInstanceError):
        permit.call.payload = "q"  # type: ignore[misc]
    with pytest.raises(AttributeError):
        permit.payload = "q"  # type: ignore[misc]
    assert hash(permit.call) == hash(permit.call)


def test_a_cap_is_reached_by_its_number(tmp_path: Path) -> None:
    """Three hundred permits, and then none: a number is compared by its value."""
    path = tmp_path / "ledger"
    reservation.init(path, "L1")

    with closing(Ledger(path)) as ledger:
        ledger.open_intent("i1", "p", "idempotent", 300)
        last = [ledger.reserve("i1") for _ in range(301)][-2:]

    assert isinstance(last[0], Permit)
    assert last[0].seq == 300
    assert last[1] is ReserveRefusal.BUDGET_EXHAUSTED
