"""The page on four things that a bounded queue does not give, each shown by a run."""

from collections.abc import Sequence
from typing import Any

from conformance.place import scratch_folder
from impl.sqlite import admission
from impl.sqlite.admission_store import AdmissionStore
from model.admission_vocabulary import Admit
from workbench.lessons.admission_lessons import FULL
from workbench.lessons.blocks import Block
from workbench.lessons.edits import KEEP_A_SLOT
from workbench.lessons.evidence import tabulate
from workbench.lessons.lesson import Case, Choice, Exercise, Part, Question, RunPage
from workbench.lessons.producers import (
    backoff_with_jitter,
    no_pause,
    show_producers,
    simulate,
)
from workbench.lessons.real_runs import show_nothing_sent
from workbench.lessons.spent_lesson import NOTHING_SENT

COUNTS = (1, 10, 100)
ALMOST = 0.1
"""Two numbers of accepted requests that differ by a smaller share are called about the same."""


def finish(count: int) -> dict[str, Any]:
    """Accept and finish this many tasks on a real store, and return its snapshot."""
    with scratch_folder() as folder:
        path = folder / "store.db"
        admission.init(path)
        with AdmissionStore(path) as store:
            for number in range(count):
                store.admit(f"job-{number}", "A", "work")
                token = store.claim(number)
                if token is None:
                    raise AssertionError("the only task is due")
                store.resolve(token, number)
            return store.snapshot()


def show_history() -> tuple[Block, ...]:
    """Show what is charged and what is kept after some finished tasks."""
    rows: list[tuple[object, ...]] = []
    for count in COUNTS:
        seen = finish(count)
        rows.append((count, *seen["usage"], len(seen["records"]), len(seen["effects"])))
    headings = ("finished tasks#", "slots in use#", "bytes in use#", "identities kept#", "effects#")
    return tabulate(
        "Tasks accepted and finished, one after another, on a real store", headings, rows
    )


def count_identities() -> str:
    """Return how many identities are kept after ten finished tasks."""
    return {0: "none", 10: "ten"}[len(finish(10)["records"])]


def show_cap() -> tuple[Block, ...]:
    """Show who fills a real store with the default limits."""
    asks: Sequence[Any] = [*FULL[1:], Admit("c1", "C", "work")]
    with scratch_folder() as folder:
        path = folder / "store.db"
        admission.init(path)
        with AdmissionStore(path) as store:
            rows: list[tuple[object, ...]] = [
                (a.request_id, a.tenant, store.admit(a.request_id, a.tenant, a.payload).value)
                for a in asks
            ]
    return tabulate("Four slots, at most two for a tenant", ("request", "tenant", "answer"), rows)


def compare_producers() -> str:
    """Return which producers got more work accepted."""
    eager, patient = simulate(no_pause).accepted, simulate(backoff_with_jitter).accepted
    if abs(eager - patient) <= ALMOST * max(eager, patient):
        return "about the same"
    return "those that ask again at once" if eager > patient else "those that wait"


BOUNDED_QUEUE = RunPage(
    name="what-a-bounded-queue-does-not-give",
    title="Four things that a bounded queue does not give",
    situation="""\
A limit on outstanding work is a good thing. It is also one thing, and easily taken for four
others.

This page is put together differently from the lessons. It teaches no new rule and has no tempting
design in code. It asks about four things that the limit does not give, shows each by a run on a
real store, and ends with one exercise.""",
    parts=(
        Part(
            title="History stays unbounded",
            rules=("A17", "A14"),
            text="""\
The desk may have four numbers out. Each finished one goes into a drawer, and stays there, so that
a late repetition is known.""",
            question=Question(
                "Ten tasks are accepted and finished, one after another. Nothing is outstanding. "
                "How many identities does the store keep?",
                Choice(("none", "ten"), count_identities),
                "What is bounded is the work that is owed, and not what is remembered.",
            ),
            show=show_history,
            remark="""\
The disk will be full one day. To delete old identities is to choose how late a repeated request
may come; that is a decision of its own, and this protocol does not make it in silence.""",
        ),
        Part(
            title="A cap is not a reservation",
            rules=("A18",),
            text="""\
No tenant may have more than two of the four slots. It sounds as if there were always something
left for the others.""",
            question=Question(
                "A has two requests outstanding, and B has two. C has never asked for anything, "
                "and asks now. What does it hear?",
                Case("admission", (*FULL, Admit("c1", "C", "work"))),
                "A cap says how much one tenant may take at most. It puts nothing aside for "
                "anyone.",
            ),
            show=show_cap,
            remark="""\
Whoever needs a seat that is kept free must say for whom, and how many. A field called
`tenant_slots` does not do it.""",
        ),
        Part(
            title="A refusal does not slow a producer down",
            rules=("E7", "A3"),
            text="""\
The store says `global_full`. What happens next is not up to the store. One kind of producer asks
again at once. The other kind waits, a time drawn by chance from a span that doubles with each
refusal (backoff with jitter).""",
            question=Question(
                "Which producers get more work accepted?",
                Choice(
                    ("those that ask again at once", "those that wait", "about the same"),
                    compare_producers,
                ),
                "Work is accepted when a slot is free, and slots come free as fast as the one "
                "consumer works. To ask more often does not make it faster.",
            ),
            show=show_producers,
            remark="""\
A refusal changes nothing in the store, but it is not free: each one takes the write lock for a
moment. Producers that never pause can keep a store busy with saying no. The pause, the chance in
it, and a point at which to give up and tell somebody, belong into the producer.""",
        ),
        Part(
            title="Spent is not sent",
            rules=("B10",),
            text="""\
The limit on calls has the same edge: a unit that is spent is no call that was made.""",
            question=Question(
                "The cap is 2. Two processes each reserved, and died before they sent. A third "
                "one asks for a permit. What does it hear?",
                NOTHING_SENT,
                "The lesson `spent-is-not-sent` says why no ledger can do better.",
            ),
            show=show_nothing_sent,
            remark="At most two calls were promised, and there were none: it is a pass.",
        ),
    ),
    exercise=Exercise(
        "Make a reservation of the cap: refuse a tenant that has work outstanding already, if that "
        "leaves no slot for the others.",
        KEEP_A_SLOT,
        "The request is refused though there is room for it, and the slot is kept for nobody in "
        "particular. The first other tenant that comes gets it, and the next one finds the store "
        "full: with more than two tenants nothing is reserved. A reservation must say for whom, "
        "and how many.",
    ),
    links=("permanent-identity", "budget", "identity-first", "spent-is-not-sent"),
)
