"""Checks of what a caller passes, all of them made before a store is touched (A16).

A check returns the plain value: a subclass of `str` or `int` is read as the text or number that it
is, so that no overridden comparison or conversion of the caller takes part in a decision.
Nothing here normalises: text is compared code point by code point, which for valid text is the
same as byte by byte in UTF-8.
"""

import reprlib
from typing import TypeVar

from impl.sqlite.errors import InvalidInput

Expected = TypeVar("Expected")

NAME_BYTES_MAX = 200
NUMBER_MAX = 1_000_000_000


def check_name(what: str, value: object) -> str:
    """Return an id, a tenant or a ledger's name: 1 to 200 UTF-8 bytes without NUL."""
    encoded = _encode(what, value)
    if not 1 <= len(encoded) <= NAME_BYTES_MAX:
        raise InvalidInput(
            f"{what} {reprlib.repr(value)} has {len(encoded)} UTF-8 bytes; "
            f"1 to {NAME_BYTES_MAX} are allowed"
        )
    if b"\0" in encoded:
        raise InvalidInput(f"{what} {reprlib.repr(value)} holds a NUL, which is not allowed")
    return encoded.decode("utf-8")


def check_payload(value: object) -> bytes:
    """Return the UTF-8 bytes of a payload, which may be empty and may hold NUL."""
    return _encode("payload", value)


def check_number(what: str, value: object) -> int:
    """Return a limit, a tick, a generation or another count: 0 to 10**9, and no `bool`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidInput(
            f"{what} {reprlib.repr(value)} is a {type(value).__name__}; an int is needed"
        )
    number = int.__add__(value, 0)  # first, so that no comparison of a subclass decides
    if not 0 <= number <= NUMBER_MAX:
        raise InvalidInput(f"{what} {number} is outside 0 to {NUMBER_MAX}")
    return number


def check_type(what: str, value: object, expected: type[Expected]) -> Expected:
    """Return a value that must be an instance of one of our own classes."""
    if not isinstance(value, expected):
        raise InvalidInput(
            f"{what} {reprlib.repr(value)} is a {type(value).__name__}; "
            f"a {expected.__name__} is needed"
        )
    return value


def _encode(what: str, value: object) -> bytes:
    if not isinstance(value, str):
        raise InvalidInput(
            f"{what} {reprlib.repr(value)} is a {type(value).__name__}; a str is needed"
        )
    try:
        return str.encode(value, "utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(
            f"{what} {reprlib.repr(value)} holds a lone surrogate at index {error.start}"
        ) from error
