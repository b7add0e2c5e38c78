"""A campaign: recordings of one scope are examined one after another, and their counts kept."""

import sqlite3
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crash_harness.power_loss.examination import Examined, Examiner
from crash_harness.power_loss.judge import read_real_files
from crash_harness.power_loss.log import Synced, require_sound
from crash_harness.power_loss.loss import Loss, describe_loss, shrink, trace_through
from crash_harness.power_loss.recording import Recording, repeated_action
from crash_harness.power_loss.report import Plan
from crash_harness.power_loss.starts import describe_action
from crash_harness.power_loss.workloads import Start, Workshop

SQLITE_OF_REAL_FILES = sqlite3.sqlite_version


@dataclass(slots=True)
class Campaign:
    """What is examined, and what has come out so far.

    `folder` is for files that the standard `sqlite3` recovers. `needs_syncs`: a recorded change
    without a sync is a fault of the recorder.
    """

    plan: Plan
    examiner: Examiner
    folder: Path
    needs_syncs: bool
    progress: Callable[[int], None]
    syncs: int = 0
    second_losses: int = 0
    real_files: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    disagreements: list[str] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    _again: list[tuple[str, Start, dict[str, bytes], Any]] = field(default_factory=list)

    def take(self, recording: Recording) -> None:
        """Examine a recording, and put aside what is to be recovered a second time."""
        self.syncs += sum(isinstance(event, Synced) for event in recording.log)
        if self.needs_syncs and recording.has_changes:
            require_sound(recording.log)
        for examined in self.examiner.examine(recording):
            if examined.failure is not None:
                self._keep_failure(examined)
            if not examined.is_new:
                continue
            number = len(self.examiner.tally.seen)
            if number % self.plan.real_files_every == 0 and examined.failure is None:
                self._compare_with_real_files(examined)
            if number % self.plan.second_loss_every == 0 and not recording.is_recovery:
                self._put_aside(examined)
        self.progress(len(self.examiner.tally.seen))

    def _keep_failure(self, examined: Examined) -> None:
        failure = examined.failure
        if failure is None:
            return
        self.failures[failure.kind] += 1
        if self.failures.total() <= self.plan.most_real_failures:
            self._compare_with_real_files(examined)
        if self.failures[failure.kind] == 1:
            point = examined.point
            small = shrink(examined, lambda choice: self.examiner.examine_state(point, choice))
            self.losses.append(describe_loss(small))

    def _compare_with_real_files(self, examined: Examined) -> None:
        """Recover the same files with the standard `sqlite3`: it must read the same."""
        self.real_files += 1
        judge = self.examiner.judge
        files = {file: content.data for file, content in examined.image.items()}
        real = read_real_files(judge.machine, judge.scope, judge.implementation, self.folder, files)
        expected = examined.reading
        if (real.state, real.problem is None) != (expected.state, expected.problem is None):
            self.disagreements.append(
                f"{examined.point.recording.title}, event {examined.point.event}, choice "
                f"{examined.choice}: expected {expected}, but real files read {real}"
            )

    def _put_aside(self, examined: Examined) -> None:
        """Keep the files of a state that is as it must be, and the call to be repeated on them."""
        moment, recording = examined.point.moment, examined.point.recording
        if examined.failure is None and moment.operation >= 0:
            action = repeated_action(recording.steps[moment.operation].action)
            start = Start(examined.reading.state, (), *trace_through(examined))
            files = {file: content.data for file, content in examined.image.items()}
            call = describe_action(recording.machine, action)
            title = f"{recording.title}, power loss, then {call}"
            self._again.append((title, start, files, action))

    def recover_again(self, workshop: Workshop, seed: int) -> None:
        """Repeat the call on each state put aside; the power may go a second time meanwhile."""
        again, self._again = self._again, []
        for number, (title, start, files, action) in enumerate(again):
            self.second_losses += 1
            self.take(workshop.record_recovery(title, start, files, action, seed=seed + number))
