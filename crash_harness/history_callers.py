"""What a process of a history calls next: enabled calls with live ids and tokens, and stale ones.

A caller knows what its own process has been answered, and nothing else.
"""

import random
from typing import Any, Protocol

from model.admission_vocabulary import (
    Admit,
    CancelUnstarted,
    Claim,
    Claimed,
    Quarantine,
    Redrive,
    Resolve,
    Token,
)
from model.reservation_vocabulary import (
    Answer,
    Attempt,
    Confirm,
    Confirmed,
    Enter,
    Perform,
    Permit,
    Receipt,
    Received,
    Reserve,
    Reserved,
    Send,
)

IDS = ("r1", "r2", "r3", "r4")
TENANTS = ("A", "B")
PAYLOADS = ("", "aa", "中")
LAST_TICK = 12


class Caller(Protocol):
    """A process that calls."""

    def choose(self, chance: random.Random) -> Any:
        """Return the next call."""

    def learn(self, action: Any, outcome: Any) -> None:
        """Take in what the process was answered."""


class AdmissionCaller:
    """A producer and consumer in one: it admits, claims, and finishes what it has claimed."""

    def __init__(self) -> None:
        """Know nothing."""
        self.tokens: list[Token] = [Token("r1", 1)]
        self.now = 0

    def choose(self, chance: random.Random) -> Any:
        """Return the next call; the clock goes forward by chance."""
        self.now = min(LAST_TICK, self.now + chance.choice((0, 0, 0, 1, 5)))
        token = chance.choice(self.tokens[-3:])
        weighted = (
            (4, Admit(chance.choice(IDS), chance.choice(TENANTS), chance.choice(PAYLOADS))),
            (3, Claim(self.now)),
            (2, Resolve(token, self.now)),
            (1, Quarantine(token, self.now)),
            (1, Redrive(token.request_id, token.generation)),
            (1, CancelUnstarted(chance.choice(IDS))),
        )
        return chance.choices([each for _, each in weighted], [weight for weight, _ in weighted])[0]

    def learn(self, action: Any, outcome: Any) -> None:  # noqa: ARG002 - the protocol's shape
        """Remember a token."""
        if isinstance(outcome, Claimed):
            self.tokens.append(outcome.token)


class ReservationCaller:
    """A worker of a ledger: it reserves, sends, confirms, and attempts."""

    def __init__(self, name: str, ledger: str, intent_ids: list[str]) -> None:
        """Work for a ledger, on these intents."""
        self.name = name
        self.ledger = ledger
        self.intent_ids = intent_ids
        self.permits: list[Permit] = []
        self.entered: list[Permit] = []
        self.answered: list[tuple[Permit, Receipt]] = []

    def choose(self, chance: random.Random) -> Any:
        """Return the next call, most often with what is in the hand."""
        intent_id = chance.choice(self.intent_ids)
        weighted: list[tuple[int, Any]] = [
            (2, Reserve(self.name, intent_id)),
            (2, Attempt(self.name, intent_id)),
            (1, Confirm(self.ledger, intent_id, 1, Receipt(intent_id, "p", 1))),
        ]
        for permit in self.permits[-2:]:
            weighted += [
                (2, Send(self.name, permit.intent_id, permit.seq)),
                (2, Enter(self.name, permit.intent_id, permit.seq)),
            ]
        for permit in self.entered[-1:]:
            weighted.append((6, Perform(self.name, permit.intent_id, permit.seq)))
        for permit, receipt in self.answered[-2:]:
            weighted.append((3, Confirm(self.ledger, permit.intent_id, permit.seq, receipt)))
        return chance.choices([each for _, each in weighted], [weight for weight, _ in weighted])[0]

    def learn(self, action: Any, outcome: Any) -> None:
        """Remember permits, calls under way and receipts."""
        if isinstance(outcome, Reserved):
            self.permits.append(outcome.permit)
        if isinstance(action, Enter) and outcome is Answer.ENTERED:
            self.entered += [p for p in self.permits if _names(p, action)]
        if isinstance(action, Perform):
            self.entered = [p for p in self.entered if not _names(p, action)]
        if isinstance(action, Perform | Send) and isinstance(outcome, Received):
            self.answered += [(p, outcome.receipt) for p in self.permits if _names(p, action)]
        if isinstance(action, Attempt) and isinstance(outcome, Confirmed):
            permit = next((p for p in self.permits if p.intent_id == action.intent_id), None)
            if permit is not None:
                self.answered.append((permit, outcome.receipt))


def _names(permit: Permit, action: Enter | Perform | Send) -> bool:
    """Tell whether an action is about this permit."""
    return (permit.intent_id, permit.seq) == (action.intent_id, action.seq)
