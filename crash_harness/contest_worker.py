"""The program of a worker process: it takes calls from its parent, one after another, and answers.

A worker is a fresh interpreter that serves many stores, one after another, and has no database
open between two of them. A gated call says READY and waits for GO, so that all workers of a
contest start together; a stop holds a call, or ends the process, at a statement, and is reached
through the connection.

Not here: the parent's side (`contest_pool`), and what a call should have answered.

Reading hint: the orders and the replies first, then `main`.
"""

import faulthandler
import functools
import os
import random
import sqlite3
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Literal

from conformance.implementation import Implementation, load_implementation
from conformance.place import Place
from conformance.sqlite import make_subject
from conformance.sqlite_admission import AdmissionSubject
from conformance.subject import Subject, Unreadable

READY = "READY"
HELD = "HELD"
LEFT = "LEFT"
GO = "GO"
EAGER_TRIES = 10_000

# ── Orders ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Cast:
    """The files and the workers of a store; admission has neither names nor hands."""

    ledgers: tuple[str, ...] = ()
    workers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Enlist:
    """Work on the stores in this folder from now on; there is no reply.

    With `keeps_open`, an admission store is opened now and stays open, so that a race is about the
    transactions alone.
    """

    machine: str
    cast: Cast
    folder: Path
    keeps_open: bool = False


@dataclass(frozen=True, slots=True)
class Stop:
    """A place at a statement of a write transaction: end the process there, or wait for GO.

    `database` is the name of the file, `statement` how the statement begins, `nth` counts such
    statements in the database from 1. Without an exit code the worker says HELD and waits.
    """

    database: str
    place: Literal["before", "after"]
    statement: str
    nth: int = 1
    exit_code: int | None = None


@dataclass(frozen=True, slots=True)
class Manner:
    """How a call behaves among others, so that calls shorter than a scheduler's turn meet at all.

    It gives up the processor around half of its statements, drawn by the seed. An eager one waits
    awake for the write lock: SQLite sleeps for a millisecond or more when it finds the lock taken,
    and would hardly ever come in where another process leaves it for a moment.
    """

    seed: int
    is_eager: bool


@dataclass(frozen=True, slots=True)
class Call:
    """Carry out an action of the model; gated, at GO."""

    action: Any
    is_gated: bool = False
    stop: Stop | None = None
    manner: Manner | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """Read the durable state through a fresh connection."""


@dataclass(frozen=True, slots=True)
class Execute:
    """Run SQL on a database file, past every protocol: for wrong designs alone."""

    database: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Leave:
    """Close what is open, and forget the stores; the reply is LEFT."""


Order = Enlist | Call | Look | Execute | Leave

# ── Replies ───────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Answered:
    """The outcome of a call, in the model's words, and when the worker called and had it.

    The times are nanoseconds of the system's monotonic clock, which all processes share.
    """

    outcome: Any
    called: int = 0
    returned: int = 0


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception for which the model has no outcome."""

    error: str
    trace: str

    @property
    def kind(self) -> str:
        """What stands in the place of an outcome's name."""
        return f"raised {self.error}"

    def __str__(self) -> str:
        """Return it in one line, as a timeline has it."""
        return self.kind


@dataclass(frozen=True, slots=True)
class Seen:
    """The durable state, what this worker holds, and the implementation's own snapshot."""

    state: Any
    snapshot: Any


# ── The worker ────────────────────────────────────────────────────────────────────────────


class _Watched:
    """A connection that tells a watch of each statement, before and after."""

    def __init__(
        self,
        connection: Any,
        database: str,
        watch: Callable[[str, str, str], None],
        is_eager: Callable[[], bool],
    ) -> None:
        self._connection = connection
        self._database = database
        self._watch = watch
        self._is_eager = is_eager

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return bool(self._connection.in_transaction)

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None, /) -> Any:
        """Run a statement between the two calls of the watch."""
        statement = " ".join(sql.split())
        self._watch(self._database, "before", statement)
        cursor = None
        if statement == "begin immediate" and self._is_eager():
            cursor = self._begin_eagerly(sql)
        if cursor is None:
            cursor = self._connection.execute(sql, {} if parameters is None else parameters)
        self._watch(self._database, "after", statement)
        return cursor

    def _begin_eagerly(self, sql: str) -> Any:
        """Begin as soon as the write lock is free; None if that takes too many tries."""
        connection = self._connection
        (timeout_ms,) = connection.execute("pragma busy_timeout").fetchone()
        connection.execute("pragma busy_timeout = 0")
        try:
            for _ in range(EAGER_TRIES):
                try:
                    return connection.execute(sql)
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                        raise
                os.sched_yield()
            return None
        finally:
            connection.execute(f"pragma busy_timeout = {timeout_ms}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


class Worker:
    """The child's side: it holds the subject, and carries out orders."""

    def __init__(
        self, connection: Connection, implementation: Implementation, limit_seconds: float
    ) -> None:
        """Serve the parent at the other end of the connection."""
        self._connection = connection
        self._implementation = implementation
        self._limit_seconds = limit_seconds
        self._subject: Any = None
        self._folder = Path()
        self._stop: Stop | None = None
        self._yields: random.Random | None = None
        self._is_eager = False
        self._passed = 0
        self._writing: set[str] = set()

    def serve(self) -> None:
        """Take orders until the parent closes its end; an order that hangs ends the process."""
        while True:
            try:
                order = self._connection.recv()
            except EOFError:
                return
            faulthandler.dump_traceback_later(self._limit_seconds, exit=True)
            try:
                reply = self._carry_out(order)
            except Exception as error:  # noqa: BLE001 - whatever comes out is for the parent to judge
                reply = Raised(f"{type(error).__name__}: {error}", traceback.format_exc())
            faulthandler.cancel_dump_traceback_later()
            if reply is not None:
                self._connection.send(reply)

    def _carry_out(self, order: Order) -> Any:
        match order:
            case Enlist():
                self._enlist(order)
                return None
            case Call(action, is_gated, stop, manner):
                self._stop, self._passed = stop, 0
                self._yields = None if manner is None else random.Random(manner.seed)
                self._is_eager = manner is not None and manner.is_eager
                self._writing.clear()
                if is_gated:
                    self._wait(READY)
                called = time.monotonic_ns()
                outcome = self._subject.apply(action)
                return Answered(outcome, called, time.monotonic_ns())
            case Look():
                return self._look()
            case Execute(database, statements):
                self._execute(database, statements)
                return Answered(None)
            case Leave():
                self._leave()
                return LEFT

    def _enlist(self, order: Enlist) -> None:
        self._leave()
        self._folder = order.folder
        self._subject = make_subject(
            order.machine,
            order.cast,
            order.folder,
            implementation=self._implementation,
            driver=self._open,
        )
        if order.keeps_open and isinstance(self._subject, AdmissionSubject):
            self._subject.keeps_open = True
            self._subject.read()
            self._subject.place.close()

    def _leave(self) -> None:
        if self._subject is not None:
            self._subject.close()
            self._subject = None

    def _open(self, uri: str) -> Any:
        """Open a connection for the implementation, and watch its statements."""
        connection = self._implementation.connection.open_database(uri)
        name = Path(uri.partition("?")[0]).stem
        return _Watched(connection, name, self._pass, lambda: self._is_eager)

    def _pass(self, database: str, place: str, statement: str) -> None:
        """Stop at the place that was asked for; reading transactions are not counted."""
        if self._yields is not None and self._yields.random() < 1 / 2:
            os.sched_yield()
        stop = self._stop
        if place == "before" and statement == "begin immediate":
            self._writing.add(database)
        is_writing = database in self._writing
        if place == "after" and statement in {"commit", "rollback"}:
            self._writing.discard(database)
        if stop is None or not is_writing or (stop.database, stop.place) != (database, place):
            return
        if not statement.startswith(stop.statement):
            return
        self._passed += 1
        if self._passed != stop.nth:
            return
        if stop.exit_code is not None:
            os._exit(stop.exit_code)
        self._wait(HELD)

    def _wait(self, word: str) -> None:
        self._connection.send(word)
        if self._connection.recv() != GO:
            raise RuntimeError("the parent must say GO")

    def _look(self) -> Seen:
        """Read the state and the snapshot, and make sure of the files, without staying there."""
        subject: Subject = self._subject
        try:
            state, snapshot = subject.observe(), subject.read()
            for place in _places(subject):
                _check_integrity(place)
        finally:
            subject.close()
        return Seen(state, snapshot)

    def _execute(self, database: str, statements: tuple[str, ...]) -> None:
        connection = sqlite3.connect(self._folder / f"{database}.db", isolation_level=None)
        try:
            for statement in statements:
                connection.execute(statement)
        finally:
            connection.close()


def _places(subject: Any) -> tuple[Place, ...]:
    if isinstance(subject, AdmissionSubject):
        return (subject.place,)
    return (*subject.ledgers.values(), subject.receiver)


def _check_integrity(place: Place) -> None:
    """Refuse a file that SQLite itself finds damaged, or that breaks a foreign key."""
    connection = place.observer()
    if connection is None:
        return
    found = connection.execute("pragma integrity_check").fetchall()
    if found != [("ok",)]:
        raise Unreadable(f"integrity_check of {place.path.name}: {found}")
    broken = connection.execute("pragma foreign_key_check").fetchall()
    if broken:
        raise Unreadable(f"foreign_key_check of {place.path.name}: {broken}")


def main(descriptor: int) -> None:
    """Serve the parent at the other end of this file descriptor.

    The first message says how long an order may take, and what is to be changed in the
    implementation before it is loaded.
    """
    connection = Connection(descriptor)
    limit_seconds, changes = connection.recv()
    load = load_implementation
    if changes:
        from conformance.changed_source import load_changed_implementation  # noqa: PLC0415 - rare

        load = functools.partial(load_changed_implementation, changes)
    Worker(connection, load(), limit_seconds).serve()
