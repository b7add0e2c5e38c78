"""The life cycles that `admit-one explore` draws, held against the model's own steps."""

import re
import subprocess
import sys

import pytest

from model.admission_vocabulary import RecordState, State, find_record
from model.machine import action_name, outcome_name
from model.scopes import ADMISSION_TINY, MACHINES

MERMAID = re.compile(r"^ {4}(\S+) --> (\S+) : (\w+) / (\w+)$", re.MULTILINE)
DOT = re.compile(r'^ {4}(\w+) -> (\w+) \[label="(\w+) / (\w+)"\];$', re.MULTILINE)
MOST_ARROWS = 12

PHASES = """
from model.machine import outcome_name
from model.reservation import reserve
from model.reservation_vocabulary import Reserve, find_intent, find_ledger
from model.scopes import MACHINES, SCOPES
from workbench.life_cycle import find_intent_phase

machine, scope = MACHINES["reservation"], SCOPES["reservation"]["TINY"]
seen = set(machine.initial_states(scope))
level = list(seen)
while level:
    state = level.pop()
    for worker in state.workers:
        for intent in find_ledger(state, worker.ledger).intents:
            _, outcome = reserve(state, Reserve(worker.name, intent.intent_id))
            print(find_intent_phase(intent), bool(intent.spent), outcome_name(outcome))
    for action in machine.offered_actions(scope, state):
        after, _ = machine.step(state, action)
        if after not in seen:
            seen.add(after)
            level.append(after)
"""


def draw(machine: str, form: str) -> str:
    """Return the picture of a machine's smallest scope."""
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", "explore", machine, "TINY", form],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
    ).stdout


def compute_record_arrows() -> set[tuple[str, str, str, str]]:
    """Return every change of a record in TINY, found by a search of its own."""
    machine = MACHINES["admission"]
    arrows = set()
    level: list[State] = list(machine.initial_states(ADMISSION_TINY))
    seen = set(level)
    while level:
        state = level.pop()
        for action in machine.offered_actions(ADMISSION_TINY, state):
            after, outcome = machine.step(state, action)
            for record in after.records:
                old = find_record(state, record.request_id)
                if old != record:
                    names = (action_name(type(action)), outcome_name(outcome))
                    source = "[*]" if old is None else str(old.state)
                    arrows.add((source, str(record.state), *names))
            if after not in seen:
                seen.add(after)
                level.append(after)
    return arrows


def test_the_arrows_of_a_record_are_the_changes_that_its_scope_can_reach() -> None:
    """The picture shows each reachable change of a record, and none that is not reachable."""
    arrows = MERMAID.findall(draw("admission", "--mermaid"))

    assert len(arrows) == len(set(arrows))
    assert set(arrows) == compute_record_arrows()
    assert {target for _, target, _, _ in arrows} == set(RecordState)


def test_a_record_ends_when_it_is_done_or_cancelled() -> None:
    """The final nodes are the terminal states of a record."""
    ends = re.findall(r"^ {4}(\w+) --> \[\*\]$", draw("admission", "--mermaid"), re.MULTILINE)

    assert sorted(ends) == ["cancelled", "done"]


def test_a_confirmed_intent_is_final() -> None:
    """An intent ends when it is confirmed, and nothing leads away from there."""
    picture = draw("reservation", "--mermaid")

    assert re.findall(r"^ {4}(\w+) --> \[\*\]$", picture, re.MULTILINE) == ["confirmed"]
    assert not re.search(r"confirmed --> (?!confirmed|\[\*\])", picture)


def test_the_phase_of_an_intent_is_what_reserve_would_answer() -> None:
    """In each reachable state an intent stands where the answer of `reserve` puts it."""
    listed = subprocess.run(
        [sys.executable, "-c", PHASES], capture_output=True, text=True, timeout=60, check=True
    ).stdout

    assert set(listed.splitlines()) == {
        "open False reserved",
        "reserved True reserved",
        "exhausted True budget_exhausted",
        "unknown True unknown_requires_reconciliation",
        "confirmed True confirmed",
    }


@pytest.mark.parametrize("machine", MACHINES)
def test_both_forms_of_a_picture_have_the_same_arrows(machine: str) -> None:
    """Mermaid and Graphviz show the same, and no more than a reader can take in."""
    mermaid = MERMAID.findall(draw(machine, "--mermaid").replace("[*] -->", "absent -->"))
    dot = DOT.findall(draw(machine, "--dot"))

    assert mermaid == dot
    assert len(mermaid) <= MOST_ARROWS
