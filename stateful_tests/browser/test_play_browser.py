"""The explorer as a person meets it: with a mouse, with the keyboard alone, without JavaScript."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Locator, Page, expect

from stateful_tests.browser.conftest import SIZES, TIMEOUT_MILLISECONDS
from stateful_tests.browser.looks import PICTURES, find_jumps, list_unnamed
from stateful_tests.play_server import Server, run_server

MOST_KEYS = 120
TEXT_CONTRAST = 4.5

FOCUSED = """() => {
  const focused = document.activeElement;
  if (!focused || focused === document.body) return "";
  return focused.innerText || focused.ariaLabel || "";
}"""
HAS_OUTLINE = "() => getComputedStyle(document.activeElement).outlineStyle !== 'none'"
OPEN_ALL = "() => document.querySelectorAll('details').forEach((each) => { each.open = true; })"
IS_TOO_WIDE = "() => document.documentElement.scrollWidth > window.innerWidth"
LOWEST_CONTRAST = """() => {
  const read = (color) => (color.match(/[\\d.]+/g) || []).map(Number);
  const light = (color) => {
    const [r, g, b] = read(color).slice(0, 3).map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      const parts = read(color);
      if (parts.length === 3 || parts[3] === 1) return color;
    }
    return "rgb(255, 255, 255)";
  };
  let lowest = [21, ""];
  for (const element of document.querySelectorAll("main *, header *")) {
    const text = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
    if (!text.length || !element.checkVisibility() || element.closest("select")) continue;
    const [a, b] = [light(getComputedStyle(element).color), light(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < lowest[0]) lowest = [contrast, `${element.className}: ${element.innerText}`];
  }
  return lowest;
}"""

SHOWN = (
    "/admission/SMALL",
    "/admission/SMALL/to?goal=a_redriven_record_is_not_cancelled",
    "/admission/TINY/to?goal=parting&mutant=model-capacity-checked-before-adding",
    "/reservation/TINY/to?goal=parting&mutant=model-no-deduplication",
    "/reservation/SMALL/to?goal=confirmed_while_an_entered_reservation_is_unacknowledged",
    "/admission/TINY?t=nonsense!",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """Run one explorer for all tests of this module."""
    with run_server("admission", "SMALL") as running:
        yield running


@pytest.fixture(params=SIZES)
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open a window at a phone's size, then at a desk's; what it complains of fails the test."""
    width, height = SIZES[request.param]
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(TIMEOUT_MILLISECONDS)
    complaints: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        complaints.append(message.text)

    context.on("console", hear)
    context.on("weberror", lambda error: complaints.append(str(error.error)))
    yield context.new_page()
    context.close()
    assert complaints == []


def find_steps(page: Page) -> Locator:
    """Find the steps of the trace that the page shows."""
    return page.locator("ol.trace > li")


def read_steps(page: Page) -> list[str]:
    """Return the trace as the page shows it, once the page is all there."""
    page.wait_for_load_state()
    return find_steps(page).all_inner_texts()


def press_until(page: Page, key: str, text: str) -> None:
    """Press a key until the focus, which must be seen, is on something that has this text.

    Where nothing has the focus, the page itself is the active element, and it has every text:
    a key that falls into a page that is still loading must not be taken for one that arrived.
    """
    page.wait_for_load_state()
    for _ in range(MOST_KEYS):
        page.keyboard.press(key)
        if text in page.evaluate(FOCUSED):
            assert page.evaluate(HAS_OUTLINE), "the focus is not to be seen"
            return
    raise AssertionError(f"{MOST_KEYS} × {key} never came to {text!r}")


def take(page: Page, outcome: str, call: str) -> None:
    """Take a call by the mouse, where it promises this outcome."""
    group = page.locator("#calls details").filter(
        has=page.locator(f"summary b:text-is('{outcome}')")
    )
    link = group.get_by_role("link", name=call).first
    if not link.is_visible():
        group.first.locator("summary").click()
    link.click()
    page.wait_for_selector(f".outcome:text-is('{outcome}')")
    page.wait_for_load_state()


def test_play_until_a_tenant_is_full_and_share_it(page: Page, server: Server) -> None:
    """Three clicks fill a tenant; the address opens the same trace in another browser window."""
    page.goto(server.first)
    take(page, "ready", "init with limits 2, 4, 1, 2, 3")
    take(page, "accepted", 'admit r1 of A, "aa"')
    take(page, "tenant_full", 'admit r2 of A, "aa"')
    shared = page.get_by_label("Its address, to be shared").input_value()

    other = page.context.new_page()
    other.goto(shared)

    assert other.locator(".outcome").inner_text() == "tenant_full"
    assert read_steps(other) == read_steps(page)
    assert "tenant_slots is 1" in other.locator("#now").inner_text()
    assert other.title().startswith("tenant_full, step 3")


def test_play_until_a_tenant_is_full_by_the_keyboard_alone(page: Page, server: Server) -> None:
    """Tab, the arrow keys and Enter are enough, and the focus is always to be seen."""
    page.goto(server.first)
    press_until(page, "Tab", "Skip to the calls")
    page.keyboard.press("Enter")
    press_until(page, "Tab", "init with limits 2, 4, 1, 2, 3")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Step 1:")

    press_until(page, "Tab", 'admit r1 of A, "aa"')
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Step 2:")

    press_until(page, "Tab", "init with limits")
    press_until(page, "ArrowDown", "tenant_full")
    page.keyboard.press("Enter")
    press_until(page, "ArrowDown", 'admit r2 of A, "aa"')
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Step 3:")
    assert page.locator(".outcome").inner_text() == "tenant_full"

    press_until(page, "Tab", "Undo")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Step 2:")
    assert len(read_steps(page)) == 2


def test_take_me_to_a_case_and_run_a_mutant_beside(page: Page, server: Server) -> None:
    """The two forms lead to a case by the shortest way, and to where a mutant parts."""
    page.goto(f"{server.root}/admission/TINY")
    page.get_by_label("A planted mistake, which takes the same calls").select_option(
        "model-capacity-checked-before-adding"
    )
    page.get_by_role("button", name="Run beside").click()
    page.get_by_role("link", name="Take me to where they part").click()
    page.wait_for_selector("text=Here they part.")
    assert len(read_steps(page)) == 3
    assert page.get_by_role("heading", name="The mutant", exact=True).is_visible()

    page.get_by_role("link", name="Without the mutant").click()
    expect(page.get_by_role("heading", name="The mutant", exact=True)).to_have_count(0)
    page.wait_for_load_state()
    page.get_by_label("A case, by the shortest way").select_option("cancel_unstarted cancelled")
    page.get_by_role("button", name="Go").click()
    page.wait_for_selector(".outcome:text-is('cancelled')")
    assert len(read_steps(page)) == 3


def test_the_code_that_ran_marks_the_line_that_decided(page: Page, server: Server) -> None:
    """The code of the step ends at the refusal that the page names."""
    page.goto(f"{server.root}/admission/SMALL/to?goal=admit%20tenant_full")
    page.wait_for_selector(".outcome")

    page.get_by_text("The code that ran").click()

    assert "return state, Answer.TENANT_FULL" in page.locator("pre .last").inner_text()


def test_a_link_of_the_trace_goes_back_in_time(page: Page, server: Server) -> None:
    """Each step of the trace is the address of the position after it, and Back undoes."""
    page.goto(f"{server.root}/admission/SMALL/to?goal=a_record_is_done")
    page.wait_for_selector(".outcome")
    whole = read_steps(page)
    assert len(whole) > 1

    page.locator("ol.trace a").first.click()
    expect(find_steps(page)).to_have_text(whole[:1], use_inner_text=True)

    page.go_back()
    expect(find_steps(page)).to_have_text(whole, use_inner_text=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", SHOWN)
def test_every_text_fits_and_can_be_read(
    browser: Browser, server: Server, path: str, scheme: str
) -> None:
    """Nothing is wider than a phone, every text stands out, and everything has a name."""
    context = browser.new_context(viewport={"width": 360, "height": 740})
    try:
        page = context.new_page()
        page.set_default_timeout(TIMEOUT_MILLISECONDS)
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.goto(server.root + path)
        page.wait_for_selector("main:not(:has-text('Searching'))")
        page.wait_for_load_state()
        page.evaluate(OPEN_ALL)

        assert not page.evaluate(IS_TOO_WIDE)
        contrast, where = page.evaluate(LOWEST_CONTRAST)
        assert contrast >= TEXT_CONTRAST, where
        assert list_unnamed(page) == []
        assert find_jumps(page) == []
        assert page.evaluate(PICTURES) == []
    finally:
        context.close()


def test_it_works_without_javascript(browser: Browser, server: Server) -> None:
    """Links and forms do all the work: the script only adds comfort."""
    context = browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto(server.first)
        take(page, "ready", "init with limits 2, 4, 1, 2, 3")
        page.get_by_label("A case, by the shortest way").select_option("admit tenant_full")
        page.get_by_role("button", name="Go").click()
        page.wait_for_selector(".outcome:text-is('tenant_full')")
        assert not page.get_by_role("button", name="Copy").is_visible()
    finally:
        context.close()
