"""Lessons about the life of a record: leases, quarantine, cancelling, and what stays for ever."""

from conformance.mutants.catalogue import find_mutant
from model import admission
from model.admission_properties import (
    a_claimed_record_is_never_cancelled,
    a_new_token_is_newer_than_every_earlier_one,
    a_record_is_done_exactly_when_it_has_one_effect,
    generations_never_go_down,
    identity_is_permanent,
    only_the_current_token_finishes_a_record,
    terminal_is_for_ever,
    the_clock_never_goes_back,
)
from model.admission_vocabulary import (
    Admit,
    CancelUnstarted,
    Claim,
    Quarantine,
    Redrive,
    Resolve,
    Token,
    find_held,
    is_due,
)
from model.admission_witnesses import (
    a_cancelled_request_is_replayed,
    a_redriven_record_is_not_cancelled,
)
from workbench.lessons.admission_lessons import FULL
from workbench.lessons.edits import (
    CANCEL_WHAT_IS_QUEUED,
    FINISHED_IDS_ARE_FREE,
    LEASE_HOLDS_AT_ITS_END,
)
from workbench.lessons.lesson import Case, Exercise, Lesson, Question

ONE = FULL[:2]
"""A store with one request, `a1` of tenant A."""

LEASES = Lesson(
    name="leases-and-generations",
    title="Who holds the work now",
    rules=("A8", "A9", "A10"),
    situation="""\
A worker takes number one, and is not heard of again. Perhaps it died. Perhaps it is slow. Nobody
can tell from here, and the work must go on.

So a claim is a loan. It has an end, the **lease**, and a number, the **generation**. When the
lease is over, another worker may take the same work under the next generation. Then the first one
comes back.""",
    question=Question(
        "A worker claims a record at tick 0, and its lease ends at tick 5. At tick 5 exactly it "
        "reports that the work is done; nobody else has claimed it. What does it hear?",
        Case("admission", (*ONE, Claim(0), Resolve(Token("a1", 1), 5))),
        "A lease has expired from its last tick on. At tick 5 a claim may hand the record to "
        "another worker, so at tick 5 the first one may not finish it: at no tick may both be "
        "right.",
    ),
    steps=(admission.claim, is_due, find_held, admission.resolve),
    mistake=find_mutant("model-reclaim-keeps-the-generation"),
    remark="""\
With one generation for two claims, the late worker and the new one hold the same token. Either may
finish the record for the other, and neither can be told apart.

The clock is a number that callers bring along. It is stored even when nothing is due, so that no
later caller can go back behind it.""",
    claims=(
        a_new_token_is_newer_than_every_earlier_one,
        only_the_current_token_finishes_a_record,
        a_record_is_done_exactly_when_it_has_one_effect,
        the_clock_never_goes_back,
    ),
    exercise=Exercise(
        "Let a lease hold during its last tick too: change one `>` to `>=`.",
        LEASE_HOLDS_AT_ITS_END,
        "A token finishes a record at the very tick at which another worker may claim it. One "
        "sign in one guard, and two workers have the right to the same work.",
    ),
)

QUARANTINE = Lesson(
    name="quarantine-and-redrive",
    title="Set aside, and put back",
    rules=("A11", "A12"),
    situation="""\
Some work can't be done today: a broken form, a missing paper. The worker sets it aside, so that it
does not stop the rest. It keeps its number and its charge.

Later somebody has looked at it, and puts it back in the queue. That is a redrive.""",
    question=Question(
        "The store is full, and one of its records is in quarantine. Somebody puts it back. "
        "What does the redrive answer?",
        Case("admission", (*FULL, Claim(0), Quarantine(Token("a1", 1), 0), Redrive("a1", 1))),
        "It never gave its charge back, so it needs none. To ask for admission again would count "
        "it twice, and in a full store nothing could ever leave quarantine.",
    ),
    steps=(admission.quarantine, admission.redrive),
    mistake=find_mutant("redrive-asks-for-admission-again"),
    remark="""\
A redrive is not a new admission. The identity, the place in the queue and the charge are the old
ones; only the generation is new, so that every token from before is void.

Who may redrive is the caller's business: the protocol has no permissions.""",
    claims=(generations_never_go_down,),
    exercise=Exercise(
        "Give a record that somebody has looked at a clean start: set its generation to 0.",
        find_mutant("model-redrive-starts-afresh"),
        "The next claim gets generation 1 once more, and a token from before quarantine fits "
        "again. The record could even be cancelled, as if nobody had ever claimed it.",
    ),
)

CANCEL = Lesson(
    name="cancel",
    title="Cancel only what nobody has touched",
    rules=("A13",),
    situation="""\
A client changes its mind, and gives its number back. If nobody has started, that is simple: the
work is cancelled, and the slot is free.

If somebody has started, the desk does not know what has been done already.""",
    question=Question(
        "A record was claimed, set aside and put back. It stands in the queue again, and nobody "
        "holds it. The client asks to cancel it. What does it hear?",
        Case(
            "admission",
            (
                *ONE,
                Claim(0),
                Quarantine(Token("a1", 1), 0),
                Redrive("a1", 1),
                CancelUnstarted("a1"),
            ),
        ),
        'It was claimed once. What that worker did is not known, and "we have not seen a result" '
        "is no proof that there is none. Generation 0 is the proof that nobody ever had it.",
    ),
    steps=(admission.cancel_unstarted,),
    mistake=CANCEL_WHAT_IS_QUEUED,
    remark="""\
`cancel_unstarted` says in its name what it can do. Cancelling work that has started needs a
protocol of its own, with a way to undo what was done. It must not be a short cut to a free slot.

Cancel and claim are both one transaction, so when they meet, one of them is first, and the other
one is refused.""",
    claims=(a_claimed_record_is_never_cancelled, a_redriven_record_is_not_cancelled),
    exercise=Exercise(
        "Make the same mistake in the SQL of the implementation.",
        find_mutant("cancel-after-a-claim"),
        "This time no property speaks up: the schema does. A CHECK says that a cancelled row has "
        "generation 0, and the database refuses the write. The mistake can't reach the disk.",
    ),
)

PERMANENT_IDENTITY = Lesson(
    name="permanent-identity",
    title="The desk forgets nobody",
    rules=("A14", "A17"),
    situation="""\
The work is done, and the slot is free again. Its number lies in a drawer full of old numbers. The
drawer grows every day. Why not empty it?

Because somewhere an answer got lost, and its client is about to ask again.""",
    question=Question(
        "A request was accepted, claimed and done. Its client never got the first answer, and "
        "repeats the request now. What does it hear?",
        Case(
            "admission",
            (*ONE, Claim(0), Resolve(Token("a1", 1), 1), Admit("a1", "A", "work")),
        ),
        "The desk knows this id. `replay` means: this was accepted before. It does not mean that "
        "it is done, and it does not do the work a second time.",
    ),
    steps=(admission.admit,),
    mistake=find_mutant("cancelled-records-purged"),
    remark="""\
The outstanding work has a limit; the history has none, on purpose. Whoever wants to delete it must
say how late a repeated request may come, and what it is told after that. The protocol does not
guess.""",
    claims=(identity_is_permanent, terminal_is_for_ever, a_cancelled_request_is_replayed),
    exercise=Exercise(
        "Let an id whose work is over be free again.",
        FINISHED_IDS_ARE_FREE,
        "The repeated request is accepted as new work. A late repetition of something that was "
        "finished long ago would be done again.",
    ),
)

LESSONS = (LEASES, QUARANTINE, CANCEL, PERMANENT_IDENTITY)
