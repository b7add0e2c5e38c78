"""Pages of traces for the tests: the command's own functions, run in a process of their own."""

import subprocess
import sys
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from model.admission_vocabulary import (
    ABSENT,
    Admit,
    Answer,
    CancelUnstarted,
    Init,
    Limits,
    Resolve,
    Token,
)
from model.checking.history import History, Operation, dump_history, make_history
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep, Turn
from model.checking.trace_json import dump_report
from model.checking.trace_report import Failure, TraceReport
from model.machine import Machine
from model.reservation_vocabulary import IDEMPOTENT, Attempt, InitLedger, InitReceiver, OpenIntent
from model.scopes import MACHINES, SCOPES
from stateful_tests.trace_examples import VERSIONS, list_reports

ROOT = Path(__file__).parent.parent
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\x00\u202e"
PROGRAM = """
import sys
from pathlib import Path
from model.checking.trace_json import load_report
from workbench.html.trace_page import format_trace_html

for name in sys.argv[1:]:
    page = format_trace_html(load_report(Path(name).read_text("utf-8")))
    Path(name).with_suffix(".html").write_text(page, "utf-8")
"""
HISTORY_PROGRAM = """
import sys
from pathlib import Path
from model.admission_vocabulary import ABSENT
from model.checking.history import load_history
from model.checking.linearizability import check_history
from model.scopes import MACHINES
from workbench.html.history_page import format_history_html

history = load_history(sys.stdin.read())
judged = check_history(MACHINES[history.machine], ABSENT, history)
Path(sys.argv[1]).write_text(format_history_html(history, judged, "admit-one verify"), "utf-8")
"""
OTHER_PROGRAM = """
import sys
from pathlib import Path
from model.checking.explore import Verdict
from model.checking.history import load_history
from model.checking.linearizability import Linearizability
from workbench.check import Finding
from workbench.html.history_page import format_history_html
from workbench.html.report_page import format_check_html
from workbench.lessons.build import build_page
from workbench.lessons.catalogue import find_lesson
from workbench.lessons.html import write_pages

folder = Path(sys.argv[1])
history = load_history(sys.stdin.read())
raised = "p0: CancelUnstarted('r3'): Traceback:\\n  File '/a/long/path/to/a/file.py', line 1, in "
raised += "a_function\\n    a_call(of_something)\\nsqlite3.OperationalError: database is locked"
judged = Linearizability(Verdict.FAIL, (0, 1, 2), None, raised, (), 9)
page = format_history_html(history, judged, "admit-one verify --only 'histories admission'")
(folder / "raised.html").write_text(page, "utf-8")
report = ("a line as long as a row of a terminal is, and then some more of it: " * 3, "", "a line")
repeat = "admit-one verify --only 'contests'"
finding = Finding(Verdict.FAIL, "14 contests", {}, report, name="contests", repeat=repeat)
(folder / "check.html").write_text(format_check_html(finding, ["raised.html"], "now"), "utf-8")
names = ("identity-first", "three-numbers", "what-a-bounded-queue-does-not-give")
write_pages({"Lessons": [build_page(find_lesson(name)) for name in names]}, folder)
"""
VOID = frozenset({"input", "link", "meta", "wbr"})


@dataclass
class Page(HTMLParser):
    """A page as a reader's program takes it apart; tags that are not closed are errors."""

    texts: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)
    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    path: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag."""
        opened = self.path.pop()
        if opened != tag:
            raise ValueError(f"{opened} is closed as {tag}")

    def handle_data(self, data: str) -> None:
        """Note a text where it belongs."""
        kinds = {"script": self.scripts, "style": self.styles}
        kinds.get(self.path[-1] if self.path else "", self.texts).append(data)

    @property
    def text(self) -> str:
        """Return all that a reader may see, on one line."""
        return " ".join(" ".join(self.texts).split())

    def find(self, tag: str, class_: str | None = None) -> list[dict[str, str | None]]:
        """Return the attributes of each such tag."""
        return [
            attributes
            for name, attributes in self.tags
            if name == tag and (class_ is None or class_ in (attributes.get("class") or "").split())
        ]


def parse_page(text: str) -> Page:
    """Return a page taken apart."""
    page = Page()
    page.feed(text)
    page.close()
    if page.path:
        raise ValueError(f"not closed: {page.path}")
    return page


def write_pages(reports: dict[str, TraceReport], folder: Path) -> dict[str, Path]:
    """Write the page of each report into a folder."""
    files = {}
    for name, report in reports.items():
        files[name] = folder / f"{name.replace(' ', '-')}.json"
        files[name].write_text(dump_report(report), "utf-8")
    subprocess.run(
        [sys.executable, "-c", PROGRAM, *map(str, files.values())],
        check=True,
        timeout=120,
        cwd=ROOT,
    )
    return {name: file.with_suffix(".html") for name, file in files.items()}


def write_history(history: History, file: Path) -> Path:
    """Write the page of a history that began with no store."""
    subprocess.run(
        [sys.executable, "-c", HISTORY_PROGRAM, str(file)],
        input=dump_history(history),
        encoding="utf-8",
        check=True,
        timeout=60,
        cwd=ROOT,
    )
    return file


def write_others(folder: Path) -> dict[str, Path]:
    """Write a page of every other kind: an error in a history, a check, lessons and their list."""
    subprocess.run(
        [sys.executable, "-c", OTHER_PROGRAM, str(folder)],
        input=dump_history(make_false_history()),
        encoding="utf-8",
        check=True,
        timeout=120,
        cwd=ROOT,
    )
    return {file.stem: file for file in folder.glob("*.html")}


def make_false_history() -> History:
    """Return calls of three processes of which both are accepted, where there is room for one."""
    init, first, second = Init(Limits(1, 3, 1, 3, 3)), Admit("r1", "A", "中"), Admit("r2", "B", "")
    operations = [
        Operation("p0", init, Answer.READY, 0, 10),
        Operation("p1", first, Answer.ACCEPTED, 20, 60),
        Operation("p2", second, Answer.ACCEPTED, 30, 90),
        Operation("p0", CancelUnstarted("r3"), UNKNOWN, 40, None),
    ]
    return make_history("admission", operations)


def make_long_history() -> History:
    """Return more calls of two processes than a small screen has room for; one order explains all.

    No two of them are under way at the same time.
    """
    init = Operation("p0", Init(Limits(1, 3, 1, 3, 3)), Answer.READY, 0, 5)
    calls = [
        Operation(f"p{n % 2}", CancelUnstarted(f"r{n}"), Answer.NOT_CANCELLED, 10 * n, 10 * n + 5)
        for n in range(1, 25)
    ]
    return make_history("admission", [init, *calls])


# ── Traces ────────────────────────────────────────────────────────────────────────────────


def take(machine: Machine[Any, Any, Any], initial: Any, actions: list[Any]) -> Trace:
    """Return the trace of some actions, as the specification takes them."""
    steps = []
    state = initial
    for action in actions:
        state, outcome = machine.step(state, action)
        steps.append(TraceStep(action, outcome, state))
    return Trace(machine.name, "", initial, tuple(steps))


def make_dispatch() -> TraceReport:
    """Return a trace of two workers at two ledgers and a receiver, one of which attempts twice."""
    machine, scope = MACHINES["reservation"], SCOPES["reservation"]["MEDIUM"]
    initial = machine.initial_states(scope)[0]
    first, second = (worker for worker in initial.workers[:2])
    actions = [
        InitReceiver(),
        *(InitLedger(ledger.file, ledger.file) for ledger in initial.ledgers),
        OpenIntent(first.ledger, "i1", "p", IDEMPOTENT, 2),
        Attempt(first.name, "i1", None),
        Attempt(second.name, "i1", None),
    ]
    return TraceReport(take(machine, initial, actions), "admit-one explore", (), VERSIONS)


def make_crash(ending: Ending) -> TraceReport:
    """Return a trace in which an operation ends at a boundary, and something is lost."""
    machine = MACHINES["admission"]
    trace = take(machine, ABSENT, [Init(Limits(1, 3, 1, 3, 3)), Admit("r1", "A", "中")])
    crash = CrashPoint(
        "admit / after commit", ending, commits=1, details=("lost the last page of the log",)
    )
    observed = Observed("crash", "r1 is there", "r1 is missing", state=trace.states[1])
    last = replace(trace.steps[-1], outcome=UNKNOWN, crash=crash, observed=observed)
    failure = Failure("power loss", "acknowledged_means_durable", "What was promised stays.", "no")
    trace = replace(trace, steps=(trace.steps[0], last))
    return TraceReport(trace, "admit-one power-loss", (failure,), VERSIONS)


def make_schedule() -> TraceReport:
    """Return a trace whose last two operations ran at the same time."""
    machine = MACHINES["admission"]
    trace = take(machine, ABSENT, [Init(Limits(1, 3, 1, 3, 3))])
    together = (
        TraceStep(Admit("r1", "A", "中"), UNKNOWN, None, "1"),
        TraceStep(Admit("r2", "B", "中"), UNKNOWN, None, "2"),
    )
    turns = (
        Turn(2, "begin immediate"),
        Turn(3, "begin immediate", "blocked"),
        Turn(2, "insert into intent values (:request_id)"),
        Turn(2, "commit"),
        Turn(3, "begin immediate"),
    )
    trace = replace(trace, steps=(*trace.steps, *together), schedule=turns)
    failure = Failure("schedule", "no_gap", "Nothing is half done.", "r1 has no task", turn=4)
    return TraceReport(trace, "admit-one race", (failure,), VERSIONS)


def make_hostile() -> TraceReport:
    """Return a trace whose every free text tries to be more than text."""
    machine = MACHINES["admission"]
    actions = [Init(Limits(4, 999, 2, 999, 999)), Admit(HOSTILE, HOSTILE, HOSTILE * 3)]
    trace = take(machine, ABSENT, actions)
    last = replace(trace.steps[-1], process=HOSTILE)
    trace = replace(trace, scope=HOSTILE, steps=(trace.steps[0], last))
    turns = (Turn(1, HOSTILE, HOSTILE),)
    failure = Failure(HOSTILE, HOSTILE, HOSTILE, HOSTILE)
    return TraceReport(replace(trace, schedule=turns), HOSTILE, (failure,), VERSIONS)


def make_long() -> TraceReport:
    """Return a trace of many steps by more callers than there is room for."""
    machine = MACHINES["admission"]
    actions: list[Any] = [Init(Limits(4, 256, 2, 128, 96))]
    for number in range(40):
        actions += [Admit(f"r{number}", "AB"[number % 2], "x"), Resolve(Token("r0", 1), number)]
    trace = take(machine, ABSENT, actions)
    steps = (
        replace(step, process=f"worker {number % 12}") for number, step in enumerate(trace.steps)
    )
    return TraceReport(replace(trace, steps=tuple(steps)), "admit-one verify", (), VERSIONS)


def make_reports() -> dict[str, TraceReport]:
    """Return a report of each kind that there is a picture for."""
    return {
        **list_reports(),
        "dispatch": make_dispatch(),
        "exit": make_crash(Ending.EXIT),
        "power loss": make_crash(Ending.POWER_LOSS),
        "busy": make_crash(Ending.BUSY),
        "schedule": make_schedule(),
        "hostile": make_hostile(),
        "long": make_long(),
        "empty": TraceReport(Trace("admission", "TINY", ABSENT, ()), "admit-one", (), VERSIONS),
    }
