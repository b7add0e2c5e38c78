"""One call alone: every state in which a power loss during it may leave the storage.

`find_shortest_loss` takes the calls of TINY, nearest states first; `replay_with_power_loss` is what
a test does that stays when the implementation asks the storage for other writes.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from conformance.implementation import Implementation, load_implementation
from conformance.replay import Replay, replay_actions
from conformance.replayable import find_layout
from crash_harness.power_loss.examination import Examiner
from crash_harness.power_loss.judge import Judge
from crash_harness.power_loss.loss import Loss, build_report, describe_loss, shrink
from crash_harness.power_loss.profiles import DEFAULT_PROFILE, PROFILES
from crash_harness.power_loss.recording import Recording
from crash_harness.power_loss.starts import (
    all_calls,
    changing_calls,
    describe_action,
    reach_states,
    record_calls,
)
from crash_harness.power_loss.workloads import Settings, Start, Workshop, open_workshop
from model.scopes import SCOPES

MOST_CALLS = 100
"""Calls of TINY in which a loss is looked for."""


@dataclass(frozen=True, slots=True)
class Bench:
    """Where calls are recorded, and what examines the recordings."""

    workshop: Workshop
    examiner: Examiner

    def find_loss(self, recording: Recording) -> Loss | None:
        """Return the first refused state of a recording, made small; None if there is none."""
        for examined in self.examiner.examine(recording):
            if examined.failure is not None:
                examine = partial(self.examiner.examine_state, examined.point)
                return describe_loss(shrink(examined, examine))
        return None


@contextmanager
def open_bench(machine: str, scope: Any, version: Implementation, seed: int) -> Iterator[Bench]:
    """Yield a bench for an implementation as it is, on the usual storage."""
    settings = Settings()
    judge = Judge(machine, scope, version, settings.pragmas_of(version))
    examiner = Examiner(judge, PROFILES[DEFAULT_PROFILE], seed)
    with open_workshop(machine, scope, version, settings) as workshop:
        yield Bench(workshop, examiner)


def find_shortest_loss(machine: str, version: Implementation, *, seed: int = 1) -> Loss | None:
    """Return a loss in the call with the fewest steps before it.

    None if the nearest `MOST_CALLS` of TINY show none. `WorkloadDiverged` if the implementation
    goes wrong before any power is lost.
    """
    with open_bench(machine, SCOPES[machine]["TINY"], version, seed) as bench:
        known = reach_states(bench.workshop)
        calls = changing_calls(bench.workshop, all_calls(bench.workshop, known))
        calls.sort(key=lambda call: len(known[call[0]].way))
        recordings = record_calls(bench.workshop, known, calls[:MOST_CALLS], seed)
        return next(filter(None, map(bench.find_loss, recordings)), None)


def replay_with_power_loss(
    machine: str,
    initial: Any,
    actions: Sequence[Any],
    *,
    implementation: Implementation | None = None,
) -> Replay:
    """Take some actions, and lose the power at every place of the last one, in every way."""
    replayed = replay_actions(machine, initial, actions, implementation=implementation)
    if replayed.failures:
        return replayed
    version = implementation or load_implementation()
    steps = replayed.trace.steps
    with open_bench(machine, find_layout(initial), version, seed=1) as bench:
        workshop = bench.workshop
        workshop.subject.install(initial)
        for step in steps[:-1]:
            workshop.subject.apply(step.action)
        for place in workshop.places:
            place.close()
        state = replayed.trace.states[-2]
        start = Start(state, workshop.images(), initial, steps[:-1])
        title = describe_action(machine, steps[-1].action)
        loss = bench.find_loss(workshop.record(title, start, (steps[-1].action,), seed=1))
    if loss is None:
        note = f"{len(bench.examiner.tally.seen)} states after a power loss were examined."
        return Replay(replayed.subject, replayed.trace, (), (note,))
    report = build_report(loss, "")
    return Replay(replayed.subject, report.trace, report.failures, ())
