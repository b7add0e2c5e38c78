"""Sender ledgers and a receiver on SQLite follow their model through whatever happens to them."""

from typing import Any

import pytest

from conformance.changed_source import Change, load_changed_implementation
from model.checking.explore import Verdict
from stateful_tests.failing_program import Parted
from stateful_tests.machine_run import format_report
from stateful_tests.profiles import choose_profile
from stateful_tests.reservation_machine import ReservationMachine, run_reservation_machine

PROFILE = choose_profile()
REOPENING_RESETS_SPENT = Change(
    "impl/sqlite/reservation.py",
    "                return OpenOutcome.UNCHANGED if is_same else OpenOutcome.CONFLICT\n",
    "                if is_same:\n"
    '                    connection.execute("update intent set spent = 0 where ticket is null")\n'
    "                return OpenOutcome.UNCHANGED if is_same else OpenOutcome.CONFLICT\n",
)


def test_ledgers_and_receiver_follow_the_model_and_all_of_it_is_seen() -> None:
    """Outcome, durable state, hands, properties and sums agree after every step and fault.

    A run that is long enough meets each outcome, each fault and each kind of restart.
    """
    report = run_reservation_machine(
        max_examples=PROFILE.max_examples,
        stateful_step_count=PROFILE.stateful_step_count,
        seed=PROFILE.seed,
    )

    print("\n".join(format_report(report)))  # noqa: T201 - shown by pytest with -rP
    assert report.program is None, f"{report.failure}\n\n{report.program}"
    assert report.verdict is Verdict.PASS
    assert not PROFILE.sees_everything or report.missing == ()


def test_a_failure_prints_the_shortest_program_and_it_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A planted mistake gives a program of a few calls, which fails alone when it is run."""
    changed = load_changed_implementation([REOPENING_RESETS_SPENT])

    report = run_reservation_machine(
        max_examples=300, stateful_step_count=30, seed=1, implementation=changed
    )

    assert report.verdict is Verdict.FAIL
    assert report.program is not None
    calls = [line for line in report.program.splitlines() if line.startswith("state.")]
    assert len(calls) <= 5
    assert calls[0].startswith("state.begin(early=[], invalid=[], faults=[], ")
    assert "action=OpenIntent(" in calls[-2]
    assert calls[-1] == "state.teardown()"
    monkeypatch.setattr(ReservationMachine, "implementation", changed)
    names: dict[str, Any] = {}
    with pytest.raises(Parted, match=r"spent: expected \d, found 0"):
        exec(report.program, names)  # noqa: S102 - the program is what is being tested
    names["state"].teardown()
