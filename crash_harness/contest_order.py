"""Explains what concurrent calls answered and left by an order of the model's steps.

Counts alone are no verdict: twelve answers with the right counts may still stand for a store that
no order of the twelve calls leaves. A history is explained if some order of its calls, which
respects real time, gives every answer and, at the end, the state that was found.

The search is `model.checking.linearizability`; here is what a reader needs of it: which calls
changed something, and in which fields the nearest state differs.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from model.checking.explore import Verdict
from model.checking.history import History, Operation
from model.checking.linearizability import DEFAULT_BUDGET, Linearizability, check_history
from model.machine import Machine


@dataclass(frozen=True, slots=True)
class Explanation:
    """An order that explains everything, or the longest beginning that can be explained.

    `judged` is what the search has said. `changing` are those calls of the order that changed
    something. `mismatches` says what the order leaves open: the call that has no place behind it,
    or the fields of the state.
    """

    judged: Linearizability
    order: tuple[Operation, ...]
    changing: tuple[Operation, ...]
    mismatches: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """Whether the order explains everything."""
        return self.judged.verdict


def explain(
    machine: Machine[Any, Any, Any],
    before: Any,
    history: History,
    after: Any,
    *,
    budget: int = DEFAULT_BUDGET,
) -> Explanation:
    """Find an order of the calls of a history that leads from one state to the other."""
    found = check_history(machine, before, history, budget=budget, final=after)
    order = tuple(history.operations[index] for index in found.order)
    mismatches: tuple[str, ...] = ()
    if found.verdict is not Verdict.PASS:
        mismatches = (found.reason,)
        if found.verdict is Verdict.FAIL and found.stuck is None:
            differences = [tuple(find_differences(state, after)) for state in found.states]
            mismatches = tuple(
                f"{path}: the model has {expected!r}, found {value!r}"
                for path, expected, value in min(differences, key=len)
            )
    return Explanation(found, order, _find_changing(machine, before, order), mismatches)


def _find_changing(
    machine: Machine[Any, Any, Any], state: Any, order: tuple[Operation, ...]
) -> tuple[Operation, ...]:
    """Return the calls of an order that change the state, each taken whole."""
    changing = []
    for operation in order:
        after, _ = machine.step(state, operation.action)
        if after != state:
            changing.append(operation)
        state = after
    return tuple(changing)


def find_differences(expected: Any, found: Any, path: str = "") -> Iterator[tuple[str, Any, Any]]:
    """Yield the path, the expected and the found value of each field in which two values differ.

    Dataclasses, mappings and sequences are entered; a missing field counts as None.
    """
    if expected == found:
        return
    left, right = _as_fields(expected), _as_fields(found)
    if left is None or right is None or type(expected) is not type(found):
        yield path, expected, found
        return
    for name in dict.fromkeys((*left, *right)):
        label = name if name.startswith("[") or not path else f".{name}"
        yield from find_differences(left.get(name), right.get(name), path + label)


def _as_fields(value: Any) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return {str(name): each for name, each in value.items()}
    if isinstance(value, list | tuple):
        return {f"[{index}]": each for index, each in enumerate(value)}
    if is_dataclass(value):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return None
