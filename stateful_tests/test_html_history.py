"""The page of a history: its calls as bars in time, and why no order explains them."""

from pathlib import Path

import pytest

from model.checking.trace import UNKNOWN
from model.checking.trace_explanation import NARRATORS
from stateful_tests.html_pages import Page, make_false_history, parse_page, write_history

HISTORY = make_false_history()


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Page:
    """Return the page of a history that nothing explains."""
    file = write_history(HISTORY, tmp_path_factory.mktemp("history") / "history.html")
    return parse_page(Path(file).read_text("utf-8"))


def test_each_call_is_a_bar_and_a_row(page: Page) -> None:
    """A bar in the lane of its process, and what was called and answered in words."""
    assert len(page.find("rect", "bar")) == len(HISTORY.operations)
    assert len(page.find("li", "moment")) == len(HISTORY.operations)
    for operation in HISTORY.operations:
        assert NARRATORS["admission"].describe_action(operation.action) in page.text


def test_a_bar_begins_and_ends_where_the_call_did(page: Page) -> None:
    """Calls that overlap in time overlap on the page; one without an answer ends nowhere."""
    bars = [
        (float((bar["x"] or "").rstrip("%")), float((bar["width"] or "").rstrip("%")))
        for bar in page.find("rect", "bar")
    ]

    for number, (one, (x, width)) in enumerate(zip(HISTORY.operations, bars, strict=True)):
        if one.outcome is UNKNOWN:
            assert x + width == pytest.approx(100)
            continue
        for other, (other_x, _) in list(zip(HISTORY.operations, bars, strict=True))[number + 1 :]:
            assert (other_x < x + width) is (other.called < (one.returned or 0))
    assert len(page.find("rect", "open")) == 1


def test_the_page_says_which_call_has_no_place_and_why(page: Page) -> None:
    """The longest prefix, the call that is stuck, and what the model answers instead."""
    assert "No order that respects real time explains every answer." in page.text
    assert "As far as an order explains the answers, it is: 1, 2." in page.text
    assert "no place in any order" in page.text
    assert "the model answers global_full" in page.text


def test_the_page_loads_nothing(page: Page) -> None:
    """Its links lead to its own rows, and nothing is inline."""
    rows = {f"#{row['id']}" for row in page.find("li", "moment")}

    assert {link["href"] for link in page.find("a")} == rows
    assert not any("src" in attributes or "style" in attributes for _, attributes in page.tags)
