"""A trace as a person steps through it: keys, sizes, the dark, paper, no script."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from stateful_tests.browser.conftest import SIZES, Visit
from stateful_tests.browser.looks import FAINT, OVERFLOW
from stateful_tests.html_pages import make_reports

REPORTS = make_reports()
SMALL = """
[...document.querySelectorAll("button, .pick")].filter((each) => {
  const box = each.getBoundingClientRect();
  return box.width > 0 && (box.width < 24 || box.height < 24);
}).length
"""
COVERED = """
(() => {
  const box = document.querySelector(".moment.current .words").getBoundingClientRect();
  const bar = document.querySelector(".controls").getBoundingClientRect();
  const isBelow = bar.top > innerHeight / 2;
  return isBelow ? box.top >= bar.top : box.bottom <= bar.bottom;
})()
"""


def find_current(page: Page) -> str:
    """Return the address of the step that is looked at."""
    address: str = page.evaluate("document.querySelector('.moment.current').id")
    return address


def list_addresses(name: str) -> list[str]:
    """Return the addresses of a trace's moments in their order."""
    trace = REPORTS[name].trace
    steps = [f"step-{number}" for number in range(len(trace) + 1)]
    return steps + [f"turn-{number}" for number in range(1, len(trace.schedule) + 1)]


@pytest.mark.parametrize("name", ["admission divergence", "schedule", "dispatch"])
def test_arrow_keys_step_through_a_trace(visit: Visit, traces: dict[str, Path], name: str) -> None:
    """Right goes on, left goes back, End and Home go to the ends, and nothing goes beyond them."""
    page = visit.open(traces[name])
    addresses = list_addresses(name)

    for address in addresses:
        assert find_current(page) == address
        assert address == addresses[0] or not page.evaluate(COVERED)
        page.keyboard.press("ArrowRight")
    assert find_current(page) == addresses[-1]
    page.keyboard.press("ArrowLeft")
    assert find_current(page) == addresses[-2]
    page.keyboard.press("Home")
    assert find_current(page) == addresses[0]
    page.keyboard.press("End")
    assert find_current(page) == addresses[-1]


def test_a_step_is_announced_and_its_state_is_shown(visit: Visit, traces: dict[str, Path]) -> None:
    """The live region says the step, and the state beside it has what changed marked."""
    page = visit.open(traces["admission divergence"])

    for _ in range(2):
        page.keyboard.press("ArrowRight")

    assert "Step 2: admit r1 of A" in (page.text_content("#said") or "")
    shown = page.locator(".panel table:visible, .moment.current .state table:visible")
    assert shown.count() == 1
    assert "queued" in shown.locator("tr.new").inner_text()
    page.keyboard.press("End")
    assert shown.count() == 2
    assert "specified inflight" in shown.nth(1).inner_text()


def test_the_buttons_and_the_slide_do_what_the_keys_do(
    visit: Visit, traces: dict[str, Path]
) -> None:
    """Every way to step leads to the same place."""
    page = visit.open(traces["violation"])

    page.get_by_role("button", name="Next step").click()
    assert find_current(page) == "step-1"
    page.get_by_role("button", name="Last step").click()
    assert find_current(page) == "step-3"
    page.get_by_role("slider", name="Step").focus()
    page.keyboard.press("ArrowLeft")
    assert find_current(page) == "step-2"
    page.locator("#step-1 .call").last.click()
    assert find_current(page) == "step-1"


def test_a_page_is_used_with_the_keyboard_alone(visit: Visit, traces: dict[str, Path]) -> None:
    """Tab reaches the steps, the focus can be seen, and up and down go along the steps."""
    page = visit.open(traces["violation"])

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "pick":
            break
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert page.evaluate(outline) == "solid"
    before = find_current(page)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert find_current(page) == before
    assert page.evaluate("document.activeElement.closest('.moment').id") == before


def test_an_address_with_a_step_opens_there(visit: Visit, traces: dict[str, Path]) -> None:
    """A shared address shows what was looked at."""
    page = visit.open(traces["violation"], "#step-2")

    assert find_current(page) == "step-2"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", REPORTS)
def test_a_page_fits_and_can_be_read(
    visit: Visit, traces: dict[str, Path], name: str, scheme: Any
) -> None:
    """No text is too faint, no target too small, and nothing makes the page scroll sideways."""
    visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page = visit.open(traces[name])

    for key in ("Home", "ArrowRight", "End"):
        page.keyboard.press(key)
        assert page.evaluate(OVERFLOW) <= 0
        assert page.evaluate(FAINT) == []
    assert page.evaluate(SMALL) == 0


def test_the_dark_is_dark(visit: Visit, traces: dict[str, Path]) -> None:
    """The page follows what the reader's system asks for."""
    page = visit.open(traces["violation"])
    colour = "getComputedStyle(document.body).backgroundColor"

    visit.page.emulate_media(color_scheme="dark")
    dark = page.evaluate(colour)
    visit.page.emulate_media(color_scheme="light")

    assert dark != page.evaluate(colour)


@pytest.mark.parametrize("name", ["admission divergence", "schedule", "long"])
def test_on_paper_every_step_is_there_and_no_button(
    visit: Visit, traces: dict[str, Path], name: str
) -> None:
    """Print shows all steps with their words and the last state, whatever was looked at before."""
    page = visit.open(traces[name])
    page.keyboard.press("ArrowRight")

    page.emulate_media(media="print")
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")

    assert page.locator(".moment:visible").count() == len(list_addresses(name))
    assert page.locator(".moment .call:visible, .statement:visible").count() >= len(
        list_addresses(name)
    )
    assert page.locator(".controls:visible, .panel:visible").count() == 0
    assert page.locator(".moment .state:visible").count() == 1
    assert page.locator(".final .state .tables:visible").count() == 1
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.parametrize("size", SIZES)
def test_without_a_script_all_steps_and_states_are_there(
    browser: Browser, traces: dict[str, Path], size: str
) -> None:
    """A reader without JavaScript sees every step, and opens the states by hand."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(traces["admission divergence"].as_uri())

    moments = len(list_addresses("admission divergence"))
    assert page.locator(".moment:visible").count() == moments
    assert page.locator(".state summary:visible").count() == moments
    assert page.locator(".controls:visible, .panel:visible").count() == 0
    page.locator("#step-2 summary").click()
    assert page.locator("#step-2 tr.new:visible").count() == 1
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_history_is_stepped_through_along_its_bars(
    visit: Visit, history: Path, scheme: Any
) -> None:
    """The bar of the call that is looked at is marked, and a bar leads to its call."""
    visit.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    page = visit.open(history)

    for number in range(1, 5):
        marked = page.locator(".chart a.current")
        assert marked.get_attribute("href") == f"#call-{number}"
        assert find_current(page) == f"call-{number}"
        page.keyboard.press("ArrowRight")
    page.locator(".chart a").nth(1).click()
    page.wait_for_selector("#call-2.current")
    assert find_current(page) == "call-2"
    assert page.evaluate(OVERFLOW) <= 0
    assert page.evaluate(FAINT) == []


def test_a_hostile_trace_does_nothing(visit: Visit, traces: dict[str, Path]) -> None:
    """No alert is shown, and the page works as any other."""
    asked: list[str] = []
    visit.page.on("dialog", lambda dialog: asked.append(dialog.message))
    page = visit.open(traces["hostile"])

    page.keyboard.press("End")

    assert asked == []
    assert find_current(page) == "turn-1"
    assert page.locator("img").count() == 0
