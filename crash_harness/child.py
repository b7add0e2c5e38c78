"""What a child process does: it opens the stores, runs one call, and leaves at a boundary.

Plain values in and out, so that the process that forks needs no more than the implementation:
no model, no Hypothesis, no command. The seam is the driver of `impl.sqlite.connection.connect`:
it traces every connection, and the trace is called before each statement runs.

Not here: which calls there are to try (`cases`), and whether what is found is right (`judge`).

Reading hint: `OPERATIONS` is the binding; then `Run.run`.
"""

import functools
import marshal
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, Never

from conformance.implementation import Implementation

EXIT_CODE = 73
MISSED_CODE = 97
"""The child came to the end of its call, and had not met the boundary at which it was to leave."""

END = -1
"""The last boundary, whichever number it has: after all statements, before the call returns."""

Stores = dict[str, Any]
"""The open stores by kind, and under "path" and "connect" what opening more of them takes."""
PLACES = frozenset({"path", "connect"})


@dataclass(frozen=True, slots=True)
class Operation:
    """The stores that an operation needs open, in this order, and the call itself."""

    stores: tuple[str, ...]
    call: Callable[[Implementation, Stores, Sequence[Any]], Any]


def _create(kind: str) -> Operation:
    """Return the creation of a store, which opens its own connection."""

    def create(version: Implementation, stores: Stores, arguments: Sequence[Any]) -> None:
        module = {
            "admission": version.admission,
            "ledger": version.reservation,
            "receiver": version.receiver,
        }[kind]
        values = [version.admission.Limits(*arguments)] if kind == "admission" else arguments
        module.init(stores["path"][kind], *values, connect=stores["connect"])

    return Operation((), create)


def _open(kind: str) -> Operation:
    """Return the opening of a store as an operation of its own."""

    def open_it(version: Implementation, stores: Stores, arguments: Sequence[Any]) -> None:  # noqa: ARG001 - it has none
        stores[kind] = open_store(version, kind, stores["path"][kind], stores["connect"])

    return Operation((), open_it)


def _method(kind: str, name: str) -> Operation:
    """Return a method of one store, with plain arguments."""
    return Operation(
        (kind,), lambda _version, stores, arguments: getattr(stores[kind], name)(*arguments)
    )


def _with_token(name: str) -> Operation:
    return Operation(
        ("admission",),
        lambda version, stores, a: getattr(stores["admission"], name)(
            version.admission.Token(*a[0]), *a[1:]
        ),
    )


def _attempt(version: Implementation, stores: Stores, arguments: Sequence[Any]) -> Any:
    """Run an attempt; a second argument is what another process confirms in the middle of it."""
    intent_id, *meanwhile = arguments
    sender = stores["receiver"]
    if meanwhile:
        sender = _Interrupted(version, stores, meanwhile[0])
    return version.reservation.attempt(stores["ledger"], sender, intent_id)


class _Interrupted:
    """A receiver behind which somebody else confirms, as soon as it has answered with a receipt."""

    def __init__(self, version: Implementation, stores: Stores, confirmation: Any) -> None:
        self._version = version
        self._stores = stores
        self._confirmation = confirmation

    def send(self, permit: Any, /) -> Any:
        received = self._stores["receiver"].send(permit)
        if not isinstance(received, Enum):
            intent_id, seq, receipt = self._confirmation
            self._version.reservation.confirm(
                self._stores["path"]["ledger"],
                intent_id,
                seq,
                self._version.vocabulary.Receipt(*receipt),
            )
        return received


OPERATIONS: Mapping[str, Operation] = {
    "open admission": _open("admission"),
    "open ledger": _open("ledger"),
    "open receiver": _open("receiver"),
    "init": _create("admission"),
    "admit": _method("admission", "admit"),
    "claim": _method("admission", "claim"),
    "resolve": _with_token("resolve"),
    "quarantine": _with_token("quarantine"),
    "redrive": _method("admission", "redrive"),
    "cancel_unstarted": _method("admission", "cancel_unstarted"),
    "init_ledger": _create("ledger"),
    "init_receiver": _create("receiver"),
    "open_intent": _method("ledger", "open_intent"),
    "reserve": _method("ledger", "reserve"),
    "enter": Operation(("receiver",), lambda _v, stores, a: stores["receiver"].enter(a[0])),
    "perform": Operation(("receiver",), lambda _v, stores, a: stores["receiver"].perform(a[0])),
    "send": Operation(("receiver",), lambda _v, stores, a: stores["receiver"].send(a[0])),
    "confirm": Operation(
        ("ledger",),
        lambda version, stores, a: stores["ledger"].confirm(
            *a[:2], version.vocabulary.Receipt(*a[2])
        ),
    ),
    "attempt": Operation(("receiver", "ledger"), _attempt),
}
"""Every action of the protocols that touches a store, and the opening of each kind of store."""


def open_store(version: Implementation, kind: str, path: str, connect: Any) -> Any:
    """Open a store of this kind."""
    classes = {
        "admission": lambda: version.admission.AdmissionStore,
        "ledger": lambda: version.reservation.Ledger,
        "receiver": lambda: version.receiver.Receiver,
    }
    return classes[kind]()(path, connect=connect)


class Tape:
    """The statements of one call on every connection that it uses, in order.

    `stop` is called before a statement runs, with the number of those before it; it may not
    return. Connections that are opened before `start` are watched from there on.
    """

    def __init__(self, stop: Callable[["Tape", str, str], None]) -> None:
        self.statements: list[tuple[str, str]] = []
        self._stop = stop
        self._connections: list[tuple[str, Any]] = []
        self._is_running = False

    def watch(self, store: str, connection: Any) -> Any:
        """Have the statements of a raw connection seen, now or from the start on."""
        if self._is_running:
            connection.set_trace_callback(functools.partial(self._see, store))
        else:
            self._connections.append((store, connection))
        return connection

    def start(self) -> None:
        """Watch from now on."""
        self._is_running = True
        for store, connection in self._connections:
            self.watch(store, connection)

    def _see(self, store: str, sql: str) -> None:
        """Take note of a statement that is about to run."""
        self._stop(self, store, sql)
        self.statements.append((store, sql))


class Run:
    """One call on the implementation: its stores are open, its statements are seen."""

    def __init__(
        self,
        version: Implementation,
        paths: Mapping[str, str],
        *,
        wrap: Callable[[str, Any], Any],
        pragmas: Mapping[str, Any] | None = None,
    ) -> None:
        """Name the files; `wrap` gets the kind of a store and a raw connection to it."""
        self.version = version
        self.paths = dict(paths)
        self._kinds = {Path(path).absolute().as_uri(): kind for kind, path in paths.items()}
        self._wrap = wrap
        connection = version.connection
        self.connect = functools.partial(
            connection.connect,
            driver=self._drive,
            pragmas=replace(connection.PRAGMAS, **(pragmas or {})),
        )

    def _drive(self, uri: str) -> Any:
        kind = self._kinds[uri.partition("?")[0]]
        return self._wrap(kind, self.version.connection.open_database(uri))

    def open_stores(self, operation: str, stores: Stores | None = None) -> Stores:
        """Open the stores of an operation that are not open yet."""
        stores = {} if stores is None else stores
        stores |= {"path": self.paths, "connect": self.connect}
        for kind in OPERATIONS[operation].stores:
            if kind not in stores:
                stores[kind] = open_store(self.version, kind, self.paths[kind], self.connect)
        return stores

    def call(self, operation: str, stores: Stores, arguments: Sequence[Any]) -> Any:
        """Run the call itself."""
        return OPERATIONS[operation].call(self.version, stores, arguments)

    def arguments(self, operation: str, values: Sequence[Any]) -> list[Any]:
        """Return the arguments as the implementation takes them: a permit or a call is rebuilt."""
        if operation not in {"enter", "perform", "send"}:
            return list(values)
        words = self.version.vocabulary
        ledger, intent_id, seq, payload, safety, is_used = values
        permit = words.Permit(
            ledger=ledger,
            intent_id=intent_id,
            seq=seq,
            payload=payload,
            safety=words.Safety(safety),
        )
        if operation == "perform":
            return [permit.call]
        if is_used:
            permit.use()
        return [permit]


def answer(compute: Callable[[], Any], errors: type[Exception] | None) -> Any:
    """Return what a call returned, or the error of the protocol that it raised, as plain values."""
    try:
        return plain(compute())
    except Exception as error:  # noqa: BLE001 - the judge is told whatever comes out
        kind = "raised" if errors is not None and isinstance(error, errors) else "failed"
        return [kind, type(error).__name__, str(error)]


def plain(value: Any) -> Any:
    """Return a value of the implementation as JSON has it: class name and fields, or the text."""
    if isinstance(value, Enum):
        return str(value.value)
    if is_dataclass(value) and not isinstance(value, type):
        return [type(value).__name__, *(plain(getattr(value, f.name)) for f in fields(value))]
    if type(value).__name__ == "Permit":
        return ["Permit", *plain(value.call)[1:]]
    return value


class Death:
    """A call that is set to end this process at a boundary; made before the fork, run after it.

    Just before it ends, the process writes its last words: where it is, and how it came there.
    """

    def __init__(self, version: Implementation, case: Mapping[str, Any]) -> None:
        """Prepare all that needs no database."""
        self.case = case
        self.errors = version.errors.AdmitOneError
        self.tape = Tape(self.stop)
        self.run = Run(version, case["paths"], wrap=self.tape.watch, pragmas=case["pragmas"])
        self.arguments = self.run.arguments(case["operation"], case["arguments"])
        self.index = case["boundary"]
        self.marker = -1

    def stop(self, tape: Tape, store: str, sql: str) -> None:
        """Leave, if this is the place."""
        if len(tape.statements) == self.index:
            self.leave((store, sql))

    def call(self) -> Any:
        """Open the stores, which is not watched, and make the call, which is."""
        operation = self.case["operation"]
        stores = self.run.open_stores(operation)
        self.tape.start()
        return self.run.call(operation, stores, self.arguments)

    def die(self, marker: int) -> Never:
        """Run the call up to the boundary; coming past it is a failure with a code of its own."""
        self.marker = marker
        reply = answer(self.call, self.errors)
        is_there = self.index in (END, len(self.tape.statements)) or self.case["or_last"]
        self.leave(None, reply, way=self.case["way"] if is_there else "miss")

    def leave(
        self, following: tuple[str, str] | None, reply: Any = None, *, way: str = ""
    ) -> Never:
        """End this process, at once and without any cleaning up."""
        # No JSON: whatever code a child is the first to touch, it pays for with copies of pages.
        words = marshal.dumps((self.tape.statements, following, reply))
        while words:
            words = words[os.write(self.marker, words) :]
        way = way or self.case["way"]
        if way == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        os._exit(MISSED_CODE if way == "miss" else EXIT_CODE)
