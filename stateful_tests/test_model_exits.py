"""What a process exit may leave, on the model: C1 to C3, and the fault points of an attempt."""

from collections.abc import Iterator
from typing import Any

import pytest

from model.admission_scope import ADMISSION
from model.machine import Machine
from model.reservation import step
from model.reservation_scope import RESERVATION
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Action,
    Attempt,
    Confirm,
    Crash,
    Enter,
    Ledger,
    OpenIntent,
    Perform,
    Receipt,
    Receiver,
    Reserve,
    Send,
    State,
    Worker,
)
from model.scopes import ADMISSION_TINY, RESERVATION_TINY

MOST_COMMITS = 4
BY_A_WORKER = (Reserve, Enter, Perform, Send, Attempt)
START = State((Ledger("L", "L"),), Receiver(exists=True), (Worker("a", "L"), Worker("b", "L")))
OPENED, _ = step(START, OpenIntent("L", "i", "p", IDEMPOTENT, 2))


def count(state: State) -> tuple[int, int, int]:
    """Return spent, calls and effects."""
    (intent,) = state.ledgers[0].intents
    return intent.spent, len(state.receiver.calls), len(state.receiver.effects)


def offered_steps(machine: Machine[Any, Any, Any], scope: Any) -> Iterator[tuple[Any, Any, Any]]:
    """Yield every call of a scope: state, action, state after."""
    known = set(machine.initial_states(scope))
    waiting = list(known)
    while waiting:
        state = waiting.pop()
        for action in machine.offered_actions(scope, state):
            after, _ = machine.step(state, action)
            yield state, action, after
            if after not in known:
                known.add(after)
                waiting.append(after)


def without_hands(state: State) -> tuple[Any, Any]:
    """Return what is durable."""
    return state.ledgers, state.receiver


@pytest.mark.parametrize(
    ("exit_code", "commits", "at_exit", "after_a_fresh_attempt"),
    [
        (71, 0, (0, 0, 0), (1, 1, 1)),
        (72, 1, (1, 0, 0), (2, 1, 1)),
        (73, 3, (1, 1, 1), (2, 2, 1)),
        (74, 4, (1, 1, 1), (1, 1, 1)),
    ],
)
def test_b12_the_four_fault_points(
    exit_code: int,
    commits: int,
    at_exit: tuple[int, int, int],
    after_a_fresh_attempt: tuple[int, int, int],
) -> None:
    """Spent, calls and effects at each exit of an attempt, and after a fresh one."""
    (left,) = RESERVATION.allowed_after_exit(OPENED, Attempt("a", "i"), commits)

    fresh, _ = step(left, Attempt("b", "i"))

    assert exit_code in (71, 72, 73, 74)
    assert (count(left), count(fresh)) == (at_exit, after_a_fresh_attempt)
    assert left.workers == START.workers


def test_c3_an_exit_inside_a_send_leaves_the_call_without_its_business() -> None:
    """After the first of the two commits the receiver has a call, and no effect."""
    reserved, _ = step(OPENED, Reserve("a", "i"))

    left = [RESERVATION.allowed_after_exit(reserved, Send("a", "i", 1), n) for n in range(3)]

    assert [[count(state) for state in states] for states in left] == [
        [(1, 0, 0)],
        [(1, 1, 0)],
        [(1, 1, 1)],
    ]


def test_c3_another_confirmation_may_or_may_not_have_come_before_the_exit() -> None:
    """Between the receiver's answer and the confirmation both states are allowed."""
    receipt = Receipt("i", "p", 1)
    action = Attempt("a", "i", Confirm("L", "i", 1, receipt))

    left = [RESERVATION.allowed_after_exit(OPENED, action, commits) for commits in range(5)]

    receipts = [{state.ledgers[0].intents[0].receipt for state in each} for each in left]
    assert receipts == [{None}, {None}, {None}, {None, receipt}, {receipt}]


def test_c1_an_exit_leaves_the_admission_state_before_or_after() -> None:
    """For every call of the scope: nothing without a commit, everything with it."""
    for before, action, after in offered_steps(ADMISSION, ADMISSION_TINY):
        assert ADMISSION.allowed_after_exit(before, action, 0) == {before}
        assert ADMISSION.allowed_after_exit(before, action, 1) == {after}


def test_c1_an_exit_without_a_commit_leaves_the_durable_state() -> None:
    """For every call of the scope nothing durable has changed, and the acting hand is empty."""
    for before, action, _ in offered_steps(RESERVATION, RESERVATION_TINY):
        (left,) = RESERVATION.allowed_after_exit(before, action, 0)

        assert without_hands(left) == without_hands(before)
        assert left.workers == expected_workers(before, action)


def test_c1_an_exit_after_the_last_commit_leaves_the_durable_step() -> None:
    """For every call of the scope the whole step is there, and the acting hand is empty."""
    for before, action, after in offered_steps(RESERVATION, RESERVATION_TINY):
        (left,) = RESERVATION.allowed_after_exit(before, action, MOST_COMMITS)

        assert without_hands(left) == without_hands(after)
        assert left.workers == expected_workers(after, action)


def test_c3_every_exit_leaves_a_state_in_which_the_invariants_hold() -> None:
    """Whatever had committed, no invariant is broken."""
    for before, action, _ in offered_steps(RESERVATION, RESERVATION_TINY):
        for commits in range(MOST_COMMITS + 1):
            for left in RESERVATION.allowed_after_exit(before, action, commits):
                assert [c for check in RESERVATION.invariants if (c := check(left))] == []


def expected_workers(state: State, action: Action) -> tuple[Worker, ...]:
    """Return the workers of a state after the exit of the one that acts, if one does."""
    if not isinstance(action, BY_A_WORKER):
        return state.workers
    return step(state, Crash(action.worker))[0].workers
