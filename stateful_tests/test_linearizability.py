"""The checker of histories agrees with a naive one, and says where a history can't be explained."""

import itertools
import random
import time
from dataclasses import replace
from typing import Any

import pytest

from model.admission_vocabulary import (
    Admit,
    Answer,
    CancelUnstarted,
    Claim,
)
from model.checking.explore import Verdict
from model.checking.history import (
    UNKNOWN,
    History,
    Operation,
    make_history,
)
from model.checking.linearizability import check_history
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
from stateful_tests.drawn_histories import ADMISSION, CREATED, corrupt, draw_history

RESERVATION = MACHINES["reservation"]
TINY = SCOPES["admission"]["TINY"]
NAIVE_HISTORIES = 10_000
COARSE_HISTORIES = 2_000
ADMIT = Admit("r1", "A", "aa")


def is_explained_naively(history: History) -> bool:
    """Try every order of every choice of unanswered operations, each from the start."""
    answered = [i for i, each in enumerate(history.operations) if each.outcome is not UNKNOWN]
    unknown = [i for i, each in enumerate(history.operations) if each.outcome is UNKNOWN]
    for count in range(len(unknown) + 1):
        for chosen in itertools.combinations(unknown, count):
            if any(_runs(history, order) for order in itertools.permutations([*answered, *chosen])):
                return True
    return False


def _runs(history: History, order: tuple[int, ...]) -> bool:
    """Tell whether an order respects real time and gives every recorded outcome."""
    for place, index in enumerate(order):
        if any(_must_precede(history, later, index) for later in order[place + 1 :]):
            return False
    state = CREATED
    for index in order:
        operation = history.operations[index]
        state, outcome = ADMISSION.step(state, operation.action)
        if operation.outcome is not UNKNOWN and outcome != operation.outcome:
            return False
    return True


def _must_precede(history: History, first: int, second: int) -> bool:
    """Tell whether an operation ended before another one, by the clock or in its own process."""
    one, other = history.operations[first], history.operations[second]
    if one.process == other.process:
        return first < second
    return one.returned is not None and one.returned < other.called


def make_coarse(history: History, tick: int) -> History:
    """Return a history as a coarser clock shows it: many of its times are equal."""
    operations = [
        replace(
            each,
            called=each.called // tick,
            returned=None if each.returned is None else each.returned // tick,
        )
        for each in history.operations
    ]
    return History(history.machine, tuple(operations))


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


def test_the_checker_agrees_with_a_naive_one_at_equal_times() -> None:
    """On a coarse clock, on which calls and returns meet, both give the same verdict too."""
    chance = random.Random(7)
    verdicts = {Verdict.PASS: 0, Verdict.FAIL: 0}
    meetings = 0

    for number in range(COARSE_HISTORIES):
        history = draw_history(chance, processes=2, length=chance.randint(3, 5), unknowns=1)
        history = make_coarse(history, chance.randint(2, 20))
        if number % 2:
            history = corrupt(chance, history)
        found = check_history(ADMISSION, CREATED, history)
        assert (found.verdict is Verdict.PASS) is is_explained_naively(history), history
        verdicts[found.verdict] += 1
        meetings += _count_meetings(history)

    assert verdicts[Verdict.PASS] > 500
    assert verdicts[Verdict.FAIL] > 100
    assert meetings > 1_000


def _count_meetings(history: History) -> int:
    """Return how many calls a process made at the very time at which it was answered."""
    pairs = itertools.combinations(history.operations, 2)
    return sum(a.process == b.process and a.returned == b.called for a, b in pairs)


def test_a_process_takes_its_calls_one_after_another_at_equal_times() -> None:
    """What a process calls at the time of its last answer has no place before that answer."""
    history = make_history(
        "admission",
        [
            Operation("w1", ADMIT, Answer.REPLAY, 0, 5),
            Operation("w1", ADMIT, Answer.ACCEPTED, 5, 7),
            Operation("w2", ADMIT, Answer.REPLAY, 1, 8),
        ],
    )

    found = check_history(ADMISSION, CREATED, history)

    assert found.verdict is Verdict.FAIL
    assert found.stuck == 0


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


def test_an_order_that_breaks_real_time_explains_nothing() -> None:
    """A replay that had returned before the admission was called has no place."""
    history = make_history(
        "admission",
        [
            Operation("a", ADMIT, Answer.REPLAY, 1, 2),
            Operation("b", ADMIT, Answer.ACCEPTED, 3, 4),
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
            Operation("a", ADMIT, Answer.REPLAY, 1, 4),
            Operation("b", ADMIT, Answer.ACCEPTED, 2, 3),
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
            Operation("a", ADMIT, UNKNOWN, 1, None),
            Operation("b", ADMIT, later, 2, 3),
        ],
    )

    assert check_history(ADMISSION, CREATED, history).verdict is Verdict.PASS


def test_a_call_without_an_answer_may_happen_long_after_it_was_made() -> None:
    """A cancel without an answer can take effect between two later calls."""
    cancel = CancelUnstarted("r1")
    history = make_history(
        "admission",
        [
            Operation("a", ADMIT, Answer.ACCEPTED, 1, 2),
            Operation("b", cancel, UNKNOWN, 3, None),
            Operation("a", ADMIT, Answer.REPLAY, 4, 5),
            Operation("a", Claim(0), Answer.NOTHING_DUE, 6, 7),
        ],
    )

    assert check_history(ADMISSION, CREATED, history).verdict is Verdict.PASS


def test_a_call_that_was_not_made_yet_explains_nothing() -> None:
    """A call without an answer can't take effect before it was made."""
    history = make_history(
        "admission",
        [
            Operation("a", ADMIT, Answer.ACCEPTED, 1, 2),
            Operation("a", Claim(0), Answer.NOTHING_DUE, 3, 4),
            Operation("b", CancelUnstarted("r1"), UNKNOWN, 5, None),
        ],
    )

    found = check_history(ADMISSION, CREATED, history)

    assert found.verdict is Verdict.FAIL
    assert found.order == (0,)
    assert found.stuck == 1


def test_the_state_that_was_found_must_be_explained_too() -> None:
    """Answers that are right do not pass if no order ends in the state that was found."""
    history = make_history("admission", [Operation("a", ADMIT, Answer.ACCEPTED, 1, 2)])
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
    assert found.stuck is None
    assert found.reason.startswith(f"gave up after {found.steps} steps")


def test_a_search_that_gives_up_blames_neither_an_answer_nor_the_state() -> None:
    """A right history is not called wrong because there was no time to see that it is right."""
    history = make_history("admission", [Operation("a", ADMIT, Answer.ACCEPTED, 1, 2)])
    accepted = ADMISSION.step(CREATED, ADMIT)[0]

    for final in (None, accepted):
        found = check_history(ADMISSION, CREATED, history, budget=0, final=final)

        assert found.verdict is Verdict.UNDETERMINED
        assert "answers" not in found.reason
        assert "no order" not in found.reason


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
            Operation("a", Attempt("a", "i1"), confirmed, 1, 9),
            Operation("b", Attempt("b", "i1"), confirmed, 2, 8),
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
    history = make_history("reservation", [Operation("a", Attempt("a", "i1"), UNKNOWN, 1, None)])
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
