"""What an implementation must offer to be held against a model: the `Subject` protocol.

A subject is the binding: it turns an action of the model into a call of the implementation,
an answer or an exception into an outcome of the model, and durable rows into a state of the model
(the abstraction function). One suite then serves every backend.
"""

import contextlib
import functools
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ParamSpec, Protocol, TypeVar


class Unreadable(Exception):
    """The durable rows are not those of any state of the model."""


class Ended(Exception):
    """The implementation has raised what would end the process, as `sys.exit` does."""


ENDINGS = (SystemExit, GeneratorExit)
"""What passes by `except Exception`; left alone, it would end a run before its verdict."""


Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def stay_alive(call: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a call that raises `Ended` where the implementation would end the process."""

    @functools.wraps(call)
    def living_call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return call(*arguments, **options)
        except ENDINGS as error:
            said = ", ".join(map(repr, error.args))
            raise Ended(f"{type(error).__name__}({said})") from error

    return living_call


def describe_error(error: BaseException) -> str:
    """Return an error as a finding says it: its class, then what it says."""
    return f"{type(error).__name__}: {error}"


class Observable(Protocol):
    """A place with a second connection, None while there is no store."""

    def observer(self) -> sqlite3.Connection | None:
        """Return the connection."""


@contextlib.contextmanager
def reading(place: Observable) -> Iterator[sqlite3.Connection | None]:
    """Yield the second connection of a place in one transaction, None while there is no store.

    `Unreadable` if the file is no database, or a damaged one.
    """
    try:
        connection = place.observer()
        if connection is None:
            yield None
            return
        connection.execute("begin")
        try:
            yield connection
        finally:
            with contextlib.suppress(Exception):  # the first error is the one to tell
                connection.execute("commit")
    except sqlite3.DatabaseError as error:
        raise Unreadable(describe_error(error)) from error


class Subject(Protocol):
    """An implementation under test, bound to a model."""

    name: str

    def apply(self, action: Any) -> Any:
        """Carry out an action, and return its outcome in the model's words.

        What an implementation raises beside the errors of its protocol passes unchanged; what
        would end the process is `Ended`, here and in `read`.
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
