"""Histories of real processes are explained by the model, and wrong designs are not."""

from dataclasses import replace

import pytest

from conformance.changed_source import Change
from crash_harness.histories import HistoryReport, count_overlaps, judge_kept, run_histories
from model.admission_vocabulary import ABSENT, Admit, Answer, Claim
from model.checking.explore import Verdict
from model.checking.history import UNKNOWN, Operation, dump_history, load_history, make_history
from model.scopes import MACHINES

DEFERRED = Change(
    "impl/sqlite/connection.py",
    'with _bracket(connection, "begin immediate"):',
    'with _bracket(connection, "begin deferred"):',
)
CHECK_OUTSIDE = Change(
    "impl/sqlite/admission_store.py",
    """        connection = self._connection
        with transaction(connection):
            known = connection.execute(""",
    """        connection = self._connection
        with transaction(connection):
            pass
        if True:
            known = connection.execute(""",
)


@pytest.mark.parametrize("machine", tuple(MACHINES))
def test_histories_of_real_processes_are_explained(machine: str) -> None:
    """Twelve runs of four processes with ten calls each, some killed, are linearizable."""
    report = run_histories(machine, runs=12, seed=3)

    assert report.failed == []
    assert report.verdict is Verdict.PASS
    assert report.runs == 12
    assert report.operations > 12 * 4 * 8
    assert report.unanswered >= 1
    assert report.overlaps > report.operations / 2
    assert len(report.outcomes) >= 12


@pytest.mark.parametrize("change", [CHECK_OUTSIDE, DEFERRED], ids=["outside", "deferred"])
def test_a_check_outside_the_transaction_is_not_explained(change: Change) -> None:
    """Without one write transaction around check and insert, some history has no explanation."""
    report = run_histories("admission", runs=60, seed=1, changes=[change])

    assert report.verdict is Verdict.FAIL
    failed = report.failed[0]
    assert failed.judged.reason
    assert load_history(dump_history(failed.history)) == failed.history


def test_a_report_without_runs_does_not_pass() -> None:
    """No history was judged, so nothing was shown."""
    assert HistoryReport("admission", 1).verdict is Verdict.UNDETERMINED


def test_overlaps_count_calls_made_inside_another_one() -> None:
    """A call of another process that began earlier and ends later, or never, overlaps."""
    apart = [
        Operation("a", Claim(0), Answer.NOTHING_DUE, 1, 2),
        Operation("b", Claim(0), Answer.NOTHING_DUE, 3, 4),
    ]
    inside = [
        Operation("a", Claim(0), Answer.NOTHING_DUE, 1, 4),
        Operation("b", Claim(0), Answer.NOTHING_DUE, 2, 3),
    ]
    unanswered = [
        Operation("a", Claim(0), UNKNOWN, 1, None),
        Operation("b", Claim(0), Answer.NOTHING_DUE, 2, 3),
    ]

    counts = [
        count_overlaps(make_history("admission", each)) for each in (apart, inside, unanswered)
    ]

    assert counts == [0, 1, 1]


ADMITTED = Operation("w1", Admit("r1", "A", "aa"), Answer.ACCEPTED, 1, 2)


def test_a_kept_history_that_failed_by_its_state_fails_again() -> None:
    """The state that was found is in the file, so that judging again gives the same verdict."""
    text = dump_history(make_history("admission", [ADMITTED], found=ABSENT))

    kept = judge_kept(text)

    assert kept.history.found == ABSENT
    assert kept.judged.verdict is Verdict.FAIL
    assert "no order ends in the state that was found" in kept.judged.reason


def test_a_kept_history_that_failed_beside_its_answers_fails_again() -> None:
    """A process that did not answer is a failure of the kept history too."""
    text = dump_history(make_history("admission", [ADMITTED], problem="w2 did not answer"))

    kept = judge_kept(text)

    assert kept.judged.verdict is Verdict.FAIL
    assert kept.judged.reason == "w2 did not answer"


def test_a_right_kept_history_passes_without_an_overlap() -> None:
    """One file is judged by its answers, however its calls lie in time; one of none by nothing."""
    text = dump_history(make_history("admission", [ADMITTED]))

    assert judge_kept(text).judged.verdict is Verdict.PASS
    with pytest.raises(LookupError, match="no call"):
        judge_kept(dump_history(make_history("admission", [])))


@pytest.mark.parametrize("name", ["w0", "w65", "w999999", "w٣", "p1", "w"])
def test_a_process_that_no_run_has_is_refused(name: str) -> None:
    """A number is a small one in plain digits: each process takes a place in the model."""
    text = dump_history(make_history("admission", [replace(ADMITTED, process=name)]))

    with pytest.raises(LookupError, match="no process of a run here"):
        judge_kept(text)
