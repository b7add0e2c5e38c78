"""The dispatch budget, rule by rule: examples on the model, with the numbers of the protocol."""

from dataclasses import replace

import pytest

from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Confirm,
    Confirmed,
    Crash,
    Enter,
    InitLedger,
    InitReceiver,
    Intent,
    OpenIntent,
    Perform,
    Permit,
    Receipt,
    Received,
    Receiver,
    Reserve,
    Reserved,
    Safety,
    Send,
    State,
)
from stateful_tests.reservation_examples import ABSENT, START, run

RECEIPT = Receipt("i", "p", 1)
CONFIRM = Confirm("L", "i", 1, RECEIPT)


def opening(cap: int = 2, safety: Safety = IDEMPOTENT, payload: str = "p") -> OpenIntent:
    """Return the opening of one intent in the first ledger."""
    return OpenIntent("L", "i", payload, safety, cap)


def count(state: State) -> tuple[int, int, int]:
    """Return spent, calls and effects over all intents."""
    spent = sum(intent.spent for ledger in state.ledgers for intent in ledger.intents)
    return spent, len(state.receiver.calls), len(state.receiver.effects)


def intent_of(state: State) -> Intent:
    """Return the first intent of the first ledger."""
    return state.ledgers[0].intents[0]


def test_a_ledger_keeps_the_name_that_it_was_created_with() -> None:
    """The same name is ready again, another one is a mismatch, and the receiver may come first."""
    state, outcome = run(InitReceiver(), InitLedger("L", "one"), state=ABSENT)

    assert outcome is Answer.READY
    assert run(InitLedger("L", "one"), state=state) == (state, Answer.READY)
    for other in ("two", "eno", "on", "one ", "ONE"):
        assert run(InitLedger("L", other), state=state) == (state, Answer.LEDGER_MISMATCH)
    assert run(InitReceiver(), state=state) == (state, Answer.READY)


@pytest.mark.parametrize(
    "action", [opening(), Reserve("a", "i"), CONFIRM, Attempt("a", "i")], ids=repr
)
def test_an_absent_ledger_is_missing_before_an_intent_is_unknown(action: Action) -> None:
    """Nothing is created before init."""
    state = replace(ABSENT, receiver=Receiver(exists=True))

    assert run(action, state=state) == (state, Answer.STORE_MISSING)


@pytest.mark.parametrize("action", [Enter("a", "i", 1), Send("a", "i", 1), Attempt("a", "i")])
def test_an_absent_receiver_is_missing_before_anything_is_spent(action: Action) -> None:
    """A send keeps its permit, and an attempt reserves nothing."""
    state, _ = run(InitLedger("L", "L"), opening(), Reserve("a", "i"), state=ABSENT)

    assert run(action, state=state) == (state, Answer.STORE_MISSING)


@pytest.mark.parametrize(
    "action", [Reserve("a", "x"), Confirm("L", "x", 1, RECEIPT), Attempt("a", "x")]
)
def test_an_unknown_intent_is_an_error_that_changes_nothing(action: Action) -> None:
    """An id that was never opened is unknown, whatever the receipt says."""
    assert run(action) == (START, Answer.UNKNOWN_INTENT)


@pytest.mark.parametrize(
    "other",
    [opening(cap=3), opening(safety=NON_IDEMPOTENT), opening(payload="q")],
    ids=["cap", "safety", "payload"],
)
def test_b1_opening_again_is_unchanged_or_a_conflict(other: OpenIntent) -> None:
    """The same four values leave spent untouched; any other value is refused."""
    state, _ = run(opening(), Reserve("a", "i"))

    assert run(opening(), state=state) == (state, Answer.UNCHANGED)
    assert run(other, state=state) == (state, Answer.CONFLICT)


def test_b1_a_cap_of_zero_is_legal_and_gets_nothing() -> None:
    """Such an intent is opened, and is exhausted from the start."""
    state, outcome = run(opening(cap=0))

    assert outcome is Answer.OPENED
    assert run(Reserve("a", "i"), state=state) == (state, Answer.EXHAUSTED)


def test_b1_two_ledgers_may_open_one_id() -> None:
    """What another ledger holds does not matter."""
    assert run(opening(), OpenIntent("M", "i", "q", NON_IDEMPOTENT, 1))[1] is Answer.OPENED


def test_b2_a_reservation_hands_out_numbered_permits_up_to_the_cap() -> None:
    """Permits are numbered from 1 and carry the intent's own content; equality is allowed."""
    state, first = run(opening(), Reserve("a", "i"))
    state, second = run(Reserve("b", "i"), state=state)

    assert first == Reserved(Permit("L", "i", 1, "p", IDEMPOTENT))
    assert second == Reserved(Permit("L", "i", 2, "p", IDEMPOTENT))
    assert run(Reserve("a", "i"), state=state) == (state, Answer.EXHAUSTED)


@pytest.mark.parametrize(
    ("safety", "is_confirmed", "expected"),
    [
        (IDEMPOTENT, True, Answer.CONFIRMED),
        (NON_IDEMPOTENT, True, Answer.CONFIRMED),
        (NON_IDEMPOTENT, False, Answer.UNKNOWN),
        (IDEMPOTENT, False, Answer.EXHAUSTED),
    ],
)
def test_b2_confirmed_comes_before_unknown_and_unknown_before_exhausted(
    safety: Safety, expected: Answer, *, is_confirmed: bool
) -> None:
    """With a cap of one all three apply in turn."""
    state, _ = run(opening(cap=1, safety=safety), Reserve("a", "i"))
    if is_confirmed:
        state, _ = run(CONFIRM, state=state)

    assert run(Reserve("a", "i"), state=state) == (state, expected)


@pytest.mark.parametrize(
    "failure",
    [
        Crash("a"),
        opening(),
        InitLedger("L", "L"),
        InitReceiver(),
        Confirm("L", "i", 1, Receipt("i", "other", 1)),
    ],
    ids=repr,
)
def test_b3_spent_is_never_refunded(failure: Action) -> None:
    """A crash, a re-opening and a rejected receipt leave spent where it was."""
    state, _ = run(opening(), Reserve("a", "i"), failure)

    assert (intent_of(state).spent, len(intent_of(state).reservations)) == (1, 1)


@pytest.mark.parametrize("again", [Enter("a", "i", 1), Send("a", "i", 1)], ids=repr)
@pytest.mark.parametrize(
    "first",
    [(Enter("a", "i", 1),), (Enter("a", "i", 1), Perform("a", "i", 1)), (Send("a", "i", 1),)],
)
def test_b4_a_permit_is_used_by_its_first_send(first: tuple[Action, ...], again: Action) -> None:
    """Another send is refused while the call is under way and after it was answered."""
    state, _ = run(opening(), Reserve("a", "i"), *first)

    assert run(again, state=state) == (state, Answer.PERMIT_USED)


@pytest.mark.parametrize("action", [Enter("b", "i", 1), Enter("a", "i", 2), Perform("a", "i", 1)])
def test_b4_nobody_sends_a_permit_that_he_does_not_hold(action: Action) -> None:
    """Another worker's permit, another number and a call that never entered are not held."""
    state, _ = run(opening(), Reserve("a", "i"))

    assert run(action, state=state) == (state, Answer.NOT_HELD)


def test_b4_recovery_never_rebuilds_a_permit() -> None:
    """After a crash the next permit has the next number."""
    _, outcome = run(opening(), Reserve("a", "i"), Crash("a"), Reserve("a", "i"))

    assert isinstance(outcome, Reserved)
    assert outcome.permit.seq == 2


def test_b5_a_call_is_logged_before_its_business() -> None:
    """Entering counts the call, performing makes the effect and the receipt."""
    entered, _ = run(opening(), Reserve("a", "i"), Enter("a", "i", 1))
    performed, outcome = run(Perform("a", "i", 1), state=entered)

    assert (count(entered), count(performed)) == ((1, 1, 0), (1, 1, 1))
    assert outcome == Received(RECEIPT)


def test_b5_an_idempotent_call_gets_the_same_receipt_again() -> None:
    """The second call is counted, and makes no effect."""
    state, outcome = run(
        opening(), Reserve("a", "i"), Reserve("b", "i"), Send("b", "i", 2), Send("a", "i", 1)
    )

    assert (count(state), outcome) == ((2, 2, 1), Received(RECEIPT))


@pytest.mark.parametrize(
    ("first", "second", "effects"),
    [
        ((IDEMPOTENT, "p"), (IDEMPOTENT, "p"), 1),
        ((IDEMPOTENT, "p"), (IDEMPOTENT, "q"), None),
        ((IDEMPOTENT, "p"), (NON_IDEMPOTENT, "p"), None),
        ((NON_IDEMPOTENT, "p"), (IDEMPOTENT, "p"), None),
        ((NON_IDEMPOTENT, "p"), (NON_IDEMPOTENT, "p"), 2),
        ((NON_IDEMPOTENT, "p"), (NON_IDEMPOTENT, "q"), 2),
    ],
)
def test_b5_the_first_call_of_an_id_decides_its_safety_and_payload(
    first: tuple[Safety, str], second: tuple[Safety, str], effects: int | None
) -> None:
    """Another safety or idempotent payload is a conflict: counted, no effect, and permit used."""
    openings = [
        OpenIntent(ledger, "i", payload, safety, 1)
        for ledger, (safety, payload) in (("L", first), ("M", second))
    ]
    state, _ = run(*openings, Reserve("a", "i"), Reserve("c", "i"), Send("a", "i", 1))

    after, outcome = run(Send("c", "i", 1), state=state)

    assert (outcome is Answer.CONFLICT) is (effects is None)
    assert count(after) == (2, 2, effects or 1)
    assert run(Send("c", "i", 1), state=after) == (after, Answer.PERMIT_USED)


@pytest.mark.parametrize(
    ("seq", "receipt"),
    [
        (0, RECEIPT),
        (3, RECEIPT),
        (2, Receipt("x", "p", 1)),
        (2, Receipt("i", "x", 1)),
        (2, Receipt("i", "p", 2)),
    ],
)
def test_b6_a_receipt_that_does_not_fit_is_rejected(seq: int, receipt: Receipt) -> None:
    """No such reservation, another id or payload, and one unlike the stored all change nothing."""
    state, _ = run(opening(), Reserve("a", "i"), Reserve("b", "i"), CONFIRM)

    assert run(Confirm("L", "i", seq, receipt), state=state) == (state, Answer.REJECTED)


def test_b6_an_intent_is_confirmed_exactly_once() -> None:
    """The first receipt is stored; later ones acknowledge their reservation too."""
    state, first = run(opening(), Reserve("a", "i"), Reserve("b", "i"), CONFIRM)
    acknowledged = [r.is_acknowledged for r in intent_of(state).reservations]

    state, second = run(Confirm("L", "i", 2, RECEIPT), state=state)

    assert (first, second) == (Answer.CONFIRMED, Answer.ALREADY_CONFIRMED)
    assert acknowledged == [True, False]
    assert [r.is_acknowledged for r in intent_of(state).reservations] == [True, True]
    assert run(CONFIRM, state=state) == (state, Answer.ALREADY_CONFIRMED)


def test_b6_a_forged_ticket_is_not_detected() -> None:
    """The ledger can't see the receiver, so it believes the first fitting receipt."""
    forged = Confirm("L", "i", 1, Receipt("i", "p", 9))

    assert run(opening(), Reserve("a", "i"), forged)[1] is Answer.CONFIRMED


def test_b7_a_late_sender_is_counted_and_makes_no_second_effect() -> None:
    """Confirmation stops new reservations, and no permit that is already out."""
    state, _ = run(opening(cap=3), Reserve("a", "i"), Reserve("b", "i"), Send("a", "i", 1), CONFIRM)

    after, outcome = run(Send("b", "i", 2), state=state)

    assert (count(after), outcome) == ((2, 2, 1), Received(RECEIPT))
    assert run(Reserve("b", "i"), state=after) == (after, Answer.CONFIRMED)


@pytest.mark.parametrize(
    ("way", "numbers"),
    [
        ((), (1, 0, 0)),
        ((Crash("a"),), (1, 0, 0)),
        ((Enter("a", "i", 1), Crash("a")), (1, 1, 0)),
        ((Send("a", "i", 1), Crash("a")), (1, 1, 1)),
    ],
    ids=["alive", "never sent", "entered", "receipt lost"],
)
def test_b8_unknown_stops_a_non_idempotent_intent_whatever_is_left(
    way: tuple[Action, ...], numbers: tuple[int, int, int]
) -> None:
    """With a cap of three the other two are never used, sent or not."""
    state, _ = run(opening(cap=3, safety=NON_IDEMPOTENT), Reserve("a", "i"), *way)

    assert count(state) == numbers
    assert run(Reserve("b", "i"), state=state) == (state, Answer.UNKNOWN)
    assert run(Attempt("b", "i"), state=state) == (state, Answer.UNKNOWN)


def test_b10_exhausted_with_nothing_sent_is_a_pass() -> None:
    """Two crashes between reserve and send leave (2, 0, 0) and no budget."""
    state, outcome = run(opening(), *(Reserve("a", "i"), Crash("a")) * 2, Reserve("a", "i"))

    assert (count(state), outcome) == ((2, 0, 0), Answer.EXHAUSTED)


def test_b11_a_crash_loses_one_worker_s_permits_and_open_call_and_nothing_else() -> None:
    """Ledgers, receiver and the other hands stay, and a dead call can't be performed."""
    state, _ = run(opening(), Reserve("a", "i"), Reserve("b", "i"), Enter("a", "i", 1))

    after, outcome = run(Crash("a"), state=state)

    assert outcome is Answer.CRASHED
    assert (after.ledgers, after.receiver) == (state.ledgers, state.receiver)
    assert [worker.hand for worker in after.workers] == [(), state.workers[1].hand, ()]
    assert run(Perform("a", "i", 1), state=after) == (after, Answer.NOT_HELD)


def test_b12_an_attempt_that_was_confirmed_earlier_sends_nothing() -> None:
    """It brings the stored receipt."""
    state, first = run(opening(), Attempt("a", "i"))

    assert (count(state), first) == ((1, 1, 1), Confirmed(RECEIPT))
    assert run(Attempt("b", "i"), state=state) == (state, Confirmed(RECEIPT))


def test_b12_after_the_receiver_s_conflict_the_reservation_stays_unacknowledged() -> None:
    """The attempt answers conflict, and its hand is as before."""
    state, _ = run(
        OpenIntent("M", "i", "q", IDEMPOTENT, 1), Attempt("c", "i"), opening(), Reserve("a", "i")
    )

    after, outcome = run(Attempt("a", "i"), state=state)

    assert (outcome, count(after)) == (Answer.CONFLICT, (3, 2, 1))
    assert [r.is_acknowledged for r in intent_of(after).reservations] == [False, False]
    assert after.workers == state.workers


def test_b12_an_attempt_whose_receipt_is_unlike_the_stored_one_is_rejected() -> None:
    """Somebody confirmed with another receipt between the answer and the confirmation."""
    meanwhile = Confirm("L", "i", 1, Receipt("i", "p", 9))

    state, outcome = run(opening(), Attempt("a", "i", meanwhile))

    assert outcome is Answer.REJECTED
    assert intent_of(state).receipt == meanwhile.receipt


def test_b12_an_attempt_that_somebody_confirmed_meanwhile_is_confirmed() -> None:
    """The same receipt from another process is no contradiction."""
    state, outcome = run(opening(), Attempt("a", "i", CONFIRM))

    assert (outcome, count(state)) == (Confirmed(RECEIPT), (1, 1, 1))


def test_eight_attempts_for_three_permits() -> None:
    """Three reserve and five are exhausted; three calls make one effect and one receipt."""
    state, _ = run(opening(cap=3))
    asked = [run(*(Reserve("a", "i"),) * turn, state=state) for turn in range(1, 9)]
    state = asked[-1][0]

    sent = [
        run(*(Send("a", "i", seq) for seq in range(1, last + 1)), state=state) for last in (1, 2, 3)
    ]

    assert [type(outcome) for _, outcome in asked] == [Reserved] * 3 + [Answer] * 5
    assert [outcome for _, outcome in sent] == [Received(RECEIPT)] * 3
    assert count(sent[-1][0]) == (3, 3, 1)
