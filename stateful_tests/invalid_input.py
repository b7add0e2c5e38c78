"""Calls with an argument that A16 forbids: data, of which each names a function and its arguments.

Each call has one bad argument, or a good one with a bad field; all else could be accepted.
"""

from collections.abc import Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final

from conformance.implementation import Implementation
from model import admission_vocabulary as admission
from model import reservation_vocabulary as reservation
from stateful_tests.values import LONGEST_NAME_BYTES, NUMBER_MAX

NAME, TEXT, NUMBER, TOKEN, LIMITS, SAFETY, RECEIPT = (
    "name",
    "text",
    "number",
    "token",
    "limits",
    "safety",
    "receipt",
)
"""The kinds of arguments."""

GOOD: Final[Mapping[str, Any]] = {
    NAME: "r",
    TEXT: "a",
    NUMBER: 1,
    TOKEN: admission.Token("r", 1),
    LIMITS: admission.Limits(),
    SAFETY: "idempotent",
    RECEIPT: reservation.Receipt("r", "a", 1),
}

BAD_NAMES: Final[tuple[Any, ...]] = (
    "",
    "\0",
    "r\0",
    "\ud800",
    "r\udfff",
    "n" * (LONGEST_NAME_BYTES + 1),
    "中" * 67,  # 67 characters, 201 bytes
    None,
    7,
    b"r",
)
BAD_TEXTS: Final[tuple[Any, ...]] = ("\ud800", "a\udfffb", None, 7, b"a", ["a"])
BAD_NUMBERS: Final[tuple[Any, ...]] = (-1, NUMBER_MAX + 1, True, False, 1.0, "1", None, 10**30)

BAD: Final[Mapping[str, tuple[Any, ...]]] = {
    NAME: BAD_NAMES,
    TEXT: BAD_TEXTS,
    NUMBER: BAD_NUMBERS,
    TOKEN: (
        None,
        "r",
        ("r", 1),
        *(admission.Token(name, 1) for name in BAD_NAMES),
        *(admission.Token("r", number) for number in BAD_NUMBERS),
    ),
    LIMITS: (
        (4, 256, 2, 128, 96),
        *(
            admission.Limits(**{field: number})
            for field in admission.Limits.__dataclass_fields__
            for number in BAD_NUMBERS
        ),
    ),
    SAFETY: ("", "IDEMPOTENT", "idempotent ", "unsafe", None, True, 1, ["idempotent"]),
    RECEIPT: (
        None,
        ("r", "a", 1),
        *(reservation.Receipt(name, "a", 1) for name in BAD_NAMES),
        *(reservation.Receipt("r", text, 1) for text in BAD_TEXTS),
        *(reservation.Receipt("r", "a", number) for number in BAD_NUMBERS),
    ),
}

ADMISSION_SIGNATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": (LIMITS,),
    "admit": (NAME, NAME, TEXT),
    "claim": (NUMBER,),
    "resolve": (TOKEN, NUMBER),
    "quarantine": (TOKEN, NUMBER),
    "redrive": (NAME, NUMBER),
    "cancel_unstarted": (NAME,),
}
LEDGER_SIGNATURES: Final[Mapping[str, tuple[str, ...]]] = {
    "init": (NAME,),
    "open_intent": (NAME, TEXT, SAFETY, NUMBER),
    "reserve": (NAME,),
    "confirm": (NAME, NUMBER, RECEIPT),
}


@dataclass(frozen=True, slots=True)
class InvalidCall:
    """A call of a function on a path, with the arguments after the path."""

    function: str
    arguments: tuple[Any, ...]


def compute_invalid_calls(
    signatures: Mapping[str, tuple[str, ...]],
) -> tuple[InvalidCall, ...]:
    """Return every call with one bad argument, the others being good."""
    return tuple(
        InvalidCall(function, (*good[:position], value, *good[position + 1 :]))
        for function, kinds in signatures.items()
        for good in [tuple(GOOD[kind] for kind in kinds)]
        for position, kind in enumerate(kinds)
        for value in BAD[kind]
    )


ADMISSION_CALLS: Final = compute_invalid_calls(ADMISSION_SIGNATURES)
LEDGER_CALLS: Final = compute_invalid_calls(LEDGER_SIGNATURES)


def convert(value: Any, version: Implementation) -> Any:
    """Return a value of the model as the implementation's own, fields unchecked."""
    if isinstance(value, admission.Token):
        return version.admission.Token(*astuple(value))
    if isinstance(value, admission.Limits):
        return version.admission.Limits(*astuple(value))
    if isinstance(value, reservation.Receipt):
        return version.vocabulary.Receipt(*astuple(value))
    return value
