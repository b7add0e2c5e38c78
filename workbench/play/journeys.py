"""The shortest way to a case: any (action, outcome), any witness, and where a mutant parts.

`explore` finds them, breadth first; here is what is looked for, and how long. A search runs in the
background with a budget that grows fourfold, because nearly every case lies near the start.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.checking.explore import Exploration, explore
from model.checking.trace import Trace
from model.checking.trace_report import adopt_trace
from model.machine import Machine, action_name, outcome_name
from workbench.play.beside import Sight
from workbench.play.board import Board, parts

STATE_BUDGETS = (500, 2_000, 8_000, 32_000)
MOST_SECONDS = 60.0
MOST_AT_ONCE = 2
"""Searches at the same time, so that the page still answers."""
PARTING = "parting"
"""The name of the invariant of `build_pair_machine`, which breaks where the two part."""
BROKEN = "broken "
"""Before the name of a property that the mutant breaks."""


@dataclass(frozen=True, slots=True)
class Journey:
    """Calls from an initial state, by its number."""

    start: int
    actions: tuple[Any, ...]


class _OutOfTimeError(Exception):
    """The search has had its seconds."""


def watch_pair(action: str, outcome: str) -> Callable[..., bool]:
    """Return a witness of an (action, outcome), named as a scope names it: "claim claimed"."""

    def is_seen(_before: Any, taken: Any, answer: Any, _after: Any) -> bool:
        return outcome_name(answer) == outcome and action_name(type(taken)) == action

    is_seen.__name__ = f"{action} {outcome}"
    return is_seen


class Search:
    """A search for the cases of a board, in a thread of its own.

    `found` and the numbers may be read while it runs; they only ever grow.
    """

    def __init__(self, board: Board) -> None:
        self.board = board
        self.found: Mapping[str, Journey] = {}
        self.states = 0
        self.is_complete = False
        self.problem = ""
        self.is_over = threading.Event()
        self._until = 0.0

    def start(self, turns: threading.Semaphore) -> None:
        """Begin once there is a turn; the thread ends with the program."""

        def run() -> None:
            with turns:
                self.run()

        threading.Thread(target=run, name=f"search {self.board.path}", daemon=True).start()

    def run(self) -> None:
        """Search until everything is found, the scope is done, or the budgets are used up."""
        self._until = time.monotonic() + MOST_SECONDS
        try:
            for budget in STATE_BUDGETS:
                if self._search_once(budget):
                    break
        except _OutOfTimeError:
            pass
        except Exception as error:  # noqa: BLE001 - a mutant's mistake may show as any exception
            self.problem = f"the search ended with {type(error).__name__}: {error}"
        finally:
            self.is_over.set()

    def _search_once(self, budget: int) -> bool:
        """Search within a budget; tell whether a larger one would find nothing more."""
        machine, scope = self.board.machine, self.board.scope
        pairs = [watch_pair(*pair) for pair in machine.pairs()]
        wanted = tuple(
            w for w in (*machine.witnesses, *pairs) if w.__name__ not in scope.unreachable
        )
        searched = replace(machine, witnesses=wanted, invariants=(), step_properties=())
        result = explore(searched, scope, state_budget=budget, progress=self._advance)
        self._keep(result.witnesses)
        self.is_complete = result.is_complete
        return result.is_complete or len(result.witnesses) == len(wanted)

    def _keep(self, traces: Mapping[str, Trace]) -> None:
        states = list(self.board.machine.initial_states(self.board.scope))
        for name, trace in traces.items():
            actions = tuple(step.action for step in trace.steps)
            self._add(name, Journey(states.index(trace.initial), actions))

    def _add(self, name: str, journey: Journey) -> None:
        self.found = {**self.found, name: journey}

    def _advance(self, states: int) -> None:
        self.states = max(self.states, states)
        if time.monotonic() > self._until:
            raise _OutOfTimeError


class MutantSearch(Search):
    """A search for where the mutant of a board parts from the model, and what it breaks."""

    def _search_once(self, budget: int) -> bool:
        """Search both side by side until they part, then the mutant for what it breaks."""
        both = None if PARTING in self.found else self._search_both(budget)
        broken = self._search_broken(budget)
        self.is_complete = broken.is_complete and (both is None or both.is_complete)
        return self.is_complete or (PARTING in self.found and len(self.found) > 1)

    def _search_both(self, budget: int) -> Exploration:
        machine, scope = build_pair_machine(self.board), self.board.scope
        result = explore(
            machine, scope, is_symmetric=False, state_budget=budget, progress=self._advance
        )
        states = list(machine.initial_states(scope))
        for violation in result.violations:
            trace = violation.trace
            actions = tuple(step.action for step in trace.steps)
            self._add(violation.property_name, Journey(states.index(trace.initial), actions))
        return result

    def _search_broken(self, budget: int) -> Exploration:
        beside = self.board.beside
        if beside is None:
            raise LookupError("there is no mutant beside the model")
        result = explore(
            beside.machine,
            beside.scope,
            stops_at_violation=False,
            state_budget=budget,
            progress=self._advance,
        )
        states = list(beside.machine.initial_states(beside.scope))
        for violation in result.violations:
            trace = violation.trace
            actions = tuple(step.action for step in adopt_trace(trace).steps)
            journey = Journey(states.index(trace.initial), actions)
            self._add(f"{BROKEN}{violation.property_name}", journey)
        return result


@dataclass(frozen=True, slots=True)
class Pair:
    """A state of the model, and the mutant's own state beside it."""

    state: Any
    own_state: Any
    has_parted: bool


def build_pair_machine(board: Board) -> Machine[Any, Any, Any]:
    """Return the machine whose states are those of the model and its mutant, while they agree."""
    machine, beside = board.machine, board.beside
    if beside is None:
        raise LookupError("there is no mutant beside the model")

    def begin(scope: Any) -> tuple[Pair, ...]:
        states = enumerate(machine.initial_states(scope))
        return tuple(pair(state, None, beside.begin(number)) for number, state in states)

    def pair(state: Any, outcome: Any, sight: Sight) -> Pair:
        return Pair(state, sight.own_state, parts(sight, outcome, state))

    def take(at: Pair, action: Any) -> tuple[Pair, Any]:
        after, outcome = machine.step(at.state, action)
        return pair(after, outcome, beside.take(Sight(own_state=at.own_state), action)), outcome

    def offer(scope: Any, at: Pair) -> tuple[Any, ...]:
        return () if at.has_parted else tuple(machine.offered_actions(scope, at.state))

    def parting(at: Pair) -> str | None:
        """The mutant does as the model does."""
        return "they part" if at.has_parted else None

    return replace(
        machine,
        steps=dict.fromkeys(machine.steps, take),
        initial_states=begin,
        offered_actions=offer,
        invariants=(parting,),
        step_properties=(),
        witnesses=(),
    )


class Journeys:
    """All searches of a server; each board is searched once, and few at the same time."""

    def __init__(self) -> None:
        self._searches: dict[tuple[str, str], Search] = {}
        self._lock = threading.Lock()
        self._turns = threading.Semaphore(MOST_AT_ONCE)

    def find_search(self, board: Board) -> Search:
        """Return the search for the pairs and witnesses of a board, begun if it is the first."""
        return self._find((board.path, ""), Search, replace(board, beside=None))

    def find_mutant_search(self, board: Board) -> Search:
        """Return the search for where a board's mutant parts, begun if it is the first."""
        return self._find(_name_mutant(board), MutantSearch, board)

    def peek(self, board: Board) -> Mapping[str, Journey]:
        """Return what is known of where a board's mutant parts, without any search."""
        with self._lock:
            search = self._searches.get(_name_mutant(board))
        return {} if search is None else search.found

    def _find(self, key: tuple[str, str], kind: type[Search], board: Board) -> Search:
        with self._lock:
            if key not in self._searches:
                self._searches[key] = kind(board)
                self._searches[key].start(self._turns)
            return self._searches[key]


def _name_mutant(board: Board) -> tuple[str, str]:
    return board.path, "" if board.beside is None else board.beside.mutant.name
