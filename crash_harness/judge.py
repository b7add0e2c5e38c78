"""Judges what a process left behind: the state, the invariants, the files, and the repeated call.

A bench is a folder with the databases of one case after another, a lean parent whose children die
there, and fresh connections that look at what is left. The process that judges never forks.

Not here: which cases there are (`cases`, `profiles`), and how a report looks (`exit_report`).

Reading hint: `Bench.examine` for one case, `_judge` for the verdict.
"""

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Self

from conformance.changed_source import Change, load_changed_implementation
from conformance.implementation import Implementation, load_implementation
from conformance.place import RealFile
from conformance.sqlite import make_subject
from conformance.subject import Subject, describe_error
from crash_harness.boundaries import Boundary, Statement, read_tape, shorten
from crash_harness.calls import (
    Open,
    allowed_after_exit,
    empty_hands,
    is_expected,
    plain_answer,
    plain_call,
    repeat_of,
    step,
)
from crash_harness.cases import store_names
from crash_harness.child import END
from crash_harness.files import Files, content_of, read_files, write_files
from crash_harness.forking import Call, Death, ForkingParent
from model.machine import Machine, property_sentence
from model.scopes import MACHINES, SCOPES

BENCH_PRAGMAS: Mapping[str, Any] = {"busy_timeout_ms": 100}
"""Nobody else writes here, so whoever waits, waits for himself; all else is as in production."""
MOST_VERDICTS = 100_000
ALL_COMMITS = 1_000_000
"""More than any call makes: every commit that it makes."""


@dataclass(frozen=True, slots=True)
class Wrong:
    """Something that is not as the model says: what kind of thing, what was expected, and found.

    Both are states where the kind is "state", outcomes where it is "outcome" of a repeated call,
    and else words. `repeated` is the call that was made after the crash, if it is about that;
    `reached` is the state from which it was made.
    """

    kind: str
    expected: Any
    found: Any
    repeated: Any = None
    reached: Any = None


@dataclass(frozen=True, slots=True)
class Seen:
    """What a case has shown: the state found, and everything that is wrong about it."""

    state: Any
    wrongs: tuple[Wrong, ...] = ()


@dataclass(frozen=True, slots=True)
class Situation:
    """A call on databases: `state` with the one permit that the call uses."""

    state: Any
    action: Any
    files: Files


@dataclass(frozen=True, slots=True)
class Traced:
    """A call that was run to its end: its boundaries, statements and last words."""

    boundaries: tuple[Boundary, ...]
    statements: tuple[Statement, ...]
    wrongs: tuple[Wrong, ...]

    def commits(self, index: int) -> int:
        """Return how many commits count at a boundary: what is about to be answered is durable."""
        is_last = index == len(self.statements)
        return ALL_COMMITS if is_last else self.boundaries[index].commits


class Bench:
    """A folder, a lean parent and a model; a context manager."""

    def __init__(
        self,
        machine_name: str,
        scope_name: str,
        folder: Path,
        *,
        changes: Iterable[Change] = (),
        pragmas: Mapping[str, Any] | None = None,
    ) -> None:
        """Work in this folder, on the implementation with these changes."""
        changes = tuple(changes)
        self.machine: Machine[Any, Any, Any] = MACHINES[machine_name]
        self.scope = SCOPES[machine_name][scope_name]
        self.folder = folder
        self.version: Implementation = (
            load_changed_implementation(changes) if changes else load_implementation()
        )
        self.names = store_names(self.scope)
        self.pragmas = {**BENCH_PRAGMAS, **(pragmas or {})}
        self.parent = ForkingParent(changes)
        self._verdicts: dict[Any, Seen] = {}
        self._present: Files = ()

    def __enter__(self) -> Self:
        """Return the bench itself."""
        return self

    def __exit__(self, *exception: object) -> None:
        """End the lean parent."""
        self.parent.close()

    def subject(self) -> Subject:
        """Return a fresh binding to the databases in the folder, with no connection open yet."""
        return make_subject(
            self.machine.name,
            self.scope,
            self.folder,
            implementation=self.version,
            pragmas=replace(self.version.connection.PRAGMAS, **self.pragmas),
        )

    def call(self, situation: Situation) -> Call:
        """Return the situation's call in plain values."""
        call = plain_call(situation.state, situation.action, self.folder)
        return Call(call.operation, call.arguments, call.paths, self.pragmas)

    def trace(self, situation: Situation, *, way: str = "exit") -> tuple[Traced, Seen, Files]:
        """Let a child run the call to its end and die there: that shows all boundaries."""
        self.lay_out(situation.files)
        call = self.call(situation)
        death = self.parent.run(call, END, way=way)
        boundaries = read_tape(death.statements, names_stores=call.names_stores)
        wrongs = tuple(self._judge_answer(situation, death))
        left = self._read_back(situation.files)
        seen = self._judge_once(situation, ALL_COMMITS, left)
        return Traced(boundaries, death.statements, wrongs), seen, left

    def die(
        self, situation: Situation, traced: Traced, index: int, *, way: str = "exit"
    ) -> tuple[Seen, Files]:
        """Let a child die at a boundary, and judge what it left."""
        self.lay_out(situation.files)
        death = self.parent.run(self.call(situation), _number(traced, index), way=way)
        wrongs = _compare_with_trace(death, traced, index)
        left = self._read_back(situation.files)
        seen = self._judge_once(situation, traced.commits(index), left)
        return Seen(seen.state, (*wrongs, *seen.wrongs)), left

    def die_watched(
        self, situation: Situation, traced: Traced, index: int, *, way: str = "exit"
    ) -> Seen:
        """Do the same with a survivor: another connection that is open over the death."""
        self.lay_out(situation.files)
        self._present = ()
        with contextlib.closing(self.subject()) as survivor:
            survivor.observe()
            death = self.parent.run(self.call(situation), _number(traced, index), way=way)
            wrongs = _compare_with_trace(death, traced, index)
            seen = self._judge(situation, traced.commits(index), survivor=survivor)
        return Seen(seen.state, (*wrongs, *seen.wrongs))

    def lay_out(self, files: Files) -> None:
        """Put the databases of a situation in place; what lies there already stays."""
        write_files(self.folder, files, present=self._present)
        self._present = ()

    def _read_back(self, files: Files) -> Files:
        """Read what a process has left that died on these files."""
        self._present = read_files(self.folder, self.names, like=files)
        return self._present

    def has_survivor(self, situation: Situation) -> bool:
        """Tell whether there is a database that another connection can have open."""
        return any(store.main for store in situation.files)

    # ── The verdict ───────────────────────────────────────────────────────────────────────

    def _judge_answer(self, situation: Situation, death: Death) -> Iterator[Wrong]:
        """Compare what the call was about to return with the model's outcome."""
        _, outcome = step(self.machine, situation.state, situation.action)
        if not is_expected(death.answer, outcome):
            has_failed = isinstance(death.answer, list) and death.answer[0] == "failed"
            kind = "exception" if has_failed else "answer"
            yield Wrong(kind, str(plain_answer(outcome)), str(death.answer))

    def _judge_once(self, situation: Situation, commits: int, left: Files) -> Seen:
        """Judge what is left; equal content, of which the same is demanded, is judged once."""
        allowed = self._find_allowed(situation, commits)
        key = (allowed, situation.action, content_of(left))
        if key not in self._verdicts:
            if len(self._verdicts) >= MOST_VERDICTS:
                self._verdicts.clear()
            self._verdicts[key] = self._judge(situation, commits)
        return self._verdicts[key]

    def _judge(
        self, situation: Situation, commits: int, *, survivor: Subject | None = None
    ) -> Seen:
        """Judge what is in the folder: fresh connections look, then the call is repeated."""
        self._present = ()
        with contextlib.closing(self.subject()) as subject:
            state, wrongs = self.judge_state(situation, commits, subject)
            if survivor is not None and not wrongs:
                wrongs += self.judge_state(situation, commits, survivor)[1]
            if not wrongs:
                wrongs += self.repeat(subject, state, repeat_of(situation.action))
            if survivor is not None and not wrongs:
                wrongs += _compare_views(subject, survivor)
        return Seen(state, tuple(wrongs))

    def judge_state(
        self, situation: Situation, commits: int, subject: Subject
    ) -> tuple[Any, list[Wrong]]:
        """Read the state, and hold it against what is allowed after so many commits."""
        allowed = self._find_allowed(situation, commits)
        try:
            state = empty_hands(subject.observe())
            wrongs = list(_check_integrity(subject, self.names))
        except Exception as error:  # noqa: BLE001 - rows of no state can fail in many ways
            expected, found = next(iter(allowed)), describe_error(error)
            return None, [Wrong("unreadable", expected, found)]
        if state not in allowed:
            wrongs.append(Wrong("state", next(iter(allowed)), state))
        for check in self.machine.invariants:
            clause = check(state)
            if clause is not None:
                wrongs.append(Wrong(check.__name__, property_sentence(check), clause))
        return state, wrongs

    def _find_allowed(self, situation: Situation, commits: int) -> frozenset[Any]:
        """Return the durable states that may be found after so many commits."""
        allowed = allowed_after_exit(self.machine, situation.state, situation.action, commits)
        return frozenset(empty_hands(state) for state in allowed)

    def repeat(self, subject: Subject, state: Any, action: Any) -> Iterator[Wrong]:
        """Call from the state that was found: the model says what comes of it (C2)."""
        if isinstance(action, Open):
            yield from self._open_again(subject, state)
            return
        after, outcome = self.machine.step(state, action)
        wrong = partial(Wrong, repeated=action, reached=state)
        try:
            found = subject.apply(action)
            final = empty_hands(subject.observe())
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
            yield wrong("exception", outcome, describe_error(error))
            return
        if found != outcome:
            yield wrong("outcome", outcome, found)
        if final != empty_hands(after):
            yield wrong("state", empty_hands(after), final)

    def _open_again(self, subject: Subject, state: Any) -> Iterator[Wrong]:
        expected = self.machine.snapshot(state)
        try:
            found: Any = subject.read()
        except Exception as error:  # noqa: BLE001 - whatever comes out is what is being judged
            found = describe_error(error)
        if (expected or None) != (found or None):
            yield Wrong("snapshot", str(expected), str(found))


def _compare_views(subject: Subject, survivor: Subject) -> Iterator[Wrong]:
    """Demand that a survivor reads in the end what a fresh connection reads."""
    expected, found = empty_hands(subject.observe()), empty_hands(survivor.observe())
    if expected != found:
        yield Wrong("survivor", f"what a fresh connection reads: {expected}", str(found))


def _number(traced: Traced, index: int) -> int:
    """Return how a child is told a boundary: the last one by its name, which has no statement."""
    return END if index == len(traced.statements) else index


def _compare_with_trace(death: Death, traced: Traced, index: int) -> tuple[Wrong, ...]:
    """Demand that the child came the same way as the traced run, and died where it was told."""
    if death.statements == traced.statements[:index]:
        return ()
    expected = [shorten(each.sql) for each in traced.statements[:index]]
    found = [shorten(each.sql) for each in death.statements]
    if found == expected:
        return ()
    return (Wrong("statements", ", ".join(expected), ", ".join(found)),)


def _check_integrity(subject: Subject, names: Iterable[str]) -> Iterator[Wrong]:
    """Run SQLite's own checks through the connections that the subject reads with."""
    for name, place in zip(names, places_of(subject), strict=True):
        connection = place.observer()
        if connection is None:
            continue
        found = connection.execute("pragma integrity_check").fetchall()
        if found != [("ok",)]:
            yield Wrong("integrity_check", "ok", f"{name}: {found}")
        broken = connection.execute("pragma foreign_key_check").fetchall()
        if broken:
            yield Wrong("foreign_key_check", "no rows", f"{name}: {broken}")


def places_of(subject: Any) -> tuple[RealFile, ...]:
    """Return the places of a subject's databases, in the order of their names."""
    if hasattr(subject, "place"):
        return (subject.place,)
    return (*subject.ledgers.values(), subject.receiver)
