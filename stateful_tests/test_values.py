"""The values at the edges are what they claim to be."""

import unicodedata

import pytest

from stateful_tests.values import (
    LONGEST_NAME_BYTES,
    NAMES,
    PAYLOADS,
    UNITS,
    at_the_edges,
    fill,
    find_lookalikes,
)


def test_names_are_valid_and_all_different() -> None:
    """Each name is allowed by A16, and two of them have exactly the most bytes that are allowed."""
    sizes = [len(name.encode()) for name in NAMES]

    assert len(set(NAMES)) == len(NAMES)
    assert min(sizes) == 1
    assert max(sizes) == LONGEST_NAME_BYTES
    assert sizes.count(LONGEST_NAME_BYTES) == 2
    assert not any("\0" in name for name in NAMES)


def test_some_names_and_payloads_differ_by_normal_form_alone() -> None:
    """A store that normalised would take them for one."""
    for texts in (NAMES, PAYLOADS):
        normalised = {unicodedata.normalize("NFC", text) for text in texts}
        assert len(normalised) < len(texts)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("size_bytes", [0, 1, 4, 95, 96, 97])
def test_a_filled_text_has_exactly_its_size(size_bytes: int, unit: str) -> None:
    """The size counts UTF-8 bytes, whatever the characters are."""
    assert len(fill(size_bytes, unit).encode()) == size_bytes


def test_lookalikes_are_other_texts_that_mean_or_look_the_same() -> None:
    """Case, space, normal form, NUL and the order of JSON keys are what a careless eye misses."""
    pairs = {text: find_lookalikes(text) for text in PAYLOADS}

    assert set(pairs["a"]) == {"A", "a ", "a\0b"}
    assert pairs['{"a": 1, "b": 2}'] == ('{"b": 2, "a": 1}',)
    assert pairs["é"] == (unicodedata.normalize("NFD", "é"),)
    assert pairs["中"] == ()


def test_edges_are_the_numbers_and_their_neighbours() -> None:
    """Each number comes first, and nothing is out of range."""
    assert at_the_edges([5], 10) == (5, 4, 6)
    assert at_the_edges([0, 10], 10) == (0, 1, 10, 9)
