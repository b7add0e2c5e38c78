"""Lessons about what the desk takes in: identity, budget, bytes, one transaction, charge."""

from conformance.mutants.catalogue import find_mutant
from model import admission
from model.admission_properties import (
    a_size_is_the_length_in_utf8_bytes,
    outstanding_work_stays_within_the_limits,
    refusals_change_nothing,
    usage_moves_only_by_acceptance_and_by_a_terminal_state,
)
from model.admission_vocabulary import (
    ABSENT,
    Admit,
    Answer,
    Claim,
    Init,
    Limits,
    compute_usage,
)
from model.admission_witnesses import (
    a_replay_meets_a_full_store,
    quarantined_work_fills_the_store,
)
from workbench.lessons.edits import QUARANTINE_IS_FREE, ROOM_FOR_ONE_LESS, SIZE_IN_CHARACTERS
from workbench.lessons.failures import meet
from workbench.lessons.lesson import Case, Choice, Exercise, Lesson, Question
from workbench.lessons.real_runs import show_life

FULL = (
    Init(),
    Admit("a1", "A", "work"),
    Admit("a2", "A", "work"),
    Admit("b1", "B", "work"),
    Admit("b2", "B", "work"),
)
"""A store in which every slot is taken, two by tenant A and two by tenant B."""

IDENTITY_FIRST = Lesson(
    name="identity-first",
    title="Know the number before you count the numbers",
    rules=("A2", "A3"),
    situation="""\
A reception desk hands out numbers. A number is a promise: this work will be done. The desk hands
out only as many as can be kept; that is its budget.

A client asked for a number, and the answer was lost on the way. The client can't know whether it
has one. So it does the only right thing, and asks again under the same request id.""",
    question=Question(
        "Every number is out, and a client repeats a request that was accepted earlier. "
        "What should it hear?",
        Case("admission", (*FULL, Admit("a1", "A", "work"))),
        'The client has a number. "Full" would be true of the desk and false for this client: it '
        "would take its request for refused, and ask once more under a new id. Then the same work "
        "is in the store twice.",
    ),
    steps=(admission.admit,),
    mistake=find_mutant("capacity-before-identity"),
    remark="""\
The order of the guards is part of the protocol. Whoever refuses early, to save work, says
something false about a request that was accepted.

A known id is only a replay if tenant and payload are the same too, code point by code point. A
desk that guesses that two texts mean the same has made up a rule that nobody agreed on.

And a refusal binds nothing: an id that was refused is free, and may come back with other
content.""",
    claims=(a_replay_meets_a_full_store, refusals_change_nothing),
    exercise=Exercise(
        "A request is known by its id, its tenant and its payload. Compare the payload alone.",
        find_mutant("tenant-not-compared"),
        "Tenant B hears `replay` for a request that tenant A made. B will take its own work for "
        "accepted, and nobody will ever do it.",
    ),
)

BUDGET = Lesson(
    name="budget",
    title="Promise only what there is room for",
    rules=("A4", "A1"),
    situation="""\
A desk that always says yes does not have more workers than one that counts. It only moves the
failure from now, where the client hears of it, to later, where the work rots in a queue.

So the budget is asked before each yes: slots and bytes, of all clients together and of each
tenant. The five limits are stored in the store itself. A process that comes with other limits is
turned away, or two processes would count against two budgets.""",
    question=Question(
        "The byte budget is 256. Two requests of 96 bytes each are outstanding. "
        "A third tenant brings exactly 64 bytes. What does it hear?",
        Case(
            "admission",
            (
                Init(),
                Admit("a1", "A", "a" * 96),
                Admit("b1", "B", "b" * 96),
                Admit("c1", "C", "c" * 64),
            ),
        ),
        "96 + 96 + 64 is 256, and equality is allowed: a limit is what may be used, not what may "
        "almost be used.",
    ),
    steps=(admission.admit, compute_usage),
    mistake=find_mutant("model-capacity-checked-before-adding"),
    remark="""\
"Is the store full?" is the wrong question. The right one is: "Is the store within its limits
**with** this request?" The two differ by one, and a limit that is passed by one is no limit.

The sums are taken from the outstanding records each time. There is no counter beside them that
could be taken down twice.""",
    claims=(outstanding_work_stays_within_the_limits,),
    exercise=Exercise(
        "Be careful the other way: keep one slot free.",
        ROOM_FOR_ONE_LESS,
        "No limit is passed, and yet the change is wrong: a request is refused for which there was "
        "room. A test that only looks for too much would not see this one. That is why the model "
        "also says which answer is right, and not only which states are allowed.",
    ),
)

BYTES = Lesson(
    name="bytes",
    title="Count bytes, not characters",
    rules=("A5", "A16"),
    situation="""\
The desk has two budgets: how many pieces of work, and how large they are together. "How large"
must mean the same to the client, to the desk and to the disk.

A text has characters. A disk has bytes. The sign `中` is one character and three bytes.""",
    question=Question(
        "A tenant may have 128 bytes outstanding. Tenant A has one request of thirty times `中`, "
        "and brings another one of 39 letters. What does it hear?",
        Case("admission", (Init(), Admit("a1", "A", "中" * 30), Admit("a2", "A", "a" * 39))),
        "Thirty characters are ninety bytes. 90 + 39 is 129, one more than the tenant may have. "
        "Counted in characters it would have been 69.",
    ),
    steps=(admission.admit,),
    mistake=find_mutant("characters-for-bytes-in-the-item-check"),
    remark="""\
The size of an item is checked before any sum, so that the answer tells the client what to change:
`oversize` will never pass, however long it waits; `global_full` may.

The byte budget is a budget of payloads. It is no quota of memory or disk.""",
    claims=(a_size_is_the_length_in_utf8_bytes,),
    exercise=Exercise(
        "Make the same mistake in the model, in one line.",
        SIZE_IN_CHARACTERS,
        "Two properties speak up at the first text that is not plain ASCII. With ASCII payloads "
        "alone nothing would have happened: a scope must hold the values that tell designs apart. "
        "That is why `中` is in TINY.",
    ),
)


def count_winners() -> str:
    """Return how many of two callers get the last slot, in either order of the model."""
    last = (Admit("r1", "A", "work"), Admit("r2", "B", "work"))
    start, _ = admission.step(ABSENT, Init(Limits(global_slots=1)))
    winners = set()
    for first, second in (last, last[::-1]):
        state, one = admission.step(start, first)
        _, other = admission.step(state, second)
        winners.add([one, other].count(Answer.ACCEPTED))
    return "exactly one" if winners == {1} else f"{winners}"


ONE_TRANSACTION = Lesson(
    name="one-transaction",
    title="Look and take in one movement",
    rules=("A6",),
    situation="""\
The desk has two receptionists and one drawer. One number is left in it.

Both look into the drawer, and both see the number. Both say to their client: "Yes, there is one."
Then both reach for it.""",
    question=Question(
        "One slot is left. Two clients ask at the same moment, through two processes. "
        "How many are accepted?",
        Choice(("none", "exactly one", "one or two, as it happens"), count_winners),
        "Look and take are one transaction, which begins by taking the write lock. So one of the "
        "two is first, whatever happens, and the other one looks when the slot is gone.",
    ),
    steps=(admission.advance,),
    mistake=find_mutant("admit-checks-outside-the-transaction"),
    find_evidence=meet,
    remark="""\
The mistake is not that two things happen at once. It is that a decision was made on what was read
**before** the lock was held. Each caller alone does everything right.

A lock that can't be had is an error of the storage, and is passed on as one. It is never told to a
client as "full".""",
    claims=(outstanding_work_stays_within_the_limits,),
    exercise=Exercise(
        "An accepted request is two rows, an intent and a task. Commit them one by one, to keep "
        "each transaction short. What do you see, with one caller and no crash at all?",
        find_mutant("intent-and-task-in-two-transactions"),
        "The schema refuses it: at the first commit there would be an intent that has no task, "
        "and a foreign key forbids that. What the model claims, the schema forbids too, wherever "
        "SQL can say it. So a wrong program fails loudly, and does not leave half a receipt.",
    ),
)

HELD_UNTIL_TERMINAL = Lesson(
    name="held-until-terminal",
    title="A number is out until the work is over",
    rules=("A7", "A15"),
    situation="""\
Many queues count what is waiting. When a worker takes a piece of work, the queue is shorter, and
there is room for the next one.

But a promise isn't kept when somebody starts on it. It is kept when the work is done.""",
    question=Question(
        "A tenant may have two requests outstanding. Both requests of A have been claimed, workers "
        "are busy with them, and nobody is waiting. A brings a third one. What does it hear?",
        Case(
            "admission",
            (*FULL[:3], Claim(0), Claim(0), Admit("a3", "A", "work")),
        ),
        "Both promises are still open. If a claim gave the slot back, slow workers would gather "
        "more and more unfinished work, while the queue looks short.",
    ),
    steps=(compute_usage, admission.quarantine),
    mistake=find_mutant("slot-released-at-claim"),
    remark="""\
Only `done` and `cancelled` give the charge back, once. An expired lease does not: it says that a
worker is late, and not that the work is over. Quarantine does not: it says that somebody must look
at the work, and not that it may be forgotten. A store that is full of quarantined work refuses new
work, on purpose.

The snapshot shows what is charged, and looking at it changes nothing.""",
    claims=(
        usage_moves_only_by_acceptance_and_by_a_terminal_state,
        quarantined_work_fills_the_store,
    ),
    shows=(show_life,),
    exercise=Exercise(
        "Let quarantined work go free of charge.",
        QUARANTINE_IS_FREE,
        "The usage falls by an answer that is neither `done` nor `cancelled`. From there on the "
        "quarantine may grow without end, and it needs a budget of its own.",
    ),
)

LESSONS = (IDENTITY_FIRST, BUDGET, BYTES, ONE_TRANSACTION, HELD_UNTIL_TERMINAL)
