"""Lessons about what is left: when a process dies, when the power goes, when many call at once."""

from conformance.mutants.catalogue import find_mutant
from model import admission, reservation
from model.admission_properties import a_record_is_done_exactly_when_it_has_one_effect
from model.reservation_properties import calls_stay_within_spent_and_spent_within_the_cap
from model.reservation_witnesses import a_call_dies_between_entering_and_performing
from workbench.lessons.edits import NO_SYNC_AT_ALL
from workbench.lessons.failures import die_after_commit, keep_power, lose_power, may_be_lost, meet
from workbench.lessons.lesson import Choice, Exercise, Lesson, Question
from workbench.lessons.real_runs import (
    EXITS,
    TWELVE,
    experiment_with,
    play,
    show_exits,
    show_faults,
    show_histories,
    show_three_permits,
    show_twelve,
)

SPLIT_EFFECT = find_mutant("effect-in-a-second-transaction")
NORMAL = find_mutant("synchronous-normal")


def find_what_is_left() -> str:
    """Return what a process leaves that dies between the effect and the state `done`."""
    found = play([EXITS])[EXITS]["done_between_effect_and_done"]["found"]
    (record,) = found["records"].values()
    return f"{record['state']}, {'with' if found['effects'] else 'without'} an effect"


CRASH = Lesson(
    name="what-a-crash-leaves",
    title="What a crash leaves",
    rules=("C1", "C2", "C3"),
    situation="""\
A process is killed in the middle of a call. It does not clean up, and nobody catches an exception.
It is simply no longer there. What does the next one find?

And what may the client think, who gets no answer?""",
    question=Question(
        "A worker reports its work as done. Its process dies after it has written the effect, and "
        "before it has written the state `done`. What does a new connection find?",
        Choice(
            ("inflight, without an effect", "inflight, with an effect", "done, with an effect"),
            find_what_is_left,
        ),
        "Both are one transaction, and it had not committed. The database takes back what was "
        "half-written. A new connection finds the state before, as if nobody had reported "
        "anything.",
    ),
    steps=(admission.allowed_after_exit, reservation.allowed_after_exit),
    mistake=SPLIT_EFFECT,
    find_evidence=die_after_commit,
    remark="""\
A step is there as a whole or not at all. The first table below was made by eight processes that
really died.

Its last column is about the client. No answer is not "failed"; it is **unknown**. The client
repeats the call with the same identity. `replay` tells it that the first one had worked. `stale`
can mean the same: it had worked, and can't work twice.

A program of several steps, like an attempt, leaves the steps that had committed: the second
table.""",
    claims=(
        a_record_is_done_exactly_when_it_has_one_effect,
        a_call_dies_between_entering_and_performing,
    ),
    shows=(show_exits, show_faults),
    exercise=Exercise(
        "Make the change that is shown above. Before you kill anything, run every call from every "
        "state, each of which ends in peace.",
        SPLIT_EFFECT,
        "Everything passes. Calls that all come to their end can't show a mistake that needs a "
        "death in the middle. `admit-one experiment --check` lets processes die, and fails.",
    ),
)

POWER_LOSS = Lesson(
    name="what-power-loss-leaves",
    title="What a power loss leaves",
    rules=("C4", "C5"),
    situation="""\
When a process dies, the operating system still has what it wrote. When the power goes, only that
is left which has reached the disk.

To wait for the disk is slow. So there is a setting, and many guides recommend the faster one.""",
    question=Question(
        "With `synchronous=normal`, a client gets the answer `accepted`. A second later the power "
        "goes. When it is back, is the request there?",
        Choice(("it is there", "it may be gone"), lambda: may_be_lost(NORMAL)),
        "In WAL mode `normal` does not wait for the disk at a commit. The database stays sound, "
        "and the last commits may be missing. But the client was told `accepted`, and has gone.",
    ),
    steps=(admission.allowed_after_exit,),
    mistake=NORMAL,
    find_evidence=lose_power,
    remark="""\
A sound database is not enough. What was acknowledged must be there: with `synchronous=full` a
commit returns when its log is on the disk.

That holds on storage that does not damage what it was not asked to write. No test can promise it
for a disk that lies.""",
    shows=(keep_power,),
    exercise=Exercise(
        "Switch the waiting off altogether, and let eight real processes die.",
        NO_SYNC_AT_ALL,
        "Everything passes, though this setting is worse than the one above. A process exit can't "
        "show a missing sync, because the operating system keeps the pages. `admit-one "
        "power-loss` takes them away.",
    ),
)


def count_accepted() -> str:
    """Return how many of twelve processes with distinct tenants were accepted."""
    accepted = play([TWELVE])[TWELVE]["distinct_tenants"]["outcomes"]["accepted"]
    return "exactly four" if accepted == 4 else f"{accepted}"  # noqa: PLR2004 - said in the choices


CONCURRENCY = Lesson(
    name="what-concurrency-does",
    title="What concurrency does",
    rules=("A6", "B2", "C1"),
    situation="""\
Twelve processes ask at the same time. Which one is first is up to the operating system, and is
another one each time. So the result is another one each time, too. What can be said of it at all?

This: whatever happens, there must be **one order** in which the calls, taken one by one, give the
answers that were given. That is what *linearizable* means.""",
    question=Question(
        "The store has four slots. Twelve processes with twelve tenants ask at once. "
        "How many are accepted?",
        Choice(("fewer than four, as it happens", "exactly four", "four or five"), count_accepted),
        "Nobody can say which four. But in every order of twelve calls the first four get in, and "
        "the others don't.",
    ),
    steps=(reservation.reserve, reservation.advance),
    mistake=find_mutant("reserve-checks-outside-the-transaction"),
    find_evidence=meet,
    remark="""\
Here the schema stood in the way: `spent <= cap` is written there once more, and so there is an
error in place of one call too many. Without it, both callers would hold a permit for the last
unit.

An error that nobody expected is no answer of the protocol. So this is a failure too.""",
    claims=(calls_stay_within_spent_and_spent_within_the_cap,),
    shows=(show_twelve, show_three_permits, show_histories),
    exercise=Exercise(
        "Take the write lock only when something is written: most calls are refused anyway. Then "
        "run every call from every state, one caller at a time.",
        find_mutant("deferred-for-immediate"),
        "Everything passes. One caller at a time can't show what happens when two meet. "
        "`admit-one race` lets them meet.",
    ),
)

LESSONS = (CRASH, POWER_LOSS, CONCURRENCY)

OTHER_ENGINES = {NO_SYNC_AT_ALL.name: (experiment_with, "admit-one experiment --check")}
"Exercises that another engine runs than the one that searches a scope: how, and by which "
"command."
