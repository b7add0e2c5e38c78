"""What the two rule-based machines have in common: a model, an implementation, and their judge.

A rule takes one action of the model on both sides. After it, outcome and durable state must be
equal, the properties of the model must hold, and SQL that adds up the rows must agree.
A rule with a fault lets the operation meet it: either it answers as if nothing had happened, or
the storage's own error comes out, and the state is one that the model allows for the number of
commits that were made. Then the model goes on from the state that was found.

A failing run prints as a program: the arguments of the rules are values, drawn from what the model
knows to be possible in its state. Nothing but the rules' arguments is drawn by chance.

Not here: which rules there are (`admission_machine`, `reservation_machine`).
"""

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from hypothesis import currently_in_test_context, event
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from conformance.implementation import Implementation, load_implementation
from conformance.lockstep import check_call, find_broken
from conformance.place import RealFile, scratch_folder
from conformance.subject import Subject, Unreadable
from model.checking.trace import Trace, TraceStep
from model.machine import Machine, action_name, outcome_name, property_sentence
from stateful_tests.failing_program import (
    Parted,
    describe_differences,
)
from stateful_tests.faults import Fault, FaultyStorage, IoError, IoErrorAtCommit, name_fault

T = TypeVar("T")

BUSY_TIMEOUT_MS = 0
"""Nobody waits here: one thread takes all turns, so a lock that is held stays held."""


@dataclass(slots=True)
class Tally:
    """What all runs of a machine have seen, shrinking included."""

    examples: int = 0
    steps: int = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    witnesses: Counter[str] = field(default_factory=Counter)


def drawn(choose: Callable[[Any], st.SearchStrategy[T]]) -> st.SearchStrategy[T]:
    """Return a strategy that is chosen by the machine as it stands."""
    return st.runner().flatmap(choose)


class ConformanceMachine(RuleBasedStateMachine):
    """A model and an implementation on real files, taken through the same actions.

    A run of it is also a plain program: make one, call its rules, call `teardown`.
    `taken` are the calls since `origin`, the last state that no plain call has led to.
    """

    model: ClassVar[Machine[Any, Any, Any]]
    implementation: ClassVar[Implementation | None] = None
    tally: ClassVar[Tally] = Tally()
    event_names: ClassVar[tuple[str, ...]] = ()
    unreachable: ClassVar[Mapping[str, str]] = {}
    header: ClassVar[str]

    subject: Subject
    state: Any

    def __init__(self) -> None:
        super().__init__()
        self.version = self.implementation or load_implementation()
        self.storage = FaultyStorage()
        self.has_moved = True
        self.origin: Any = None
        self.taken: list[TraceStep] = []
        self.tally.examples += 1
        with contextlib.ExitStack() as stack:
            self.folder = stack.enter_context(scratch_folder())
            self.bind()
            self._exits = stack.pop_all()

    def bind(self) -> None:
        """Set `subject` and `state` for files that don't exist yet."""
        raise NotImplementedError

    def make_place(self, name: str) -> RealFile:
        """Return a file as in production, but for its driver and its patience."""
        connection = self.version.connection
        pragmas = connection.Pragmas(busy_timeout_ms=BUSY_TIMEOUT_MS)
        return RealFile(
            Path(self.folder, f"{name}.db"),
            self.version,
            driver=self.storage.open,
            pragmas=pragmas,
        )

    # ── What the rules are made of ────────────────────────────────────────────────────────

    def take(self, action: Any) -> Any:
        """Take an action on both sides, judge all that can be seen, and return the outcome."""
        before = self.state
        with self.storage.watch():
            checked = check_call(self.model, self.subject, before, self.subject.image(), action)
        if before != (self.taken[-1].after if self.taken else self.origin):
            self.origin, self.taken = before, []
        self.taken.append(TraceStep(action, checked.outcome, checked.after))
        divergence = checked.divergence
        if divergence is not None:
            lines = [f"{action}: {divergence.clause}"]
            if divergence.kind == "state":
                differences = describe_differences(checked.after, divergence.found_state)
                lines = [f"{action}: the state is another", *differences]
            lines += [f"{each.sentence} {each.clause}" for each in divergence.broken]
            trace = Trace(self.model.name, "", self.origin, tuple(self.taken))
            raise Parted(divergence.kind, "\n".join(lines), (divergence, trace))
        self._go_on(action, checked.outcome, checked.after)
        return checked.outcome

    def take_under_fault(self, action: Any, fault: Fault) -> None:
        """Take an action that meets a fault, and go on from the state that is found."""
        before, content = self.state, self.content()
        answer: Any = None
        error: Exception | None = None
        with self.storage.watch(fault, self.path_of(fault)) as watched:
            try:
                answer = self.subject.apply(action)
            except Exception as raised:  # noqa: BLE001 - whatever comes out is what is being judged
                error = raised
        if watched.raised is not None:
            self.note(name_fault(fault))
        after, outcome = self.model.step(before, action)
        observed = self.observe(action)
        if error is None:
            self._judge_answer(action, answer, outcome, watched)
            differences = describe_differences(after, observed)
            if differences:
                raise Parted("state", "\n".join([f"{action} under {fault}", *differences]))
            self._go_on(action, outcome, after)
            return
        if error is not watched.raised:
            raise Parted(
                "exception",
                f"{action} under {fault}: expected the error of the storage, unchanged, "
                f"{watched.raised!r}; found {error!r}",
            ) from error
        allowed = self.model.allowed_after_exit(before, action, watched.commits)
        if watched.is_commit_uncertain:
            allowed |= self.model.allowed_after_exit(before, action, watched.commits + 1)
        self.adopt(action, observed, allowed, f"{watched.commits} commits under {fault}")
        if not watched.commits and not watched.is_commit_uncertain:
            self._expect_content(action, content)
        self.compare_snapshot()

    def adopt(self, action: Any, observed: Any, allowed: frozenset[Any], why: str) -> None:
        """Go on from the state that an action without an answer has left, if the model allows it.

        What is volatile is not judged here.
        """
        found = self.durable(observed)
        if found not in {self.durable(state) for state in allowed}:
            differences = [
                line
                for number, state in enumerate(allowed, start=1)
                for line in describe_differences(self.durable(state), found, f"allowed {number}")
            ]
            raise Parted("state", "\n".join([f"{action} after {why}", *differences]))
        self.state = self.settle(action, observed)
        for check in self.model.invariants:
            clause = check(self.state)
            if clause is not None:
                sentence = property_sentence(check)
                raise Parted("property", f"{action} after {why}: {sentence} {clause}")
        self.compare_sums()

    def content(self) -> Any:
        """Return everything that is durable, to the byte."""
        return self.subject.image()

    def durable(self, state: Any) -> Any:
        """Return what of a state is durable."""
        return state

    def settle(self, action: Any, observed: Any) -> Any:  # noqa: ARG002 - for those with workers
        """Judge what an action without an answer has left in memory, and return the state."""
        return observed

    def observe(self, action: Any) -> Any:
        """Return the durable state, which must be one of the model."""
        try:
            return self.subject.observe()
        except Unreadable as error:
            raise Parted("unreadable", f"{action} left rows of no state: {error}") from error

    def path_of(self, fault: Fault) -> Path | None:
        """Return the file that a fault is about."""
        if isinstance(fault, IoError | IoErrorAtCommit):
            return None
        return Path(self.folder, f"{fault.file}.db")

    def compare_state(self) -> None:
        """Compare the durable state with the model's."""
        observed = self.observe("what was there before")
        differences = describe_differences(self.state, observed)
        if differences:
            raise Parted("state", "\n".join(differences))

    def compare_sums(self) -> None:
        """Compare sums that SQL takes over the rows with those of the model."""
        raise NotImplementedError

    def compare_snapshot(self) -> None:
        """Compare the implementation's own snapshot with the model's; it must change nothing."""
        content = self.content()
        expected = self.model.snapshot(self.state)
        try:
            found = self.subject.read()
        except Exception as error:
            raise Parted("exception", f"snapshot: expected {expected}, found {error!r}") from error
        if found != expected:
            raise Parted("snapshot", f"snapshot: expected {expected}, found {found}")
        self._expect_content("snapshot", content)

    def expect_invalid_input(self, call: Any, carry_out: Callable[[], Any]) -> None:
        """Make a call with an argument that is not allowed: it raises before it opens a store."""
        with self.storage.watch() as watched:
            try:
                answer = carry_out()
            except self.version.errors.InvalidInput:
                pass
            else:
                raise Parted("input", f"{call}: expected InvalidInput, found {answer!r}")
        if watched.opened:
            text = f"{call}: expected that no store is opened before the input is checked"
            raise Parted("input", text)
        self.has_moved = False

    def note(self, name: str) -> None:
        """Count something that has happened beside the actions."""
        self.tally.events[name] += 1

    def teardown(self) -> None:
        """Close every connection, and remove the files."""
        self.subject.close()
        self._exits.close()

    def _go_on(self, action: Any, outcome: Any, after: Any) -> None:
        """Judge a step that both sides have taken alike, count it, and go on from its end."""
        before, self.state = self.state, after
        self.has_moved = True
        tally, name = self.tally, action_name(type(action))
        tally.steps += 1
        tally.outcomes[name, outcome_name(outcome)] += 1
        for witness in self.model.witnesses:
            if witness(before, action, outcome, after):
                tally.witnesses[witness.__name__] += 1
        if currently_in_test_context():
            event(f"{name}: {outcome_name(outcome)}")
        broken = find_broken(self.model, before, action, outcome, after)
        if broken:
            raise Parted("property", f"{action}: {broken[0].sentence} {broken[0].clause}")
        self.compare_sums()

    def _judge_answer(self, action: Any, answer: Any, outcome: Any, watched: Any) -> None:
        """Judge an operation that answered although it met a fault, or because it met none."""
        if answer != outcome:
            raise Parted(
                "outcome",
                f"{action} after {watched.raised!r} from {watched.raised_by!r}: "
                f"expected {outcome}, found {answer}",
            )
        # An error of the rollback must not hide the protocol's own error, which undid everything.
        if watched.raised is not None and watched.raised_by != "rollback":
            raise Parted(
                "exception",
                f"{action}: expected {watched.raised!r} from {watched.raised_by!r}, found {answer}",
            )

    def _expect_content(self, action: Any, content: Any) -> None:
        if self.content() != content:
            raise Parted("refusal", f"{action}: expected the same content, to the byte; it changed")
