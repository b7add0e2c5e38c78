"""What a search has seen, as a person looks at it: states by keys and by clicks."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from stateful_tests.browser.conftest import SIZES, Visit
from stateful_tests.browser.looks import OVERFLOW

FOCUSED = "Number(document.activeElement.dataset.number)"


def test_arrow_keys_go_from_state_to_state(visit: Visit, exploration: Path) -> None:
    """Down follows a step, up goes back to the start, and the card says which state it is."""
    page = visit.open(exploration)

    page.locator(".node").first.focus()
    for depth in range(1, 5):
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.dataset.depth") == str(depth)
    number = page.evaluate(FOCUSED)
    assert page.locator(".card:visible").count() == 1
    assert f"State {number}, 4 steps from the start" in page.locator(".card:visible").inner_text()
    assert f"State {number}," in (page.text_content("#said") or "")
    assert page.locator("line.path").count() == 4
    for _ in range(4):
        page.keyboard.press("ArrowUp")
    assert page.evaluate(FOCUSED) == 0


def test_a_click_opens_a_state_and_its_links_lead_on(visit: Visit, exploration: Path) -> None:
    """A state's card has the ways out of it, and each leads to the state's card."""
    page = visit.open(exploration)

    page.locator(".node[data-number='3']").click()
    expect(page.locator("#state-3")).to_be_visible()
    assert page.url.endswith("#state-3")
    link = page.locator(".card:visible ul.way a").first
    target = link.get_attribute("href") or ""
    link.click()

    expect(page.locator(target)).to_be_visible()
    assert page.locator(".card:visible").count() == 1


def test_the_ends_of_the_scope_say_so(visit: Visit, exploration: Path) -> None:
    """A state in which no call changes anything is marked, and its card has no way out."""
    page = visit.open(exploration)

    page.locator(".node.end").first.click()

    card = page.locator(".card:visible")
    expect(card).to_contain_text("no call changes anything")
    assert card.locator("ul.way").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits(visit: Visit, exploration: Path, scheme: str) -> None:
    """Nothing makes the page scroll sideways, with a state open or without."""
    visit.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page = visit.open(exploration)
    assert page.evaluate(OVERFLOW) <= 0

    visit.open(exploration, "#state-100")

    assert page.locator("#state-100:visible").count() == 1
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.parametrize("size", SIZES)
def test_without_a_script_a_state_is_a_link(browser: Browser, exploration: Path, size: str) -> None:
    """A reader without JavaScript opens a state by its link."""
    width, height = SIZES[size]
    context = browser.new_context(
        viewport={"width": width, "height": height}, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(exploration.as_uri())

    page.locator(".node[data-number='2']").click()

    expect(page.locator("#state-2")).to_be_visible()
    assert page.locator(".card:visible").count() == 1
    context.close()
