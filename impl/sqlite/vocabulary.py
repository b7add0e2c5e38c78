"""What a sender and a receiver share: safety, permit, call, receipt, and the receiver's refusal.

They are plain data and check nothing; each action checks what it is given. The one exception is
the permit, which remembers whether it has been used (B4).

Not detected: a permit duplicated by a fork. A permit is for the process that reserved it.
"""

import reprlib
import threading
from dataclasses import dataclass
from enum import StrEnum
from typing import Never, Protocol

from impl.sqlite.errors import InvalidInput, PermitUsed


class Safety(StrEnum):
    """Whether the receiver may be asked twice for the same thing."""

    IDEMPOTENT = "idempotent"
    NON_IDEMPOTENT = "non_idempotent"


class SendRefusal(StrEnum):
    """What `send` and `perform` return instead of a receipt."""

    CONFLICT = "conflict"


@dataclass(frozen=True, slots=True)
class Call:
    """One entry at the receiver, on its way from the call log to the business."""

    ledger: str
    intent_id: str
    seq: int
    payload: str
    safety: Safety


@dataclass(frozen=True, slots=True)
class Receipt:
    """The receiver's proof of an effect; the ticket is the number of the effect: 1, 2, 3 ..."""

    intent_id: str
    payload: str
    ticket: int


class Permit:
    """The right to one send, handed out by a committed reservation (B2, B4).

    Its values are read-only. It can't be copied or pickled: each of those raises `TypeError`.
    """

    __slots__ = ("_call", "_is_used", "_lock")

    def __init__(
        self, *, ledger: str, intent_id: str, seq: int, payload: str, safety: Safety
    ) -> None:
        """Make an unused permit; outside of tests only a ledger does that."""
        self._call = Call(ledger, intent_id, seq, payload, safety)
        self._is_used = False
        self._lock = threading.Lock()

    @property
    def call(self) -> Call:
        """All the values that go to the receiver."""
        return self._call

    @property
    def ledger(self) -> str:
        """The name of the ledger that reserved."""
        return self._call.ledger

    @property
    def intent_id(self) -> str:
        """The intent's id."""
        return self._call.intent_id

    @property
    def seq(self) -> int:
        """The number of the reservation within its intent: 1, 2, 3 ..."""
        return self._call.seq

    @property
    def payload(self) -> str:
        """The intent's payload."""
        return self._call.payload

    @property
    def safety(self) -> Safety:
        """The intent's safety."""
        return self._call.safety

    @property
    def is_used(self) -> bool:
        """Whether the permit has been used, whatever became of that."""
        return self._is_used

    def use(self) -> None:
        """Mark the permit used; of several threads exactly one succeeds.

        `PermitUsed` if it was used before.
        """
        with self._lock:
            if self._is_used:
                raise PermitUsed(
                    f"permit {self.seq} of intent {self.intent_id!r} has been used already"
                )
            self._is_used = True

    def __repr__(self) -> str:
        """Show the values and whether the permit is used."""
        return f"<Permit {self._call!r} is_used={self._is_used}>"

    def __copy__(self) -> Never:
        """Refuse: two copies would be two sends."""
        self._refuse_copy()

    def __deepcopy__(self, memo: object) -> Never:
        """Refuse: two copies would be two sends."""
        self._refuse_copy()

    def __reduce_ex__(self, protocol: object) -> Never:
        """Refuse: two copies would be two sends."""
        self._refuse_copy()

    def _refuse_copy(self) -> Never:
        raise TypeError("a permit is good for one send and can't be copied or pickled")


class Sender(Protocol):
    """Whatever carries a permit to a receiver and brings back the answer."""

    def send(self, permit: Permit, /) -> Receipt | SendRefusal:
        """Use the permit for one send."""


def check_safety(value: object) -> Safety:
    """Return the safety, which may be given as its text; anything else is `InvalidInput`."""
    for safety in Safety:
        if value == safety:
            return safety
    raise InvalidInput(f"safety {reprlib.repr(value)} is none of: {', '.join(Safety)}")
