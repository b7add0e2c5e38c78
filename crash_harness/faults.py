"""At each boundary, in place of an exit: its statement returns BUSY or an I/O error.

The error has to come out as itself, leave the state of before (or, for a commit that fails after
it was made, of after), and the store has to work again: the same object, and one opened anew.

A BUSY leaves the transaction open; an I/O error may roll it back, as SQLite does. These are faults
of the seam, raised in this process: no file is harmed. Failing storage is the power-loss side's.

Not here: exits (`judge`).
"""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.subject import Subject, describe_error
from crash_harness.boundaries import ROLLBACK, Boundary, Statement, read_tape, shorten
from crash_harness.calls import (
    COMMITS_WITH_ANSWER,
    empty_hands,
    is_expected,
    plain_answer,
    plain_call,
    repeat_of,
    step,
)
from crash_harness.child import PLACES, Run, plain
from crash_harness.judge import ALL_COMMITS, Bench, Seen, Situation, Wrong
from model.checking.trace import Ending
from model.reservation_vocabulary import Attempt, Enter, Send

MOST_STATEMENTS = 500


@dataclass(frozen=True, slots=True)
class Fault:
    """An error that a statement returns: before it runs, after a rollback, or after it has run."""

    ending: Ending
    code: int
    name: str
    text: str
    rolls_back: bool = False
    comes_after: bool = False

    def make(self) -> sqlite3.OperationalError:
        """Return the error as the standard module makes it."""
        error = sqlite3.OperationalError(self.text)
        error.sqlite_errorcode = self.code
        error.sqlite_errorname = self.name
        return error


BUSY = Fault(Ending.BUSY, sqlite3.SQLITE_BUSY, "SQLITE_BUSY", "database is locked")
IO_ERROR = Fault(
    Ending.IO_ERROR, sqlite3.SQLITE_IOERR, "SQLITE_IOERR", "disk I/O error", rolls_back=True
)
IO_ERROR_AFTER = Fault(
    Ending.IO_ERROR, sqlite3.SQLITE_IOERR, "SQLITE_IOERR", "disk I/O error", comes_after=True
)
BUSY_AFTER = Fault(
    Ending.BUSY, sqlite3.SQLITE_BUSY, "SQLITE_BUSY", "database is locked", comes_after=True
)


@dataclass(frozen=True, slots=True)
class Tried:
    """A fault at a boundary, and what was seen after it."""

    boundary: Boundary
    fault: Fault
    seen: Seen


@dataclass(slots=True)
class _Storage:
    """Counts the statements of a call, and fails one of them once; later ones run."""

    index: int
    fault: Fault
    passed: list[Statement] = field(default_factory=list)
    failed: Statement | None = None
    error: sqlite3.OperationalError | None = None
    was_retried: bool = False
    is_counting: bool = False
    open_connections: int = 0

    def wrap(self, kind: str, raw: Any) -> "_Connection":
        """Stand in for a raw connection."""
        self.open_connections += 1
        return _Connection(self, kind, raw)

    def arrive(self, statement: Statement) -> bool:
        """Note a statement that is about to run, and tell whether it is the one that fails."""
        if not self.is_counting:
            return False
        if self.failed is None and len(self.passed) == self.index:
            self.failed = statement
            return True
        if self.failed is None:
            self.passed.append(statement)
        elif statement == self.failed:
            self.was_retried = True
        return False


class _Connection:
    """What a store asks of a connection; one statement of it fails."""

    def __init__(self, storage: _Storage, kind: str, raw: Any) -> None:
        self._storage = storage
        self._kind = kind
        self._raw = raw

    @property
    def in_transaction(self) -> bool:
        return bool(self._raw.in_transaction)

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None, /) -> Any:
        storage = self._storage
        fault = storage.fault
        if not storage.arrive(Statement(self._kind, sql)):
            return self._raw.execute(sql, parameters or {})
        if fault.comes_after:
            self._raw.execute(sql, parameters or {})
        elif fault.rolls_back and self.in_transaction:
            self._raw.execute(ROLLBACK)
        storage.error = fault.make()
        raise storage.error

    def close(self) -> None:
        self._storage.open_connections -= 1
        self._raw.close()


def try_faults(bench: Bench, situation: Situation) -> Iterator[Tried]:
    """Yield what every fault at every statement of the call has shown."""
    for index in range(MOST_STATEMENTS):
        is_commit = False
        for fault in (BUSY, IO_ERROR):
            tried = _Trial(bench, situation, index, fault).run()
            if tried is None:  # the call has no such statement
                return
            yield tried
            is_commit = tried.boundary.precedes_commit
        for fault in (BUSY_AFTER, IO_ERROR_AFTER) if is_commit else ():
            tried = _Trial(bench, situation, index, fault).run()
            if tried is not None:
                yield tried
    raise AssertionError(f"a call has more than {MOST_STATEMENTS} statements")


class _Trial:
    """One call, in this process, of which one statement fails."""

    def __init__(self, bench: Bench, situation: Situation, index: int, fault: Fault) -> None:
        self.bench = bench
        self.situation = situation
        self.call = bench.call(situation)
        self.storage = _Storage(index, fault)
        self.binding = Run(
            bench.version, self.call.paths, wrap=self.storage.wrap, pragmas=self.call.pragmas
        )
        self.errors = bench.version.errors.AdmitOneError

    def run(self) -> Tried | None:
        """Run the call and judge; None if it ends before the statement that was to fail."""
        self.bench.lay_out(self.situation.files)
        operation = self.call.operation
        arguments = self.binding.arguments(operation, self.call.arguments)
        try:
            stores = self.binding.open_stores(operation)
        except self.errors:  # the store is missing, and the call has no statement
            return None
        except Exception as unasked:  # noqa: BLE001 - no fault has been put in its way yet
            wrong = Wrong("exception", "an open store", f"{type(unasked).__name__}: {unasked}")
            return Tried(self.boundary, self.storage.fault, Seen(None, (wrong,)))
        with contextlib.ExitStack() as stack:
            stack.callback(_close, stores)
            self.storage.is_counting = True
            reply, error = self.reply(operation, stores, arguments)
            self.storage.is_counting = False
            if self.storage.failed is None:
                return None
            boundary = self.boundary
            wrongs = list(self.judge_error(reply, error))
            subject = stack.enter_context(contextlib.closing(self.bench.subject()))
            state, more = self.judge_state(subject, boundary.commits, error)
            wrongs += more
            if not wrongs:
                wrongs += self.work_again(subject, state, stores, arguments)
        if self.storage.open_connections:
            wrongs.append(
                Wrong("connections", "all closed", f"{self.storage.open_connections} open")
            )
        return Tried(boundary, self.storage.fault, Seen(state, tuple(wrongs)))

    def reply(
        self, operation: str, stores: dict[str, Any], arguments: list[Any]
    ) -> tuple[Any, BaseException | None]:
        """Make a call, and return its plain answer, or what it raised."""
        try:
            return plain(self.binding.call(operation, stores, arguments)), None
        except self.errors as error:
            return ["raised", type(error).__name__], error
        except Exception as error:  # noqa: BLE001 - it is compared with the one that was raised
            return None, error

    @property
    def boundary(self) -> Boundary:
        """The boundary at which the fault was: before its statement, or after it."""
        failed = self.storage.failed
        statements = [*self.storage.passed, *([failed] if failed else [])]
        boundaries = read_tape(statements, names_stores=self.call.names_stores)
        return boundaries[-1 if failed is None or self.storage.fault.comes_after else -2]

    def judge_error(self, reply: Any, error: BaseException | None) -> Iterator[Wrong]:
        """Demand that the very error came out.

        But the error of a rollback gives way to the one that it is made for; and who runs the
        statement again, and so can go on, has to give the model's outcome.
        """
        storage = self.storage
        if error is storage.error:
            return
        _, outcome = step(self.bench.machine, self.situation.state, self.situation.action)
        is_rollback = storage.failed is not None and shorten(storage.failed.sql) == ROLLBACK
        is_first_error = is_rollback and isinstance(error, self.errors)
        if (is_first_error or storage.was_retried) and is_expected(reply, outcome):
            return
        found = f"the answer {reply}" if error is None else describe_error(error)
        yield Wrong("error", f"{storage.error!r} itself", found)

    def judge_state(
        self, subject: Subject, commits: int, error: BaseException | None
    ) -> tuple[Any, list[Wrong]]:
        """Judge what a fresh connection reads: a call that went on has done all that it does."""
        commits = ALL_COMMITS if error is None else commits
        situation, action = self.situation, self.situation.action
        has_no_answer = self.storage.fault.comes_after and commits == COMMITS_WITH_ANSWER
        if isinstance(action, Attempt) and has_no_answer:  # nobody has come in between yet
            situation = replace(situation, action=replace(action, meanwhile=None))
        return self.bench.judge_state(situation, commits, subject)

    def work_again(
        self, subject: Subject, state: Any, stores: dict[str, Any], arguments: list[Any]
    ) -> Iterator[Wrong]:
        """Demand that the same store object works again, and then one that is opened anew."""
        action = self.situation.action
        if isinstance(action, Enter | Send):
            reply, _ = self.reply("enter", stores, arguments)
            if reply != ["raised", "PermitUsed"]:
                yield Wrong("permit", "PermitUsed, whatever became of the first send", str(reply))
        repeated = repeat_of(action)
        after, outcome = step(self.bench.machine, state, repeated)
        call = plain_call(state, repeated, self.bench.folder)
        run = Run(
            self.bench.version,
            {**self.call.paths, **call.paths},
            wrap=self.storage.wrap,
            pragmas=self.call.pragmas,
        )
        try:
            run.open_stores(call.operation, stores)
            again = run.arguments(call.operation, call.arguments)
            reply, error = self.reply(call.operation, stores, again)
        except Exception as unasked:  # noqa: BLE001 - whatever comes out is what is being judged
            reply, error = None, unasked
        if not is_expected(reply, outcome):
            found = reply if error is None else describe_error(error)
            yield Wrong("repeat on the same store", str(plain_answer(outcome)), str(found))
            return
        found = empty_hands(subject.observe())
        if found != empty_hands(after):
            yield Wrong("state", empty_hands(after), found, repeated, state)
            return
        yield from self.bench.repeat(subject, found, repeated)


def _close(stores: Mapping[str, Any]) -> None:
    """Close the stores that are open."""
    for kind, store in stores.items():
        if kind not in PLACES:
            store.close()
