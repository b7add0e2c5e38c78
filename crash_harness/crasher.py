"""Kills one call on the live databases of a subject: a crash as an operation among others.

For a rule of a Hypothesis machine, `crash` takes any number as the boundary; for a replay, a
`Crasher` is a `conformance.replay.CrashRunner` and finds the boundary by its name.

Not here: whether what is left is allowed (`Machine.allowed_after_exit` says it, by `commits`).
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conformance.changed_source import Change
from conformance.place import scratch_folder
from conformance.subject import Subject
from crash_harness.boundaries import Boundary, read_tape
from crash_harness.calls import operation_name, plain_call
from crash_harness.child import END
from crash_harness.exit_report import UnknownName
from crash_harness.files import read_files, write_files
from crash_harness.forking import ENDINGS, Call, Death, ForkingParent
from crash_harness.judge import places_of
from model.checking.trace import CrashPoint
from model.reservation_vocabulary import Crash


@dataclass(frozen=True, slots=True)
class Crashed:
    """Where a call was left: the name, "admit / before commit", and the commits before it.

    With `is_last` it had done all that it does, and was about to answer; its commits are then all.
    """

    name: str
    boundary: Boundary
    is_last: bool

    @property
    def commits(self) -> int:
        """The transactions that had committed."""
        return self.boundary.commits


class Crasher:
    """A lean parent for crashes now and then; a context manager."""

    def __init__(self, changes: Iterable[Change] = ()) -> None:
        """Start it; the calls that die are made on the implementation with these changes."""
        self._parent = ForkingParent(changes)

    def __enter__(self) -> Self:
        """Return the crasher itself."""
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the lean parent."""
        self.close()

    def close(self) -> None:
        """End the lean parent."""
        self._parent.close()

    def crash(self, subject: Subject, action: Any, boundary: int, *, way: str = "exit") -> Crashed:
        """Let a process die in a call on the subject's files, and drop what its worker held.

        Boundaries count from 0; one that the call does not have is its last. Connections of
        the subject that are open stay open, and survive.
        """
        death = self._parent.run(_call_of(subject, action), boundary, way=way, or_last=True)
        _drop_hand(subject, action)
        return _describe(action, death)

    def __call__(self, subject: Subject, action: Any, crash: CrashPoint, /) -> None:
        """Do it at a boundary with a name; `UnknownName` if the call has no such boundary.

        Nor has it one of this name behind as many commits, if another number of them is before it.
        """
        if crash.ending.value not in ENDINGS:
            raise UnknownName(f"no process ends by {crash.ending.value} here")
        points = self.list_points(subject, action)
        names = [each.boundary for each in points]
        if crash.boundary not in names:
            raise UnknownName(
                f"there is no boundary {crash.boundary!r}; there are {', '.join(names)}"
            )
        index = names.index(crash.boundary)
        commits = points[index].commits
        if crash.commits not in (None, commits):
            found = f"{crash.boundary!r} comes behind {commits} commits here"
            raise UnknownName(f"{found}, not {crash.commits}; it is another implementation")
        call = _call_of(subject, action)
        for place in places_of(subject):
            place.close()
        boundary = END if index == len(names) - 1 else index
        self._parent.run(call, boundary, way=crash.ending.value)
        _drop_hand(subject, action)

    def list_points(self, subject: Subject, action: Any) -> tuple[CrashPoint, ...]:
        """Return every place at which a process may exit in a call; nothing of it stays done."""
        subject.reopen()
        for place in places_of(subject):
            place.close()
        call = _call_of(subject, action)
        return tuple(
            CrashPoint(f"{operation_name(action)} / {each.name}", commits=each.commits)
            for each in self._trace(call)
        )

    def _trace(self, call: Call) -> tuple[Boundary, ...]:
        """Return the boundaries of a call, by a traced run on copies of the databases."""
        with scratch_folder() as folder:
            paths = {}
            for kind, path in call.paths.items():
                original = Path(path)
                copies = read_files(original.parent, [original.stem])
                write_files(folder, copies)
                paths[kind] = str(folder / original.name)
            death = self._parent.run(replace(call, paths=paths), END)
        return tuple(read_tape(death.statements, names_stores=call.names_stores))


def _call_of(subject: Any, action: Any) -> Call:
    """Return the plain call of an action, with the permits that the subject's workers hold."""
    first = places_of(subject)[0]
    return plain_call(subject.observe(), action, first.path.parent)


def _drop_hand(subject: Any, action: Any) -> None:
    """Empty the hand of the worker whose process has died."""
    worker = getattr(action, "worker", None)
    if worker is not None:
        subject.apply(Crash(worker))


def _describe(action: Any, death: Death) -> Crashed:
    names_stores = operation_name(action) == "attempt"
    following = () if death.following is None else (death.following,)
    boundaries = read_tape((*death.statements, *following), names_stores=names_stores)
    boundary = boundaries[len(death.statements)]
    return Crashed(f"{operation_name(action)} / {boundary.name}", boundary, not following)
