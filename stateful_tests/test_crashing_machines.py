"""A crash at any boundary is one operation among others of the rule-based machines."""

from collections.abc import Iterator

import pytest

from conformance.changed_source import Change, load_changed_implementation
from crash_harness.crasher import Crasher
from model.checking.explore import Verdict
from stateful_tests.conformance_machine import ConformanceMachine
from stateful_tests.crashing_machines import CrashingAdmissionMachine, CrashingReservationMachine
from stateful_tests.machine_run import MachineReport, run_machine

LEAST_PLACES = {"admission": 14, "reservation": 5}
"""Distinct boundaries at which the runs of the seed died; the exits themselves take all of them."""
MACHINES = (CrashingAdmissionMachine, CrashingReservationMachine)


@pytest.fixture(params=MACHINES, ids=lambda machine: machine.model.name)
def machine(request: pytest.FixtureRequest) -> Iterator[type[ConformanceMachine]]:
    """Give a machine with a lean parent of its own."""
    chosen: type[ConformanceMachine] = request.param
    with Crasher() as crasher:
        chosen.crasher = crasher
        chosen.places = set()
        yield chosen


def _run(machine: type[ConformanceMachine], changes: tuple[Change, ...] = ()) -> MachineReport:
    return run_machine(
        machine,
        max_examples=60,
        stateful_step_count=25,
        seed_number=4,
        implementation=load_changed_implementation(changes) if changes else None,
        shrinks=False,
    )


def test_work_goes_on_from_what_a_crash_has_left(machine: type[ConformanceMachine]) -> None:
    """Calls die before, between and after their statements, and every later answer is right."""
    report = _run(machine)

    assert report.failure is None, report.program
    assert report.verdict is Verdict.PASS
    places: set[str] = vars(machine)["places"]
    assert len(places) >= LEAST_PLACES[machine.model.name], sorted(places)
    assert any("/ before commit" in place for place in places)
    assert any("after commit" in place for place in places)


def test_a_crash_that_leaves_half_a_step_is_found() -> None:
    """With the effect in a transaction of its own, some crash leaves what no step leaves."""
    change = Change(
        "impl/sqlite/admission_store.py",
        """            if completed.rowcount == 0:
                return ResolveOutcome.STALE
            updated""",
        """            if completed.rowcount == 0:
                return ResolveOutcome.STALE
        with transaction(connection):
            updated""",
    )
    with Crasher([change]) as crasher:
        CrashingAdmissionMachine.crasher = crasher
        CrashingAdmissionMachine.places = set()
        report = run_machine(
            CrashingAdmissionMachine,
            max_examples=200,
            stateful_step_count=40,
            seed_number=4,
            implementation=load_changed_implementation([change]),
            shrinks=False,
        )

    assert report.verdict is Verdict.FAIL
    assert report.failure is not None
    assert "resolve" in report.failure.lower()
