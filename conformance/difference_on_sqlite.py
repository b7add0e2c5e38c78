"""The difference between two versions of the SQLite implementation, call by call on real files.

Both versions stand in the same state, each on its own database; every call of the scope is taken
on both, and outcome and abstracted state are compared. The model only says which calls there are.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from conformance.difference import DEFAULT_STATE_BUDGET, Comparison, Pairs, attempt
from conformance.implementation import Implementation, load_implementation
from conformance.place import scratch_folder
from conformance.sqlite import make_subject
from conformance.subject import Subject, Unreadable
from model.scopes import MACHINES, SCOPES

UNREADABLE = "rows of no state"
MADE = "made"


class _Version:
    """One version of the implementation, brought into one state after another."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.original: Any = None
        self.current: Any = None

    def enter(self, original: Any, state: Any) -> None:
        """Put a database back."""
        self.original = original
        self.subject.restore(original, state)
        self.current = self.subject.image()

    def take(self, action: Any, state: Any) -> tuple[Any, Any]:
        """Take a call; return what it left and its outcome, or what it raised instead."""
        outcome = attempt(lambda: self.subject.apply(action))
        if self.subject.image() == self.current:
            return state, outcome
        try:
            return self.subject.observe(), outcome
        except Unreadable:
            return UNREADABLE, outcome


def compare_implementations(
    machine: str,
    scope: str,
    old: Implementation,
    *,
    state_budget: int = DEFAULT_STATE_BUDGET,
    progress: Callable[[int], None] = lambda _states: None,
) -> Comparison:
    """Compare an older version of the implementation with the one in the tree, over a scope."""
    bounds = SCOPES[machine][scope]
    pairs = Pairs("implementation", machine, scope)
    with scratch_folder() as folder, contextlib.ExitStack() as stack:
        versions = []
        for name, implementation in (("old", old), ("new", load_implementation())):
            Path(folder, name).mkdir()
            subject = make_subject(
                machine,
                bounds,
                Path(folder, name),
                implementation=implementation,
                has_images=True,
            )
            versions.append(_Version(subject))
            stack.callback(subject.close)
        initial_states = MACHINES[machine].initial_states(bounds)
        pairs.first = initial_states[0]
        level: list[tuple[Any, list[Any]]] = []
        for start in list(_find_starts(pairs, versions, initial_states)):
            pairs.parents[start[0]] = None
            level = [start]
            while level and len(pairs.parents) <= state_budget:
                following: list[tuple[Any, list[Any]]] = []
                for state, images in level:
                    following += _expand(pairs, versions, state, images, bounds)
                progress(len(pairs.parents))
                level = following
            if level:
                break
    return pairs.conclude(is_complete=not level)


def _find_starts(
    pairs: Pairs, versions: list[_Version], initial_states: Sequence[Any]
) -> Iterator[tuple[Any, list[Any]]]:
    """Yield the initial states that both versions can be brought into, with their databases.

    The others are reported, also where neither version can be brought there.
    """
    absent = [version.subject.image() for version in versions]
    for number, state in enumerate(initial_states, start=1):
        made, images = [], []
        for version, nothing in zip(versions, absent, strict=True):
            made.append(attempt(functools.partial(_make_start, version.subject, state)))
            images.append(version.subject.image())
            version.subject.restore(nothing, state)
        if made == [MADE, MADE]:
            yield state, images
        else:
            pairs.compare_starts(number, made[0], made[1], (f"state: {state}",))


def _make_start(subject: Subject, state: Any) -> str:
    """Bring a version into an initial state, and say whether it is there."""
    subject.install(state)
    return MADE if subject.observe() == state else "makes another state"


def _expand(
    pairs: Pairs, versions: list[_Version], state: Any, images: list[Any], bounds: Any
) -> Iterator[tuple[Any, list[Any]]]:
    """Take every call of the scope on both versions, and yield the states that are new."""
    machine = MACHINES[pairs.machine]
    for version, image in zip(versions, images, strict=True):
        version.enter(image, state)
    pairs.compare_snapshots(state, *(attempt(version.subject.read) for version in versions))
    for version, image in zip(versions, images, strict=True):
        if version.subject.image() != version.current:
            version.enter(image, state)
    for action in machine.offered_actions(bounds, state):
        old, new = (version.take(action, state) for version in versions)
        agrees = pairs.compare(state, action, old, new)
        after = new[0]
        key = after
        if agrees and after is not UNREADABLE and bounds.is_symmetric:
            key = machine.canonical(bounds, after)
        if agrees and after is not UNREADABLE and key not in pairs.parents:
            pairs.parents[key] = pairs.link(state, action, new[1])
            if key is not after:
                pairs.parents[after] = pairs.parents[key]
            yield after, [version.subject.image() for version in versions]
        for version, image in zip(versions, images, strict=True):
            if version.subject.image() != version.current:
                version.enter(image, state)
