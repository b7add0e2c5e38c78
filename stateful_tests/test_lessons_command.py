"""`admit-one lesson` as a person meets it: in a pipe, in a terminal, and as pages."""

import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path

import pytest

from model.scopes import MACHINES
from stateful_tests.lesson_command import MOST_SECONDS, command_line, lesson_names, run_lesson

SHORT = "identity-first"
VOID = frozenset({"meta", "link", "rect", "line", "br", "img", "input"})
ANSWER = "The specification answers replay"
CHUNK_BYTES = 4096


def test_without_a_name_the_lessons_are_listed() -> None:
    """The list names each lesson, and says where to begin."""
    shown = run_lesson()

    assert shown.returncode == 0
    assert [name for name in lesson_names() if name not in shown.stdout] == []
    assert shown.stdout.rstrip().endswith(f"admit-one lesson {SHORT}")


@pytest.mark.parametrize(
    "arguments", [("no-such-lesson",), (SHORT, "--html", "pages"), ("--json", "--html", "pages")]
)
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    """An unknown lesson and options that exclude one another are wrong usage."""
    assert run_lesson(*arguments).returncode == 2


def test_an_unknown_lesson_is_answered_with_the_known_ones() -> None:
    """The message names what there is."""
    assert SHORT in run_lesson("no-such-lesson").stderr


def test_a_pipe_gets_everything_and_is_asked_nothing() -> None:
    """In a pipe answer and solution are printed at once, in plain text."""
    shown = run_lesson(SHORT)

    assert shown.returncode == 0
    assert ANSWER in shown.stdout
    assert "The verdict is fail" in shown.stdout
    assert "Your answer" not in shown.stdout
    assert "\x1b" not in shown.stdout
    assert shown.stderr == ""


class Reader:
    """Somebody at a terminal, who reads and types."""

    def __init__(self, controller: int) -> None:
        """Read from and type into this end of a terminal."""
        self.controller = controller
        self.seen = ""

    def read_until(self, words: str) -> str:
        """Read until these words are there, and return all that was read for the first time."""
        start = len(self.seen)
        deadline_seconds = time.monotonic() + MOST_SECONDS
        while words not in self.seen[start:]:
            assert time.monotonic() < deadline_seconds, self.seen
            if select.select([self.controller], [], [], 1.0)[0]:
                try:
                    chunk = os.read(self.controller, CHUNK_BYTES)
                except OSError:  # the other end is closed
                    break
                self.seen += chunk.decode("utf-8", "replace")
        return self.seen[start:]

    def type(self, text: str) -> None:
        """Type a line."""
        os.write(self.controller, f"{text}\n".encode())


@contextmanager
def sit_at(*arguments: str) -> Iterator[tuple[Reader, subprocess.Popen[bytes]]]:
    """Start the command at a terminal."""
    controller, terminal = pty.openpty()
    child = subprocess.Popen(
        command_line(*arguments),
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
    )
    os.close(terminal)
    try:
        yield Reader(controller), child
    finally:
        child.kill()
        child.wait(timeout=MOST_SECONDS)
        os.close(controller)


@pytest.mark.parametrize(("typed", "said"), [("b", "Yes."), ("replay", "Yes."), ("a", "No: ")])
def test_a_terminal_is_asked_before_the_answer_is_shown(typed: str, said: str) -> None:
    """The answer comes after the reader's own, and the solution when the reader wants it."""
    with sit_at(SHORT) as (reader, child):
        before = reader.read_until("Your answer")
        reader.type(typed)
        answered = reader.read_until("Show the solution")
        reader.type("")
        solved = reader.read_until("no such words")
        code = child.wait(timeout=MOST_SECONDS)

    assert ANSWER not in before
    assert said in answered
    assert ANSWER in answered
    assert "The verdict is fail" not in answered
    assert "The verdict is fail" in solved
    assert code == 0


def test_a_terminal_asks_again_for_what_is_no_choice() -> None:
    """What was typed by mistake is no wrong answer."""
    with sit_at(SHORT) as (reader, _):
        reader.read_until("Your answer")
        reader.type("zz")
        again = reader.read_until("Your answer")
        reader.type("b")
        answered = reader.read_until("Show the solution")

    assert "A letter from a to " in again
    assert "No: " not in again
    assert "Yes." in answered


# ── Pages ─────────────────────────────────────────────────────────────────────────────────


class PageReader(HTMLParser):
    """Reads a page: what is nested, where links lead, and what stands in details."""

    def __init__(self, text: str) -> None:
        """Read this page."""
        super().__init__()
        self.open: list[str] = []
        self.problems: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.elements: set[str] = set()
        self.outside_details = ""
        self.feed(text)
        self.close()
        self.problems += [f"never closed: {element}" for element in self.open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element, and where it leads."""
        values = dict(attrs)
        self.elements.add(tag)
        self.ids |= {values["id"] or ""} if "id" in values else set()
        self.links += [target or "" for name, target in attrs if name in {"href", "src"}]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close an element; it must be the last one that was opened."""
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(f"closed out of turn: {tag} at {self.getpos()}")

    def handle_data(self, data: str) -> None:
        """Note the text that is seen before anything is opened."""
        if "details" not in self.open:
            self.outside_details += data


def test_the_pages_are_sound_and_need_nothing_else(tmp_path: Path) -> None:
    """Written to a folder, they stand for themselves: well formed, linked, and readable anywhere.

    One test for all, since it takes a while to run every lesson.
    """
    folder = tmp_path / "pages"
    shown = run_lesson("--html", str(folder))
    assert shown.returncode == 0, shown.stderr
    texts = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    pages = {name: PageReader(text) for name, text in texts.items()}

    assert set(pages) == {"index.html", *(f"{name}.html" for name in lesson_names())}
    for name, text in texts.items():
        check_form(name, text, pages[name])
    for name, page in pages.items():
        check_links(name, page, pages)
    for name in lesson_names():
        check_answers(pages[f"{name}.html"])
    last = {"A": 18, "B": 12, "C": 5}
    rules = {f"rule-{letter}{n}" for letter, most in last.items() for n in range(1, most + 1)}
    assert rules - pages["index.html"].ids == set()
    assert re.findall(r'<ol start="(\d+)">', texts["index.html"]) == ["1", "10", "17", "20"]
    assert "absent store" in texts["index.html"]
    outcomes = {name for machine in MACHINES.values() for _, name in machine.pairs()}
    explained = set(re.findall(r"<dt><code>(\w+)</code></dt><dd>[^<]+\.</dd>", texts["index.html"]))
    assert outcomes - explained == set()
    assert 'class="table schedule"' in texts["one-transaction.html"]


def check_form(name: str, text: str, page: PageReader) -> None:
    """Elements close in their turn, nothing is loaded, and for phones, paper and the dark."""
    assert page.problems == [], name
    assert page.elements & {"script", "img", "iframe", "object"} == set()
    assert not re.search(r"https?://|url\(|@import", text), name
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in text
    assert '<html lang="en">' in text
    for style in ("prefers-color-scheme: dark", "@media print", "max-width: 30rem"):
        assert style in text


def check_links(name: str, page: PageReader, pages: dict[str, PageReader]) -> None:
    """A link leads to a page that was written, and to a place that is in it."""
    for link in page.links:
        if link == "data:,":  # an empty picture, so that no browser asks for one
            continue
        target, _, place = link.partition("#")
        assert (target or name) in pages, f"{name}: {link}"
        assert not place or place in pages[target or name].ids, f"{name}: {link}"


def check_answers(page: PageReader) -> None:
    """Answers and solutions stand in details, so that the keyboard alone opens them."""
    before_the_rule = page.outside_details.partition("The rule as code")[0]
    assert "details" in page.elements
    assert "The specification answers" not in before_the_rule
    assert "The verdict is" not in page.outside_details
