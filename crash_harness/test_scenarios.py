"""The nineteen frozen scenarios, and that no changed rule and no made-up result passes."""

import copy
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.changed_source import Change
from crash_harness import scenarios_admission, scenarios_dispatch
from crash_harness.contest_pool import Pool
from crash_harness.contest_worker import Stop
from crash_harness.scenarios import (
    LINE_WIDTH,
    RESULTS,
    SCENARIOS,
    NotOfTheModel,
    ScenarioRun,
    check_scenarios,
    compare_results,
    format_results,
    read_results,
    run_scenarios,
    scenario_sentence,
    write_results,
)
from crash_harness.scenarios_stage import FieldDifference, Stage
from impl.sqlite.reservation import Ledger
from model.admission_vocabulary import Admit, Init
from model.checking.explore import Verdict

STORE = "impl/sqlite/admission_store.py"
RESERVATION = "impl/sqlite/reservation.py"

PLANTED: dict[str, tuple[Change, str, FieldDifference]] = {
    "an expired lease is not taken at its last tick": (
        Change(STORE, "lease <= :now", "lease < :now"),
        "admission/life_cycle",
        FieldDifference(
            "admission/life_cycle",
            "claim_after_expiry.outcome",
            "claimed one at generation 2",
            "nothing_due",
        ),
    ),
    "the tenant's slots are ignored": (
        Change(STORE, "if tenant_count + 1 > limits.tenant_slots or ", "if "),
        "admission/twelve_processes",
        FieldDifference("admission/twelve_processes", "one_tenant.outcomes.accepted", 2, 4),
    ),
    "the global bytes are ignored": (
        Change(STORE, " or global_bytes + size > limits.global_bytes", ""),
        "admission/bytes_of_all_tenants",
        FieldDifference(
            "admission/bytes_of_all_tenants", "65_bytes_more", "global_full", "accepted"
        ),
    ),
    "a claimed request is cancelled": (
        Change(STORE, "state = 'queued' and generation = 0", "state = 'queued'"),
        "admission/cancel_only_when_never_claimed",
        FieldDifference(
            "admission/cancel_only_when_never_claimed",
            "cancel_redriven",
            "not_cancelled",
            "raised IntegrityError: CHECK constraint failed: case state",
        ),
    ),
    "effect and done are two transactions": (
        Change(
            STORE,
            "                return ResolveOutcome.STALE\n",
            "                return ResolveOutcome.STALE\n"
            "            connection.execute('commit')\n"
            "            connection.execute('begin immediate')\n",
        ),
        "admission/eight_exits",
        FieldDifference(
            "admission/eight_exits", "done_between_effect_and_done.found.effects[0]", None, "one"
        ),
    ),
    "an unknown call is tried again": (
        Change(RESERVATION, "if safety == Safety.NON_IDEMPOTENT:", "if safety == 'never':"),
        "dispatch/a_non_idempotent_unknown_stops",
        FieldDifference(
            "dispatch/a_non_idempotent_unknown_stops",
            "receipt_lost.second_attempt",
            "unknown_requires_reconciliation",
            "raised IntegrityError: CHECK constraint failed",
        ),
    ),
    "the last permit is never handed out": (
        Change(RESERVATION, "if spent == cap:", "if spent + 1 == cap:"),
        "dispatch/exhausted_with_nothing_sent",
        FieldDifference("dispatch/exhausted_with_nothing_sent", "spent", 2, 1),
    ),
}
"""A changed rule, the scenario that notices it, and the field in which it shows."""


def passing_run() -> ScenarioRun:
    """Return what a run that passes has shown, without running anything."""
    return ScenarioRun(read_results(), (), {}, frozenset(), 0.0)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """A stage of its own."""
    with Pool() as pool:
        yield Stage("test", pool, tmp_path)


def test_there_are_eleven_scenarios_of_admission_and_eight_of_dispatch() -> None:
    """The numbers of the source articles."""
    assert len(scenarios_admission.SCENARIOS) == 11
    assert len(scenarios_dispatch.SCENARIOS) == 8
    assert len(SCENARIOS) == 19
    assert list(SCENARIOS) == list(read_results())


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_scenario_says_what_it_shows(name: str) -> None:
    """A scenario has one sentence, which the report prints."""
    assert scenario_sentence(name).endswith(".")


def test_all_scenarios_are_as_stored_and_as_the_model_has_them() -> None:
    """Run for real, in real processes on real files, with the defaults."""
    done: list[int] = []

    report = check_scenarios(progress=done.append)

    assert report.run.problems == ()
    assert report.differences == ()
    assert report.verdict is Verdict.PASS
    assert list(report.run.results) == list(SCENARIOS)
    assert done == list(range(1, 20))


def test_a_change_of_a_stored_value_fails_with_field_old_and_new() -> None:
    """Whoever edits the file of results is told which field, and both values."""
    name = "admission/identity"
    changed = copy.deepcopy(read_results())
    changed[name]["state"]["records"]["one"]["state"] = "done"

    report = check_scenarios(names=[name], stored=changed)

    assert report.verdict is Verdict.FAIL
    assert report.differences == (
        FieldDifference(name, "state.records.one.state", "done", "queued"),
    )


def test_a_missing_and_a_surplus_scenario_fail() -> None:
    """The stored file and the list of scenarios have the same names."""
    run = passing_run()
    stored = read_results()
    identity = stored.pop("admission/identity")
    stored["admission/unknown"] = 1

    found = list(compare_results(stored, run))

    assert found == [
        FieldDifference("admission/unknown", "the whole result", 1, None),
        FieldDifference("admission/identity", "the whole result", None, identity),
    ]


@pytest.mark.parametrize("planted", PLANTED)
def test_a_changed_rule_fails_with_its_field(planted: str) -> None:
    """The check names scenario, field, stored and new value; and the model disagrees too."""
    change, name, expected = PLANTED[planted]

    report = check_scenarios(names=[name], changes=[change])

    assert report.verdict is Verdict.FAIL
    found = {each.field: each for each in report.differences}[expected.field]
    assert found.expected == expected.expected
    assert str(found.found).startswith(str(expected.found))
    assert {each.scenario for each in report.run.problems} == {name}


def test_results_that_the_model_does_not_have_are_never_stored(tmp_path: Path) -> None:
    """A run of a changed rule can't be written, nor can a run of some scenarios alone."""
    run = passing_run()
    change, name, _ = PLANTED["an expired lease is not taken at its last tick"]
    wrong = run_scenarios(names=[name], changes=[change])
    path = tmp_path / "results.json"

    for each in (
        wrong,
        ScenarioRun({**run.results, **wrong.results}, wrong.problems, {}, frozenset(), 0.0),
        ScenarioRun({name: run.results[name]}, (), {}, frozenset(), 0.0),
    ):
        with pytest.raises(NotOfTheModel):
            write_results(each, path)

    assert not path.exists()


def test_the_stored_file_is_as_it_is_written(tmp_path: Path) -> None:
    """Writing the results of a passing run gives the committed file, byte by byte."""
    path = tmp_path / "results.json"

    write_results(passing_run(), path)

    assert path.read_bytes() == RESULTS.read_bytes()
    assert max(map(len, path.read_text("utf-8").splitlines())) <= LINE_WIDTH


def test_results_are_formatted_as_json() -> None:
    """What is written is read back the same, also where it does not fit into a line."""
    value: dict[str, Any] = {"long": ["x" * 50] * 3, "empty": {}, "list": [{"a": None}], "中": "中"}

    written = format_results(value)

    assert json.loads(written) == value
    assert '"list": [{"a": null}]' in written


def test_stored_results_hold_no_winners_times_process_ids_or_paths() -> None:
    """Counts and states only, so that every run gives the same file."""
    text = RESULTS.read_text("utf-8")

    assert not re.search(r'"w\d+"|"r\d+"', text)
    assert not re.search(r"second|pid|/tmp|/dev|\.db|\d{5,}|\d\.\d", text.replace('"second', ""))


@pytest.mark.parametrize(
    ("code", "at_exit", "afterwards"),
    [
        (71, (0, 0, 0), (1, 1, 1)),
        (72, (1, 0, 0), (2, 1, 1)),
        (73, (1, 1, 1), (2, 2, 1)),
        (74, (1, 1, 1), (1, 1, 1)),
    ],
)
def test_the_fault_points_have_the_numbers_of_the_protocol(
    code: int, at_exit: tuple[int, ...], afterwards: tuple[int, ...]
) -> None:
    """Spent, calls and effects at the exit, and after one fresh attempt."""
    (name,) = [name for name in SCENARIOS if f"fault_{code}" in name]

    stored = read_results()[name]

    assert stored["exit_code"] == code
    assert tuple(stored["at_exit"].values()) == at_exit
    assert tuple(stored["afterwards"].values()) == afterwards


def test_the_refund_of_the_wrong_design_is_in_no_implementation() -> None:
    """The wrong design sends three times under a cap of one; the ledger has no such action."""
    stored = read_results()["dispatch/a_refund_breaks_the_budget"]

    assert (stored["cap"], stored["spent"], stored["receiver_calls"], stored["effects"]) == (
        1,
        0,
        3,
        1,
    )
    assert not [name for name in dir(Ledger) if "refund" in name]


def test_the_charge_of_three_bytes_is_held_until_done() -> None:
    """Usage is [1, 3] through expiry, quarantine and redrive, and [0, 0] after done."""
    stored = read_results()["admission/life_cycle"]
    held = [step["usage"] for step in stored.values() if "outcome" in step]

    assert held == [[1, 3]] * 9 + [[0, 0]] * 3
    assert stored["state"]["effects"] == ["one"]


def test_all_eight_exits_have_code_73() -> None:
    """Between intent and task, between effect and done, and around each of three commits."""
    stored = read_results()["admission/eight_exits"]

    assert len(stored) == 8
    assert {each["exit_code"] for each in stored.values()} == {73}


def test_a_process_that_does_not_exit_where_it_must_is_a_problem(stage: Stage) -> None:
    """A stop that no statement reaches is reported, with what the process answered."""
    with stage.admission() as play:
        play.call(Init())
        stop = Stop("admission", "before", "no such statement", exit_code=73)

        code = play.exit_at(Admit("one", "A", "x"), stop, commits=1)

    assert code == "no exit, but an answer: accepted"
    assert stage.problems == [FieldDifference("test", "exit code", 73, code)]


def test_a_process_that_hangs_ends_its_scenario_with_its_last_words() -> None:
    """A hang is undetermined, and the other scenarios go on."""
    hang = Change(
        STORE,
        "            if global_count + 1 > limits.global_slots or",
        "            import time; time.sleep(3600 if request_id == 'second' else 0)\n"
        "            if global_count + 1 > limits.global_slots or",
    )
    hanging = "admission/utf8_bytes_of_a_tenant"

    report = check_scenarios(names=["admission/identity", hanging], changes=[hang], limit_seconds=1)

    assert report.verdict is Verdict.UNDETERMINED
    assert list(report.run.lost) == [hanging]
    assert "admission_store.py" in report.run.lost[hanging]
    assert "admission/identity" in report.run.results


def test_an_unknown_scenario_is_an_error() -> None:
    """It is no verdict on the implementation."""
    with pytest.raises(LookupError, match="no scenario 'nothing'"):
        run_scenarios(names=["nothing"])


RUNS_THE_COMMAND = """
import sys
from pathlib import Path
import crash_harness.scenarios
crash_harness.scenarios.RESULTS = Path(sys.argv[1])
from workbench.cli import build_app
build_app(("experiment", "race"))(sys.argv[2:], prog_name="admit-one")
"""


def run_command(results: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `admit-one experiment` with another file of results."""
    return subprocess.run(
        [sys.executable, "-c", RUNS_THE_COMMAND, str(results), "experiment", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_command_fails_with_scenario_field_old_and_new(tmp_path: Path) -> None:
    """Exit code 1, and a line that says what to look at."""
    changed = read_results()
    changed["admission/identity"]["same_content"] = "conflict"
    path = tmp_path / "results.json"
    path.write_text(json.dumps(changed), "utf-8")

    shown = run_command(path, "--check", "--scenario", "admission/identity")

    assert shown.returncode == 1
    assert "fail  admission/identity" in shown.stdout
    assert "same_content: stored conflict, new replay" in shown.stdout


def test_the_command_rebuilds_the_file_and_shows_the_difference_first(tmp_path: Path) -> None:
    """--write shows each changed field, then stores what the model has too."""
    changed = read_results()
    changed["admission/identity"]["same_content"] = "conflict"
    path = tmp_path / "results.json"
    path.write_text(json.dumps(changed), "utf-8")

    shown = run_command(path, "--write")

    assert shown.returncode == 0
    assert "same_content: stored conflict, new replay" in shown.stdout
    assert "1 field changed" in shown.stderr
    assert path.read_bytes() == RESULTS.read_bytes()
