"""Lessons about calls to somebody else: three numbers, vouchers, no refund, late senders."""

from typing import Any

from conformance.mutants.catalogue import find_mutant
from model import reservation
from model.reservation_properties import (
    a_permit_is_in_one_hand,
    an_idempotent_id_has_at_most_one_effect,
    calls_stay_within_spent_and_spent_within_the_cap,
    count_calls,
    each_reservation_enters_at_most_once,
    effects_stay_within_calls,
)
from model.reservation_step_properties import (
    a_confirmed_intent_is_final,
    a_crash_loses_hands_and_nothing_else,
    spent_rises_by_one_exactly_when_a_permit_is_handed_out,
    unknown_stops_a_non_idempotent_intent,
)
from model.reservation_vocabulary import (
    IDEMPOTENT,
    NON_IDEMPOTENT,
    Attempt,
    Crash,
    Enter,
    InitLedger,
    InitReceiver,
    Ledger,
    OpenIntent,
    Perform,
    Receiver,
    Reserve,
    Safety,
    Send,
    State,
    Worker,
)
from model.reservation_witnesses import (
    a_permit_is_sent_after_the_confirmation,
    spent_calls_and_effects_all_differ,
    unknown_with_budget_left,
)
from workbench.lessons.edits import (
    CONFIRMED_GIVES_BACK,
    ONE_MORE_THAN_THE_CAP,
    SPENT_IS_NOT_WRITTEN,
)
from workbench.lessons.failures import die_after_the_call
from workbench.lessons.lesson import Case, Choice, Exercise, Lesson, Question
from workbench.lessons.real_runs import (
    show_faults,
    show_refund,
    show_unknown,
)

START = State((Ledger("L1"),), Receiver(), (Worker("a", "L1"), Worker("b", "L1")))


def opened(cap: int, safety: Safety = IDEMPOTENT) -> tuple[Any, ...]:
    """Return the actions that lead to an open intent with this cap."""
    return (
        InitLedger("L1", "L1"),
        InitReceiver(),
        OpenIntent("L1", "i1", "pay", safety, cap),
    )


def ask(*actions: Any, cap: int, safety: Safety = IDEMPOTENT) -> Case:
    """Return a question about an intent with this cap."""
    return Case("reservation", (*opened(cap, safety), *actions), START)


def count_after_a_lost_receipt() -> str:
    """Return the three numbers after a call whose receipt was lost, and a second attempt."""
    state = START
    actions = (*opened(2), Reserve("a", "i1"), Send("a", "i1", 1), Crash("a"), Attempt("b", "i1"))
    for action in actions:
        state, _ = reservation.step(state, action)
    spent = state.ledgers[0].intents[0].spent
    return f"({spent}, {count_calls(state, 'L1', 'i1')}, {len(state.receiver.effects)})"


THREE_NUMBERS = Lesson(
    name="three-numbers",
    title="Spent, calls, effects",
    rules=("B9", "B5"),
    situation="""\
An agent may call somebody else's tool three times for one job. It gets three vouchers, and a book
in which each used voucher is crossed out.

How often has the tool been called? It is tempting to have one number for that. But a book and a
telephone are two things, and nothing does both at once. So there are three numbers: **spent**
(what is crossed out in the book), **calls** (how often the other side has picked up) and
**effects** (what the other side has done).""",
    question=Question(
        "The cap is 2, and the receiver knows a repeated request. One process sends, and dies "
        "before the receipt reaches it. Another one attempts again, and succeeds. What are "
        "(spent, calls, effects)?",
        Choice(("(1, 1, 1)", "(2, 1, 1)", "(2, 2, 1)", "(2, 2, 2)"), count_after_a_lost_receipt),
        "Two vouchers are spent, and the receiver was called twice. It did the business once, "
        "because it knew the id the second time.",
    ),
    steps=(reservation.enter, reservation.perform),
    mistake=find_mutant("model-no-deduplication"),
    remark="""\
The three numbers have an order, effects ≤ calls ≤ spent ≤ cap, and that is all. One effect does
not mean one call. No call does not mean that nothing was spent.

The receiver's log of calls is an instrument: nothing reads it to decide anything.""",
    claims=(
        effects_stay_within_calls,
        an_idempotent_id_has_at_most_one_effect,
        spent_calls_and_effects_all_differ,
    ),
    shows=(show_faults,),
    exercise=Exercise(
        "Write `>` where the cap is compared.",
        ONE_MORE_THAN_THE_CAP,
        "The budget is passed by one. It is caught where the wrong answer is given, and it would "
        "be caught again in the state that it leaves: the same mistake breaks two claims.",
    ),
)

RESERVE_BEFORE_SEND = Lesson(
    name="reserve-before-send",
    title="Cross the voucher out, then call",
    rules=("B2", "B1"),
    situation="""\
An executor is given three vouchers for a job. It uses one, and its process dies. The next process
reads "at most three" in its configuration, and takes three. Each process is honest, and the tool
is called and called.

The number of vouchers must be written down where it outlives every process. And the writing must
come before the call.""",
    question=Question(
        "One unit of three is spent. A new process starts, and opens the same intent with the same "
        "values once more. What does it hear?",
        ask(
            Reserve("a", "i1"),
            Crash("a"),
            OpenIntent("L1", "i1", "pay", IDEMPOTENT, 3),
            cap=3,
        ),
        "Nothing is opened a second time, and spent stays 1. With another cap the answer would be "
        "`conflict`: a budget must not grow because somebody restarts.",
    ),
    steps=(reservation.reserve,),
    mistake=find_mutant("send-before-reserve-once-allowed"),
    find_evidence=die_after_the_call,
    remark="""\
Whoever calls first and writes then forgets the call if the process dies in between: above, the
receiver has a call, and the book has none. Whoever writes first and calls then has spent a unit
for nothing if it dies in between. One of the two must be chosen. Only the second one keeps the
number of calls within the cap.

Reading, deciding, counting and writing the reservation are one transaction, and only its commit
hands out the permit.""",
    claims=(spent_rises_by_one_exactly_when_a_permit_is_handed_out,),
    exercise=Exercise(
        "The reservations can be counted, so leave the number beside them as it is.",
        SPENT_IS_NOT_WRITTEN,
        "Spent and the rows are kept apart, so that a wrong one shows. A number that is computed "
        "from the other could never disagree with it, and would prove nothing.",
    ),
)

ONE_SHOT = Lesson(
    name="one-shot-permits",
    title="A voucher is used once",
    rules=("B4", "B11"),
    situation="""\
A process finds voucher 1 in the book, crossed out, and without a receipt. It could use it once
more: it has been paid for, hasn't it?

The next process thinks so too. Then the book says "one", for ever, and the telephone rings all
day.""",
    question=Question(
        "A worker has sent permit 1 and has its receipt. It sends the same permit again. "
        "What does it get?",
        ask(Reserve("a", "i1"), Send("a", "i1", 1), Send("a", "i1", 1), cap=2),
        "The permit was marked used before the first call was made, whatever became of the call. "
        "A new call needs a new reservation, so that the book counts it.",
    ),
    steps=(reservation.enter, reservation.crash),
    mistake=find_mutant("an-old-reservation-sent-again"),
    remark="""\
A reservation in the book is a record of what was spent, and no job that waits to be done. The
right to call lives in the hand of the process that got it, and dies with the process. Recovery
never makes it anew.""",
    claims=(
        each_reservation_enters_at_most_once,
        a_permit_is_in_one_hand,
        a_crash_loses_hands_and_nothing_else,
    ),
    exercise=Exercise(
        "Let a worker that comes back after a crash go on with the permits that it had.",
        find_mutant("model-recovery-rebuilds-permits"),
        "After the crash the permit is still in a hand. A real recovery could only have read it "
        "from the ledger, and would not know whether it was sent already.",
    ),
)

NO_REFUND = Lesson(
    name="no-refund",
    title="There is no refund",
    rules=("B3",),
    situation="""\
The call was made, or perhaps not. No receipt came, and the process is gone. The voucher has bought
nothing that anybody can show. Surely it can be given back?""",
    question=Question(
        "The cap is 1. A call was made and done, and its sender died before it heard of it. "
        "After a while another worker asks for a permit. What does it hear?",
        ask(
            Reserve("a", "i1"),
            Enter("a", "i1", 1),
            Perform("a", "i1", 1),
            Crash("a"),
            Reserve("b", "i1"),
            cap=1,
        ),
        "The unit bought a call. That the ledger has no receipt is no proof of the opposite: a "
        "timeout, a missing receipt and a dead process look the same for a call that was made and "
        "for one that was not.",
    ),
    steps=(reservation.reserve, reservation.confirm),
    mistake=find_mutant("refund-without-acknowledgement"),
    remark="""\
The run below is the design that refunds, with cap 1, in real processes. The book says 0 in the
end, and the receiver was called three times. There was one effect only, since the receiver knows a
repeated request. That shows how little it helps here: it protects the result, and not the number
of calls.""",
    claims=(
        spent_rises_by_one_exactly_when_a_permit_is_handed_out,
        calls_stay_within_spent_and_spent_within_the_cap,
    ),
    shows=(show_refund,),
    exercise=Exercise(
        "A confirmed intent needs its budget no more. Give one unit back.",
        CONFIRMED_GIVES_BACK,
        "Even where it seems to harm nobody, spent and the reservations part, and the book no "
        "longer says what happened.",
    ),
)

UNKNOWN = Lesson(
    name="unknown",
    title="To say: I do not know",
    rules=("B8",),
    situation="""\
Some calls must not be made twice: to send a parcel, to fire a rocket. The other side does not know
a repeated request; each call that arrives is carried out.

A voucher is crossed out in the book, and there is no receipt. Was the call made?""",
    question=Question(
        "A call must not be repeated, and the cap is 3. A worker reserved, and died before it sent "
        "anything. Another worker asks for a permit. What does it hear?",
        ask(
            Reserve("a", "i1"),
            Crash("a"),
            Reserve("b", "i1"),
            cap=3,
            safety=NON_IDEMPOTENT,
        ),
        "We know that nothing was sent, because we were told. The ledger was not told. It sees a "
        'reservation without a receipt, and for such a call "perhaps once" must not become '
        '"perhaps twice". That two units are left changes nothing.',
    ),
    steps=(reservation.reserve,),
    mistake=find_mutant("model-unknown-ignored"),
    remark="""\
`unknown_requires_reconciliation` is an answer, and no failure. Somebody must find out, from the
other side or by hand, what happened. "The budget is big enough" does not mean "it is safe to do it
again".

In the run below the call was made once, and once not. The next attempt hears the same, because the
ledger holds the same.""",
    claims=(unknown_stops_a_non_idempotent_intent, unknown_with_budget_left),
    shows=(show_unknown,),
    exercise=Exercise(
        "Ask for the budget first, since it is the cheaper question.",
        find_mutant("model-exhausted-before-unknown"),
        'Nobody gets a permit either way, and yet the answer is wrong. "Exhausted" says: raise '
        'the budget. "Unknown" says: find out first. A caller who hears the wrong one does the '
        "wrong thing.",
    ),
)

LATE_SENDERS = Lesson(
    name="late-senders",
    title="Somebody is still on the way",
    rules=("B6", "B7", "B12"),
    situation="""\
Worker A takes a voucher, and is held up. Worker B takes the next one, calls, brings the receipt,
and the book says: confirmed. Everybody goes home.

Then A goes on, with its voucher in its hand.""",
    question=Question(
        "The intent is confirmed, under the idempotent contract. A worker that had reserved before "
        "that sends its permit now. What does it get?",
        ask(Reserve("a", "i1"), Attempt("b", "i1"), Send("a", "i1", 1), cap=2),
        "The ledger can stop new reservations. It can't reach into the hand of a process that has "
        "one already. So the late call is made, it is counted, and the receiver gives the same "
        "receipt without doing the business again.",
    ),
    steps=(reservation.confirm, reservation.advance_attempt),
    mistake=find_mutant("model-confirmation-recalls-permits"),
    remark="""\
"Confirmed" does not mean that nobody is on the way. The budget is no lease and no fence. A design
that says otherwise, because it is written so in a diagram, has to show who takes the permit out of
the hand of a process that does not listen.

An attempt is reserve, at most one send, and confirm. If the intent is confirmed already, it brings
the stored receipt and sends nothing.""",
    claims=(a_confirmed_intent_is_final, a_permit_is_sent_after_the_confirmation),
    exercise=Exercise(
        "An attempt has its receipt in hand. Let it return the receipt without storing it.",
        find_mutant("model-attempt-does-not-confirm"),
        "The attempt says `confirmed`, and the ledger knows of no receipt. The next attempt would "
        "spend and call again for business that is done.",
    ),
)

LESSONS = (
    THREE_NUMBERS,
    RESERVE_BEFORE_SEND,
    ONE_SHOT,
    NO_REFUND,
    UNKNOWN,
    LATE_SENDERS,
)
