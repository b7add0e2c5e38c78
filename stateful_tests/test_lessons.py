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
        sentence = rule["text"] if rule["title"] else rule["text"].split(" ", 3)[-1]
        assert sentence in read_plain_protocols()
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
