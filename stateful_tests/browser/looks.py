"""What a browser is asked about how a page looks, and what it tells a screen reader."""

import re

from playwright.sync_api import Page

OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
"""By how many pixels the page is wider than its window."""
FAINT = """
(() => {
  const parse = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const part = (value) => {
    const share = value / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  };
  const light = ([red, green, blue]) =>
    0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  const sheet = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = parse(getComputedStyle(at).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  return [...document.querySelectorAll("main *")].filter((element) => {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const isHtml = element instanceof HTMLElement;
    if (!own || !isHtml || element.checkVisibility() === false) return false;
    const style = getComputedStyle(element);
    const pair = [light(parse(style.color)), light(sheet(element))].sort((a, b) => b - a);
    return (pair[0] + 0.05) / (pair[1] + 0.05) < 4.5;
  }).map((element) => `${element.tagName}.${element.className}: ${element.textContent.trim()}`);
})()
"""
"""The texts whose contrast with what is behind them is less than WCAG 2.2 asks for at level AA."""
HEADINGS = """
[...document.querySelectorAll("h1, h2, h3, h4, h5, h6")]
  .filter((each) => each.checkVisibility())
  .map((each) => Number(each.tagName[1]))
"""
PICTURES = """
[...document.querySelectorAll("svg, img, canvas")].filter((each) =>
  each.checkVisibility()
  && !each.closest("[aria-hidden='true']")
  && !["aria-label", "aria-labelledby", "alt"].some((name) => each.getAttribute(name))
  && !each.querySelector("title")
).map((each) => each.outerHTML.slice(0, 200))
"""
"""The pictures that have no words for who can't see them."""
NAMED = "button|checkbox|combobox|img|link|radio|region|slider|textbox|toolbar"
_UNNAMED = re.compile(rf"^\s*- (?:{NAMED})(?! \")")


def list_unnamed(page: Page) -> list[str]:
    """Return the controls and parts that a screen reader would announce without a name."""
    told = page.locator("body").aria_snapshot()
    return [line.strip() for line in told.splitlines() if _UNNAMED.match(line)]


def find_jumps(page: Page) -> list[int]:
    """Return the levels of the headings if one is left out, or if not exactly one is the first."""
    levels: list[int] = page.evaluate(HEADINGS)
    steps = zip([0, *levels], levels, strict=False)
    is_in_order = levels.count(1) == 1 and all(level <= before + 1 for before, level in steps)
    return [] if is_in_order else levels
