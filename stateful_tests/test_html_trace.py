"""The page of a trace: it says all that the text says, loads nothing, and obeys nothing."""

import base64
import hashlib
import json
import re
import subprocess
import sys
from functools import lru_cache
from itertools import product
from pathlib import Path

import pytest

from model.checking.trace import Ending
from model.checking.trace_explanation import NARRATORS, describe_outcome, explain
from model.checking.trace_json import encode_report
from model.checking.trace_mermaid import format_mermaid
from model.checking.trace_text import describe_state_change
from model.checking.trace_words import make_printable
from stateful_tests.html_pages import (
    ROOT,
    Page,
    make_crash,
    make_dispatch,
    make_hostile,
    make_reports,
    parse_page,
    write_pages,
)

REPORTS = make_reports()
STYLE = ROOT / "workbench" / "html" / "page.css"
CONTRAST = 4.5
INKS = ("ink", "soft", "accent", "new", "changed", "wrong")
SHEETS = ("paper", "sheet", "accent-sheet")
OWN_SHEETS = [(ink, f"{ink}-sheet") for ink in ("accent", "new", "changed", "wrong")]
MARKED_SHEETS = ("new-sheet", "changed-sheet", "wrong-sheet")


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return every page by the name of its report."""
    files = write_pages(REPORTS, tmp_path_factory.mktemp("pages"))
    return {name: file.read_text("utf-8") for name, file in files.items()}


def squeeze(text: str) -> str:
    """Return a text as the page has it, but for space."""
    return "".join(make_printable(text).split())


# ── It says all ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_has_each_step_with_its_answer_and_its_changes(
    pages: dict[str, str], name: str
) -> None:
    """All words of the text export stand in the page, in the order of the steps."""
    trace = REPORTS[name].trace
    narrator = NARRATORS[trace.machine]
    shown = squeeze(parse_page(pages[name]).text)

    at = 0
    for number, step in enumerate(trace.steps):
        words = [narrator.describe_action(step.action)]
        words.append(f"→ {describe_outcome(trace.machine, step.outcome)}")
        words += describe_state_change(narrator, trace.states[number], step.after)
        for word in map(squeeze, words):
            at = shown.index(word, at) + len(word)


@pytest.mark.parametrize("name", [name for name, report in REPORTS.items() if report.failures])
def test_a_page_says_what_is_false_why_and_how_to_repeat_it(
    pages: dict[str, str], name: str
) -> None:
    """Sentence, clause, explanation and command are those of the report."""
    report = REPORTS[name]
    shown = squeeze(parse_page(pages[name]).text)

    for failure in report.failures:
        assert squeeze(failure.sentence) in shown
    assert squeeze(report.repeat) in shown
    for paragraph in explain(report.trace, report.failures):
        assert squeeze(paragraph) in shown


@pytest.mark.parametrize("name", REPORTS)
def test_every_step_and_turn_is_a_moment_with_an_address_and_words_to_announce(
    pages: dict[str, str], name: str
) -> None:
    """The start, each step and each turn can be reached, and a screen reader is told each."""
    trace = REPORTS[name].trace
    moments = parse_page(pages[name]).find("li", "moment")

    addresses = [f"step-{number}" for number in range(len(trace) + 1)]
    addresses += [f"turn-{number}" for number in range(1, len(trace.schedule) + 1)]
    assert [moment["id"] for moment in moments] == addresses
    assert all(moment["data-said"] for moment in moments)


@pytest.mark.parametrize("name", ["violation", "admission divergence", "dispatch"])
def test_the_lanes_are_those_of_the_sequence_diagram(pages: dict[str, str], name: str) -> None:
    """A lane for each caller, then one for each store, as the Mermaid export has them."""
    drawn = re.findall(r"(?:actor|participant) \w+ as (.+)", format_mermaid(REPORTS[name]))

    lanes = [span["title"] for span in parse_page(pages[name]).find("span") if "title" in span]

    assert lanes == drawn


def test_an_attempt_is_three_messages_in_three_lanes(pages: dict[str, str]) -> None:
    """The ledger, the receiver and the ledger again: each message has its arrow."""
    report = make_dispatch()
    hops = NARRATORS["reservation"].find_hops(report.trace, len(report.trace) - 2)

    row = pages["dispatch"].split('<li class="moment')[len(report.trace)]

    assert len(hops) == 3
    assert row.count('class="call"') == 3 + 1  # and the words


def test_more_callers_than_there_is_room_for_share_a_lane(pages: dict[str, str]) -> None:
    """Twelve workers are one lane, so that the words keep their place."""
    lanes = [span["title"] for span in parse_page(pages["long"]).find("span") if "title" in span]

    assert lanes == ["workers", "store"]


@pytest.mark.parametrize(("ending", "crosses"), [(Ending.EXIT, 1), (Ending.POWER_LOSS, 3)])
def test_a_crash_is_drawn_where_it_happens(
    pages: dict[str, str], ending: Ending, crosses: int
) -> None:
    """An exit ends the lane of its caller; a power loss ends all of them, the store's too."""
    page = pages["power loss" if ending is Ending.POWER_LOSS else "exit"]
    assert len(parse_page(page).find("path", "crash")) == crosses
    assert len(parse_page(page).find("line", "power")) == (ending is Ending.POWER_LOSS)
    assert "lost the last page of the log" in page


def test_a_storage_that_says_no_ends_no_process(pages: dict[str, str]) -> None:
    """A busy store is marked, and every lane goes on."""
    page = parse_page(pages["busy"])

    assert page.find("path", "crash") == []
    assert page.find("line", "gone") == []
    assert len(page.find("text", "sign")) == 2  # nobody knows, and the store said no


def test_turns_stand_in_the_lanes_of_their_callers(pages: dict[str, str]) -> None:
    """Each turn has its statement, its caller, and whether it waited."""
    page = parse_page(pages["schedule"])

    assert "begin immediate blocked" in page.text
    assert "caller 1, step 2" in page.text
    assert len(page.find("rect", "turn")) == 5
    assert len(page.find("rect", "held")) == 1


def test_what_is_false_between_two_turns_stands_there(pages: dict[str, str]) -> None:
    """The turn after which another connection reads it says so, to the eye and to the ear."""
    page = parse_page(pages["schedule"])

    assert "False after turn 4 r1 has no task" in page.text
    assert "Turn 4, commit of step 2, is the first after which that is so." in page.text
    assert "caller 1, step 2 commit ✗ r1 has no task" in page.text
    said = {each["id"]: each["data-said"] or "" for each in page.find("li", "turn")}
    assert [anchor for anchor in said if "False after it: r1 has no task." in said[anchor]] == [
        "turn-4"
    ]


# ── It loads nothing and obeys nothing ────────────────────────────────────────────────────


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_loads_nothing(pages: dict[str, str], name: str) -> None:
    """No address leads out of the page, and the policy forbids it."""
    page = parse_page(pages[name])

    for tag, attributes in page.tags:
        assert "src" not in attributes, tag
        assert "style" not in attributes, tag
        assert not any(key.startswith("on") for key in attributes), tag
        address = attributes.get("href") or "#"
        assert address.startswith("#") or (tag == "link" and address.startswith("data:image/svg"))
    assert not re.search(r"@import|url\(", page.styles[0])
    assert not re.search(r"fetch|XMLHttp|import\(|eval|innerHTML", page.scripts[0])


@pytest.mark.parametrize("name", REPORTS)
def test_the_policy_allows_this_style_and_this_script_alone(
    pages: dict[str, str], name: str
) -> None:
    """The policy names the digests of the one style and the one script, and nothing is inline."""
    page = parse_page(pages[name])
    (policy,) = [
        meta["content"] or ""
        for meta in page.find("meta")
        if meta.get("http-equiv") == "Content-Security-Policy"
    ]

    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    for kind, contents in (("style-src", page.styles), ("script-src", page.scripts)):
        (content,) = contents
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy


def test_a_hostile_trace_is_text(pages: dict[str, str]) -> None:
    """Whatever names, payloads and statements hold, the page has the tags of any other page."""
    page = parse_page(pages["hostile"])

    assert len(page.find("script")) == 1
    assert page.find("img") == []
    assert "alert(1)" in page.text
    assert "\u202e" not in pages["hostile"]
    assert "\x00" not in pages["hostile"]
    assert make_hostile().repeat not in pages["hostile"]


@pytest.mark.parametrize("name", REPORTS)
def test_addresses_within_a_page_lead_somewhere_and_are_unique(
    pages: dict[str, str], name: str
) -> None:
    """Every link has its target, and no two elements share an address."""
    page = parse_page(pages[name])
    known = [attributes["id"] for _, attributes in page.tags if "id" in attributes]

    assert len(known) == len(set(known))
    for link in page.find("a"):
        assert (link["href"] or "")[1:] in known


# ── It can be read ────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=1)
def read_colours() -> dict[str, dict[str, str]]:
    """Return the colours of the style sheet, in light, in the dark and on paper."""
    style = STYLE.read_text("utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, re.DOTALL)
    light, dark, paper = (
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{3,6})", block)) for block in blocks
    )
    return {"light": light, "dark": dark, "paper": paper}


def compute_luminance(colour: str) -> float:
    """Return the relative luminance of a colour, as WCAG 2.2 defines it."""
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", ["light", "dark", "paper"])
def test_every_ink_can_be_read_on_every_sheet(scheme: str) -> None:
    """Text has the contrast that WCAG asks for at level AA, in light, in the dark, on paper."""
    colours = read_colours()[scheme]
    pairs = [*product(INKS, SHEETS), *OWN_SHEETS, *product(("ink", "soft"), MARKED_SHEETS)]

    assert set(colours) == set(read_colours()["light"])
    for ink, sheet in pairs:
        bright, dim = sorted(map(compute_luminance, (colours[ink], colours[sheet])), reverse=True)
        assert (bright + 0.05) / (dim + 0.05) >= CONTRAST, (ink, sheet)


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_can_be_told_by_a_screen_reader(pages: dict[str, str], name: str) -> None:
    """It has a language, one main part, a live region, names for its parts, and real tables."""
    page = parse_page(pages[name])

    assert page.find("html")[0]["lang"] == "en"
    assert len(page.find("main")) == len(page.find("h1")) == 1
    assert [p["aria-live"] for p in page.find("p") if "aria-live" in p] == ["polite"]
    assert all(button.get("aria-label") for button in page.find("button"))
    assert all(section.get("aria-label") for section in page.find("section"))
    assert all(heading.get("scope") for heading in page.find("th"))
    assert len(page.find("table")) == len(page.find("caption"))
    assert all(svg.get("aria-hidden") == "true" for svg in page.find("svg", "rail"))


# ── Where it is written ───────────────────────────────────────────────────────────────────

VERIFY = """
import json, sys
from model.checking.explore import Verdict
from workbench.check import Finding
from workbench.commands.verify import format_finding

traces = tuple(json.load(sys.stdin))
finding = Finding(Verdict.FAIL, "nothing", {}, traces=traces, name="Some check", repeat="again")
print("\\n".join(format_finding(finding)))
"""


def test_verify_writes_a_page_beside_each_failure_and_says_where(tmp_path: Path) -> None:
    """A trace becomes two files, what is no trace one, and the check has a page of its own."""
    values = [encode_report(make_crash(Ending.EXIT)), {"format": "something else"}]

    shown = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{VERIFY}"],
        input=json.dumps(values),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tmp_path,
    ).stdout

    folder = tmp_path / "admit-one-failures"
    names = ["some-check-1.html", "some-check-1.json", "some-check-2.json", "some-check.html"]
    assert sorted(file.name for file in folder.iterdir()) == names
    for name in names:
        assert f"admit-one-failures/{name}" in shown
    page: Page = parse_page((folder / names[0]).read_text("utf-8"))
    assert "admit r1 of A" in page.text


def test_the_trace_command_writes_a_page() -> None:
    """`admit-one trace NAME --format html` prints the page of a shortest counterexample."""
    shown = subprocess.run(
        [
            *(sys.executable, "-m", "workbench.cli", "trace"),
            *("slot-released-at-claim", "--format", "html"),
        ],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
        cwd=ROOT,
    ).stdout

    page = parse_page(shown)
    assert len(page.find("li", "moment")) == 5
    assert "admit-one trace slot-released-at-claim" in page.text
