"""A state that the judge refuses, made small and told in words; it is a trace like any other.

The smallest set of lost writes is searched at the same point of the log: one, then two, then
whatever is left of the failing state when every loss that is not needed is taken back.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

from crash_harness.power_loss.examination import Examined, Failure, Point
from crash_harness.power_loss.log import StorageEvent, database_of
from crash_harness.power_loss.meaning import describe_event, name_pages
from crash_harness.power_loss.recording import Moment, Recording
from crash_harness.power_loss.storage import FIRST_PART, KEPT, LOST, Choice, Image, Pending
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_report import Failure as ReportedFailure
from model.checking.trace_report import TraceReport
from model.checking.trace_words import count, describe_differences
from model.machine import action_name

SENTENCES: Mapping[str, tuple[str, str]] = {
    "lost": (
        "a_returned_commit_survives_a_power_loss",
        "Every step whose commit has returned is there after a power loss.",
    ),
    "premature": (
        "a_step_is_not_seen_before_its_commit",
        "No step is there after a power loss unless its commit had begun.",
    ),
    "mixture": (
        "a_power_loss_leaves_a_state_between_commits",
        "After a power loss all databases together are in the state after some number of commits.",
    ),
    "unreadable": (
        "a_power_loss_leaves_a_sound_database",
        "After a power loss the integrity check is ok, and the rows are those of a state.",
    ),
    "repeat": (
        "a_call_can_be_repeated_after_a_power_loss",
        "A call that is repeated after a power loss gets the answer of the specification.",
    ),
}
MOST_PENDING_FOR_PAIRS = 40


@dataclass(frozen=True, slots=True)
class Loss:
    """One refused state with the smallest set of lost writes that is refused in the same way.

    `boundary` is the place of the power loss, `acknowledged` what had been promised there.
    `lost` and `pending` say in words what the power loss took, of what it might have taken.
    """

    kind: str
    property_name: str
    sentence: str
    clause: str
    title: str
    boundary: str
    acknowledged: str
    lost: tuple[str, ...]
    pending: tuple[str, ...]
    trace: Trace
    files: Mapping[str, bytes]

    def write_files(self, folder: Path) -> None:
        """Keep the files as the power loss left them."""
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in self.files.items():
            (folder / file).write_bytes(content)


Examine = Callable[[Choice], Examined]


def shrink(examined: Examined, examine: Examine) -> Examined:
    """Return a state of the same point that fails in the same way, with fewest writes lost."""
    kind = None if examined.failure is None else examined.failure.kind
    pending = examined.point.pending

    def fails(choice: Choice) -> Examined | None:
        tried = examine(choice)
        return tried if tried.failure is not None and tried.failure.kind == kind else None

    for choice in _small_choices(pending):
        found = fails(choice)
        if found is not None:
            return found
    return _take_back(examined, fails)


def _small_choices(pending: tuple[Pending, ...]) -> Iterator[Choice]:
    """Yield every choice with no loss, one loss or torn write, and two losses."""
    everything = (KEPT,) * len(pending)
    yield everything
    for number, each in enumerate(pending):
        for fate in (LOST, *range(FIRST_PART, FIRST_PART + len(each.parts))):
            yield (*everything[:number], fate, *everything[number + 1 :])
    if len(pending) <= MOST_PENDING_FOR_PAIRS:
        for pair in combinations(range(len(pending)), 2):
            yield tuple(LOST if number in pair else KEPT for number in range(len(pending)))


def _take_back(examined: Examined, fails: Callable[[Choice], Examined | None]) -> Examined:
    """Take every loss back that the failure does not need, one after another."""
    smallest = examined
    for number in range(len(examined.choice)):
        choice = smallest.choice
        if choice[number] != KEPT:
            smallest = fails((*choice[:number], KEPT, *choice[number + 1 :])) or smallest
    return smallest


def describe_loss(examined: Examined) -> Loss:
    """Tell a refused state in words."""
    failure = examined.failure or Failure("none", None)
    point, recording = examined.point, examined.point.recording
    pending, lost = describe_fates(point, examined.choice)
    name, sentence = SENTENCES[failure.kind]
    clause = failure.said or _describe_reading(examined)
    return Loss(
        kind=failure.kind,
        property_name=name,
        sentence=sentence,
        clause=clause,
        title=recording.title,
        boundary=_name_boundary(point),
        acknowledged=_describe_promise(recording, point.moment),
        lost=lost,
        pending=pending,
        trace=_build_trace(examined, clause),
        files={file: content.data for file, content in examined.image.items()},
    )


def describe_fates(point: Point, choice: Choice) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return all pending operations in words, and those that are not kept with what befell them."""
    complete = point.disk.image((KEPT,) * len(point.pending))
    databases = {database_of(each.event.file) for each in point.pending}
    pages = {database: name_pages(_part(complete, database), database) for database in databases}

    def tell(event: StorageEvent) -> str:
        return describe_event(event, complete, pages[database_of(event.file)])

    lost = tuple(
        _describe_fate(each, fate, tell(each.event))
        for each, fate in zip(point.pending, choice, strict=True)
        if fate != KEPT
    )
    return tuple(tell(each.event) for each in point.pending), lost


def _part(image: Image, database: str) -> Image:
    return {file: each for file, each in image.items() if database_of(file) == database}


def _describe_fate(pending: Pending, fate: int, words: str) -> str:
    label = f"event {pending.number}: {words}"
    if fate == LOST:
        return label
    ranges = ", ".join(f"{low} to {high}" for low, high in pending.parts[fate - FIRST_PART])
    return f"{label}; {'garbage from' if pending.is_damage else 'kept only'} {ranges}"


def _describe_reading(examined: Examined) -> str:
    """Say how what is read differs from what was promised."""
    narrator = NARRATORS[examined.point.recording.machine]
    differences = describe_differences(narrator, examined.point.allowed[0], examined.reading.state)
    return "; ".join(differences)


def _name_boundary(point: Point) -> str:
    """Return the place of the power loss: the operation, and the event that it came before."""
    recording = point.recording
    operation = "the first operation"
    if point.moment.operation >= 0:
        operation = action_name(type(recording.steps[point.moment.operation].action))
    return f"{operation} / before event {point.event} of {len(recording.log)}"


def _describe_promise(recording: Recording, moment: Moment) -> str:
    """Say what the caller, or the program behind it, had been told."""
    number = moment.operation
    is_told = moment.is_acknowledged or moment.commits_returned
    if not is_told:
        number -= 1
    if number < 0:
        return "what was there at the beginning"
    narrator, step = NARRATORS[recording.machine], recording.steps[number]
    action = narrator.describe_action(step.action)
    outcome = narrator.describe_outcome(step.outcome)
    if number == moment.operation and not moment.is_acknowledged:
        commits = count(moment.commits_returned, "commit")
        return f"{action}: {commits} of it returned, on the way to {outcome}"
    return f"{action} → {outcome}"


def trace_through(examined: Examined) -> tuple[Any, tuple[TraceStep, ...]]:
    """Return the origin and the steps up to a power loss, the last one with its crash point."""
    point = examined.point
    _, lost = describe_fates(point, examined.choice)
    trace = point.recording.trace(point.moment.operation + 1)
    moment, step = point.moment, trace.steps[-1]
    can_tell = moment.commits_begun == moment.commits_returned
    crash = CrashPoint(
        _name_boundary(point),
        Ending.POWER_LOSS,
        commits=moment.commits_returned if can_tell else None,
        details=tuple(f"lost {each}" for each in lost),
    )
    outcome = step.outcome if moment.is_acknowledged else UNKNOWN
    last = TraceStep(step.action, outcome, examined.reading.state, crash=crash)
    return trace.initial, (*trace.steps[:-1], last)


def _build_trace(examined: Examined, clause: str) -> Trace:
    """Return the steps up to the power loss, the last one with what was promised and found."""
    point = examined.point
    if not point.recording.trace(point.moment.operation + 1).steps:
        return point.recording.trace(0)
    origin, steps = trace_through(examined)
    expected = _describe_expected(point.moment)
    observed = Observed("crash", expected, clause, state=examined.reading.state)
    last = replace(steps[-1], after=point.allowed[0], observed=observed)
    recording = point.recording
    return Trace(recording.machine, recording.scope.name, origin, (*steps[:-1], last))


def _describe_expected(moment: Moment) -> str:
    """Return which state had been promised when the power went."""
    if moment.is_acknowledged:
        return "the state after the last step, whose answer had arrived"
    begun = ", or what it had begun" if moment.commits_begun > moment.commits_returned else ""
    if not moment.commits_returned:
        return f"the state before the last step{begun}"
    returned = count(moment.commits_returned, "commit")
    return f"the state after {returned} of the last step, which returned before its answer{begun}"


def build_report(loss: Loss, repeat: str) -> TraceReport:
    """Return the loss as the report of a trace, which can be written, read and replayed."""
    failure = ReportedFailure("power loss", loss.property_name, loss.sentence, loss.clause)
    return TraceReport(loss.trace, repeat, (failure,))


def format_loss(loss: Loss) -> list[str]:
    """Return a refused state as lines for a person."""
    return [
        f"FAIL: {loss.property_name}",
        f"  claims:      {loss.sentence}",
        f"  is false:    {loss.clause}",
        f"  workload:    {loss.title}",
        f"  power lost:  {loss.boundary}",
        f"  promised:    {loss.acknowledged}",
        f"  lost, of {count(len(loss.pending), 'pending operation')}:",
        *(f"    {each}" for each in loss.lost or ("nothing: every write was kept",)),
    ]
