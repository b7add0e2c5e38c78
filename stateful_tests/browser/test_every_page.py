"""What holds for every kind of page: it fits, it can be read, it has words, it can be printed."""

from pathlib import Path

import pytest

from stateful_tests.browser.conftest import Visit
from stateful_tests.browser.looks import (
    FAINT,
    OVERFLOW,
    PICTURES,
    find_jumps,
    list_unnamed,
)
from stateful_tests.html_pages import make_false_history

WITHOUT_STEPS = (
    "check",
    "exploration",
    "identity-first",
    "three-numbers",
    "what-a-bounded-queue-does-not-give",
    "index",
)
WITH_STEPS = (
    "admission divergence",
    "dispatch",
    "power loss",
    "schedule",
    "history",
    "long history",
    "raised",
)
KINDS = (*WITHOUT_STEPS, *WITH_STEPS)
ON_A_DESK = pytest.mark.parametrize("visit", ["desk"], indirect=True)
PAPER = {"width": 718, "height": 1015}
"""The part of an A4 page that is printed on, in the pixels of a style sheet."""
OPEN_ALL = "document.querySelectorAll('details').forEach((each) => { each.open = true; })"
CLOSED = """
[...document.querySelectorAll("details > :not(summary)")].filter((each) => !each.checkVisibility())
  .length
"""
CUT = """
[...document.querySelectorAll("main pre, main .chart, main .canvas, main .table")]
  .filter((each) => each.scrollWidth > each.clientWidth + 1).map((each) => each.className)
"""
UNMARKED = """
[
  ...[...document.querySelectorAll("tr.new, tr.changed, tr.gone")]
    .filter((each) => !each.querySelector(".mark")?.textContent.trim()),
  ...[...document.querySelectorAll(".changes .new")]
    .filter((each) => !each.textContent.startsWith("+")),
  ...[...document.querySelectorAll(".changes .gone")]
    .filter((each) => !each.textContent.startsWith("−")),
  ...[...document.querySelectorAll(".unlike li")]
    .filter((each) => !each.textContent.startsWith("✗")),
].map((each) => each.textContent)
"""
IN_VIEW = """
(() => {
  const bar = document.querySelector(".chart a.current rect").getBoundingClientRect();
  const chart = document.querySelector(".chart").getBoundingClientRect();
  return bar.left >= chart.left && bar.right <= chart.right;
})()
"""


@pytest.mark.parametrize("kind", [*WITHOUT_STEPS, "raised", "long history"])
def test_a_page_fits_and_every_text_can_be_read(
    visit: Visit, pages: dict[str, Path], kind: str
) -> None:
    """Nothing scrolls sideways, and no text is too faint, with everything opened too."""
    page = visit.open(pages[kind])
    page.evaluate(OPEN_ALL)

    assert page.evaluate(OVERFLOW) <= 0
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    assert page.evaluate(FAINT) == []
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert page.evaluate(FAINT) == []


@ON_A_DESK
@pytest.mark.parametrize("kind", KINDS)
def test_a_screen_reader_has_a_name_for_everything(
    visit: Visit, pages: dict[str, Path], kind: str
) -> None:
    """Controls, parts and pictures have names, the headings are in order, and one part is main."""
    page = visit.open(pages[kind])
    page.evaluate(OPEN_ALL)

    assert list_unnamed(page) == []
    assert find_jumps(page) == []
    assert page.evaluate(PICTURES) == []
    assert page.get_by_role("main").count() == 1


@ON_A_DESK
@pytest.mark.parametrize("kind", KINDS)
def test_on_paper_nothing_is_cut_or_too_faint(
    visit: Visit, pages: dict[str, Path], kind: str
) -> None:
    """On an A4 page all of it is there, whatever the window was."""
    page = visit.open(pages[kind])
    page.set_viewport_size({"width": PAPER["width"], "height": PAPER["height"]})
    page.emulate_media(media="print", color_scheme="light")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")

    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(CUT) == []
    assert page.evaluate(FAINT) == []
    assert page.locator("button:visible, input:visible").count() == 0
    assert page.locator("h1:visible").count() == 1


@ON_A_DESK
@pytest.mark.parametrize("kind", ["identity-first", "three-numbers"])
def test_on_paper_the_answers_of_a_lesson_are_open(
    visit: Visit, pages: dict[str, Path], kind: str
) -> None:
    """Nobody can click on paper."""
    page = visit.open(pages[kind])
    assert page.evaluate(CLOSED) > 0

    page.emulate_media(media="print")

    assert page.evaluate(CLOSED) == 0


@ON_A_DESK
@pytest.mark.parametrize("kind", ["history", "raised"])
def test_on_paper_every_call_of_a_history_is_there(
    visit: Visit, pages: dict[str, Path], kind: str
) -> None:
    """Each call has its bar and its words, and the error all of its lines."""
    calls = len(make_false_history().operations)
    page = visit.open(pages[kind])

    page.emulate_media(media="print")

    assert page.locator(".moment .call:visible").count() == calls
    assert page.locator(".chart rect.bar:visible").count() == calls
    assert page.locator(".raised pre:visible").count() == (kind == "raised")


def test_a_call_of_a_history_is_announced_as_it_is_shown(visit: Visit, history: Path) -> None:
    """The live region says which call it is, what it answered, and that it has no place."""
    page = visit.open(history)

    for _ in range(2):
        page.keyboard.press("ArrowRight")

    said = page.locator("#said[aria-live='polite']").text_content() or ""
    assert "Call 3, p2: admit r2 of B" in said
    assert "no place in any order" in said
    assert page.locator(".chart a.current rect.stuck").count() == 1


@ON_A_DESK
@pytest.mark.parametrize("kind", WITH_STEPS)
def test_no_mark_is_a_colour_alone(visit: Visit, pages: dict[str, Path], kind: str) -> None:
    """What is new, changed, gone or wrong has a sign or a word too."""
    page = visit.open(pages[kind])

    assert page.evaluate(UNMARKED) == []


def test_the_bar_of_the_call_is_always_in_view(visit: Visit, pages: dict[str, Path]) -> None:
    """A chart that is wider than the screen follows the keys, and the page itself stays."""
    page = visit.open(pages["long history"])

    for key in ("End", "ArrowLeft", "Home", "ArrowRight"):
        page.keyboard.press(key)
        assert page.evaluate(IN_VIEW)
        assert page.evaluate("scrollX") == 0
