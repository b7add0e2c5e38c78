"""Input that A16 forbids raises `InvalidInput`, before a store is touched or even looked for."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.implementation import load_implementation
from conformance.place import RealFile, dump
from model.reservation_vocabulary import Safety
from stateful_tests.faults import FaultyStorage
from stateful_tests.invalid_input import (
    ADMISSION_CALLS,
    ADMISSION_SIGNATURES,
    BAD_NAMES,
    BAD_NUMBERS,
    BAD_TEXTS,
    LEDGER_CALLS,
    LEDGER_SIGNATURES,
    InvalidCall,
    convert,
)
from stateful_tests.values import NAMES, NUMBER_MAX, PAYLOADS

VERSION = load_implementation()
InvalidInput = VERSION.errors.InvalidInput


class Watched:
    """A file of a store, and a count of the connections that were opened to it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.storage = FaultyStorage()
        self.place = RealFile(path, VERSION, driver=self.storage.open)

    def expect_invalid_input(self, call: object, carry_out: Callable[[], Any]) -> None:
        """Carry the call out: it raises, and neither the rows nor the files have changed."""
        rows, files = dump(self.place.observer()), sorted(self.path.parent.iterdir())
        with self.storage.watch() as watched, pytest.raises(InvalidInput) as caught:
            carry_out()

        assert type(caught.value) is InvalidInput, call
        assert watched.statements == [], call
        assert dump(self.place.observer()) == rows, call
        assert sorted(self.path.parent.iterdir()) == files, call


def arguments_of(call: InvalidCall) -> list[Any]:
    """Return the arguments as the implementation's own values."""
    return [convert(value, VERSION) for value in call.arguments]


def calls_of(calls: tuple[InvalidCall, ...], function: str) -> list[InvalidCall]:
    """Return the calls of one function."""
    chosen = [call for call in calls if call.function == function]
    assert chosen
    return chosen


@dataclass(frozen=True)
class Kind:
    """A kind of store: its module, what else `init` is given, its class, and its bad calls."""

    module: Any
    init_arguments: tuple[str, ...]
    opened: Any
    calls: tuple[InvalidCall, ...]

    def init(self, store: Watched) -> None:
        """Create the store."""
        self.module.init(store.path, *self.init_arguments, connect=store.place.connect)


ADMISSION = Kind(VERSION.admission, (), VERSION.admission.AdmissionStore, ADMISSION_CALLS)
LEDGER = Kind(VERSION.reservation, ("name",), VERSION.reservation.Ledger, LEDGER_CALLS)
FUNCTIONS = [
    *(pytest.param(ADMISSION, name, id=f"admission {name}") for name in ADMISSION_SIGNATURES),
    *(pytest.param(LEDGER, name, id=f"ledger {name}") for name in LEDGER_SIGNATURES),
]
METHODS = [each for each in FUNCTIONS if each.values[1] != "init"]


@pytest.mark.parametrize("exists", [False, True], ids=["absent", "existing"])
@pytest.mark.parametrize(("kind", "function"), FUNCTIONS)
def test_a_function_checks_its_input_first(
    kind: Kind, function: str, tmp_path: Path, *, exists: bool
) -> None:
    """Each bad argument raises `InvalidInput` on an absent store as on an existing one."""
    store = Watched(tmp_path / "store.db")
    if exists:
        kind.init(store)
    for call in calls_of(kind.calls, function):
        carry_out = partial(
            getattr(kind.module, function),
            store.path,
            *arguments_of(call),
            connect=store.place.connect,
        )
        store.expect_invalid_input(call, carry_out)
    store.place.close()


@pytest.mark.parametrize(("kind", "function"), METHODS)
def test_a_method_of_an_open_store_checks_its_input_first(
    kind: Kind, function: str, tmp_path: Path
) -> None:
    """Each bad argument raises `InvalidInput` before a statement is run."""
    store = Watched(tmp_path / "store.db")
    kind.init(store)
    with kind.opened(store.path, connect=store.place.connect) as opened:
        for call in calls_of(kind.calls, function):
            method = partial(getattr(opened, function), *arguments_of(call))
            store.expect_invalid_input(call, method)
    store.place.close()


PERMIT_FIELDS = {
    "ledger": BAD_NAMES,
    "intent_id": BAD_NAMES,
    "seq": BAD_NUMBERS,
    "payload": BAD_TEXTS,
    "safety": ("", "unsafe", None, True),
}
GOOD_PERMIT = {"ledger": "L", "intent_id": "i", "seq": 1, "payload": "", "safety": "idempotent"}


@pytest.mark.parametrize("field", PERMIT_FIELDS)
def test_a_receiver_checks_permits_and_calls_first(field: str, tmp_path: Path) -> None:
    """A bad permit is refused unused, and a bad call does no business."""
    receiver = Watched(tmp_path / "receiver.db")
    words = VERSION.vocabulary
    VERSION.receiver.init(receiver.path, connect=receiver.place.connect)
    with VERSION.receiver.Receiver(receiver.path, connect=receiver.place.connect) as opened:
        for value in PERMIT_FIELDS[field]:
            values = {**GOOD_PERMIT, field: value}
            permit = words.Permit(**values)
            for use in (opened.enter, opened.send):
                receiver.expect_invalid_input(values, partial(use, permit))
            assert not permit.is_used
            call = words.Call(**values)
            receiver.expect_invalid_input(values, partial(opened.perform, call))
        for nothing in (None, "permit", GOOD_PERMIT):
            for use in (opened.enter, opened.send, opened.perform):
                receiver.expect_invalid_input(nothing, partial(use, nothing))
    receiver.place.close()


def test_a_path_with_a_nul_is_invalid(tmp_path: Path) -> None:
    """SQLite would open the file that the part before the NUL names."""
    with pytest.raises(InvalidInput):
        VERSION.admission.init(f"{tmp_path}/store\0.db")

    assert list(tmp_path.iterdir()) == []


def test_every_value_at_an_edge_that_is_allowed_is_taken(tmp_path: Path) -> None:
    """The longest names, empty texts, texts with NUL and the largest numbers are all accepted."""
    path = tmp_path / "store.db"
    VERSION.admission.init(path, VERSION.admission.Limits(*[NUMBER_MAX] * 5))
    for number, payload in enumerate(PAYLOADS):
        assert VERSION.admission.admit(path, f"r{number}", "A", payload) == "accepted"
    for name in NAMES:
        assert VERSION.admission.admit(path, name, name, "") == "accepted"
    token = VERSION.admission.claim(path, NUMBER_MAX)
    records = VERSION.admission.snapshot(path)["records"]

    assert token.request_id == "r0"
    assert [record["payload"] for record in records[: len(PAYLOADS)]] == list(PAYLOADS)
    assert [record["request_id"] for record in records[len(PAYLOADS) :]] == list(NAMES)


def test_a_subclass_of_text_is_read_as_the_text_that_it_is(tmp_path: Path) -> None:
    """An overridden comparison or conversion of the caller takes no part in a decision (A2)."""

    class Text(str):
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            return True

        def __hash__(self) -> int:
            return 0

        def __str__(self) -> str:
            return "another"

    path = tmp_path / "store.db"
    VERSION.admission.init(path)
    assert VERSION.admission.admit(path, Text("r"), Text("A"), Text("a")) == "accepted"

    assert VERSION.admission.admit(path, "r", "A", "a") == "replay"
    assert VERSION.admission.admit(path, Text("r"), Text("A"), Text("b")) == "conflict"


@pytest.mark.parametrize("value", [-1, NUMBER_MAX + 1])
def test_a_subclass_of_int_is_read_as_the_number_that_it_is(value: int, tmp_path: Path) -> None:
    """An overridden comparison of the caller doesn't get a number past its bounds (A16)."""

    class Number(int):
        def __ge__(self, other: object) -> bool:
            return True

        def __le__(self, other: object) -> bool:
            return True

    path = tmp_path / "store.db"
    VERSION.admission.init(path)

    with pytest.raises(InvalidInput):
        VERSION.admission.claim(path, Number(value))


@pytest.mark.parametrize("safety", Safety)
def test_safety_may_be_given_as_its_text(safety: Safety, tmp_path: Path) -> None:
    """The text of a safety and the safety itself open the same intent (B1)."""
    path = tmp_path / "ledger.db"
    VERSION.reservation.init(path, "L")
    own = VERSION.vocabulary.Safety(str(safety))

    assert VERSION.reservation.open_intent(path, "i", "", str(safety), 1) == "opened"
    assert VERSION.reservation.open_intent(path, "i", "", own, 1) == "unchanged"
