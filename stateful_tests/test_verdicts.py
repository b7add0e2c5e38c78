"""No engine passes without having looked, and undetermined is never a pass."""

from dataclasses import fields
from typing import Any

import pytest

from conformance.exhaustive import check_exhaustively
from conformance.walk import Walk
from crash_harness.contests import ContestReport
from crash_harness.exit_report import ExitReport
from crash_harness.histories import HistoryReport
from crash_harness.power_loss.death import DeathReport
from crash_harness.power_loss.report import PowerLossReport
from crash_harness.schedules.engine import ScheduleReport
from model.checking.explore import Verdict, explore
from model.checking.verdicts import conclude
from model.scopes import MACHINES, SCOPES
from stateful_tests.machine_run import MachineReport

REPORTS = (
    Walk,
    MachineReport,
    ExitReport,
    ContestReport,
    ScheduleReport,
    HistoryReport,
    PowerLossReport,
    DeathReport,
)
NOTHING: dict[str, Any] = {"found": None, "failure": None, "divergence": None, "is_complete": True}


@pytest.mark.parametrize("report", REPORTS, ids=lambda each: each.__name__)
def test_a_report_of_nothing_is_undetermined(report: Any) -> None:
    """Nothing failed, since nothing was looked at."""
    values = {each.name: NOTHING.get(each.name, _empty(str(each.type))) for each in fields(report)}

    assert report(**values).verdict is Verdict.UNDETERMINED


@pytest.mark.parametrize("machine", MACHINES)
def test_a_search_without_a_budget_is_undetermined(machine: str) -> None:
    """No state was allowed, so that none was searched."""
    scope = SCOPES[machine]["TINY"]

    assert explore(MACHINES[machine], scope, state_budget=0).verdict is Verdict.UNDETERMINED
    assert check_exhaustively(machine, scope, state_budget=0).verdict is Verdict.UNDETERMINED


def test_one_verdict_of_several_passes_only_if_all_pass() -> None:
    """A failure outweighs all, then what is undetermined; of none, nothing is known."""
    assert conclude([]) is Verdict.UNDETERMINED
    assert conclude([Verdict.PASS, Verdict.UNDETERMINED]) is Verdict.UNDETERMINED
    assert conclude([Verdict.UNDETERMINED, Verdict.FAIL]) is Verdict.FAIL
    assert conclude([Verdict.PASS, Verdict.PASS]) is Verdict.PASS


def _empty(kind: str) -> Any:
    """Return a value of a field's type that stands for nothing."""
    if "dict" in kind or "Mapping" in kind or "Counter" in kind:
        return {}
    if "tuple" in kind or "list" in kind or "Sequence" in kind:
        return ()
    return "" if "str" in kind else 0
