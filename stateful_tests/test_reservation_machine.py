"""Sender ledgers and a receiver on SQLite follow their model through whatever happens to them."""

import pytest

from conformance.changed_source import Change, load_changed_implementation
from model.checking.explore import Verdict
from stateful_tests.failing_program import Parted
from stateful_tests.machine_run import MachineReport, format_report
from stateful_tests.profiles import choose_profile
from stateful_tests.reservation_machine import ReservationMachine, run_reservation_machine

PROFILE = choose_profile()
PERMIT_IS_MARKED_TOO_LATE = (
    Change(
        "impl/sqlite/receiver.py",
        "        permit.use()\n",
        "        if permit.is_used:\n            permit.use()\n",
    ),
    Change(
        "impl/sqlite/receiver.py",
        "        return call\n",
        "        permit.use()\n        return call\n",
    ),
)
REOPENING_RESETS_SPENT = (
    Change(
        "impl/sqlite/reservation.py",
        "                return OpenOutcome.UNCHANGED if is_same else OpenOutcome.CONFLICT\n",
        "                if is_same:\n"
        "                    connection.execute(\n"
        '                        "update intent set spent = 0 where confirmed_seq is null"\n'
        "                    )\n"
        "                return OpenOutcome.UNCHANGED if is_same else OpenOutcome.CONFLICT\n",
    ),
)


@pytest.fixture(scope="module")
def report() -> MachineReport:
    """Run the machine once, as much as the profile says."""
    report = run_reservation_machine(
        max_examples=PROFILE.max_examples,
        stateful_step_count=PROFILE.stateful_step_count,
        seed=PROFILE.seed,
    )
    print("\n".join(format_report(report)))  # noqa: T201 - shown by pytest where it fails
    return report


def test_ledgers_and_receiver_follow_the_model(report: MachineReport) -> None:
    """Outcome, durable state, hands, properties and sums agree after every step, faults included."""
    assert report.program is None, f"{report.failure}\n\n{report.program}"
    assert report.verdict is Verdict.PASS


@pytest.mark.skipif(not PROFILE.sees_everything, reason="this profile is too short to see all")
def test_a_run_sees_every_outcome_and_every_fault(report: MachineReport) -> None:
    """Each outcome of each action, each fault and each kind of restart has been met."""
    assert report.missing == ()


@pytest.mark.parametrize(
    ("mistake", "last_call", "failure"),
    [
        (PERMIT_IS_MARKED_TOO_LATE, "fault=IoErrorAtCommit(", "its permit is not used"),
        (REOPENING_RESETS_SPENT, "OpenIntent(", "spent"),
    ],
    ids=["permit marked too late", "reopening resets spent"],
)
def test_a_failure_prints_the_shortest_program_and_it_runs(
    mistake: tuple[Change, ...], last_call: str, failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted mistake gives a program of a few calls, which fails alone when it is run.

    Only the error of a commit that was made shows that a permit is marked too late.
    """
    changed = load_changed_implementation(mistake)

    report = run_reservation_machine(
        max_examples=300, stateful_step_count=30, seed=0, implementation=changed
    )

    assert report.verdict is Verdict.FAIL
    assert report.program is not None
    calls = [line for line in report.program.splitlines() if line.startswith("state.")]
    assert len(calls) <= 5
    assert calls[0].startswith("state.begin(early=[], invalid=[], faults=[], ")
    assert last_call in calls[-2]
    monkeypatch.setattr(ReservationMachine, "implementation", changed)
    with pytest.raises(Parted, match=failure):
        exec(report.program, {})  # noqa: S102 - the program is what is being tested
