"""Lessons as pages: self-contained files, without a network and without a script.

Answers stand in `<details>`, so that the keyboard alone is enough. A page is readable at 360
pixels, on paper, and in the colours that the reader's system prefers.
"""

import re
from collections.abc import Iterable, Mapping
from html import escape
from itertools import zip_longest
from pathlib import Path

from model.scopes import MACHINES
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
    Meters,
    Page,
    Prose,
    Reveal,
    Rules,
    Source,
    Steps,
)
from workbench.lessons.pictures import draw_bars, draw_meters
from workbench.lessons.rules import Rule, read_rules
from workbench.lessons.words import list_words, read_outcomes

STYLE = Path(__file__).with_name("style.css")
INDEX = "index.html"
INTRODUCTION = (
    "Why each rule of the two protocols is there. Each lesson asks before it answers. "
    "Traces, numbers and answers were run when these pages were made."
)
_CODE = re.compile(r"`([^`]+)`")
_STRONG = re.compile(r"\*\*(.+?)\*\*")
_EMPHASIS = re.compile(r"(?<![\w*])\*(\S[^*]*)\*")


def write_pages(groups: Mapping[str, Iterable[Page]], folder: Path) -> list[Path]:
    """Write a page for each lesson and one that lists them; return the files."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = {title: tuple(pages) for title, pages in groups.items()}
    pages = [page for group in listed.values() for page in group]
    files = {INDEX: format_index(listed)}
    for number, page in enumerate(pages):
        before = pages[number - 1] if number else None
        after = pages[number + 1] if number + 1 < len(pages) else None
        files[f"{page.name}.html"] = format_page(page, before, after)
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    return [folder / name for name in files]


def format_page(page: Page, before: Page | None = None, after: Page | None = None) -> str:
    """Return a lesson as a page, with links to its neighbours."""
    links = [_link(INDEX, "All lessons")]
    links += [_link(f"{before.name}.html", f"Before: {before.title}")] if before else []
    links += [_link(f"{after.name}.html", f"Next: {after.title}")] if after else []
    rules = ", ".join(f'<a href="{INDEX}#rule-{rule}">{rule}</a>' for rule in page.rules)
    command = f"<code>admit-one lesson {page.name}</code>"
    body = [
        f"<h1>{format_words(page.title)}</h1>",
        f'<p class="rules">Rules {rules} · in a terminal: {command}</p>',
        *map(format_block, page.blocks),
    ]
    return _format_document(page.title, links, body)


def format_index(groups: Mapping[str, tuple[Page, ...]]) -> str:
    """Return the page that lists the lessons, and the rules with the lessons that name them."""
    body = [
        "<h1>Lessons</h1>",
        f"<p>{INTRODUCTION}</p>",
    ]
    everything = [page for pages in groups.values() for page in pages]
    for title, pages in groups.items():
        items = (f"<li>{_link(f'{p.name}.html', p.title)}</li>" for p in pages)
        first = everything.index(pages[0]) + 1
        body += [
            f"<h2>{format_words(title)}</h2>",
            f'<ol start="{first}">{"".join(items)}</ol>',
        ]
    body += _format_glossary()
    body += ["<h2>Where each rule is taught</h2>", '<dl class="index">']
    for number, rule in read_rules().items():
        teachers = [page for page in everything if number in page.rules]
        if teachers:
            links = ", ".join(_link(f"{page.name}.html", page.title) for page in teachers)
            name = format_words(f"{number} {rule.title}")
            body.append(f'<dt id="rule-{number}">{name}</dt><dd>{links}</dd>')
    body.append("</dl>")
    return _format_document("Lessons", [], body)


def _format_glossary() -> list[str]:
    """Return the words that lessons take for known, and what each answer of a machine means."""
    return [
        "<h2>Words</h2>",
        f'<dl class="index">{_format_meanings(list_words())}</dl>',
        *(
            _details(
                f"What the answers of {machine} mean",
                (f'<dl class="claims">{_format_meanings(read_outcomes(machine), "code")}</dl>',),
            )
            for machine in MACHINES
        ),
    ]


def _format_meanings(meanings: Mapping[str, str], kind: str = "span") -> str:
    pairs = (
        f"<dt><{kind}>{escape(word)}</{kind}></dt><dd>{format_words(meaning)}</dd>"
        for word, meaning in meanings.items()
    )
    return "".join(pairs)


def _format_document(title: str, links: list[str], body: list[str]) -> str:
    navigation = f'<nav aria-label="Lessons">{" ".join(links)}</nav>' if links else ""
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            '<meta name="color-scheme" content="light dark">',
            f"<title>{escape(title)} – admit-one</title>",
            '<link rel="icon" href="data:,">',
            f"<style>\n{STYLE.read_text('utf-8')}</style>",
            "</head>",
            "<body>",
            '<a class="skip" href="#main">To the text</a>',
            f"<header>{navigation}</header>",
            '<main id="main">',
            *body,
            "</main>",
            f"<footer>{navigation}</footer>",
            "</body>",
            "</html>",
            "",
        ]
    )


def format_words(text: str) -> str:
    """Return a text as HTML: nothing in it is obeyed but `code`, **weight** and *emphasis*."""
    parts = _CODE.split(escape(text, quote=False))
    for index, part in enumerate(parts):
        if index % 2:
            parts[index] = f"<code>{part}</code>"
        else:
            strong = _STRONG.sub(r"<strong>\1</strong>", part)
            parts[index] = _EMPHASIS.sub(r"<em>\1</em>", strong)
    return "".join(parts)


def format_block(block: Block) -> str:  # noqa: C901, PLR0912 - a case for each kind of block
    """Return one block as HTML."""
    match block:
        case Heading(text, level):
            return f"<h{level}>{format_words(text)}</h{level}>"
        case Prose(text):
            paragraphs = (format_words(" ".join(p.split())) for p in text.split("\n\n"))
            return "".join(f"<p>{paragraph}</p>" for paragraph in paragraphs)
        case Rules(rules):
            return "".join(map(_format_rule, rules))
        case Source(file, line, text):
            return _format_code(f"{file}, line {line}", escape(text))
        case Diff(file, lines):
            return _format_code(f"Change of {file}", "".join(map(_format_change, lines)), "diff")
        case Steps(caption, lines):
            inner = "".join(map(_format_step, lines))
            return _figure(caption, f'<div class="steps">{inner}</div>')
        case Commands(lines):
            return _format_code("In a terminal", escape("\n".join(f"$ {line}" for line in lines)))
        case Grid():
            return _format_grid(block)
        case Meters(caption, meters):
            return _figure(caption, draw_meters(meters))
        case Bars(caption, unit, series):
            return _figure(f"{caption} ({unit})", draw_bars(unit, series))
        case Claims(claims):
            return f'<dl class="claims">{"".join(_format_claim(*each) for each in claims)}</dl>'
        case Links(links):
            items = (f"<li>{_link(f'{name}.html', title)}</li>" for name, title in links)
            return f"<ul>{''.join(items)}</ul>"
        case Ask():
            return _format_ask(block)
        case Reveal(summary, inner):
            return _details(format_words(summary), map(format_block, inner))


def _link(target: str, text: str) -> str:
    return f'<a href="{escape(target)}">{format_words(text)}</a>'


def _figure(caption: str, inner: str, kind: str = "") -> str:
    named = f' class="{kind}"' if kind else ""
    return f"<figure{named}><figcaption>{format_words(caption)}</figcaption>{inner}</figure>"


def _details(summary: str, inner: Iterable[str]) -> str:
    return f"<details><summary>{summary}</summary>{''.join(inner)}</details>"


def _format_rule(rule: Rule) -> str:
    title = f"{rule.number} {rule.title}."
    points = "".join(f"<li>{format_words(point)}</li>" for point in rule.points)
    listed = f"<ul>{points}</ul>" if points else ""
    return (
        f'<blockquote class="rule"><p><strong>{format_words(title)}</strong> '
        f"{format_words(rule.text)}</p>{listed}</blockquote>"
    )


def _format_code(caption: str, inner: str, kind: str = "") -> str:
    """Return preformatted text that the keyboard can scroll."""
    label = escape(caption)
    box = f'<pre class="{kind}" tabindex="0" role="region" aria-label="{label}">'
    return _figure(caption, f"{box}<code>{inner}</code></pre>", "wide")


def _format_change(line: str) -> str:
    element = {"-": "del", "+": "ins"}.get(line[:1], "span")
    return f"<{element}>{escape(line) or ' '}</{element}>"


def _format_step(line: str) -> str:
    text = line.lstrip()
    indent = min(len(line) - len(text), 10)
    kind = " wrong" if text.startswith("✗") else ""
    return f'<p class="in{indent}{kind}">{escape(text)}</p>'


def _format_claim(kind: str, name: str, sentence: str) -> str:
    shown = f"{escape(kind)} " if kind != name else ""
    return f"<dt>{shown}<code>{escape(name)}</code></dt><dd>{format_words(sentence)}</dd>"


def _format_grid(grid: Grid) -> str:
    head = "".join(
        f'<th scope="col"{_class_of(heading)}>{escape(heading.rstrip("#"))}</th>'
        for heading in grid.headings
    )
    format_cell = _format_statement if grid.is_schedule else _format_cell
    rows = []
    for row in grid.rows:
        cells = enumerate(zip(grid.headings, row, strict=True))
        rows.append(f"<tr>{''.join(format_cell(column, *each) for column, each in cells)}</tr>")
    label = escape(grid.caption)
    kind = "table schedule" if grid.is_schedule else "table"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
    box = f'<div class="{kind}" tabindex="0" role="region" aria-label="{label}">{table}</div>'
    return _figure(grid.caption, box)


def _class_of(heading: str) -> str:
    return ' class="number"' if heading.endswith("#") else ""


def _format_cell(_column: int, heading: str, text: str) -> str:
    return f"<td{_class_of(heading)}>{escape(text)}</td>"


def _format_statement(column: int, heading: str, text: str) -> str:
    """Return a statement with its caller, whose name a narrow screen shows in the cell."""
    caller = f'class="caller{column}" data-caller="{escape(heading.rstrip("#"))}"'
    return f"<td {caller}><code>{escape(text)}</code></td>"


def _format_ask(ask: Ask) -> str:
    """Return a question: each choice opens, and says whether it is right."""
    answer = "".join(map(format_block, ask.answer))
    choices = []
    for choice, meaning in zip_longest(ask.choices, ask.meanings, fillvalue=""):
        is_right = choice == ask.right
        said = (
            f"<p><strong>Yes.</strong></p>{answer}" if is_right else "<p>No. Try another one.</p>"
        )
        meant = f' <span class="meaning">{format_words(meaning)}</span>' if meaning else ""
        choices.append(_details(f"<code>{escape(choice)}</code>{meant}", (said,)))
    return (
        f'<section class="ask" aria-label="Question"><p>{format_words(ask.text)}</p>'
        f'<p class="hint">Choose an answer to open it.</p>{"".join(choices)}</section>'
    )
