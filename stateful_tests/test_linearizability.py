"""The checker of histories agrees with a naive one, and says where a history can't be explained."""

import itertools
import random
import time
from typing import Any

import pytest

from model.admission_vocabulary import (
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
    Claimed,
    Init,
    Redrive,
    Resolve,
    Token,
)
from model.checking.explore import Verdict
from model.checking.history import (
    UNKNOWN,
    History,
    Operation,
    dump_history,
    format_timeline,
    load_history,
    make_history,
)
from model.checking.linearizability import check_history
from model.checking.trace_shapes import TraceFormatError
from model.machine import action_name
from model.reservation_vocabulary import (
    Attempt,
    Confirmed,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Receipt,
    Safety,
)
from model.scopes import MACHINES, SCOPES

ADMISSION = MACHINES["admission"]
RESERVATION = MACHINES["reservation"]
TINY = SCOPES["admission"]["TINY"]
SMALL = SCOPES["admission"]["SMALL"]
CREATED = ADMISSION.step(ADMISSION.initial_states(SMALL)[0], Init(SMALL.limits))[0]
NAIVE_HISTORIES = 10_000


def draw_history(chance: random.Random, processes: int, length: int, unknowns: int) -> History:
    """Return a history that the model explains: effects happen between call and return."""
    offered = [
        action
        for action in ADMISSION.offered_actions(SMALL, CREATED)
        if not isinstance(action, Init) and len(getattr(action, "payload", "")) < 3
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


def is_explained_naively(history: History) -> bool:
    """Try every order of every choice of unanswered operations, each from the start."""
    answered = [each for each in history.operations if each.outcome is not UNKNOWN]
    unknown = [each for each in history.operations if each.outcome is UNKNOWN]
    for count in range(len(unknown) + 1):
        for chosen in itertools.combinations(unknown, count):
            if any(_runs(order) for order in itertools.permutations([*answered, *chosen])):
                return True
    return False


def _runs(order: tuple[Operation, ...]) -> bool:
    """Tell whether an order respects real time and gives every recorded outcome."""
    for index, operation in enumerate(order):
        for later in order[index + 1 :]:
            if later.returned is not None and later.returned < operation.called:
                return False
    state = CREATED
    for operation in order:
        state, outcome = ADMISSION.step(state, operation.action)
        if operation.outcome is not UNKNOWN and outcome != operation.outcome:
            return False
    return True


@pytest.mark.parametrize("part", range(10))
def test_the_checker_agrees_with_a_naive_one(part: int) -> None:
    """Over 10,000 small histories, half of them corrupted, both give the same verdict."""
    chance = random.Random(part)
    verdicts = {Verdict.PASS: 0, Verdict.FAIL: 0}

    for number in range(NAIVE_HISTORIES // 10):
        history = draw_history(chance, processes=3, length=chance.randint(2, 5), unknowns=2)
        if number % 2:
            history = corrupt(chance, history)
        found = check_history(ADMISSION, CREATED, history)
        assert (found.verdict is Verdict.PASS) is is_explained_naively(history), history
        verdicts[found.verdict] += 1

    assert verdicts[Verdict.PASS] > 500
    assert verdicts[Verdict.FAIL] > 100


def test_eight_processes_with_twelve_calls_each_are_judged_within_seconds() -> None:
    """96 operations of 8 processes, 4 of them unanswered, are explained in under 10 s."""
    chance = random.Random(5)
    history = draw_history(chance, processes=8, length=96, unknowns=4)
    started = time.perf_counter()

    found = check_history(ADMISSION, CREATED, history)

    assert found.verdict is Verdict.PASS
    assert len(history.operations) == 96
    assert sum(each.outcome is UNKNOWN for each in history.operations) == 4
    assert time.perf_counter() - started < 10


def _operation(process: str, action: Any, outcome: Any, called: int, returned: int | None) -> Any:
    return Operation(process, action, outcome, called, returned)


ADMIT = Admit("r1", "A", "aa")


def test_an_order_that_breaks_real_time_explains_nothing() -> None:
    """A replay that had returned before the admission was called has no place."""
    history = make_history(
        "admission",
        [
            _operation("a", ADMIT, Answer.REPLAY, 1, 2),
            _operation("b", ADMIT, Answer.ACCEPTED, 3, 4),
        ],
    )

    found = check_history(ADMISSION, CREATED, history)

    assert found.verdict is Verdict.FAIL
    assert found.order == ()
    assert found.stuck == 0
    assert "answered replay" in found.reason
    assert "the model answers accepted" in found.reason


def test_concurrent_operations_may_take_either_order() -> None:
    """The same two answers are explained where the calls overlap."""
    history = make_history(
        "admission",
        [
            _operation("a", ADMIT, Answer.REPLAY, 1, 4),
            _operation("b", ADMIT, Answer.ACCEPTED, 2, 3),
        ],
    )

    found = check_history(ADMISSION, CREATED, history)

    assert found.verdict is Verdict.PASS
    assert found.order == (1, 0)


@pytest.mark.parametrize("later", [Answer.REPLAY, Answer.ACCEPTED])
def test_a_call_without_an_answer_may_have_happened_or_not(later: Answer) -> None:
    """After an unanswered admit, both answers of the repeated one are explained."""
    history = make_history(
        "admission",
        [
            _operation("a", ADMIT, UNKNOWN, 1, None),
            _operation("b", ADMIT, later, 2, 3),
        ],
    )

    assert check_history(ADMISSION, CREATED, history).verdict is Verdict.PASS


def test_a_call_without_an_answer_may_happen_long_after_it_was_made() -> None:
    """A cancel without an answer can take effect between two later calls."""
    cancel = CancelUnstarted("r1")
    history = make_history(
        "admission",
        [
            _operation("a", ADMIT, Answer.ACCEPTED, 1, 2),
            _operation("b", cancel, UNKNOWN, 3, None),
            _operation("a", ADMIT, Answer.REPLAY, 4, 5),
            _operation("a", Claim(0), Answer.NOTHING_DUE, 6, 7),
        ],
    )

    assert check_history(ADMISSION, CREATED, history).verdict is Verdict.PASS


def test_a_call_that_was_not_made_yet_explains_nothing() -> None:
    """A call without an answer can't take effect before it was made."""
    history = make_history(
        "admission",
        [
            _operation("a", ADMIT, Answer.ACCEPTED, 1, 2),
            _operation("a", Claim(0), Answer.NOTHING_DUE, 3, 4),
            _operation("b", CancelUnstarted("r1"), UNKNOWN, 5, None),
        ],
    )

    found = check_history(ADMISSION, CREATED, history)

    assert found.verdict is Verdict.FAIL
    assert found.order == (0,)
    assert found.stuck == 1


def test_the_state_that_was_found_must_be_explained_too() -> None:
    """Answers that are right do not pass if no order ends in the state that was found."""
    history = make_history("admission", [_operation("a", ADMIT, Answer.ACCEPTED, 1, 2)])
    accepted = ADMISSION.step(CREATED, ADMIT)[0]

    right = check_history(ADMISSION, CREATED, history, final=accepted)
    wrong = check_history(ADMISSION, CREATED, history, final=CREATED)

    assert right.verdict is Verdict.PASS
    assert wrong.verdict is Verdict.FAIL
    assert wrong.states == (accepted,)
    assert "no order ends in the state" in wrong.reason


def test_a_search_without_budget_is_undetermined() -> None:
    """A history that can't be judged within the budget neither passes nor fails."""
    history = draw_history(random.Random(1), processes=4, length=20, unknowns=0)

    found = check_history(ADMISSION, CREATED, history, budget=3)

    assert found.verdict is Verdict.UNDETERMINED


def _dispatch_state() -> Any:
    state = RESERVATION.initial_states(SCOPES["reservation"]["TINY"])[0]
    for action in (
        InitLedger("L1", "L1"),
        InitReceiver(),
        OpenIntent("L1", "i1", "p", Safety.IDEMPOTENT, 2),
    ):
        state, _ = RESERVATION.step(state, action)
    return state


def test_two_attempts_interleave_step_by_step() -> None:
    """Both reserve before either confirms: no order of whole attempts explains spent 2."""
    confirmed = Confirmed(Receipt("i1", "p", 1))
    history = make_history(
        "reservation",
        [
            _operation("a", Attempt("a", "i1"), confirmed, 1, 9),
            _operation("b", Attempt("b", "i1"), confirmed, 2, 8),
        ],
    )
    before = _dispatch_state()

    def spent(state: Any) -> int:
        number: int = state.ledgers[0].intents[0].spent
        return number

    reached = set()
    for wanted in (0, 1, 2):
        # only `spent` of the final state is looked at
        found = check_history(
            RESERVATION,
            before,
            history,
            final=wanted,
            view=lambda s: s if s in (0, 1, 2) else spent(s),
        )
        if found.verdict is Verdict.PASS:
            reached.add(wanted)

    assert reached == {1, 2}


def test_a_killed_attempt_leaves_any_prefix_of_its_steps() -> None:
    """After an attempt without an answer, spent may be 0 or 1, and the next seq 1 or 2."""
    before = _dispatch_state()
    history = make_history("reservation", [_operation("a", Attempt("a", "i1"), UNKNOWN, 1, None)])
    numbers = set()
    for spent, calls, effects, confirmed in itertools.product((0, 1), (0, 1), (0, 1), (0, 1)):
        wanted = (spent, calls, effects, confirmed)

        def view(state: Any) -> Any:
            if isinstance(state, tuple):
                return state
            intent = state.ledgers[0].intents[0]
            receiver = state.receiver
            return (
                intent.spent,
                len(receiver.calls),
                len(receiver.effects),
                int(intent.receipt is not None),
            )

        found = check_history(RESERVATION, before, history, final=wanted, view=view)
        if found.verdict is Verdict.PASS:
            numbers.add(wanted)

    assert numbers == {(0, 0, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0), (1, 1, 1, 0), (1, 1, 1, 1)}


def test_a_history_survives_being_written_and_read() -> None:
    """JSON gives back the very history, unanswered operations included."""
    history = draw_history(random.Random(3), processes=4, length=30, unknowns=3)

    assert load_history(dump_history(history)) == history


def test_a_malformed_history_names_the_place() -> None:
    """A file that is no history is refused with the place that is wrong."""
    text = dump_history(make_history("admission", [_operation("a", ADMIT, Answer.REPLAY, 1, 2)]))

    with pytest.raises(TraceFormatError, match="format"):
        load_history("{}")
    with pytest.raises(TraceFormatError, match=r"operations\[0\]"):
        load_history(text.replace('"called"', '"invoked"'))
    with pytest.raises(TraceFormatError, match="outcome"):
        load_history(text.replace('"REPLAY"', '"PERHAPS"').replace('"replay"', '"perhaps"'))


def test_a_history_in_which_a_process_does_two_things_at_once_is_refused() -> None:
    """A process calls again only after it was answered."""
    twice = [_operation("a", ADMIT, UNKNOWN, 1, None), _operation("a", ADMIT, Answer.REPLAY, 2, 3)]

    with pytest.raises(ValueError, match="before it has an answer"):
        make_history("admission", twice)
    with pytest.raises(ValueError, match="in the order of their calls"):
        History("admission", tuple(reversed(twice)))
    with pytest.raises(ValueError, match="returns exactly if"):
        Operation("a", ADMIT, Answer.REPLAY, 1, None)


def test_a_timeline_has_a_row_for_each_process_and_a_line_for_each_operation() -> None:
    """The picture shows who was under way when, and what each call was."""
    history = make_history(
        "admission",
        [
            _operation("a", ADMIT, Answer.ACCEPTED, 0, 60),
            _operation("bb", Claim(0), Claimed(Token("r1", 1)), 40, 100),
            _operation("a", Resolve(Token("r1", 1), 1), UNKNOWN, 80, None),
            _operation("c", Redrive("r1", 1), Answer.STALE, 90, 100),
        ],
    )

    lines = format_timeline(history, columns=50)

    assert len(lines) == 3 + 4
    assert lines[0].startswith("a  [")
    assert lines[0].endswith("…")
    assert lines[1].startswith("bb ")
    assert "Redrive" in lines[-1]
    assert format_timeline(History("admission", ())) == []


def test_every_action_of_a_machine_can_be_part_of_a_history() -> None:
    """The file format knows every action and every outcome that TINY shows."""
    for machine in MACHINES.values():
        scope = SCOPES[machine.name]["TINY"]
        state = machine.initial_states(scope)[0]
        seen = set()
        for _ in range(12):
            moves = [(a, *machine.step(state, a)) for a in machine.offered_actions(scope, state)]
            for action, _, outcome in moves:
                seen.add(action_name(type(action)))
                history = make_history(machine.name, [_operation("p", action, outcome, 1, 2)])
                assert load_history(dump_history(history)) == history
            state = next((after for _, after, _ in moves if after != state), state)
        assert len(seen) >= 6
