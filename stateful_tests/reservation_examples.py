"""A small world of the dispatch budget for examples: two ledgers, a receiver, three workers."""

from dataclasses import replace

from model.reservation import step
from model.reservation_vocabulary import Action, Answer, Ledger, Outcome, Receiver, State, Worker

ABSENT = State(
    (Ledger("L"), Ledger("M")), Receiver(), (Worker("a", "L"), Worker("b", "L"), Worker("c", "M"))
)
START = replace(
    ABSENT, ledgers=(Ledger("L", "L"), Ledger("M", "M")), receiver=Receiver(exists=True)
)


def run(*actions: Action, state: State = START) -> tuple[State, Outcome]:
    """Take the actions in order, and return the last state and outcome."""
    outcome: Outcome = Answer.READY
    for action in actions:
        state, outcome = step(state, action)
    return state, outcome
