"""Values at the edges: names and texts that a careless comparison confuses, and exact sizes.

Everything here is data or a pure function; what the machines draw is made of it.
"""

import itertools
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final, TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

NUMBER_MAX: Final = 10**9
LONGEST_NAME_BYTES: Final = 200
MOST_PAYLOAD_BYTES: Final = 1_000
"""A payload that is longer than this shows nothing new, and makes a counterexample unreadable."""

COMPOSED: Final = unicodedata.normalize("NFC", "é")
DECOMPOSED: Final = unicodedata.normalize("NFD", "é")
FAMILY: Final = "👩‍👧"
"""One sign to a reader, three code points, eleven UTF-8 bytes."""

NAMES: Final = (
    "r",
    "R",
    "r ",
    " r",
    COMPOSED,
    DECOMPOSED,
    "中",
    FAMILY,
    "1",
    "01",
    "中" * 66 + "ab",
    "n" * LONGEST_NAME_BYTES,
)
"""Ids and tenants, all different: by case, a space, normal form, a leading zero; the longest."""

PAYLOADS: Final = (
    "",
    "a",
    "A",
    "a ",
    "中",
    COMPOSED,
    DECOMPOSED,
    "😀",
    "\0",
    "a\0b",
    '{"a": 1, "b": 2}',
    '{"b": 2, "a": 1}',
)
"""Texts that are all different, though some mean or look the same."""

UNITS: Final = ("a", "é", "中", "😀")
"""Characters of one, two, three and four UTF-8 bytes."""


STRANGER: Final = "nobody"
"""An id that no store ever learns."""


def fill(size_bytes: int, unit: str = "a") -> str:
    """Return a text of exactly this many UTF-8 bytes, of one character as far as it goes."""
    times, rest = divmod(size_bytes, len(unit.encode()))
    return unit * times + "a" * rest


def at_the_edges(numbers: Iterable[int], most: int) -> tuple[int, ...]:
    """Return each number and its two neighbours, those from 0 to `most`, each once."""
    near = itertools.chain.from_iterable((each, each - 1, each + 1) for each in numbers)
    return tuple(dict.fromkeys(each for each in near if 0 <= each <= most))


def find_lookalikes(text: str) -> tuple[str, ...]:
    """Return other texts of `PAYLOADS` that a loose comparison takes for this one."""
    folded = _fold(text)
    return tuple(each for each in PAYLOADS if each != text and _fold(each) == folded)


def _fold(text: str) -> object:
    """Return what is left of a text by what A2 forbids: trimming, folding, a meaning."""
    plain = unicodedata.normalize("NFC", text.partition("\0")[0]).strip().casefold()
    return tuple(sorted(plain)) if plain.startswith("{") else plain


_IS_STALE: Final = st.sampled_from((False, False, True))


@st.composite
def mostly(draw: st.DrawFn, live: Sequence[T], stale: Sequence[T]) -> T:
    """Draw from the first in two of three cases, if there are any, else from the second."""
    is_stale = not live or draw(_IS_STALE)
    return draw(st.sampled_from(stale if is_stale else live))
