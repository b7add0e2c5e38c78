"""Cases that no small scope has: steps one by one, three ids at a receiver, a large cap."""

from dataclasses import replace

import pytest

from model.admission_vocabulary import ABSENT, Admit, Answer, Claim, Init
from model.reservation import advance
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Action,
    Attempt,
    Confirm,
    Crash,
    Held,
    Identity,
    Intent,
    Ledger,
    OpenIntent,
    Outcome,
    Permit,
    Receipt,
    Received,
    Receiver,
    Reserve,
    Reserved,
    Send,
    State,
    Worker,
)
from model.reservation_vocabulary import Answer as Budget
from model.scopes import MACHINES
from stateful_tests.reservation_examples import START, run

OPEN = replace(
    START, ledgers=(Ledger("L", "L", (Intent("i", "p", IDEMPOTENT, 2),)), Ledger("M", "M"))
)
IN_HAND = replace(
    OPEN,
    workers=(
        Worker("a", "L", (Held(Permit("L", "i", 1, "p", IDEMPOTENT)),)),
        Worker("b", "L"),
        Worker("c", "M"),
    ),
)
ELSEWHERE = replace(
    OPEN, receiver=Receiver(exists=True, identities=(Identity("i", IDEMPOTENT, "q"),))
)


@pytest.mark.parametrize(
    ("state", "action", "steps"),
    [
        (OPEN, Reserve("a", "i"), 1),
        (OPEN, Crash("a"), 1),
        (IN_HAND, Send("a", "i", 1), 2),
        (IN_HAND, Send("a", "i", 2), 1),
        (OPEN, Attempt("a", "i"), 4),
        (replace(OPEN, receiver=Receiver()), Attempt("a", "i"), 1),
        (START, Attempt("a", "i"), 1),
        (ELSEWHERE, Attempt("a", "i"), 3),
    ],
    ids=["reserve", "crash", "send", "not held", "attempt", "no receiver", "no intent", "conflict"],
)
def test_c1_an_action_is_over_after_its_steps(state: State, action: Action, steps: int) -> None:
    """Most are one step; a send has two, an attempt four, and fewer where it is refused.

    Steps are taken one by one: a program without an end would have none here either.
    """
    earlier: tuple[Outcome, ...] = ()
    for number in range(1, steps + 1):
        state, outcome, is_over = advance(state, action, earlier)
        assert is_over is (number == steps)
        earlier = (*earlier, outcome)


def test_a2_a_tenant_is_told_by_its_name() -> None:
    """A name that was read twice is two texts, and one tenant."""
    admission = MACHINES["admission"]
    store, _ = admission.step(ABSENT, Init())
    store, _ = admission.step(store, Admit("r1", "tenant 1", "x"))

    again = admission.step(store, Admit("r1", b"tenant 1".decode(), "x"))

    assert again == (store, Answer.REPLAY)


def test_b2_a_worker_is_told_by_its_name() -> None:
    """A name that was read twice is two texts, and one worker."""
    state = replace(START, workers=(Worker("worker 1", "L"),))

    _, outcome = run(
        OpenIntent("L", "i", "p", IDEMPOTENT, 1),
        Reserve(b"worker 1".decode(), "i"),
        state=state,
    )

    assert isinstance(outcome, Reserved)


def test_c1_a_call_of_admission_is_over_after_its_step() -> None:
    """No action of admission is a program."""
    machine = MACHINES["admission"]

    assert machine.advance(ABSENT, Claim(0), ()) == (ABSENT, Answer.STORE_MISSING, True)


@pytest.mark.parametrize("repeated", ["id 1", "id 2", "id 3"])
def test_b5_a_repeated_call_gets_the_receipt_of_its_own_id(repeated: str) -> None:
    """Whichever ids the receiver has effects of, and from whichever ledger it comes."""
    ids = ("id 1", "id 2", "id 3")
    actions: list[Action] = [OpenIntent("L", each, "p", IDEMPOTENT, 1) for each in ids]
    for each in ids:
        actions += [Reserve("a", each), Send("a", each, 1)]
    same_id = repeated.encode().decode()
    actions += [OpenIntent("M", same_id, "p", IDEMPOTENT, 1)]
    actions += [Reserve("c", same_id), Send("c", same_id, 1)]

    state, outcome = run(*actions)

    assert outcome == Received(Receipt(repeated, "p", 1 + ids.index(repeated)))
    assert (len(state.receiver.calls), len(state.receiver.effects)) == (4, 3)


def test_b2_a_cap_is_reached_by_its_number() -> None:
    """Three hundred permits, and then none: a number is compared by its value."""
    state, _ = run(OpenIntent("L", "i", "p", IDEMPOTENT, 300))
    state, outcome = run(*[Reserve("a", "i")] * 300, state=state)

    assert isinstance(outcome, Reserved)
    assert outcome.permit.seq == 300
    assert run(Reserve("b", "i"), state=state) == (state, Budget.EXHAUSTED)
    receipt = Receipt("i", "p", 1)
    state, outcome = run(Send("a", "i", int("300")), state=state)
    assert outcome == Received(receipt)
    confirmed, _ = run(Confirm("L", "i", int("300"), receipt), state=state)
    acknowledged = [
        each.seq for each in confirmed.ledgers[0].intents[0].reservations if each.is_acknowledged
    ]
    assert acknowledged == [300]
