"""Is a history explained by the model, in one order that respects real time?

A search over configurations: which operations have taken effect, how far programs of several
steps have come, and the model's state. From a configuration any operation may take its next step
that could have come next in real time; the last step of an operation must give the outcome that
was recorded. Configurations are remembered, so none is searched twice (Wing and Gong's search
with Lowe's memory).

The surprising decision: an operation without an answer may take effect at any time after its
call, in part or not at all, and it never holds another one up. So a `Reserve` whose process was
killed may have spent a unit hours later, and may also never have run. A history in which the unit
is gone, and one in which it is not, are both explained.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from model.checking.explore import Verdict
from model.checking.history import UNKNOWN, History
from model.machine import Machine, in_words

DEFAULT_BUDGET = 2_000_000
"""The most steps that a search takes before it gives up."""

Progress = tuple[tuple[int, tuple[Any, ...]], ...]
Configuration = tuple[int, Progress, Any]


@dataclass(frozen=True, slots=True)
class Linearizability:
    """Whether a history is explained.

    `order` holds the operations by their index in the history, in the order in which they ended:
    all that were answered if the verdict is `pass`, otherwise the longest prefix that could be
    explained. `stuck` is the operation that has no place behind that prefix, and `reason` says
    why the model does not give its outcome there; a search that gave up knows neither.
    `states` are those in which the longest prefix can end; `steps` counts the steps of the model
    that were taken.
    """

    verdict: Verdict
    order: tuple[int, ...]
    stuck: int | None
    reason: str
    states: tuple[Any, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class JudgedHistory:
    """A history, and what a search has said about it.

    `is_whole` tells that nothing happened before it but what every run of histories begins with:
    then its file can be judged again. A round of a contest begins where the one before it ended.
    """

    history: History
    judged: Linearizability
    is_whole: bool = True


class _Search:
    """One search: the configurations seen, and the best prefix so far."""

    def __init__(self, machine: Machine[Any, Any, Any], history: History) -> None:
        self.machine = machine
        self.operations = history.operations
        self.answered = 0
        for index, operation in enumerate(history.operations):
            if operation.returned is not None:
                self.answered |= 1 << index
        self.predecessors = [
            self.find_predecessors(index) for index in range(len(history.operations))
        ]
        self.by_return = sorted(
            range(len(history.operations)),
            key=lambda index: (
                history.operations[index].returned is None,
                history.operations[index].returned or 0,
            ),
        )
        self.links: dict[Configuration, tuple[Configuration, int | None] | None] = {}
        self.best: Configuration | None = None
        self.steps = 0

    def find_predecessors(self, index: int) -> int:
        """Return the set of operations that had returned before this one was called.

        An earlier operation of the same process had, also where the clock shows one time for both.
        """
        operation = self.operations[index]
        mask = 0
        for number, other in enumerate(self.operations):
            is_own = number < index and other.process == operation.process
            if is_own or (other.returned is not None and other.returned < operation.called):
                mask |= 1 << number
        return mask

    def list_candidates(self, configuration: Configuration) -> list[int]:
        """Return the operations that may take a step next: those that nothing must precede."""
        done, progress, _ = configuration
        started = {index for index, _ in progress}
        return [
            index
            for index in self.by_return
            if not done >> index & 1 and (index in started or not self.predecessors[index] & ~done)
        ]

    def take_step(
        self, configuration: Configuration, index: int
    ) -> tuple[Configuration | None, Any]:
        """Let an operation take its next step; None if its outcome is not the recorded one."""
        done, progress, state = configuration
        self.steps += 1
        operation = self.operations[index]
        earlier = next((outcomes for each, outcomes in progress if each == index), ())
        after, outcome, is_last = self.machine.advance(state, operation.action, earlier)
        others = tuple(each for each in progress if each[0] != index)
        if not is_last:
            grown = tuple(sorted((*others, (index, (*earlier, outcome))), key=lambda each: each[0]))
            return (done, grown, after), outcome
        if operation.outcome is not UNKNOWN and operation.outcome != outcome:
            return None, outcome
        return (done | 1 << index, others, after), outcome

    def count_answered(self, configuration: Configuration) -> int:
        """Return how many answered operations have ended."""
        return (configuration[0] & self.answered).bit_count()

    def run(
        self, initial: Any, is_goal: Callable[[Configuration], bool], budget: int
    ) -> tuple[Configuration | None, bool]:
        """Search depth first; return a goal, and whether the search came to its end."""
        start: Configuration = (0, (), initial)
        self.links[start] = None
        self.best = start
        stack = [start]
        while stack:
            if self.steps > budget:
                return None, False
            configuration = stack.pop()
            if self.count_answered(configuration) > self.count_answered(self.best):
                self.best = configuration
            if is_goal(configuration):
                return configuration, True
            for index in reversed(self.list_candidates(configuration)):
                following, _ = self.take_step(configuration, index)
                if following is not None and following not in self.links:
                    ended = index if following[0] != configuration[0] else None
                    self.links[following] = (configuration, ended)
                    stack.append(following)
        return None, True

    def order_to(self, configuration: Configuration) -> tuple[int, ...]:
        """Return the operations that ended on the way to a configuration."""
        order = []
        while (link := self.links[configuration]) is not None:
            configuration, ended = link
            if ended is not None:
                order.append(ended)
        return tuple(reversed(order))

    def explain(self, configuration: Configuration) -> tuple[int | None, str]:
        """Return the operation that must end next and can't, and what the model says instead."""
        left = [
            index
            for index in self.list_candidates(configuration)
            if self.operations[index].outcome is not UNKNOWN
        ]
        if not left:
            return None, "no answered operation is left"
        index = left[0]
        operation = self.operations[index]
        following, outcome = self.take_step(configuration, index)
        while following is not None and not following[0] >> index & 1:
            following, outcome = self.take_step(following, index)
        return index, (
            f"{operation.action} of process {operation.process} answered {operation.outcome}; "
            f"after the calls that are explained the model answers {outcome}"
        )


def check_history(
    machine: Machine[Any, Any, Any],
    initial: Any,
    history: History,
    *,
    budget: int = DEFAULT_BUDGET,
    final: Any = None,
    view: Callable[[Any], Any] = lambda state: state,
) -> Linearizability:
    """Judge a history that began in the state `initial`.

    With `final`, the state that was found afterwards, only an order that ends in it explains the
    history; `view` is then what of a state can be found at all. `undetermined` if the search took
    more than `budget` steps.
    """
    search = _Search(machine, history)
    wanted = None if final is None else view(final)

    def is_goal(configuration: Configuration) -> bool:
        if configuration[0] & search.answered != search.answered:
            return False
        return final is None or view(configuration[2]) == wanted

    goal, is_complete = search.run(initial, is_goal, budget)
    if goal is not None:
        order = search.order_to(goal)
        return Linearizability(Verdict.PASS, order, None, "", (goal[2],), search.steps)
    best = search.best or (0, (), initial)
    states = tuple({each[2]: None for each in search.links if each[0] == best[0] and not each[1]})
    order, steps, stuck = search.order_to(best), search.steps, None
    if not is_complete:
        reason = f"gave up after {steps:,} steps; the order is the longest prefix so far"
        return Linearizability(Verdict.UNDETERMINED, order, stuck, reason, states, steps)
    if best[0] & search.answered == search.answered:
        left = in_words(final)
        reason = f"every answer is explained, but no order ends in the state that was found: {left}"
    else:
        stuck, reason = search.explain(best)
    return Linearizability(Verdict.FAIL, order, stuck, reason, states, steps)
