"""Histories that are drawn by lot: some that the model explains, some with a wrong answer."""

import random
from typing import Any

from model.admission_vocabulary import Answer, Init
from model.checking.history import UNKNOWN, History, Operation, make_history
from model.scopes import MACHINES, SCOPES

ADMISSION = MACHINES["admission"]
SMALL = SCOPES["admission"]["SMALL"]
CREATED = ADMISSION.step(ADMISSION.initial_states(SMALL)[0], Init(SMALL.limits))[0]
LONG = 3
"""Characters of a payload; the longer ones are refused whatever has happened."""


def draw_history(chance: random.Random, processes: int, length: int, unknowns: int) -> History:
    """Return a history that the model explains: effects happen between call and return."""
    offered = [
        action
        for action in ADMISSION.offered_actions(SMALL, CREATED)
        if not isinstance(action, Init) and len(getattr(action, "payload", "")) < LONG
    ]
    state = CREATED
    clock = 0
    idle = {f"p{number}" for number in range(processes)}
    running: dict[str, tuple[Any, int, Any]] = {}
    operations: list[Operation] = []
    begun = 0
    while begun < length or running:
        clock += 1
        choices = [*sorted(running), *(sorted(idle) if begun < length else [])]
        process = chance.choice(choices)
        if process in idle:
            idle.remove(process)
            running[process] = (_draw_action(chance, offered, state), clock, None)
            begun += 1
            continue
        action, called, outcome = running[process]
        if outcome is None:
            state, outcome = ADMISSION.step(state, action)
            running[process] = (action, called, outcome)
            continue
        del running[process]
        if unknowns and chance.random() < 1 / 4:
            unknowns -= 1
            operations.append(Operation(process, action, UNKNOWN, called, None))
            continue  # its process never calls again
        idle.add(process)
        operations.append(Operation(process, action, outcome, called, clock))
        if not idle and not running:
            break
    return make_history("admission", operations)


def _draw_action(chance: random.Random, offered: list[Any], state: Any) -> Any:
    """Return a call that often does something."""
    if chance.random() < 2 / 3:
        leading = [each for each in offered if ADMISSION.step(state, each)[0] != state]
        offered = leading or offered
    return chance.choice(offered)


def corrupt(chance: random.Random, history: History) -> History:
    """Return the history with one answer changed for another of the same action."""
    answered = [i for i, each in enumerate(history.operations) if each.outcome is not UNKNOWN]
    if not answered:
        return history
    index = chance.choice(answered)
    operation = history.operations[index]
    names = [name for name in ADMISSION.outcomes[type(operation.action)] if name in set(Answer)]
    other = chance.choice(
        [Answer(str(name)) for name in names if str(name) != str(operation.outcome)]
    )
    changed = Operation(
        operation.process, operation.action, other, operation.called, operation.returned
    )
    operations = [changed if i == index else each for i, each in enumerate(history.operations)]
    return make_history("admission", operations)
