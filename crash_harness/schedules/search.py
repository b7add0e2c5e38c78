"""Which schedules are run: every one, one of each class, or those with few switches first.

`every_schedule` lets any lane go on that can. `one_of_each_class` is a search with sleep sets
(Godefroid): of the orders that differ only by independent neighbours (`access`) it completes one.
A statement that nothing conflicts with runs at once, without a choice. `by_switches` are the
schedules in which the turn passes to another lane at most so many times.

Each is a depth-first search without memory: a schedule is run from its beginning, along the choices
made before, up to the deepest one that has an alternative. That needs the same statements each
time. Where an implementation keeps something in a store object, and so runs others, its stores are
opened anew for each schedule from then on, and the search begins again.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from crash_harness.schedules.access import Choice, Kind, are_independent
from crash_harness.schedules.runner import Run, Runner, Scene


@dataclass(slots=True)
class _Node:
    """A place at which a lane was chosen: what there was, and what is left to be tried."""

    options: list[int]
    choices: dict[int, Choice]
    sleeping: dict[int, Choice]
    last: int | None
    switches: int
    tried: list[int] = field(default_factory=list)
    ended: set[int] = field(default_factory=set)

    @property
    def chosen(self) -> int:
        """The lane that was chosen last."""
        return self.tried[-1]

    def find_choice(self, lane: int) -> Choice:
        """Return what a lane that was tried did: `may_end` tells whether it did end."""
        return replace(self.choices[lane], may_end=lane in self.ended)


@dataclass(slots=True)
class Tally:
    """How many schedules a search has run to their end, and how many it gave up as known."""

    complete: int = 0
    redundant: int = 0
    turns: int = 0


class Search:
    """Runs a scene along one schedule after another."""

    def __init__(
        self, runner: Runner, scene: Scene, image: Any, *, tally: Tally | None = None
    ) -> None:
        self.runner = runner
        self.scene = scene
        self.image = image
        self.tally = Tally() if tally is None else tally
        self._path: list[_Node] = []
        self._depth = 0

    def runs(self) -> Iterator[Run]:
        """Yield the complete runs, one after another."""
        while True:
            run = self._run_next()
            self._note_end()
            if run.is_complete:
                self.tally.complete += 1
                self.tally.turns += len(run.schedule)
                yield run
            else:
                self.tally.redundant += 1
            while self._path and not self._path[-1].options:
                self._path.pop()
            if not self._path:
                return
            node = self._path[-1]
            node.tried.append(node.options.pop(0))

    def _run_next(self) -> Run:
        """Run the schedule of the path; all of them from the first one if stores keep something."""
        self._depth = 0
        try:
            return self.runner.run(self.scene, self.image, self._choose)
        except NotRepeatable:
            stage = self.runner.stage
            if stage.opens_anew:
                raise
            stage.opens_anew = True
        self._path.clear()
        return self._run_next()

    def _note_end(self) -> None:
        """Remember whether the operation that had the last turn is over with it."""
        if self._path:
            node = self._path[-1]
            if self.runner.stage.lanes[node.chosen - 1].is_over:
                node.ended.add(node.chosen)

    def _choose(self, choices: Sequence[Choice]) -> int | None:
        if self._depth == len(self._path):
            self._note_end()
            node = self._make_node({choice.lane: choice for choice in choices})
            if not node.options:
                return None
            node.tried.append(node.options.pop(0))
            self._path.append(node)
        node = self._path[self._depth]
        if node.choices != {choice.lane: choice for choice in choices}:
            raise NotRepeatable(
                "the implementation runs other statements in the same schedule: it keeps something "
                "in memory that is in no file"
            )
        self._depth += 1
        return node.chosen

    def _make_node(self, choices: dict[int, Choice]) -> _Node:
        """Return a new place behind the path, with the lanes to be tried there in their order."""
        before = self._path[-1] if self._path else None
        last = None if before is None else before.chosen
        switches = 0
        if before is not None:
            switches = before.switches + (before.last not in {None, before.chosen})
        node = _Node([], choices, {}, last, switches)
        if before is not None:
            node.sleeping = self._still_sleeping(before)
        node.options = self._list_options(node)
        return node

    def _still_sleeping(self, before: _Node) -> dict[int, Choice]:  # noqa: ARG002 - for a subclass
        return {}

    def _list_options(self, node: _Node) -> list[int]:
        """Return every lane that can go on, the last one first."""
        return sorted(node.choices, key=lambda lane: (lane != node.last, lane))

    def _find_private(self, node: _Node) -> int | None:
        """Return a lane whose next statement can change places with all that others may still do.

        The first statement of an operation, and one that may end it, are not, while another
        operation can be over before it, or has not begun: real time tells their order.
        """
        has_others = len(node.choices) > 1
        has_unstarted = any(choice.starts for choice in node.choices.values())
        for lane in self._order(node):
            choice = node.choices[lane]
            if choice.kind is not Kind.PRIVATE or (has_others and choice.starts):
                continue
            if not (choice.may_end and has_unstarted):
                return lane
        return None

    def _order(self, node: _Node) -> list[int]:
        return sorted(node.choices, key=lambda lane: (lane != node.last, lane))


class _Classes(Search):
    """One schedule of each class."""

    def _still_sleeping(self, before: _Node) -> dict[int, Choice]:
        """Return what was tried at the place before, and still leads to what is known.

        A lane sleeps until a statement runs that its own one can't change places with. All of
        these have been run, so it is known which of them ended an operation.
        """
        if not before.sleeping and len(before.tried) == 1:
            return {}
        done = before.find_choice(before.chosen)
        asleep = before.sleeping | {lane: before.find_choice(lane) for lane in before.tried[:-1]}
        return {lane: c for lane, c in asleep.items() if are_independent(c, done)}

    def _list_options(self, node: _Node) -> list[int]:
        private = self._find_private(node)
        if private is not None:
            return [private]
        return [lane for lane in self._order(node) if lane not in node.sleeping]


class _BySwitches(Search):
    """The schedules with at most so many switches; a private statement is no place for one."""

    most_switches = 0

    def _list_options(self, node: _Node) -> list[int]:
        switches = node.switches
        if node.last in node.choices:
            if node.choices[node.last].kind is Kind.PRIVATE:
                return [node.last]
            if switches == self.most_switches:
                return [node.last]
        elif node.last is not None and switches >= self.most_switches:
            return []
        return self._order(node)


def every_schedule(runner: Runner, scene: Scene, image: Any) -> Search:
    """Search every order of the statements that the locks allow."""
    return Search(runner, scene, image)


def one_of_each_class(
    runner: Runner, scene: Scene, image: Any, tally: Tally | None = None
) -> Search:
    """Search one order of each class."""
    return _Classes(runner, scene, image, tally=tally)


def by_switches(runner: Runner, scene: Scene, image: Any, most_switches: int) -> Search:
    """Search the orders in which the turn passes to another lane at most so many times."""
    search = _BySwitches(runner, scene, image)
    search.most_switches = most_switches
    return search


def follow(schedule: Sequence[int]) -> Callable[[Sequence[Choice]], int | None]:
    """Return a chooser that takes a schedule's turns, and then goes on lane by lane."""
    left = list(schedule)
    last: list[int] = []

    def choose(choices: Sequence[Choice]) -> int:
        lanes = [choice.lane for choice in choices]
        chosen = left.pop(0) if left else last[0] if last and last[0] in lanes else lanes[0]
        if chosen not in lanes:
            raise ScheduleDiffers(f"lane {chosen} can't go on here; those that can are {lanes}")
        last[:] = [chosen]
        return chosen

    return choose


class NotRepeatable(Exception):
    """The same turns from the same state led to other statements."""


class ScheduleDiffers(Exception):
    """A schedule can't be followed: a lane in it has ended, or a lock is in its way."""
