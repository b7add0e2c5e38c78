"""A lesson in a terminal: asks, waits, and then shows; in a pipe it prints everything.

It waits only where both standard input and standard output are terminals.
"""

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from string import ascii_lowercase

import typer

from workbench.lessons.blocks import (
    Ask,
    Bars,
    Block,
    Claims,
    Commands,
    Diff,
    Grid,
    Heading,
    Links,
    Meter,
    Meters,
    Page,
    Prose,
    Reveal,
    Rules,
    Series,
    Source,
    Steps,
)
from workbench.lessons.rules import Rule

MOST_WIDTH = 100
LEAST_WIDTH = 40
PIPE_WIDTH = 88
MOST_QUESTIONS = 100
"""How often a reader who gives no answer is asked."""
METER_CELLS = 20
BAR_SECONDS = 5
CHOICE_INDENT = " " * 5
BAR_CELLS = 40
CELL = 46
"""Cells of a table with long texts are wrapped at this many characters."""

_WEIGHT = re.compile(r"\*\*(.+?)\*\*|(?<![\w*])\*(\S[^*]*)\*")


@dataclass(slots=True)
class Terminal:
    """Where a lesson is shown."""

    is_interactive: bool
    has_colours: bool
    width: int

    def say(self, line: str = "", **style: object) -> None:
        """Print a line, in colours where there are any."""
        shown = typer.style(line, **style) if self.has_colours and style else line  # type: ignore[arg-type]
        typer.echo(shown)

    def wait(self, prompt: str) -> str:
        """Wait for the reader, and return what was typed; in a pipe nobody is there."""
        if not self.is_interactive:
            return ""
        try:
            return input(prompt).strip()
        except EOFError:
            self.is_interactive = False
            self.say()
            return ""


def find_terminal() -> Terminal:
    """Return the terminal, or the pipe, that this process writes to."""
    is_terminal = sys.stdout.isatty()
    width = PIPE_WIDTH
    if is_terminal:
        columns = shutil.get_terminal_size().columns
        width = max(LEAST_WIDTH, min(columns, MOST_WIDTH))
    return Terminal(is_terminal and sys.stdin.isatty(), is_terminal, width)


def show_page(page: Page, terminal: Terminal) -> None:
    """Show a lesson from its title to its end."""
    terminal.say(page.title, bold=True)
    terminal.say("=" * len(page.title))
    terminal.say(f"lesson {page.name}; rules {', '.join(page.rules)}", dim=True)
    show_blocks(page.blocks, terminal)
    terminal.say()


def show_blocks(blocks: Iterable[Block], terminal: Terminal) -> None:
    """Show blocks one after another."""
    for block in blocks:
        terminal.say()
        _show(block, terminal)


def _show(block: Block, terminal: Terminal) -> None:  # noqa: C901, PLR0912 - as `format_block`
    """Show one block."""
    match block:
        case Heading(text, level):
            terminal.say(text, bold=True)
            if level == Heading("").level:
                terminal.say("-" * len(text))
        case Prose(text):
            _print_all(terminal, wrap_prose(text, terminal.width))
        case Rules(rules):
            for rule in rules:
                _print_all(terminal, format_rule(rule, terminal.width))
        case Source(file, line, text):
            terminal.say(f"{file}:{line}", dim=True)
            _print_all(terminal, (f"    {each}".rstrip() for each in text.splitlines()))
        case Diff(file, lines):
            terminal.say(file, dim=True)
            for each in lines:
                _show_change(each, terminal)
        case Steps(caption, lines):
            terminal.say(f"{caption}:")
            _print_all(terminal, (f"  {line}" for line in lines))
        case Commands(lines):
            _print_all(terminal, (f"    $ {line}" for line in lines))
        case Grid():
            _print_all(terminal, format_grid(block))
        case Meters(caption, meters):
            terminal.say(f"{caption}:")
            _print_all(terminal, format_meters(meters))
        case Bars(caption, unit, series):
            terminal.say(f"{caption} ({unit}):")
            most = max(max(each.values) for each in series)
            for row in series:
                _print_all(terminal, format_series(row, most))
        case Claims(claims):
            for kind, name, sentence in claims:
                terminal.say(f"  {kind} {name}" if kind != name else f"  {name}")
                _print_all(terminal, (f"    {x}" for x in wrap_prose(sentence, terminal.width - 4)))
        case Links(links):
            _print_all(terminal, (f"  admit-one lesson {name}  ({title})" for name, title in links))
        case Ask():
            _ask(block, terminal)
        case Reveal(summary, inner):
            terminal.wait(f"{summary}: press Enter ")
            show_blocks(inner, terminal)


def _print_all(terminal: Terminal, lines: Iterable[str]) -> None:
    for line in lines:
        terminal.say(line)


def _show_change(line: str, terminal: Terminal) -> None:
    colour = {"-": "red", "+": "green"}.get(line[:1])
    terminal.say(f"    {line}", **({"fg": colour} if colour else {}))


def _ask(ask: Ask, terminal: Terminal) -> None:
    """Ask a question; in a terminal the answer is shown only after the reader has given one."""
    _print_all(terminal, wrap_prose(ask.text, terminal.width))
    letters = dict(zip(ascii_lowercase, ask.choices, strict=False))
    meanings = ask.meanings or ("",) * len(letters)
    for (letter, choice), meaning in zip(letters.items(), meanings, strict=True):
        text = f"{choice}: {meaning}" if meaning else choice
        lines = wrap_prose(text, terminal.width - len(CHOICE_INDENT))
        heads = [f"  {letter}. ", *[CHOICE_INDENT] * len(lines)]
        _print_all(terminal, (head + line for head, line in zip(heads, lines, strict=False)))
    chosen = _wait_for_choice(letters, terminal)
    if chosen is not None:
        is_right = chosen == ask.right
        terminal.say("Yes." if is_right else f"No: {ask.right}.", bold=True)
    show_blocks(ask.answer, terminal)


def _wait_for_choice(letters: dict[str, str], terminal: Terminal) -> str | None:
    """Return the choice that the reader has made, by its letter or in full; None without one."""
    known = letters | {choice.lower(): choice for choice in letters.values()}
    for _ in range(MOST_QUESTIONS):
        said = terminal.wait("Your answer (a letter; Enter alone shows it): ").lower()
        if not said or said in known:
            return known.get(said)
        terminal.say(f"A letter from a to {max(letters)}, please.")
    return None


# ── Lines ─────────────────────────────────────────────────────────────────────────────────


def wrap_prose(text: str, width: int) -> list[str]:
    """Return paragraphs as lines, without the asterisks that give weight."""
    lines: list[str] = []
    for paragraph in text.split("\n\n"):
        plain = _WEIGHT.sub(lambda found: found[1] or found[2], " ".join(paragraph.split()))
        lines += [""] * bool(lines)
        lines += textwrap.wrap(plain, width, break_long_words=False, break_on_hyphens=False)
    return lines


def format_rule(rule: Rule, width: int) -> list[str]:
    """Return a rule as lines, its points below it."""
    title = f"{rule.number} {rule.title}." if rule.title else rule.number
    lines = [f"  {line}" for line in wrap_prose(f"{title} {rule.text}", width - 2)]
    for point in rule.points:
        first, *rest = wrap_prose(point, width - 6)
        lines += [f"    - {first}", *(f"      {line}" for line in rest)]
    return lines


def format_grid(grid: Grid) -> list[str]:
    """Return a table as aligned lines; long cells go over several."""
    headings = [heading.rstrip("#") for heading in grid.headings]
    right = [heading.endswith("#") for heading in grid.headings]
    rows = [_wrap_row(headings), *map(_wrap_row, grid.rows)]
    widths = [
        max(len(line) for row in rows for line in row[column]) for column in range(len(headings))
    ]
    lines = [f"{grid.caption}:"]
    for number, row in enumerate(rows):
        for index in range(max(map(len, row))):
            cells = [cell[index] if index < len(cell) else "" for cell in row]
            said = [
                cell.rjust(width) if is_number else cell.ljust(width)
                for cell, width, is_number in zip(cells, widths, right, strict=True)
            ]
            lines.append(f"  {'  '.join(said)}".rstrip())
        if number == 0:
            lines.append(f"  {'  '.join('─' * width for width in widths)}")
    return lines


def _wrap_row(cells: Sequence[str]) -> list[list[str]]:
    return [textwrap.wrap(cell, CELL) or [""] for cell in cells]


def format_meters(meters: Sequence[Meter]) -> list[str]:
    """Return how full each thing is; what is over its limit is marked."""
    width = max(len(meter.label) for meter in meters)
    return [f"  {meter.label:<{width}}  {_draw_meter(meter)}" for meter in meters]


def _draw_meter(meter: Meter) -> str:
    if meter.limit is None:
        return f"{'■' * min(meter.value, METER_CELLS)}{' ' * (meter.value > 0)}{meter.value}"
    scale = max(meter.limit, meter.value, 1)
    cells = min(scale, METER_CELLS)
    used = round(min(meter.value, meter.limit) / scale * cells)
    over = round(max(meter.value - meter.limit, 0) / scale * cells)
    drawn = "■" * used + "✗" * over + "□" * (cells - used - over)
    return f"{drawn} {meter.value} of {meter.limit}{' OVER THE LIMIT' * (over > 0)}".lstrip()


def format_series(series: Series, most: int) -> list[str]:
    """Return bars, one for the mean of each five seconds."""
    starts = range(0, len(series.values), BAR_SECONDS)
    means = [round(fmean(series.values[start : start + BAR_SECONDS])) for start in starts]
    width = len(str(max(means)))
    lines = [f"  {series.name}"]
    for number, value in enumerate(means, start=1):
        bar = "█" * round(value / max(most, 1) * BAR_CELLS) or "▏" * (value > 0)
        lines.append(f"    {number * BAR_SECONDS:>3} s  {value:>{width}}  {bar}".rstrip())
    return lines
