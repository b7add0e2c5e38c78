"""The SQLite admission store follows its model through whatever is asked and whatever fails."""

from typing import Any

import pytest

from conformance.changed_source import Change, load_changed_implementation
from model.checking.explore import Verdict
from stateful_tests.admission_machine import AdmissionMachine, run_admission_machine
from stateful_tests.failing_program import Parted
from stateful_tests.machine_run import format_report
from stateful_tests.profiles import choose_profile

PROFILE = choose_profile()
STORE = "impl/sqlite/admission_store.py"
LEASE_IS_INCLUSIVE = Change(
    STORE,
    "set state = 'quarantined', lease = null\n"
    "                where request_id = :request_id and state = 'inflight'\n"
    "                  and generation = :generation and lease > :now",
    "set state = 'quarantined', lease = null\n"
    "                where request_id = :request_id and state = 'inflight'\n"
    "                  and generation = :generation and lease >= :now",
)
CASE_IS_FOLDED = Change(
    STORE,
    '"select tenant, payload from intent where request_id = :request_id"',
    '"select tenant, payload from intent where request_id = :request_id collate nocase"',
)


def test_the_store_follows_the_model_and_all_of_it_is_seen() -> None:
    """Outcome, durable state, properties and sums agree after every step, faults included.

    A run that is long enough meets each outcome, each fault and each kind of restart.
    """
    report = run_admission_machine(
        max_examples=PROFILE.max_examples,
        stateful_step_count=PROFILE.stateful_step_count,
        seed=PROFILE.seed,
    )

    print("\n".join(format_report(report)))  # noqa: T201 - shown by pytest with -rP
    assert report.program is None, f"{report.failure}\n\n{report.program}"
    assert report.verdict is Verdict.PASS
    assert not PROFILE.sees_everything or report.missing == ()


@pytest.mark.parametrize(
    ("mistake", "last_call"),
    [
        (LEASE_IS_INCLUSIVE, "action=Quarantine(token=Token("),
        (CASE_IS_FOLDED, "action=Admit(request_id='"),
    ],
    ids=["inclusive lease", "folded case"],
)
def test_a_failure_prints_the_shortest_program_and_it_runs(
    mistake: Change, last_call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted mistake gives a program of a few calls, which fails alone when it is run."""
    changed = load_changed_implementation([mistake])

    report = run_admission_machine(
        max_examples=300, stateful_step_count=30, seed=2, implementation=changed
    )

    assert report.verdict is Verdict.FAIL
    assert report.program is not None
    calls = [line for line in report.program.splitlines() if line.startswith("state.")]
    assert len(calls) <= 5
    assert calls[0].startswith("state.begin(early=[], invalid=[], faults=[], limits=Limits(")
    assert last_call in calls[-2]
    assert calls[-1] == "state.teardown()"
    monkeypatch.setattr(AdmissionMachine, "implementation", changed)
    names: dict[str, Any] = {}
    with pytest.raises(Parted, match="outcome"):
        exec(report.program, names)  # noqa: S102 - the program is what is being tested
    names["state"].teardown()
