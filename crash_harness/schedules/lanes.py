"""Lanes: one for each operation of a schedule, with real connections that give up their turn.

A lane is a greenlet that runs an operation of the implementation. Its connections are real ones;
before each statement they give the turn up, and go on when the lane is chosen again.

A connection that meets a lock waits, as it would within its busy timeout: it has a timeout of 0 in
SQLite, and tries again when another lane has ended a transaction on the file. It doesn't wait where
SQLite would not: within a transaction that has read (`SQLITE_BUSY_SNAPSHOT`, or another writer), at
a switch of the journal mode, and if the implementation has set no timeout. There the implementation
gets the error.

A lane exits by closing its connections and never going on. For the others that is what the exit of
a process is: the locks are gone, and frames in the log without a commit are ignored. Not what an
exit inside a commit may leave.

Not here: who goes next (`search`), and what a run shows (`runner`).
"""

import contextlib
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from greenlet import GreenletExit, getcurrent, greenlet

from conformance.place import PAGE_BYTES
from crash_harness.schedules.access import Choice, Kind, Standing, Words, read_words

RAN, BLOCKED, EXITED = "ran", "blocked", "exit"
EXIT = "exit"
"""Stands for the statement of a turn in which a lane exits."""


class LaneGone(Exception):
    """A connection of a lane that has exited was used; nobody sees it but the unwinding."""


class _Row:
    """A cursor over one row, for the pragma that never reaches SQLite."""

    rowcount = -1

    def __init__(self, *row: Any) -> None:
        self._rows: list[tuple[Any, ...]] = [row] if row else []

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the row, and then None."""
        return self._rows.pop() if self._rows else None

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return what is left."""
        rows, self._rows = self._rows, []
        return rows


@dataclass(frozen=True, slots=True)
class Pending:
    """A statement before which a lane has given up its turn, and what it is to others."""

    connection: "LaneConnection"
    words: Words
    choice: Choice


class LaneConnection:
    """A real connection that gives up the turn of its lane before each statement.

    The busy timeout that the implementation sets is kept here, and SQLite's own stays 0.
    """

    def __init__(self, lane: "Lane", place: Any, uri: str) -> None:
        self.lane = lane
        self.place = place
        self.file: str = place.path.name
        self.standing = Standing()
        self.timeout_ms = 0
        self.is_dead = False
        self.is_kept = not lane.is_scheduled
        self._real = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=0)
        self._real.execute(f"pragma page_size = {PAGE_BYTES}")  # for a file that is still empty
        lane.connections.append(self)

    @property
    def in_transaction(self) -> bool:
        """Whether a transaction is open."""
        return not self.is_dead and self._real.in_transaction

    def execute(self, sql: str, parameters: Mapping[str, Any] = {}, /) -> Any:
        """Wait for the turn, then run the statement; wait again while a lock is in the way."""
        if self.is_dead:
            raise LaneGone
        words = read_words(sql)
        if words.pragma == "busy_timeout":
            self.timeout_ms = int(words.value or self.timeout_ms)
            return _Row(self.timeout_ms)
        lane = self.lane
        if not lane.is_scheduled:
            return self._run(words, sql, parameters)
        while True:
            lane.give_up_turn(self, words)
            if self.is_dead:
                raise LaneGone
            try:
                cursor = self._run(words, sql, parameters)
            except sqlite3.Error as error:
                if self._would_wait(words, error):
                    lane.result = BLOCKED
                    continue
                lane.result = getattr(error, "sqlite_errorname", type(error).__name__)
                # It may try the switch again by itself; that is of no use before others went on.
                lane.is_refused = words.switches_journal
                if not self._real.in_transaction:
                    self.standing.reset()
                raise
            lane.result = RAN
            lane.executed += 1
            return cursor

    def _run(self, words: Words, sql: str, parameters: Mapping[str, Any]) -> Any:
        cursor = self._real.execute(sql, parameters)
        self.standing.pass_by(
            words, in_transaction=self._real.in_transaction, rows_changed=cursor.rowcount
        )
        return cursor

    def _would_wait(self, words: Words, error: sqlite3.Error) -> bool:
        """Tell whether SQLite would have waited for a lock within the busy timeout."""
        code = getattr(error, "sqlite_errorcode", 0)
        return (
            code == sqlite3.SQLITE_BUSY
            and self.timeout_ms > 0
            and not self.lane.is_hurried
            and not self.standing.has_snapshot
            and not words.switches_journal
        )

    def close(self) -> None:
        """Close the connection; an open transaction is rolled back."""
        if not self.is_dead:
            self.is_dead = True
            self.lane.connections.remove(self)
            self.lane.has_let_go.add(self.file)
            self._real.close()

    def abandon(self) -> None:
        """Roll back whatever is open, past the lane."""
        if self._real.in_transaction:
            self._real.rollback()
        self.standing.reset()


class Lane:
    """One operation after another, each of them a greenlet on the same kept connections."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.connections: list[LaneConnection] = []
        self.stores: dict[str, Any] = {}
        self.is_scheduled = False
        self.is_hurried = False
        self.is_strict = False
        self.has_let_go: set[str] = set()
        self._greenlet: greenlet | None = None
        self._hub: greenlet | None = None
        self.reset()

    def reset(self) -> None:
        """Forget the last operation."""
        self.pending: Pending | None = None
        self.result = RAN
        self.outcome: Any = None
        self.error: BaseException | None = None
        self.is_over = False
        self.is_refused = False
        self.has_exited = False
        self.waits_for: str | None = None
        self.executed = 0
        self.commits = 0
        self.called_at: int | None = None
        self.returned_at: int | None = None

    def keep(self, name: str, make: Callable[[], Any]) -> Any:
        """Return the store that this lane keeps open under a name; opening it takes no turn."""
        store = self.stores.get(name)
        if store is None:
            was_scheduled, self.is_scheduled = self.is_scheduled, False
            try:
                store = self.stores[name] = make()
            finally:
                self.is_scheduled = was_scheduled
        return store

    def call(self, operation: Callable[[], Any]) -> None:
        """Start an operation, and run it up to its first statement."""
        self.reset()
        self.is_scheduled = True
        self._hub = getcurrent()
        self._greenlet = greenlet(lambda: self._run(operation))
        self._greenlet.switch()

    def _run(self, operation: Callable[[], Any]) -> None:
        try:
            self.outcome = operation()
        except (LaneGone, GreenletExit):
            return
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
            self.error = error
        self.is_over = True
        self.pending = None

    def give_up_turn(self, connection: LaneConnection, words: Words) -> None:
        """Let the hub go on, until this lane is chosen again."""
        standing = connection.standing
        choice = Choice(
            lane=self.number,
            file=connection.file,
            kind=standing.classify(words, strict=self.is_strict),
            starts=self.executed == 0,
            may_end=standing.ends_with(words),
        )
        self.pending = Pending(connection, words, choice)
        assert self._hub is not None  # noqa: S101 - `call` has set it
        self._hub.switch()

    def take_turn(self) -> Pending:
        """Run the pending statement, go on to the next one, and return what was run."""
        pending = self.pending
        assert pending is not None  # noqa: S101 - only a lane that has a statement is chosen
        assert self._greenlet is not None  # noqa: S101 - the same
        connection = pending.connection
        self._greenlet.switch()
        if self.result == RAN:
            self.commits += (
                pending.choice.kind in {Kind.RELEASE, Kind.PUBLISH}
                and pending.words.keyword != "rollback"
            )
        if not connection.in_transaction:
            self.has_let_go.add(connection.file)
        return pending

    def view_exit(self) -> Choice:
        """Return what the one who chooses may know of the exit of this lane."""
        held = next((c for c in self.connections if c.standing.has_lock), None)
        if held is not None:
            return Choice(self.number, held.file, Kind.RELEASE, starts=self.executed == 0)
        assert self.pending is not None  # noqa: S101 - an operation exits before a statement
        reading = (c for c in self.connections if c.in_transaction)
        return Choice(
            self.number,
            next(reading, self.pending.connection).file,
            Kind.END_OF_READING if self.is_strict else Kind.PRIVATE,
            starts=self.executed == 0,
        )

    def is_before_held_lock(self, others: "list[Lane]") -> bool:
        """Tell whether the pending statement needs a lock that another lane holds."""
        pending = self.pending
        if pending is None or pending.connection.timeout_ms == 0 or self.is_hurried:
            return False
        if pending.choice.kind is not Kind.LOCK or pending.connection.standing.has_snapshot:
            return False
        file = pending.connection.file
        return any(
            each.file == file and each.standing.has_lock
            for lane in others
            if lane is not self
            for each in lane.connections
        )

    def has_given_up(self) -> bool:
        """Tell whether the operation of a hurried lane ended because a lock was in its way."""
        code = getattr(self.error, "sqlite_errorcode", 0)
        return self.is_hurried and code == sqlite3.SQLITE_BUSY

    def exit(self) -> None:
        """End this lane as the exit of its process would, for the others."""
        for connection in list(self.connections):
            connection.close()
        self.stores.clear()
        self.has_exited = True
        self._unwind()

    def stop(self) -> None:
        """End an operation that is under way, and keep the connections."""
        if not self.is_over and not self.has_exited and self._greenlet is not None:
            for connection in self.connections:
                connection.is_dead = True
                connection.abandon()
            self._unwind()
            for connection in list(self.connections):
                connection.is_dead = False
                if not connection.is_kept:
                    connection.close()
        self.is_scheduled = False

    def _unwind(self) -> None:
        if self._greenlet is not None and not self._greenlet.dead:
            with contextlib.suppress(LaneGone):
                self._greenlet.throw(GreenletExit)
        self.pending = None

    def close(self) -> None:
        """Close every connection."""
        self.stop()
        for connection in list(self.connections):
            connection.close()
        self.stores.clear()

    def has_open_transaction(self) -> bool:
        """Tell whether the operation has left a transaction open."""
        return any(connection.in_transaction for connection in self.connections)
