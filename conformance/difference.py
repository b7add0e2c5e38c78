"""The difference between two versions of a protocol: shortest traces on which they part.

Both versions take every call of a scope side by side, breadth first, as long as they agree on the
state. Each kind of difference (the action, its outcome before and after, or another state under
the same outcome) is reported once, at its first place: the shortest trace that shows it.
Behind a state on which the two differ nothing is explored, since everything there would be a
consequence of what is reported already.
"""

import functools
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.difference_of_properties import list_changed_properties
from conformance.subject import ENDINGS
from conformance.versions import plain
from model.checking.trace import Trace
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_text import describe_start
from model.machine import action_name, outcome_name
from model.scopes import MACHINES

DEFAULT_STATE_BUDGET = 200_000


@dataclass(frozen=True, slots=True)
class Difference:
    """One kind of difference, with the shortest way to it.

    `subject` is "model" or "implementation". `kind` is "outcome", "state" (the same outcome,
    another state), "offer" (only one version's scope offers the call), "start" (an initial state),
    "snapshot", "property", "added action", "removed action", "added outcome" or "removed outcome".
    `trace` holds (action, outcome) in the words
    of a trace; the last one is the call that differs. A trace from another than the first initial
    state of the scope begins with that state. `details` are the fields of the state that differ.
    """

    subject: str
    machine: str
    kind: str
    action: str
    before: str
    after: str
    trace: tuple[tuple[str, str], ...] = ()
    details: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The difference in one line; `--allow` files hold such lines."""
        text = f"{self.subject} {self.machine} {self.action}"
        if self.kind in ("outcome", "start"):
            return f"{text}: {self.before} -> {self.after}"
        if self.kind in ("state", "snapshot"):
            return f"{text}: {self.after}, another {'state' if self.kind == 'state' else 'value'}"
        if self.kind == "property":
            return f"{text}: {self.after}"
        return f"{text}: {self.kind}" + (
            f" {self.after or self.before}" if self.after or self.before else ""
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison over a scope has found; `is_complete` is False if the budget ended it."""

    subject: str
    machine: str
    scope: str
    states: int
    calls: int
    differences: tuple[Difference, ...]
    is_complete: bool


def say_action(machine: str, action: Any) -> str:
    """Return a call in the words of a trace; one that only the other version has, as it is."""
    is_known = type(action) in MACHINES[machine].steps
    return NARRATORS[machine].describe_action(action) if is_known else repr(action)


def compare_vocabularies(machine: str, old: Any, new: Any) -> Iterator[Difference]:
    """Yield the actions and outcomes that only one version of a model has."""
    tables = [
        {action_name(kind): set(map(str, table)) for kind, table in each.outcomes.items()}
        for each in (old, new)
    ]
    for action in sorted(tables[0].keys() | tables[1].keys()):
        if action not in tables[1]:
            yield Difference("model", machine, "removed action", action, "", "")
        elif action not in tables[0]:
            yield Difference("model", machine, "added action", action, "", "")
        else:
            before, after = tables[0][action], tables[1][action]
            for outcome in sorted(before - after):
                yield Difference("model", machine, "removed outcome", action, outcome, "")
            for outcome in sorted(after - before):
                yield Difference("model", machine, "added outcome", action, "", outcome)


PROPERTY_CHANGES = {"added": "added", "removed": "removed", "text": "its text changed"}


def compare_properties(machine: str, old: Any, new: Any) -> Iterator[Difference]:
    """Yield the properties that only one version of a model has, or that have another text."""
    for name, change in list_changed_properties(old, new):
        said = PROPERTY_CHANGES[change]
        yield Difference("model", machine, "property", f"property {name}", "", said)


def attempt(call: Callable[[], Any]) -> Any:
    """Return what a version gives, or what it raises instead, as text: both can be compared."""
    try:
        return call()
    except (Exception, *ENDINGS) as error:  # noqa: BLE001 - whatever comes out is what is compared
        return f"raises {type(error).__name__}"


def list_changed_fields(before: Any, after: Any, path: str = "state") -> Iterator[str]:
    """Yield the places where two plain values differ: "state.records[0].lease: 5 -> 6"."""
    if before == after:
        return
    is_pair = all(isinstance(each, tuple) and len(each) == 2 for each in (before, after))  # noqa: PLR2004
    if (
        is_pair
        and isinstance(before[0], str)
        and before[0] == after[0]
        and isinstance(before[1], tuple)
    ):
        fields = dict(before[1]), dict(after[1])
        for name in dict.fromkeys((*fields[0], *fields[1])):
            old, new = (each.get(name, "none") for each in fields)
            yield from list_changed_fields(old, new, f"{path}.{name}")
        return
    if isinstance(before, tuple) and isinstance(after, tuple) and len(before) == len(after):
        for index, (old, new) in enumerate(zip(before, after, strict=True)):
            yield from list_changed_fields(old, new, f"{path}[{index}]")
        return
    yield f"{path}: {before} -> {after}"


class Pairs:
    """The search over pairs of states on which two versions agree."""

    def __init__(self, subject: str, machine: str, scope: str) -> None:
        self.subject = subject
        self.machine = machine
        self.scope = scope
        self.parents: dict[Any, tuple[Any, str, str] | None] = {}
        self.first: Any = None
        self.found: dict[str, Difference] = {}
        self.calls = 0

    def way_to(self, key: Any) -> list[tuple[str, str]]:
        """Return the calls that lead to a pair, with their outcomes."""
        way: list[tuple[str, str]] = []
        while (link := self.parents[key]) is not None:
            key, action, outcome = link
            way.append((action, outcome))
        if key != self.first:
            start = describe_start(Trace(self.machine, self.scope, key, ()))
            way.append((start, "the initial state"))
        return way[::-1]

    def link(self, key: Any, action: Any, outcome: Any) -> tuple[Any, str, str]:
        """Return what leads from a pair to another one: a parent of it."""
        answer = outcome
        if type(outcome) is not str:  # what it raises is text already
            answer = NARRATORS[self.machine].describe_outcome(outcome)
        return key, say_action(self.machine, action), answer

    def compare(self, key: Any, action: Any, old: tuple[Any, Any], new: tuple[Any, Any]) -> bool:
        """Compare (state, outcome) after a call of both versions; tell whether the states agree."""
        self.calls += 1
        states = [plain(state) for state, _ in (old, new)]
        before, after = outcome_name(old[1]), outcome_name(new[1])
        kind = ""
        if plain(old[1]) != plain(new[1]):
            kind = "outcome"
            if before == after:  # the same outcome with another value
                before, after = str(old[1]), str(new[1])
        elif states[0] != states[1]:
            kind = "state"
        if kind:
            details = tuple(list_changed_fields(*states))
            name = action_name(type(action))
            difference = Difference(
                self.subject, self.machine, kind, name, before, after, details=details
            )
            self.report(key, say_action(self.machine, action), difference)
        return bool(states[0] == states[1])

    def compare_starts(self, number: int, old: str, new: str, details: tuple[str, ...]) -> None:
        """Report an initial state that is not the same one, or not there, in both versions."""
        difference = Difference(
            self.subject, self.machine, "start", f"start {number}", old, new, (), details
        )
        self.found.setdefault(difference.name, difference)

    def compare_snapshots(self, key: Any, old: Any, new: Any) -> None:
        """Compare what both versions tell of a state on which they agree."""
        if old == new:
            return
        names = ["all of it"]
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            names = [name for name in {**old, **new} if old.get(name) != new.get(name)]
        for name in names:
            values = [each.get(name) if isinstance(each, Mapping) else each for each in (old, new)]
            details = (f"{name}: {values[0]} -> {values[1]}",)
            difference = Difference(
                self.subject, self.machine, "snapshot", "snapshot", "", str(name), (), details
            )
            self.report(key, "snapshot", difference)

    def report(self, key: Any, action: str, difference: Difference) -> None:
        """Keep the first difference of its kind, with the way to it."""
        if difference.name not in self.found:
            both = difference.before
            if difference.before != difference.after:
                both = f"{difference.before} -> {difference.after}"
            trace = (*self.way_to(key), (action, both.removeprefix(" -> ")))
            self.found[difference.name] = replace(difference, trace=trace)

    def conclude(self, *, is_complete: bool) -> Comparison:
        """Return the result."""
        differences = tuple(self.found.values())
        return Comparison(
            self.subject,
            self.machine,
            self.scope,
            len(self.parents),
            self.calls,
            differences,
            is_complete,
        )


def compare_models(
    machine: str,
    scope: str,
    old: tuple[Any, Any],
    new: tuple[Any, Any],
    *,
    state_budget: int = DEFAULT_STATE_BUDGET,
    progress: Callable[[int], None] = lambda _states: None,
) -> Comparison:
    """Compare two versions of a model over a scope; `old` and `new` are (machine, scope)."""
    pairs = Pairs("model", machine, scope)
    for compare in (compare_vocabularies, compare_properties):
        for difference in compare(machine, old[0], new[0]):
            pairs.found.setdefault(difference.name, difference)
    starts = [each[0].initial_states(each[1]) for each in (old, new)]
    pairs.first = next(iter(starts[1]), None)
    level: list[tuple[Any, Any]] = []
    for before, after in _match_starts(pairs, *starts):
        pairs.parents[after] = None
        level = [(before, after)]
        while level and len(pairs.parents) <= state_budget:
            following: list[tuple[Any, Any]] = []
            for each in level:
                following += _expand_models(pairs, *each, old, new)
            progress(len(pairs.parents))
            level = following
        if level:
            break
    return pairs.conclude(is_complete=not level)


def _match_starts(pairs: Pairs, old: Sequence[Any], new: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Return the initial states that both versions have, and report the others, in their order."""
    known = [{plain(state): state for state in states} for states in (old, new)]
    only = [
        [says for says in known[side] if says not in known[1 - side]] for side in range(len(known))
    ]
    for number, (before, after) in enumerate(itertools.zip_longest(*only), start=1):
        if before is None or after is None:
            both = ("there", "missing") if after is None else ("missing", "there")
            pairs.compare_starts(number, *both, (f"state: {before or after}",))
        else:
            details = tuple(list_changed_fields(before, after))
            pairs.compare_starts(number, "one state", "another state", details)
    return [(known[0][says], state) for says, state in known[1].items() if says in known[0]]


def _expand_models(
    pairs: Pairs, before: Any, after: Any, old: tuple[Any, Any], new: tuple[Any, Any]
) -> Iterator[tuple[Any, Any]]:
    """Take every call that both versions offer, and yield the pairs that are new."""
    offered = [
        {plain(action): action for action in machine.offered_actions(scope, state)}
        for (machine, scope), state in ((old, before), (new, after))
    ]
    key = after
    told = [
        attempt(functools.partial(each[0].snapshot, state))
        for each, state in ((old, before), (new, after))
    ]
    pairs.compare_snapshots(key, *told)
    for says in offered[0].keys() ^ offered[1].keys():
        action = offered[0].get(says) or offered[1].get(says)
        name = action_name(type(action))
        if all(any(action_name(kind) == name for kind in each[0].steps) for each in (old, new)):
            side = ("offered", "not offered") if says in offered[0] else ("not offered", "offered")
            difference = Difference("model", pairs.machine, "offer", name, *side)
            pairs.report(key, say_action(pairs.machine, action), difference)
    for says, action in offered[1].items():
        if says not in offered[0]:
            continue
        results = (
            _take(old[0], before, offered[0][says]),
            _take(new[0], after, action),
        )
        if not pairs.compare(key, action, *results):
            continue
        following = results[1][0]
        if following not in pairs.parents:
            pairs.parents[following] = pairs.link(key, action, results[1][1])
            yield results[0][0], following


def _take(machine: Any, state: Any, action: Any) -> tuple[Any, Any]:
    """Take a step of a model; one that raises leaves the state as it is."""
    taken = attempt(lambda: machine.step(state, action))
    return (state, taken) if isinstance(taken, str) else taken
