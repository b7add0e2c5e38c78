"""Judges a run: is what the operations answered and left explained by one order of the model?

A history of the run goes to the linearizability checker: an operation is called at its first turn
and returns at its last one. The final state must be the one that the explaining order ends in.

An operation that exits, or gives up waiting for a lock, has an unknown outcome, but how far it came
is known: its transactions were committed at turns of this schedule. It must have taken exactly as
many steps (C1, C3).
"""

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from crash_harness.schedules.reads import with_reads
from crash_harness.schedules.runner import Ending, Problem, Run
from crash_harness.schedules.stage import find_worker_name, lose_hands
from model.checking.explore import Verdict
from model.checking.history import Operation, make_history
from model.checking.linearizability import check_history
from model.machine import Machine, Word
from model.scopes import MACHINES

SENTENCE = "Some order of the operations, taken one by one, gives every answer and the final state."
UNEXPLAINED = "unexplained"
STEP_BUDGET = 10_000
NEVER = 1 << 40
"""A turn after every turn of a schedule."""


class _Gone(Word):
    """Stands for the outcome of an operation that exited after as many steps as are known."""

    GONE = "unknown"


class Judge:
    """Judges the runs of a machine, equal ones once."""

    def __init__(self, machine: str) -> None:
        self.name = machine
        self.machine = with_reads(MACHINES[machine])
        self._known: dict[Any, Problem | None] = {}

    def judge(self, run: Run) -> list[Problem]:
        """Return everything that is wrong with a complete run."""
        problems = list(run.problems)
        if problems or run.final is None:
            return problems
        key = (run.scene.state, _summarise(run.endings), run.final)
        if key not in self._known:
            self._known[key] = self._explain(run)
        problem = self._known[key]
        return [] if problem is None else [problem]

    def forget(self) -> None:
        """Forget what was judged; for a new state."""
        self._known.clear()

    def _explain(self, run: Run) -> Problem | None:
        """Return why no order explains a run, None if one does."""
        steps: dict[int, int] = {}
        operations = []
        for number, ending in enumerate(run.endings, start=1):
            if ending.is_unknown and not ending.commits:
                continue  # it has taken no step
            action = copy.copy(ending.action)  # known by identity from here on
            outcome = ending.outcome
            if ending.is_unknown:
                steps[id(action)] = ending.commits
                outcome = _Gone.GONE
            returned = NEVER if ending.returned is None else ending.returned
            operations.append(Operation(str(number), action, outcome, ending.called, returned))
        gone = tuple(
            name for e in run.endings if e.is_unknown and (name := find_worker_name(e.action))
        )
        history = make_history(self.name, operations)
        found = check_history(
            _with_exits(self.machine, steps) if steps else self.machine,
            run.scene.state,
            history,
            budget=STEP_BUDGET,
            final=run.final,
            view=lambda state: lose_hands(self.name, state, gone),
        )
        if found.verdict is Verdict.PASS:
            return None
        kind = UNEXPLAINED if found.verdict is Verdict.FAIL else found.verdict.value
        order = ", then ".join(
            f"operation {history.operations[index].process}" for index in found.order
        )
        explained = f"this order explains some of the answers: {order}; " if order else ""
        return Problem(kind, SENTENCE, explained + found.reason)


def _summarise(endings: tuple[Ending, ...]) -> tuple[Any, ...]:
    """Return all that a verdict depends on: answers, steps, and who had returned before whom."""
    return tuple(
        (
            e.action,
            e.outcome,
            e.commits if e.is_unknown else None,
            tuple(o.returned is not None and o.returned < e.called for o in endings),
        )
        for e in endings
    )


def _with_exits(machine: Machine[Any, Any, Any], steps: Mapping[int, int]) -> Any:
    """Return the machine, in which some actions are gone after a number of steps."""

    def advance(state: Any, action: Any, earlier: tuple[Any, ...]) -> tuple[Any, Any, bool]:
        state, outcome, is_last = machine.advance(state, action, earlier)
        if steps.get(id(action)) == len(earlier) + 1:
            return state, _Gone.GONE, True
        return state, outcome, is_last

    return replace(machine, advance=advance)
