"""The states in which operations are called, nearest first, each with its rows.

The model is searched breadth first. The rows of a state are those that the implementation itself
makes on the shortest way there, each step taken from the rows of the state before.
"""

from collections import deque
from collections.abc import Iterator
from typing import Any

from conformance.subject import describe_error
from crash_harness.schedules.runner import Scene
from crash_harness.schedules.stage import Stage


class SettingDiffers(Exception):
    """The implementation, called alone, parts from the model on the way to a state."""


class Scenery:
    """States of a scope, and how a stage is brought into them."""

    def __init__(self, stage: Stage, *, most_states: int = 1 << 20) -> None:
        self.stage = stage
        self.parents: dict[Any, tuple[Any, Any] | None] = {}
        self.is_complete = True
        self._images: dict[Any, Any] = {}
        self._search(most_states)

    def _search(self, most_states: int) -> None:
        machine, scope = self.stage.machine, self.stage.scope
        starts = machine.initial_states(scope)
        self.parents = dict.fromkeys(starts)
        waiting = deque(starts)
        while waiting:
            state = waiting.popleft()
            for action in machine.offered_actions(scope, state):
                after, _ = machine.step(state, action)
                if after in self.parents:
                    continue
                if len(self.parents) == most_states:
                    self.is_complete = False
                    return
                self.parents[after] = (state, action)
                waiting.append(after)

    def states(self) -> Iterator[Any]:
        """Yield the states, nearest first."""
        yield from self.parents

    def find_setup(self, state: Any) -> tuple[Any, tuple[Any, ...]]:
        """Return the initial state before a state, and the actions that lead from there."""
        actions: list[Any] = []
        while (link := self.parents[state]) is not None:
            state, action = link
            actions.append(action)
        return state, tuple(reversed(actions))

    def image(self, state: Any) -> Any:
        """Return the rows of a state, made at the first request."""
        image = self._images.get(state)
        if image is None:
            link = self.parents[state]
            image = self._make_initial(state) if link is None else self._make(state, *link)
            self._images[state] = image
        return image

    def _make_initial(self, state: Any) -> Any:
        _install(self.stage, state)
        return self.stage.subject.image()

    def _make(self, state: Any, before: Any, action: Any) -> Any:
        stage = self.stage
        stage.restore(self.image(before), before)
        _, outcome = stage.machine.step(before, action)
        found = _call_alone(stage, action)
        observed = stage.subject.observe()
        if (found, observed) != (outcome, state):
            raise SettingDiffers(f"{action} alone, from {before}: {found} and {observed}")
        return stage.subject.image()

    def make_scene(self, state: Any, actions: tuple[Any, ...]) -> Scene:
        """Return a scene in which these actions are called in this state."""
        stage = self.stage
        initial, setup = self.find_setup(state)
        return Scene(stage.machine.name, stage.scope, initial, setup, state, actions)


def build_scene(
    stage: Stage, initial: Any, setup: tuple[Any, ...], actions: tuple[Any, ...]
) -> tuple[Scene, Any]:
    """Return a scene after some actions, which are called one by one, and its rows."""
    state = initial
    _install(stage, initial)
    for action in setup:
        state, outcome = stage.machine.step(state, action)
        found = _call_alone(stage, action)
        if found != outcome:
            raise SettingDiffers(f"{action}, called alone, answered {found}, not {outcome}")
    scene = Scene(stage.machine.name, stage.scope, initial, setup, state, actions)
    return scene, stage.subject.image()


def _install(stage: Stage, state: Any) -> None:
    """Let the implementation make an initial state."""
    stage.restore(stage.absent, state)
    try:
        stage.subject.install(state)
    except Exception as error:
        said = f"the initial state {state}: {describe_error(error)}"
        raise SettingDiffers(said) from error


def _call_alone(stage: Stage, action: Any) -> Any:
    try:
        return stage.subject.apply(action)
    except Exception as error:
        said = describe_error(error)
        raise SettingDiffers(f"{action}, called alone, raised {said}") from error
