"""What an implementation must offer to be held against a model: the `Subject` protocol.

A subject is the binding: it turns an action of the model into a call of the implementation,
an answer or an exception into an outcome of the model, and durable rows into a state of the model
(the abstraction function). One suite then serves every backend.
"""

from dataclasses import dataclass
from typing import Any, Protocol


class Unreadable(Exception):
    """The durable rows are not those of any state of the model."""


class Subject(Protocol):
    """An implementation under test, bound to a model."""

    name: str

    def apply(self, action: Any) -> Any:
        """Carry out an action, and return its outcome in the model's words.

        What an implementation raises beside the errors of its protocol passes unchanged.
        """

    def observe(self) -> Any:
        """Return the durable state as a new process would read it, and what workers hold.

        `Unreadable` if the rows are those of no state.
        """

    def read(self) -> dict[str, Any] | None:
        """Return the implementation's own snapshot, None while the store is absent."""

    def image(self) -> Any:
        """Return the whole durable content, and what workers hold.

        Equal images mean that nothing has changed.
        """

    def has_open_transaction(self) -> bool:
        """Tell whether the implementation has left a transaction open, where one can see it."""

    def install(self, state: Any) -> None:
        """Bring an absent store into an initial state of a scope."""

    def restore(self, image: Any, state: Any) -> None:
        """Put back the durable content, and what the workers of this state hold."""

    def reopen(self) -> None:
        """Forget everything that is not durable but what workers hold, as a restart does."""

    def close(self) -> None:
        """Let go of every connection and file."""


@dataclass(frozen=True, slots=True)
class BrokenProperty:
    """A property of the model that what the implementation did breaks, and the false clause."""

    name: str
    sentence: str
    clause: str


@dataclass(frozen=True, slots=True)
class Divergence:
    """Where an implementation and its model part.

    `kind` says what differs: "outcome", "state", "refusal" (something changed under a refusal
    that changes nothing), "snapshot", "exception", "schema" (a constraint refused what the
    implementation tried to write), "unreadable", "transaction" (one was left open).
    `broken` are the properties that the found outcome and state break, if any: the model and the
    implementation may also part without breaking one.
    """

    kind: str
    action: Any
    expected: str
    found: str
    found_outcome: Any = None
    found_state: Any = None
    broken: tuple[BrokenProperty, ...] = ()

    @property
    def clause(self) -> str:
        """What was expected and what was found, in one line."""
        return f"{self.kind}: expected {self.expected}, found {self.found}"
