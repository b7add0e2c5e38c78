"""The rule-based machines with one rule more: a real process dies in a call, and work goes on.

The rule draws any call that leads on and any boundary; what is found must be one of the states that
the model allows behind the commits that were made, and the run goes on from there.
The connections that the machine has open survive the crash.
"""

from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import rule

from crash_harness.crasher import Crasher
from stateful_tests import admission_choices, reservation_choices
from stateful_tests.admission_machine import AdmissionMachine
from stateful_tests.conformance_machine import ConformanceMachine, drawn
from stateful_tests.failing_program import Parted
from stateful_tests.reservation_machine import ReservationMachine

MOST_BOUNDARY = 16
"""Beyond the boundaries of most calls; one too many is the last one."""


class _Crashing(ConformanceMachine):
    """What both machines share: the rule's body, and the lean parent that forks."""

    crasher: ClassVar[Crasher]
    places: ClassVar[set[str]] = set()

    def die_in(self, action: Any, boundary: int) -> None:
        """Let a process die in a call, and go on from the state that it left."""
        crashed = self.crasher.crash(self.subject, action, boundary)
        allowed = self.model.allowed_after_exit(self.state, action, crashed.commits)
        found = self.observe(action)
        if found not in allowed:
            raise Parted("crash", f"{action} at {crashed.name}: expected {allowed}, found {found}")
        self.places.add(crashed.name)
        self.state = found
        for check in self.model.invariants:
            clause = check(found)
            if clause is not None:
                raise Parted("property", f"{action} at {crashed.name}: {clause}")
        self.compare_sums()


class CrashingAdmissionMachine(_Crashing, AdmissionMachine):
    """Durable admission, with processes that die."""

    @rule(
        action=drawn(lambda self: admission_choices.choose_progress(self.state)),
        boundary=st.sampled_from(range(MOST_BOUNDARY)),
    )
    def crash_in(self, action: Any, boundary: int) -> None:
        """A process dies in an action that leads on."""
        self.die_in(action, boundary)


class CrashingReservationMachine(_Crashing, ReservationMachine):
    """The dispatch budget, with processes that die inside their calls."""

    @rule(
        action=drawn(lambda self: reservation_choices.choose_progress(self.state)),
        boundary=st.sampled_from(range(MOST_BOUNDARY)),
    )
    def crash_in(self, action: Any, boundary: int) -> None:
        """A worker's process dies in an action that leads on."""
        self.die_in(action, boundary)
