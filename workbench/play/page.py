"""Everything that the page shows of a position, as values for the templates."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.mutants.mutant import Mutant
from model.checking.trace_explanation import describe_outcome, explain_outcome
from model.checking.trace_words import describe_changes, describe_differences
from model.scopes import MACHINES, SCOPES
from workbench.play import picture_admission, picture_reservation
from workbench.play.address import build_query, encode_trace
from workbench.play.beside import list_mutants
from workbench.play.board import MOST_STEPS, Position, play
from workbench.play.calls import ActionGroup, list_calls, tell_sight
from workbench.play.decision import Passage, find_code
from workbench.play.goals import GoalGroup, list_goals
from workbench.play.journeys import Journeys
from workbench.play.judgement import Judgement, judge, list_witnesses

_DRAW: Mapping[str, Callable[..., Any]] = {
    "admission": picture_admission.draw,
    "reservation": picture_reservation.draw,
}


@dataclass(frozen=True, slots=True)
class Step:
    """A step of the trace so far, with the address of the position after it."""

    text: str
    outcome: str
    address: str
    mutant_outcome: str
    parts: bool


@dataclass(frozen=True, slots=True)
class Last:
    """The last step: what was called, what came of it and why, and the code that ran.

    `mutant_changes` say how the mutant's state differs now.
    """

    text: str
    outcome: str
    because: str
    changes: tuple[str, ...]
    witnesses: tuple[str, ...]
    code: tuple[Passage, ...]
    mutant_outcome: str = ""
    mutant_code: tuple[Passage, ...] = ()


@dataclass(frozen=True, slots=True)
class Start:
    """An initial state of the scope: what it is like, and its address."""

    name: str
    address: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class MutantView:
    """The mutant beside the model: what it is, and where it stands.

    `problem` says why it has no state. `parting` is the number of the step in which it parted.
    """

    mutant: Mutant
    diff: tuple[str, ...]
    picture: Any
    problem: str
    parting: int | None
    differences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Page:
    """A position, ready to be shown."""

    title: str
    machine: str
    scope: str
    machines: tuple[str, ...]
    scopes: tuple[str, ...]
    starts: tuple[Start, ...]
    last: Last | None
    steps: tuple[Step, ...]
    undo: str
    restart: str
    picture: Any
    calls: tuple[ActionGroup, ...]
    judgement: Judgement
    goals: tuple[GoalGroup, ...]
    mutants: tuple[Mutant, ...]
    beside: MutantView | None
    trace: str
    plain_trace: str
    plain_address: str
    address: str
    command: str
    is_at_the_end: bool


def build_page(position: Position, journeys: Journeys) -> Page:
    """Return all that is to be shown of a position."""
    board = position.board
    name, scope = board.machine.name, board.scope.name
    before = position.back_to(len(position.steps) - 1).state if position.steps else None
    sight = position.sight
    other = None if sight is None or sight.problem else sight.state
    last = _tell_last(position) if position.steps else None
    plain = play_without_mutant(position)
    return Page(
        title=_title(position, last),
        machine=name,
        scope=scope,
        machines=tuple(MACHINES),
        scopes=tuple(SCOPES[name]),
        starts=_list_starts(position),
        last=last,
        steps=_list_steps(position),
        undo=build_query(position.back_to(len(position.steps) - 1)) if position.steps else "",
        restart=build_query(position.back_to(0)),
        picture=_DRAW[name](board.scope, position.state, before, other),
        calls=list_calls(position),
        judgement=judge(position),
        goals=list_goals(board, journeys),
        mutants=list_mutants(name, scope),
        beside=_view_mutant(position),
        trace=encode_trace(position),
        plain_trace=encode_trace(plain),
        plain_address=build_query(plain),
        address=build_query(position),
        command=_say_command(position),
        is_at_the_end=len(position.steps) >= MOST_STEPS,
    )


def play_without_mutant(position: Position) -> Position:
    """Return the position without its mutant: as far as the model's scope offers the calls."""
    board = position.board
    alone = type(board)(board.machine, board.scope)
    return play(alone, position.start, [step.action for step in position.steps])


def _title(position: Position, last: Last | None) -> str:
    where = f"{position.board.machine.name} {position.board.scope.name}"
    if last is None:
        return f"Start: {where}"
    return f"{last.outcome}, step {len(position.steps)}: {where}"


def _say_command(position: Position) -> str:
    board, trace = position.board, encode_trace(position)
    command = f"admit-one play {board.machine.name} {board.scope.name}"
    command += f" --trace {trace}" if trace else ""
    return command + (f" --mutant {board.beside.mutant.name}" if board.beside is not None else "")


def _list_starts(position: Position) -> tuple[Start, ...]:
    board = position.board
    return tuple(
        Start(
            board.narrator.describe_store(state),
            build_query(board.begin(number)),
            number == position.start,
        )
        for number, state in enumerate(board.machine.initial_states(board.scope))
    )


def _list_steps(position: Position) -> tuple[Step, ...]:
    name, narrator = position.board.machine.name, position.board.narrator
    return tuple(
        Step(
            narrator.describe_action(step.action),
            describe_outcome(name, step.outcome),
            build_query(position.back_to(number)),
            tell_sight(position, step),
            number == position.first_parting,
        )
        for number, step in enumerate(position.steps, start=1)
    )


def _tell_last(position: Position) -> Last:
    board, taken = position.board, position.steps[-1]
    before = position.back_to(len(position.steps) - 1)
    name, narrator = board.machine.name, board.narrator
    mutant_outcome, mutant_code = "", tuple[Passage, ...]()
    if taken.sight is not None and before.sight is not None:
        mutant_outcome = tell_sight(position, taken)
        mutant_code = _find_mutant_code(before, taken.action)
    return Last(
        text=narrator.describe_action(taken.action),
        outcome=describe_outcome(name, taken.outcome),
        because=explain_outcome(name, before.state, taken.action, taken.outcome),
        changes=tuple(describe_changes(narrator, before.state, taken.after)),
        witnesses=list_witnesses(position),
        code=find_code(board.machine, before.state, taken.action),
        mutant_outcome=mutant_outcome,
        mutant_code=mutant_code,
    )


def _find_mutant_code(before: Position, action: Any) -> tuple[Passage, ...]:
    beside, sight = before.board.beside, before.sight
    if beside is None or sight is None or sight.problem:
        return ()
    own = beside.translate(action)
    return find_code(beside.machine, sight.own_state, own, beside.mutant)


def _view_mutant(position: Position) -> MutantView | None:
    board, sight = position.board, position.sight
    if board.beside is None or sight is None:
        return None
    picture, differences = None, tuple[str, ...]()
    if not sight.problem:
        back = position.back_to(len(position.steps) - 1).sight if position.steps else None
        before = None if back is None or back.problem else back.state
        picture = _DRAW[board.machine.name](board.scope, sight.state, before, position.state)
        differences = tuple(describe_differences(board.narrator, position.state, sight.state))
    mutant = board.beside.mutant
    diff = tuple(mutant.unified_diff().splitlines())
    return MutantView(mutant, diff, picture, sight.problem, position.first_parting, differences)
