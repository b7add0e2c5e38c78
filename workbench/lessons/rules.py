"""The rules' own sentences, as `docs/protocols.md` has them: the one place where they stand.

An installed copy has no `docs`: there the page lies beside this module.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from pathlib import Path

from conformance.changed_source import ROOT

PROTOCOLS = Path("docs") / "protocols.md"
SECTIONS = ("A", "B", "C")
"""The sections whose rules a lesson must name; D are scenarios, E is what nobody promises."""

_RULE = re.compile(r"- \*\*(?P<number>[A-E]\d+) (?P<title>[^*]+)\.\*\*(?P<rest>.*)")


class NoRules(LookupError):
    """There is no such page or no such rule."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its number, its title, its text, and the points below it."""

    number: str
    title: str
    text: str
    points: tuple[str, ...] = ()


def read_protocols() -> str:
    """Return the page of the protocols; `NoRules` where it is missing."""
    installed = resources.files("workbench.lessons").joinpath(PROTOCOLS.name)
    for page in (ROOT / PROTOCOLS, installed):
        if page.is_file():
            return page.read_text("utf-8")
    raise NoRules(f"the lessons need {PROTOCOLS}, which is not in {ROOT}")


@lru_cache(maxsize=1)
def read_rules() -> Mapping[str, Rule]:
    """Return every rule of the page by its number, in the order of the page."""
    rules = (_parse_rule(lines) for lines in _find_items(read_protocols()))
    return {rule.number: rule for rule in rules}


def find_rule(number: str) -> Rule:
    """Return the rule with this number."""
    rules = read_rules()
    if number not in rules:
        raise NoRules(f"{PROTOCOLS} has no rule {number}")
    return rules[number]


def _find_items(page: str) -> Iterator[list[str]]:
    """Yield the lines of each list item that is a rule."""
    item: list[str] = []
    for line in page.splitlines():
        if item and line.startswith("  "):
            item.append(line)
            continue
        if item:
            yield item
        item = [line] if _RULE.match(line) else []
    if item:
        yield item


def _parse_rule(lines: list[str]) -> Rule:
    """Return a rule."""
    match = _RULE.match(lines[0])
    if match is None:
        raise NoRules(f"this is no rule: {lines[0]}")
    parts = [[match["rest"].strip()]]
    for line in lines[1:]:
        said = line.strip()
        if said.startswith("- "):
            parts.append([said.removeprefix("- ")])
        else:
            parts[-1].append(said)
    text, *points = (" ".join(filter(None, part)) for part in parts)
    return Rule(match["number"], match["title"], text, tuple(points))
