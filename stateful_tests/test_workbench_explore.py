"""`admit-one explore` and `admit-one scopes`: what they print, and how they end."""

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from typing import Any

import pytest

from model.checking.explore import explore
from model.machine import property_sentence
from model.scopes import MACHINES, SCOPES

ALTERED = """
from dataclasses import replace
from model import scopes
from model.admission_vocabulary import Answer
from model.machine import Expected
from workbench.cli import main

tiny = scopes.SCOPES["admission"]["TINY"]
{change}
main()
"""
OTHER_NUMBERS = """
scopes.SCOPES["admission"]["TINY"] = replace(tiny, expected=Expected(1, 2, 3, 4))
"""
BROKEN_PROPERTY = """
def nothing_is_ever_done(before, action, outcome, after):
    \"\"\"No record is ever done.\"\"\"
    return "a record is done" if outcome is Answer.DONE else None

machine = scopes.MACHINES["admission"]
properties = (*machine.step_properties, nothing_is_ever_done)
scopes.MACHINES["admission"] = replace(machine, step_properties=properties)
"""
UNEXPLAINED_GAP = """
scopes.SCOPES["admission"]["TINY"] = replace(tiny, unreachable={})
"""


def run_explore(*arguments: str, change: str = "") -> subprocess.CompletedProcess[str]:
    """Run `admit-one explore`, perhaps on scopes or machines that were changed before."""
    return subprocess.run(
        [sys.executable, "-c", ALTERED.format(change=change), "explore", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def read_json(*arguments: str) -> Any:
    """Return what `admit-one explore --json` prints, as values."""
    return json.loads(run_explore(*arguments, "--json").stdout)


@pytest.mark.parametrize("machine", MACHINES)
def test_a_scope_that_holds_ends_with_0_and_its_recorded_numbers(machine: str) -> None:
    """A search that finds the recorded numbers and breaks no property is a pass."""
    expected = SCOPES[machine]["TINY"].expected

    shown = run_explore(machine, "TINY")

    assert shown.returncode == 0
    assert f"{expected.states:,} states, {expected.transitions:,} transitions" in shown.stdout
    assert "the recorded numbers are these" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "verdict: pass"


@pytest.mark.parametrize("machine", MACHINES)
def test_every_outcome_is_a_row_and_a_missing_one_has_its_reason(machine: str) -> None:
    """The table has each (action, outcome) once, with its calls or with why there are none."""
    scope = SCOPES[machine]["TINY"]
    found = explore(MACHINES[machine], scope)

    rows = re.findall(
        r"^(\w+) +(\w+) +([\d,]+)(?:  out of reach here: (.+))?$",
        run_explore(machine, "TINY").stdout,
        re.MULTILINE,
    )

    assert [(action, outcome) for action, outcome, _, _ in rows] == list(MACHINES[machine].pairs())
    for action, outcome, calls, reason in rows:
        assert calls == f"{found.outcomes[action, outcome]:,}"
        assert reason == scope.unreachable.get(f"{action} {outcome}", "")


@pytest.mark.parametrize("machine", MACHINES)
def test_every_witness_has_the_length_of_its_shortest_trace_or_a_reason(machine: str) -> None:
    """A witness that was seen is shown with a trace, any other one with why it can't be."""
    scope = SCOPES[machine]["TINY"]
    found = explore(MACHINES[machine], scope)

    witnesses = {witness["name"]: witness for witness in read_json(machine, "TINY")["witnesses"]}

    assert list(witnesses) == [witness.__name__ for witness in MACHINES[machine].witnesses]
    for witness in MACHINES[machine].witnesses:
        shown = witnesses[witness.__name__]
        trace = shown["shortest_trace"]
        assert shown["sentence"] == property_sentence(witness)
        assert shown["unreachable"] == scope.unreachable.get(witness.__name__)
        assert (trace is None) is (shown["unreachable"] is not None)
        if trace is not None:
            assert len(trace["trace"]["steps"]) == len(found.witnesses[witness.__name__])


@pytest.mark.parametrize("machine", MACHINES)
def test_every_deadlock_is_counted_under_one_kind(machine: str) -> None:
    """The kinds of deadlocks add up to the states in which no call changes anything."""
    found = explore(MACHINES[machine], SCOPES[machine]["TINY"])

    deadlocks = read_json(machine, "TINY")["deadlocks"]

    assert deadlocks["states"] == len(found.deadlocks) == sum(deadlocks["kinds"].values())


def test_deadlocks_are_told_apart_by_where_the_records_stand() -> None:
    """Without their names, the records of a deadlock say what kind of end it is."""
    found = explore(MACHINES["admission"], SCOPES["admission"]["TINY"])
    kinds = Counter(
        ", ".join(sorted(record.state for record in state.records)) for state in found.deadlocks
    )

    assert read_json("admission", "TINY")["deadlocks"]["kinds"] == kinds


def test_a_search_beyond_its_budget_ends_with_3() -> None:
    """A search that was given up has shown nothing, and never passes."""
    shown = run_explore("admission", "TINY", "--budget", "100")

    assert shown.returncode == 3
    assert "verdict: undetermined" in shown.stdout
    assert "repeat: admit-one explore admission TINY --budget 100" in shown.stdout


def test_other_numbers_than_the_recorded_ones_end_with_1() -> None:
    """A complete search that finds other numbers fails, though every property holds."""
    shown = run_explore("admission", "TINY", change=OTHER_NUMBERS)

    assert shown.returncode == 1
    assert "the recorded numbers are Expected(states=1, transitions=2" in shown.stdout
    assert shown.stdout.splitlines()[-1] == "repeat: admit-one explore admission TINY"


def test_an_outcome_that_nothing_reaches_ends_with_1_unless_it_has_a_reason() -> None:
    """A gap that the scope doesn't explain fails the search."""
    shown = run_explore("admission", "TINY", change=UNEXPLAINED_GAP)

    assert shown.returncode == 1
    assert "problem: admit tenant_full was never seen" in shown.stdout


def test_a_broken_property_ends_with_1_its_sentence_and_its_shortest_trace() -> None:
    """A violation is shown with the claim, the clause that is false, and each step to it."""
    found = explore(MACHINES["admission"], SCOPES["admission"]["TINY"])
    steps = len(found.witnesses["a_record_is_done"])

    shown = run_explore("admission", "TINY", change=BROKEN_PROPERTY)

    assert shown.returncode == 1
    assert "FAIL: the step property nothing_is_ever_done" in shown.stdout
    assert "No record is ever done." in shown.stdout
    assert "a record is done" in shown.stdout
    assert re.search(rf"\b{steps}\. resolve .* → done", shown.stdout)


@pytest.mark.parametrize("form", ["--mermaid", "--dot", "--json"])
def test_a_picture_of_a_scope_that_fails_is_a_failure_too(form: str) -> None:
    """The exit code is the search's, and the report goes to standard error."""
    shown = run_explore("admission", "TINY", form, change=OTHER_NUMBERS)

    assert shown.returncode == 1
    assert "verdict: fail" in shown.stderr
    assert "verdict: fail" not in shown.stdout


def test_without_symmetry_the_recorded_numbers_are_not_compared() -> None:
    """`--no-symmetry` counts every name, and the numbers of the symmetric search don't apply."""
    change = 'scopes.SCOPES["admission"]["TINY"] = replace(tiny, is_symmetric=True)'

    shown = run_explore("admission", "TINY", "--no-symmetry", change=change)

    assert shown.returncode == 0
    assert "414 states" in shown.stdout
    assert "are not compared" in shown.stdout


def test_json_holds_the_numbers_the_verdict_and_the_command() -> None:
    """What a machine reads is what a person sees."""
    values = read_json("reservation", "TINY")

    expected = SCOPES["reservation"]["TINY"].expected
    assert values["expected"] == asdict(expected)
    assert {name: values[name] for name in asdict(expected)} == asdict(expected)
    assert values["verdict"] == "pass"
    assert values["repeat"] == "admit-one explore reservation TINY"


def test_scopes_lists_every_scope_with_its_recorded_numbers() -> None:
    """`admit-one scopes --json` is the list of scopes, and the numbers recorded for each."""
    shown = subprocess.run(
        [sys.executable, "-m", "workbench.cli", "scopes", "--json"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    )

    assert json.loads(shown.stdout) == [
        {
            "machine": machine,
            "scope": scope.name,
            "is_symmetric": scope.is_symmetric,
            "expected": asdict(scope.expected),
        }
        for machine, scopes in SCOPES.items()
        for scope in scopes.values()
    ]
