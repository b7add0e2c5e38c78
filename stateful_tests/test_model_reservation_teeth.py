"""Each property of the dispatch budget speaks up when exactly what it forbids has happened."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from model.machine import property_sentence
from model.reservation import step
from model.reservation_scope import RESERVATION
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Action,
    Answer,
    Attempt,
    Call,
    Confirm,
    Confirmed,
    Crash,
    Effect,
    Enter,
    Held,
    Identity,
    InitLedger,
    InitReceiver,
    Intent,
    Ledger,
    OpenIntent,
    Outcome,
    Perform,
    Permit,
    Receipt,
    Received,
    Receiver,
    Reservation,
    Reserve,
    Reserved,
    Stage,
    State,
    Worker,
)

CALL = Call("L", "i", 1)
EFFECT = Effect(1, "i", "p")
KNOWN = Identity("i", IDEMPOTENT, "p")
RECEIPT = Receipt("i", "p", 1)
PERMIT = Permit("L", "i", 1, "p", IDEMPOTENT)
FRESH, ENTERED, USED = (Held(PERMIT, stage) for stage in Stage)
OPEN, ACKNOWLEDGED = Reservation(1), Reservation(1, is_acknowledged=True)
NEW = Intent("i", "p", IDEMPOTENT, 2)
SPENT = replace(NEW, spent=1, reservations=(OPEN,))
TWICE = replace(NEW, spent=2, reservations=(OPEN, Reservation(2)))
CONFIRMED = replace(SPENT, receipt=RECEIPT, reservations=(ACKNOWLEDGED,))
ONCE = replace(SPENT, safety=NON_IDEMPOTENT)
BUSINESS = Receiver(exists=True, calls=(CALL,), identities=(KNOWN,), effects=(EFFECT,))


def _world(
    *intents: Intent,
    receiver: Receiver | None = None,
    hand: tuple[Held, ...] = (),
    other_hand: tuple[Held, ...] = (),
) -> State:
    """Return one ledger, a receiver that has done nothing unless given, and two workers."""
    return State(
        (Ledger("L", "L", intents),),
        receiver or Receiver(exists=True),
        (Worker("a", "L", hand), Worker("b", "L", other_hand)),
    )


def _calls(*seqs: int, effects: tuple[Effect, ...] = ()) -> Receiver:
    calls = tuple(replace(CALL, seq=seq) for seq in seqs)
    identities = (KNOWN,) if effects else ()
    return Receiver(exists=True, calls=calls, identities=identities, effects=effects)


INVARIANT_EXAMPLES: dict[str, tuple[State, str]] = {
    "calls_stay_within_spent_and_spent_within_the_cap": (
        _world(replace(TWICE, cap=1)),
        "i in ledger L has calls 0, spent 2 and cap 1",
    ),
    "every_call_has_an_intent": (_world(receiver=_calls(1)), "intent_id i, seq 1) was entered"),
    "reservations_are_numbered_up_to_spent": (
        _world(replace(TWICE, reservations=(OPEN, Reservation(3)))),
        "has spent 2, and its reservations are [1, 3]",
    ),
    "each_reservation_enters_at_most_once": (
        _world(TWICE, receiver=_calls(1, 1)),
        "reservation 1 of i has entered 2 times",
    ),
    "effects_stay_within_calls": (
        _world(receiver=replace(BUSINESS, calls=())),
        "i has effects: 1, and calls: 0",
    ),
    "an_idempotent_id_has_at_most_one_effect": (
        _world(TWICE, receiver=_calls(1, 2, effects=(EFFECT, replace(EFFECT, ticket=2)))),
        "i is idempotent and has 2 effects",
    ),
    "the_receiver_knows_an_id_exactly_when_it_has_an_effect": (
        _world(SPENT, receiver=replace(BUSINESS, effects=())),
        "identities are kept for i, effects for none",
    ),
    "tickets_count_the_effects": (
        _world(SPENT, receiver=_calls(1, effects=(replace(EFFECT, ticket=2),))),
        "the tickets are [2]",
    ),
    "a_non_idempotent_intent_spends_at_most_one": (
        _world(replace(TWICE, safety=NON_IDEMPOTENT)),
        "i in ledger L has spent 2",
    ),
    "confirmed_exactly_when_a_reservation_is_acknowledged": (
        _world(replace(SPENT, receipt=RECEIPT)),
        "ticket 1), and acknowledged are none",
    ),
    "a_stored_receipt_is_for_its_intent": (
        _world(replace(CONFIRMED, receipt=Receipt("i", "q", 1))),
        "has stored receipt (intent_id i, payload q, ticket 1)",
    ),
    "a_permit_belongs_to_a_committed_reservation": (
        _world(NEW, hand=(FRESH,)),
        "worker a holds permit (ledger L, intent_id i, seq 1",
    ),
    "a_permit_is_in_one_hand": (
        _world(SPENT, hand=(FRESH,), other_hand=(FRESH,)),
        "2 permits exist for permit (ledger L, intent_id i, seq 1",
    ),
    "a_permit_that_has_entered_is_in_the_call_log": (
        _world(SPENT, hand=(USED,)),
        "is used, and its call is not logged",
    ),
    "every_call_has_a_reservation": (
        _world(SPENT, receiver=_calls(2)),
        "seq=2) was entered, and spent are {('L', 'i'): 1}",
    ),
    "a_permit_says_what_its_ledger_says": (
        _world(SPENT, hand=(Held(replace(PERMIT, payload="q")),)),
        "payload='q'",
    ),
}

Case = tuple[State, Action, Outcome, State, str]
STEP_EXAMPLES: dict[str, Case] = {
    "refusals_change_nothing": (
        _world(SPENT),
        Confirm("L", "i", 2, RECEIPT),
        Answer.REJECTED,
        _world(SPENT, receiver=Receiver(exists=True, identities=(KNOWN,))),
        "after rejected there is state (",
    ),
    "spent_rises_by_one_exactly_when_a_permit_is_handed_out": (
        _world(SPENT),
        OpenIntent("L", "j", "p", IDEMPOTENT, 1),
        Answer.OPENED,
        _world(TWICE, Intent("j", "p", IDEMPOTENT, 1)),
        "after opened spent is 2 for i in L, 0 for j in L",
    ),
    "a_permit_carries_its_reservation": (
        _world(NEW),
        Reserve("a", "i"),
        Reserved(replace(PERMIT, payload="q")),
        _world(SPENT, hand=(Held(replace(PERMIT, payload="q")),)),
        "handed out was permit (ledger L, intent_id i, seq 1, payload q",
    ),
    "a_confirmed_intent_is_final": (
        _world(CONFIRMED),
        Confirm("L", "i", 1, replace(RECEIPT, ticket=2)),
        Answer.ALREADY_CONFIRMED,
        _world(replace(CONFIRMED, receipt=replace(RECEIPT, ticket=2))),
        "became intent (intent_id i",
    ),
    "acknowledgements_are_never_taken_back": (
        _world(replace(TWICE, receipt=RECEIPT, reservations=(ACKNOWLEDGED, Reservation(2)))),
        Confirm("L", "i", 2, RECEIPT),
        Answer.ALREADY_CONFIRMED,
        _world(
            replace(
                TWICE, receipt=RECEIPT, reservations=(OPEN, Reservation(2, is_acknowledged=True))
            )
        ),
        "reservation 1 of i lost its acknowledgement",
    ),
    "identity_is_permanent": (
        _world(NEW),
        InitReceiver(),
        Answer.READY,
        _world(replace(NEW, cap=3)),
        "cap 3, spent 0, receipt none, reservations none)",
    ),
    "calls_and_effects_are_never_taken_back": (
        _world(SPENT, receiver=BUSINESS),
        InitLedger("L", "L"),
        Answer.READY,
        _world(SPENT, receiver=replace(BUSINESS, effects=())),
        "the effects went from effect (ticket 1",
    ),
    "a_call_is_logged_exactly_by_entering": (
        _world(SPENT, hand=(FRESH,)),
        Enter("a", "i", 1),
        Answer.ENTERED,
        _world(SPENT, hand=(ENTERED,)),
        "after entered the log has 0 calls, before it had 0",
    ),
    "a_receipt_names_an_effect": (
        _world(SPENT, receiver=_calls(1), hand=(ENTERED,)),
        Perform("a", "i", 1),
        Received(replace(RECEIPT, ticket=9)),
        _world(SPENT, receiver=BUSINESS, hand=(USED,)),
        "ticket 9) names the effects none",
    ),
    "unknown_stops_a_non_idempotent_intent": (
        _world(ONCE),
        Reserve("a", "i"),
        Answer.EXHAUSTED,
        _world(ONCE),
        "the answer was budget_exhausted, to intent (",
    ),
    "a_crash_loses_hands_and_nothing_else": (
        _world(SPENT, hand=(FRESH,)),
        Crash("a"),
        Answer.CRASHED,
        _world(SPENT, hand=(FRESH,)),
        "after the crash of a",
    ),
    "a_confirmation_brings_the_stored_receipt": (
        _world(NEW),
        Attempt("a", "i"),
        Confirmed(replace(RECEIPT, ticket=9)),
        _world(CONFIRMED, receiver=BUSINESS),
        "the attempt brought receipt (intent_id i, payload p, ticket 9)",
    ),
    "a_ledger_is_ready_only_under_its_own_name": (
        _world(NEW),
        InitLedger("L", "another"),
        Answer.READY,
        _world(NEW),
        "was ready, and the ledger's name is L",
    ),
    "an_intent_is_opened_as_it_was_asked_for": (
        _world(NEW),
        OpenIntent("L", "i", "p", IDEMPOTENT, 9),
        Answer.UNCHANGED,
        _world(NEW),
        "cap 9) was unchanged, and the intent is intent (",
    ),
    "a_reservation_is_decided_in_order": (
        _world(replace(CONFIRMED, cap=1)),
        Reserve("a", "i"),
        Answer.EXHAUSTED,
        _world(replace(CONFIRMED, cap=1)),
        "was budget_exhausted, should be confirmed",
    ),
    "the_first_call_decides_what_an_id_is": (
        _world(
            SPENT,
            receiver=replace(BUSINESS, identities=(Identity("i", NON_IDEMPOTENT, None),)),
            hand=(ENTERED,),
        ),
        Perform("a", "i", 1),
        Received(RECEIPT),
        _world(
            SPENT,
            receiver=replace(BUSINESS, identities=(Identity("i", NON_IDEMPOTENT, None),)),
            hand=(USED,),
        ),
        "and the receiver knows identity (intent_id i",
    ),
    "a_confirmation_is_for_its_own_reservation": (
        _world(TWICE),
        Confirm("L", "i", 1, RECEIPT),
        Answer.CONFIRMED,
        _world(
            replace(
                TWICE,
                receipt=RECEIPT,
                reservations=(ACKNOWLEDGED, Reservation(2, is_acknowledged=True)),
            )
        ),
        "was confirmed, and intent (",
    ),
    "only_its_own_worker_changes_a_hand": (
        _world(SPENT, hand=(FRESH,)),
        InitReceiver(),
        Answer.READY,
        _world(SPENT),
        "init_receiver changed the hand of worker a to ",
    ),
}

EXACT = frozenset(
    {
        "every_call_has_a_reservation",
        "a_permit_says_what_its_ledger_says",
        "a_ledger_is_ready_only_under_its_own_name",
        "an_intent_is_opened_as_it_was_asked_for",
        "a_reservation_is_decided_in_order",
        "the_first_call_decides_what_an_id_is",
        "a_confirmation_is_for_its_own_reservation",
        "only_its_own_worker_changes_a_hand",
    }
)
"""These say "exactly when", so that they may speak beside a narrower property."""


@pytest.mark.parametrize("name", [check.__name__ for check in RESERVATION.invariants])
def test_an_invariant_speaks_up_in_exactly_its_own_bad_state(name: str) -> None:
    """Each invariant names the offending values of a state that breaks no narrower one."""
    state, words = INVARIANT_EXAMPLES[name]

    clauses = {
        check.__name__: clause for check in RESERVATION.invariants if (clause := check(state))
    }

    assert words in clauses[name]
    assert set(clauses) - EXACT <= {name}


@pytest.mark.parametrize("name", [check.__name__ for check in RESERVATION.step_properties])
def test_a_step_property_speaks_up_at_exactly_its_own_bad_step(name: str) -> None:
    """Each step property names the offending values of a step that breaks no narrower one."""
    before, action, outcome, after, words = STEP_EXAMPLES[name]

    clauses = {
        check.__name__: clause
        for check in RESERVATION.step_properties
        if (clause := check(before, action, outcome, after))
    }

    assert words in clauses[name]
    assert set(clauses) - EXACT <= {name}


@pytest.mark.parametrize("name", [check.__name__ for check in RESERVATION.step_properties])
def test_no_property_speaks_up_at_the_right_step(name: str) -> None:
    """Where the model itself takes the step of an example, every step property is silent."""
    before, action, *_ = STEP_EXAMPLES[name]

    after, outcome = step(before, action)

    clauses = [check(before, action, outcome, after) for check in RESERVATION.step_properties]
    assert clauses == [None] * len(clauses)


def test_every_property_has_a_name_and_a_sentence_of_its_own() -> None:
    """Each property's docstring begins with one sentence, and no two properties share a name."""
    checks: list[Callable[..., object]] = [*RESERVATION.invariants, *RESERVATION.step_properties]

    sentences = {check.__name__: property_sentence(check) for check in checks}

    assert len(sentences) == len(set(sentences.values())) == len(checks)
    assert all(sentence.endswith(".") for sentence in sentences.values())
