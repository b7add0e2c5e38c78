"""An exit at every boundary of one call: what a test does that stays when the statements change.

A single crash, at the boundary that a trace names, is replayed by the `Crasher` alone.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from conformance.changed_source import Change, load_changed_implementation
from conformance.implementation import Implementation
from conformance.place import scratch_folder
from conformance.replay import Replay, replay_actions
from conformance.replayable import find_layout
from conformance.sqlite import make_subject
from crash_harness.crasher import Crasher
from model.checking.trace import UNKNOWN, CrashPoint, TraceStep


def replay_with_exits(
    machine: str,
    initial: Any,
    before: Sequence[Any],
    action: Any,
    after: Sequence[Any] = (),
    *,
    changes: Iterable[Change] = (),
) -> Replay:
    """Take some actions, let a process exit at each boundary of the next one, and go on after it.

    The first boundary behind which something differs is shown.
    """
    changes = tuple(changes)
    version = load_changed_implementation(changes) if changes else None
    replayed = replay_actions(machine, initial, before, implementation=version)
    if replayed.failures:
        return replayed
    with Crasher(changes) as crasher:
        points = _list_points(crasher, machine, initial, before, action, version=version)
        for point in points:
            gone = TraceStep(action, UNKNOWN, None, crash=point)
            replayed = replay_actions(
                machine,
                initial,
                (*before, gone, *after),
                implementation=version,
                crash_runner=crasher,
            )
            if replayed.failures:
                return replayed
    note = f"A process has exited at each of {len(points)} boundaries."
    return Replay(replayed.subject, replayed.trace, (), (*replayed.notes, note))


def _list_points(
    crasher: Crasher,
    machine: str,
    initial: Any,
    before: Sequence[Any],
    action: Any,
    *,
    version: Implementation | None,
) -> tuple[CrashPoint, ...]:
    """Return the boundaries of the call in the state in which it is made."""
    with scratch_folder() as folder:
        subject = make_subject(machine, find_layout(initial), folder, implementation=version)
        try:
            subject.install(initial)
            for each in before:
                subject.apply(each)
            return crasher.list_points(subject, action)
        finally:
            subject.close()
