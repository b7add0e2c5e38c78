"""The lesson that can be read alone: spent is not sent, and why (2, 0, 0) is a pass."""

from model import reservation
from model.reservation_properties import calls_stay_within_spent_and_spent_within_the_cap
from model.reservation_vocabulary import (
    Crash,
    Enter,
    Ledger,
    Receiver,
    Reserve,
    State,
    Worker,
)
from model.reservation_witnesses import exhausted_with_no_call_and_no_permit_in_any_hand
from workbench.lessons.blocks import Block
from workbench.lessons.dispatch_lessons import ask, opened
from workbench.lessons.edits import A_CRASH_GIVES_BACK, A_PERMIT_WHILE_NOTHING_WAS_SENT
from workbench.lessons.evidence import run_changed
from workbench.lessons.lesson import Exercise, Lesson, Question
from workbench.lessons.real_runs import show_nothing_sent

NOTHING_SENT = ask(
    Reserve("a", "i1"),
    Crash("a"),
    Reserve("a", "i1"),
    Crash("a"),
    Reserve("b", "i1"),
    cap=2,
)
"""Two workers die with a permit in the hand, and a third one asks."""


def send_all_three() -> tuple[Block, ...]:
    """Let three workers reserve under the wrong design, and call only then."""
    names = ("a", "b", "c")
    start = State((Ledger("L1"),), Receiver(), tuple(Worker(name, "L1") for name in names))
    reserves = (Reserve(name, "i1") for name in names)
    enters = (Enter(name, "i1", seq) for seq, name in enumerate(names, start=1))
    caption = "Nobody has died: the holders of the permits were only slow, and call in the end"
    run = (*opened(2), *reserves, *enters)
    return run_changed(A_PERMIT_WHILE_NOTHING_WAS_SENT, start, run, caption)


SPENT_IS_NOT_SENT = Lesson(
    name="spent-is-not-sent",
    title="Spent is not sent: why (2, 0, 0) is a pass",
    rules=("B10", "B9", "B3"),
    situation="""\
There are two vouchers for a job. Before each call a voucher is crossed out in the book: that is
**spent**. Then the telephone is picked up: that is a **call**. Then the other side does the work:
that is an **effect**.

The first process crosses out voucher 1, and dies before it picks up the telephone. The second one
crosses out voucher 2, and dies at the same place. Nobody has called, and nothing was done.""",
    question=Question(
        "The cap is 2. Two processes each reserved, and died before they sent. "
        "A third one asks for a permit. What does it hear?",
        NOTHING_SENT,
        "The book says 2 of 2. The book can't see telephones. For all that it knows, both calls "
        "were made, or one of the two processes is not dead but slow, and calls in a minute. If "
        "the third one got a voucher now, there could be three calls with a cap of two.",
    ),
    steps=(reservation.reserve,),
    mistake=A_PERMIT_WHILE_NOTHING_WAS_SENT,
    remark="""\
(spent, calls, effects) = (2, 0, 0) looks like a failure: the budget is gone, and nothing has
happened. It is a pass, and here is why.

**What was promised?** At most two calls. Zero is at most two. It was never promised that there is
at least one.

**Could the ledger do better?** Between the commit of a reservation and the call there is a gap,
and a process may die in it. Writing after the call does not close the gap; it only turns it round,
and then calls are lost from the book. So the ledger must count one way or the other, and it counts
too much rather than too little. That is safety before liveness.

**Could it give back what was not sent?** Only if it knew that nothing was sent and nothing will
be. A dead process and a slow one look the same from outside. The design above asks the receiver's
log, and finds it empty. That is true now. The first two permits may still be in the hands of slow
processes, and the third comes on top: the first run below has three calls with a cap of two.

So after (2, 0, 0) the ledger stops, and says `budget_exhausted`. Somebody who has found out what
happened may then approve more calls, in the open. The ledger itself may not. And to begin the same
job again under a new id, in silence, would only get round the budget.

The second run is the story above, with real processes that really died. The numbers are what a
fresh connection found.""",
    claims=(
        calls_stay_within_spent_and_spent_within_the_cap,
        exhausted_with_no_call_and_no_permit_in_any_hand,
    ),
    shows=(send_all_three, show_nothing_sent),
    exercise=Exercise(
        "Give back at a crash exactly what the dead process held and had not sent. The model "
        "knows what that is.",
        A_CRASH_GIVES_BACK,
        "The model may look into a hand; it is all-knowing. No recovery can: the hand is gone "
        "with its process. And even here spent goes down, which the book must never do: the "
        "number would no longer say how many permits were ever handed out.",
    ),
)
