"""The values of both models: total and pure steps, frozen values, and a repr that is Python."""

import copy
import dataclasses
import enum
import pickle
import re
from types import ModuleType
from typing import Any, get_args

import pytest

from model import admission, admission_vocabulary, reservation, reservation_vocabulary
from model.machine import Machine, action_name, in_words, outcome_name
from model.scopes import MACHINES, SCOPES

VOCABULARIES: dict[str, ModuleType] = {
    "admission": admission_vocabulary,
    "reservation": reservation_vocabulary,
}
STEPS = {"admission": admission.STEPS, "reservation": reservation.STEPS}
AS_PYTHON = re.compile(r"\w=|\bNone\b|\b(True|False)\b|\b[A-Z][a-z]+[A-Z(.]|[\[{]")
"""What a value must not show of Python where a sentence names it."""

every_machine = pytest.mark.parametrize("machine", MACHINES.values(), ids=MACHINES)


def reachable_steps(machine: Machine[Any, Any, Any]) -> list[tuple[Any, Any, Any, Any]]:
    """Return every call of the machine's TINY scope: before, action, outcome, after."""
    scope = SCOPES[machine.name]["TINY"]
    waiting = list(machine.initial_states(scope))
    known = set(waiting)
    steps = []
    while waiting:
        before = waiting.pop()
        for action in machine.offered_actions(scope, before):
            after, outcome = machine.step(before, action)
            steps.append((before, action, outcome, after))
            if after not in known:
                known.add(after)
                waiting.append(after)
    return steps


@every_machine
def test_every_action_has_a_step_and_its_outcomes(machine: Machine[Any, Any, Any]) -> None:
    """The union, the table of steps and the table of outcomes have the same members in order."""
    actions = get_args(VOCABULARIES[machine.name].Action)

    assert list(actions) == list(STEPS[machine.name]) == list(machine.outcomes)
    assert machine.steps is STEPS[machine.name]


@every_machine
def test_every_answer_is_listed_or_is_the_one_that_no_scope_can_see(
    machine: Machine[Any, Any, Any],
) -> None:
    """An outcome that the table forgets is a dead one; `not_held` is on purpose."""
    vocabulary = VOCABULARIES[machine.name]
    values = [kind for kind in get_args(vocabulary.Outcome) if kind is not vocabulary.Answer]
    words = {str(answer) for answer in vocabulary.Answer} | {kind.kind for kind in values}

    listed = {outcome for outcomes in machine.outcomes.values() for outcome in outcomes}

    assert words - listed <= {"not_held"}
    assert listed <= words


@every_machine
def test_every_outcome_that_a_call_has_is_listed(machine: Machine[Any, Any, Any]) -> None:
    """No call of the scope has an outcome outside its row of the protocol's table."""
    seen = {(action_name(type(a)), outcome_name(o)) for _, a, o, _ in reachable_steps(machine)}

    assert seen <= set(machine.pairs())


def make_anew(value: Any) -> Any:
    """Return an equal value that shares no text with it; a plain copy would have the same texts."""
    return pickle.loads(pickle.dumps(value))  # noqa: S301 - our own


@every_machine
def test_steps_are_pure(machine: Machine[Any, Any, Any]) -> None:
    """A step leaves its arguments alone, and an equal call has the same result, by value alone."""
    for before, action, outcome, after in reachable_steps(machine):
        copies = (make_anew(before), make_anew(action))

        again = machine.step(before, action)

        assert (before, action) == copies
        assert again == (after, outcome) == machine.step(*copies)


@every_machine
def test_equal_values_have_equal_hashes(machine: Machine[Any, Any, Any]) -> None:
    """States, actions and outcomes can be members of a set, by value."""
    for values in reachable_steps(machine):
        for value in values:
            assert hash(copy.deepcopy(value)) == hash(value)


@every_machine
def test_a_repr_is_valid_python(machine: Machine[Any, Any, Any]) -> None:
    """Evaluating what is printed gives an equal value, for every value that the scope shows."""
    names = vars(VOCABULARIES[machine.name])

    for value in {value for values in reachable_steps(machine) for value in values}:
        assert eval(repr(value), dict(names)) == value  # noqa: S307 the text is our own


@pytest.mark.parametrize(
    "kind",
    [
        kind
        for vocabulary in VOCABULARIES.values()
        for kind in vars(vocabulary).values()
        if isinstance(kind, type) and kind.__module__ == vocabulary.__name__
    ],
    ids=lambda kind: f"{kind.__module__}.{kind.__name__}",
)
def test_every_kind_of_value_is_frozen(kind: Any) -> None:
    """Each class is an enum, or a dataclass that is frozen, slotted and hashable."""
    if issubclass(kind, enum.Enum):
        assert issubclass(kind, enum.StrEnum)
        return
    assert dataclasses.is_dataclass(kind)
    assert vars(kind)["__dataclass_params__"].frozen
    assert "__slots__" in vars(kind)
    assert kind.__hash__ is not None


@every_machine
def test_names_of_actions_and_outcomes_are_the_protocol_s(machine: Machine[Any, Any, Any]) -> None:
    """Names are lower case words, and no action has one twice."""
    pairs = machine.pairs()

    assert len(set(pairs)) == len(pairs)
    assert all(
        word.replace("_", "a").isalpha() and word.islower() for pair in pairs for word in pair
    )


@every_machine
def test_two_kinds_of_action_are_never_equal(machine: Machine[Any, Any, Any]) -> None:
    """Actions of different kinds with the same fields stay apart in a set."""
    actions = {action for _, action, _, _ in reachable_steps(machine)}

    by_repr = {repr(action) for action in actions}

    assert len(by_repr) == len(actions)


@every_machine
def test_in_a_sentence_no_value_reads_as_python(machine: Machine[Any, Any, Any]) -> None:
    """Every state, action and outcome of TINY is said by the names of its fields."""
    said = {
        in_words(value) for step in reachable_steps(machine) for value in step if value is not None
    }

    assert [each for each in said if AS_PYTHON.search(each)] == []


def test_a_text_that_is_no_plain_word_is_quoted() -> None:
    """So that nobody takes a comma in a payload for the end of it."""
    action = admission_vocabulary.Admit("r1", "A", "a, b")

    assert str(action) == "admit (request_id r1, tenant A, payload 'a, b')"
