"""Every lesson says what is so: its sentences are the rules', its traces and answers were run."""

import importlib
import inspect
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from conformance.mutants.catalogue import MUTANTS
from model.machine import property_sentence
from model.scopes import MACHINES
from stateful_tests.lesson_command import lesson_names, list_lessons, run_lesson

PROTOCOLS = Path(__file__).parent.parent / "docs" / "protocols.md"
TAUGHT = re.compile(r"^- \*\*([ABC]\d+)\b", re.MULTILINE)
RULE = re.compile(r"- \*\*[A-E]\d+\b")
TITLED = re.compile(r"- \*\*[A-E]\d+ [^*]+\.\*\*")
SEARCHED = ("explore", "exhaustive")
RUN_PAGES = ("what-a-bounded-queue-does-not-give",)
SECTIONS = (
    "The situation",
    "A question first",
    "The rule",
    "The rule as code",
    "A tempting design",
    "What goes wrong",
    "What catches it",
    "What to keep",
    "Exercise",
)
ORDER = (
    "identity-first",
    "budget",
    "bytes",
    "one-transaction",
    "held-until-terminal",
    "leases-and-generations",
    "quarantine-and-redrive",
    "cancel",
    "permanent-identity",
    "three-numbers",
    "reserve-before-send",
    "one-shot-permits",
    "no-refund",
    "unknown",
    "late-senders",
    "spent-is-not-sent",
    "what-a-crash-leaves",
    "what-power-loss-leaves",
    "what-concurrency-does",
    *RUN_PAGES,
)


@lru_cache(maxsize=1)
def read_plain_protocols() -> str:
    """Return the page of the protocols on one line."""
    return " ".join(PROTOCOLS.read_text("utf-8").split())


@lru_cache(maxsize=32)
def read_lesson(name: str) -> dict[str, Any]:
    """Run a lesson, and return what it shows."""
    shown = run_lesson(name, "--json")
    assert shown.returncode == 0, shown.stderr
    values: dict[str, Any] = json.loads(shown.stdout)
    return values


def blocks_of(lesson: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """Return the blocks of one kind."""
    return [block for block in lesson["blocks"] if block["kind"] == kind]


def check_search(found: dict[str, Any], name: str) -> None:
    """Compare what a lesson has found about a planted mistake with what the catalogue says."""
    mutant = next((each for each in MUTANTS if each.name == name), None)
    if mutant is None or mutant.engine not in SEARCHED:
        return
    assert found["verdict"] == "fail"
    assert found["length"] == mutant.shortest
    kinds = {mutant.killer, "conformance"}
    assert {each[1] for each in found["claims"]} & kinds or found["claims"][0][0] in kinds


def test_every_rule_is_taught() -> None:
    """Each rule of sections A, B and C is named by a lesson."""
    taught = {rule for lesson in list_lessons() for rule in lesson["rules"]}

    assert set(TAUGHT.findall(PROTOCOLS.read_text("utf-8"))) - taught == set()


def test_the_lessons_build_up() -> None:
    """They come in the order in which one needs the other, and each name is there once."""
    assert lesson_names() == ORDER


@pytest.mark.parametrize("name", [name for name in ORDER if name not in RUN_PAGES])
def test_a_lesson_has_every_part_and_is_true(name: str) -> None:
    """A lesson asks, quotes, shows code, a mistake and its trace, and has a checked exercise."""
    lesson = read_lesson(name)
    headings = [block["text"] for block in blocks_of(lesson, "heading")]

    assert [heading for heading in headings if heading in SECTIONS] == list(SECTIONS)
    for ask in blocks_of(lesson, "ask"):
        assert ask["choices"].count(ask["right"]) == 1
        assert len(set(ask["choices"])) == len(ask["choices"]) > 1
    check_rules(lesson)
    check_code(lesson)
    mistake = lesson["mistake"]
    assert mistake["verdict"] == "fail"
    assert mistake["claims"]
    assert mistake["length"] > 0
    check_search(mistake, mistake["name"])
    check_exercise(lesson["exercise"])


def check_rules(lesson: dict[str, Any]) -> None:
    """The sentences of a lesson's rules stand in the page of the protocols."""
    quoted = [rule for block in blocks_of(lesson, "rules") for rule in block["rules"]]
    assert [rule["number"] for rule in quoted] == lesson["rules"]
    for rule in quoted:
        assert rule["text"] in read_plain_protocols()
        for point in rule["points"]:
            assert point in read_plain_protocols()


def check_code(lesson: dict[str, Any]) -> None:
    """The code is the model's own, and each claim is a property or witness with its sentence."""
    sources = blocks_of(lesson, "source")
    assert len(sources) == len(lesson["steps"]) > 0
    for block, step in zip(sources, lesson["steps"], strict=True):
        module, _, name = step.rpartition(".")
        function = getattr(importlib.import_module(module), name)
        assert block["text"] == inspect.getsource(function).rstrip()
    claims = {
        check.__name__: property_sentence(check)
        for machine in MACHINES.values()
        for checks in (machine.invariants, machine.step_properties, machine.witnesses)
        for check in checks
        if check.__name__ in lesson["claims"]
    }
    assert set(lesson["claims"]) == set(claims)


def check_exercise(exercise: dict[str, Any]) -> None:
    """The change of an exercise applies, and the run of its command has the expected result."""
    assert (PROTOCOLS.parent.parent / exercise["file"]).is_file()
    assert exercise["command"].startswith("admit-one ")
    if not exercise["killer"]:  # a mistake that this engine can't see: that is the point
        assert exercise["verdict"] == "pass"
        assert exercise["claims"] == []
        assert exercise["problems"] == []
        return
    assert exercise["verdict"] == "fail"
    assert exercise["length"] == exercise["shortest"]
    names = {each[1] for each in exercise["claims"]}
    assert exercise["killer"] in names
    check_search(exercise, exercise["name"])


def test_spent_is_not_sent_shows_two_nothing_nothing() -> None:
    """The lesson's run has spent two and called nobody, and the lesson says why it is a pass."""
    lesson = read_lesson("spent-is-not-sent")
    grids = [row for block in blocks_of(lesson, "grid") for row in block["rows"]]
    (ask,) = blocks_of(lesson, "ask")
    told = " ".join(block["text"] for block in blocks_of(lesson, "prose"))

    assert ["(spent, calls, effects)", "(2, 0, 0)"] in grids
    assert ["what the third attempt hears", "budget_exhausted"] in grids
    assert ask["right"] == "budget_exhausted"
    assert "It is a pass, and here is why." in told
    assert "At most two calls. Zero is at most two." in " ".join(told.split()).replace("**", "")
    more = [block for block in blocks_of(lesson, "meters") if block["caption"] == "at the end"]
    assert {"label": "calls of i1", "value": 3, "limit": 2} in more[-1]["meters"]


def test_the_slow_holders_are_several_workers_and_call_after_an_empty_log() -> None:
    """Each permit lies in a hand of its own, and the receiver is there before the first reserve."""
    told = blocks_of(read_lesson("spent-is-not-sent"), "steps")
    (run,) = [block for block in told if block["caption"].startswith("Nobody has died")]
    text = "\n".join(run["lines"])

    for number, worker in enumerate("abc", start=1):
        assert f"worker {worker} reserves for i1 → reserved, permit {number} of i1" in text
        assert f"worker {worker} enters with permit {number} of i1 → entered" in text
    assert text.index("create the receiver") < text.index("worker a reserves")
    assert "✗ specified is → budget_exhausted" in text


def test_a_call_before_the_reservation_is_forgotten_by_a_death() -> None:
    """What the lesson says of a process that dies in between is what its trace shows."""
    lesson = read_lesson("reserve-before-send")
    trace = "\n".join(blocks_of(lesson, "steps")[1]["lines"])
    found = next(block for block in blocks_of(lesson, "meters") if block["caption"] == "found")

    assert "✗ exit at: attempt / receiver: after commit" in trace
    assert {"label": "spent of i1", "value": 0, "limit": 2} in found["meters"]
    assert {"label": "calls of i1", "value": 1, "limit": 2} in found["meters"]


def test_a_usage_that_falls_is_drawn_as_the_changed_model_counts_it() -> None:
    """Before the last step the slot is taken, after it the changed model calls it free."""
    (reveal,) = blocks_of(read_lesson("held-until-terminal"), "reveal")
    drawn = [block for block in reveal["blocks"] if "meters" in block]

    assert [block["caption"].partition(",")[0] for block in drawn] == [
        "before the last step",
        "at the end",
    ]
    assert [block["meters"][0]["value"] for block in drawn] == [1, 0]


def test_a_size_that_differs_is_said_with_the_right_one() -> None:
    """The lesson on bytes names both sizes."""
    (reveal,) = blocks_of(read_lesson("bytes"), "reveal")

    assert "size_bytes is 1, specified 3" in json.dumps(reveal, ensure_ascii=False)


def test_each_answer_in_a_question_has_its_meaning() -> None:
    """A newcomer is asked about no word that is not explained beside it."""
    (ask,) = blocks_of(read_lesson("identity-first"), "ask")

    assert len(ask["meanings"]) == len(ask["choices"])
    assert all(ask["meanings"])


def test_every_rule_has_a_title() -> None:
    """The index lists rules by number and title, and a title ends with a full stop."""
    lines = [line for line in PROTOCOLS.read_text("utf-8").splitlines() if RULE.match(line)]

    assert lines
    assert [line for line in lines if not TITLED.match(line)] == []


def test_the_exercise_of_the_page_of_runs_is_true() -> None:
    """The change applies, and the property that decides an admit catches it in two steps."""
    page = read_lesson(RUN_PAGES[0])
    (reveal,) = blocks_of(page, "reveal")
    said, claims, steps, *_ = reveal["blocks"]
    (commands,) = blocks_of(page, "commands")

    assert commands["lines"][0] == "admit-one explore admission X"
    assert said["text"].startswith("The verdict is **fail**.")
    assert [name for _, name, _ in claims["claims"]] == ["an_admit_is_decided_in_order"]
    assert steps["caption"] == "A trace: two steps from an empty store"
    assert steps["lines"][-1].strip() == "✗ specified is → accepted"


def test_four_things_are_shown_by_runs() -> None:
    """History grows, a cap keeps nothing free, refusals slow nobody, and spent is not sent."""
    page = read_lesson(RUN_PAGES[0])
    history, cap, producers, spent = blocks_of(page, "grid")
    (bars,) = blocks_of(page, "bars")
    eager, patient = (sum(series["values"]) for series in bars["series"])

    assert all(row[1:3] == ["0", "0"] and row[0] == row[3] == row[4] for row in history["rows"])
    assert cap["rows"][-1] == ["c1", "C", "global_full"]
    assert [row[2] for row in cap["rows"][:-1]] == ["accepted"] * 4
    assert producers["rows"][0][1:3] == producers["rows"][1][1:3]
    assert eager > 20 * patient > 0
    assert ["(spent, calls, effects)", "(2, 0, 0)"] in spent["rows"]
    assert [ask["right"] for ask in blocks_of(page, "ask")] == [
        "ten",
        "global_full",
        "about the same",
        "budget_exhausted",
    ]


def test_the_simulated_producers_are_the_same_on_each_run() -> None:
    """Time is simulated and chance is seeded, so the plot is the same on every machine."""
    first = run_lesson(RUN_PAGES[0], "--json")
    second = run_lesson(RUN_PAGES[0], "--json")

    assert first.stdout == second.stdout
