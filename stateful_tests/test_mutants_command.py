"""The kill matrix counts what it says, and the page of mutants is true."""

import json
import os
import re
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from conformance.changed_source import read_source
from conformance.mutants.catalogue import MUTANTS, find_mutant
from conformance.mutants.kills import ENGINES, EngineEntry, Kill
from conformance.mutants.matrix import (
    Cell,
    Ending,
    Trial,
    build_cells,
    plan_trials,
    run_in_order,
    run_trial,
    run_trials,
)
from conformance.mutants.mutant import Engine, Mutant
from conformance.mutants.page import (
    COLUMNS,
    PAGE,
    describe_cell,
    find_recorded,
    format_page,
    judge,
)
from model.checking.explore import Verdict

SLOT = find_mutant("slot-released-at-claim")
CRASHING = find_mutant("effect-in-a-second-transaction")


def _sleep(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - an engine has both
    time.sleep(600)
    return None


def _leave(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - an engine has both
    os._exit(9)


def _leave_at_seed_one(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - has both
    if seed == 1:
        os._exit(9)
    return None


def _raise(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - an engine has both
    raise ValueError("nothing was judged")


def _kill_odd_seeds(mutant: Mutant, seed: int) -> Kill | None:  # noqa: ARG001 - an engine has both
    return Kill(("outcome",), 10 - seed) if seed % 2 else None


def test_a_trial_in_a_process_of_its_own_kills() -> None:
    """The engine's answer comes back from the process in which it ran."""
    exhaustive = next(entry for entry in ENGINES if entry.engine is Engine.EXHAUSTIVE)

    result = run_trial(Trial(SLOT, exhaustive, 0))

    assert (result.ending, result.kill) == (Ending.KILLED, Kill(("outcome",), SLOT.shortest))


@pytest.mark.parametrize(
    ("run", "ending", "message"),
    [
        (_sleep, Ending.TIMEOUT, "no end in 2 s"),
        (_leave, Ending.ERROR, "the process ended with 9"),
        (_raise, Ending.ERROR, "ValueError: nothing was judged"),
    ],
    ids=["hangs", "leaves", "raises"],
)
def test_what_is_no_answer_is_no_kill(run: object, ending: Ending, message: str) -> None:
    """A mutant that hangs is a timeout, and one that takes its process down is an error."""
    entry = EngineEntry(Engine.EXHAUSTIVE, run)  # type: ignore[arg-type]
    limit_seconds = 2 if ending is Ending.TIMEOUT else 60

    result = run_trial(Trial(SLOT, entry, 0), limit_seconds)

    assert (result.ending, result.message, result.kill) == (ending, message, None)


def test_the_seeds_after_a_lost_process_run_in_another_one() -> None:
    """A process that leaves takes one trial with it, and no other."""
    entry = EngineEntry(Engine.WALK, _leave_at_seed_one, draws_lots=True)

    results = run_in_order(plan_trials([SLOT], [entry], range(3)))

    assert [each.ending for each in results] == [Ending.SURVIVED, Ending.ERROR, Ending.SURVIVED]


def test_an_engine_of_chance_is_counted_over_its_seeds() -> None:
    """A cell says how many seeds killed, and how long the shortest trace of any of them is."""
    entry = EngineEntry(Engine.WALK, _kill_odd_seeds, draws_lots=True)
    trials = plan_trials([SLOT], [entry], range(4))

    (cell,) = build_cells(trials, list(run_trials(trials, workers=2)))

    assert (cell.killed, cell.trials, cell.length) == (2, 4, 7)
    assert describe_cell(replace(cell, seconds=0.26)) == "2/4, 7, 0.3 s"


def test_slow_engines_are_set_on_the_mutants_that_name_them() -> None:
    """Unless every engine is asked for."""
    entry = EngineEntry(Engine.CRASH, _kill_odd_seeds, is_slow=True)

    assert [trial.mutant for trial in plan_trials([SLOT, CRASHING], [entry])] == [CRASHING]
    assert len(plan_trials([SLOT, CRASHING], [entry], takes_time=True)) == 2


def _cell(mutant: Mutant, engine: Engine, killed: int, timeouts: int = 0) -> Cell:
    return Cell(mutant.name, engine, killed, 1, timeouts, (), 0.1, ("outcome",), 4)


@pytest.mark.parametrize(
    ("cell", "verdict"),
    [
        (_cell(SLOT, Engine.EXHAUSTIVE, 1), Verdict.PASS),
        (_cell(SLOT, Engine.EXHAUSTIVE, 0), Verdict.FAIL),
        (_cell(SLOT, Engine.EXHAUSTIVE, 0, timeouts=1), Verdict.UNDETERMINED),
        (_cell(SLOT, Engine.WALK, 0), Verdict.PASS),
        (_cell(find_mutant("claim-without-an-order"), Engine.WALK, 1), Verdict.FAIL),
        (Cell("unchanged-admission", Engine.WALK, 1, 1, 0, (), 0.1, (), 1), Verdict.FAIL),
        (Cell(SLOT.name, Engine.WALK, 0, 1, 0, ("it broke",), 0.1, (), None), Verdict.FAIL),
    ],
    ids=["killed", "survived", "timeout", "other", "not-equivalent", "unchanged", "error"],
)
def test_the_verdict_on_a_matrix(cell: Cell, verdict: Verdict) -> None:
    """Every mutant dies by the engine that it names; a timeout leaves that undetermined."""
    assert judge([cell], MUTANTS)[0] is verdict


def test_the_page_is_made_from_the_catalogue() -> None:
    """`admit-one mutants list --write` changes nothing but what somebody has recorded."""
    page = read_source(PAGE)

    assert page == format_page(find_recorded(page))


def test_the_recorded_matrix_kills_every_mutant_by_its_engine() -> None:
    """The recorded part has a row for each mutant of the implementation, and none is left alive."""
    lines = find_recorded(read_source(PAGE)).splitlines()[2:]
    rows = {
        cells[0].strip("`"): cells for cells in (line.strip("| ").split(" | ") for line in lines)
    }

    assert list(rows) == [mutant.name for mutant in MUTANTS if not mutant.is_of_the_model]
    for name, (_, engine, *cells) in rows.items():
        mutant = find_mutant(name)
        found = dict(zip(map(str, COLUMNS), cells, strict=True))
        assert engine == str(mutant.engine or "none: equivalent")
        if mutant.engine is Engine.EXHAUSTIVE:
            assert found[mutant.engine].rpartition(", ")[0] == ", ".join(
                filter(None, (mutant.killer, str(mutant.shortest or "")))
            )
        elif mutant.engine is not None:
            assert found[mutant.engine] != "error"
            assert not found[mutant.engine].startswith(("–", "survives", "0/"))


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", "mutants", *arguments],
        env={**os.environ, "COLUMNS": "200", "PYTHONUTF8": "1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_command_shows_a_mutant_as_a_diff_with_its_rule() -> None:
    """`admit-one mutants show NAME` prints what is to be known, and then the diff as it is."""
    shown = _run("show", SLOT.name)

    assert shown.returncode == 0
    assert shown.stdout.endswith(f"\n\n{SLOT.unified_diff()}")
    assert SLOT.why in shown.stdout
    assert f"{SLOT.rule} ({SLOT.machine})" in shown.stdout


def test_the_command_lists_every_mutant() -> None:
    """`admit-one mutants list --json` has one entry a mutant, in the order of the catalogue."""
    values = json.loads(_run("list", "--json").stdout)

    assert [value["name"] for value in values] == [mutant.name for mutant in MUTANTS]


def test_the_command_runs_one_engine_on_one_mutant() -> None:
    """`admit-one mutants run` prints a row, and ends with the verdict as its exit code."""
    ran = _run("run", "--engine", "exhaustive", "--mutant", SLOT.name)

    assert ran.returncode == 0
    assert re.search(
        rf"^{SLOT.name} .* outcome, {SLOT.shortest}, [0-9.]+ s ", ran.stdout, re.MULTILINE
    )
    assert ran.stdout.endswith("verdict: pass\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("show",),
        ("show", "no-such-mutant"),
        ("sing",),
        ("run", "--write", "--engine", "walk"),
        ("run", "--write"),
    ],
    ids=["no-name", "unknown", "no-such-word", "part-of-the-page", "part-of-the-engines"],
)
def test_wrong_usage_of_the_command_exits_with_two(arguments: tuple[str, ...]) -> None:
    """Nothing is printed to standard output then."""
    ran = _run(*arguments)

    assert (ran.returncode, ran.stdout) == (2, "")
