"""Death inside COMMIT, in real processes: two states are possible, and both are seen."""

import functools
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

import impl.sqlite.admission as admission_module
from conformance.place import scratch_folder
from crash_harness.power_loss.binding import BoundConnection
from crash_harness.power_loss.death import (
    Aftermath,
    DeathHouse,
    DeathNotCertain,
    PreparedCase,
    check_deaths,
    name_state,
    prepare_cases,
    run_deaths,
)
from crash_harness.power_loss.death_cases import find_death_cases
from crash_harness.power_loss.log import StorageEvent, Synced, Written
from crash_harness.power_loss.recorder import Perform, RecordedFile, Recorder, recording
from impl.sqlite.connection import connect
from model.checking.explore import Verdict
from model.machine import action_name
from model.scopes import MACHINES

MACHINE_NAMES = tuple(MACHINES)
CHOSEN = {"admission": ("claim", "resolve"), "reservation": ("reserve", "enter")}
PROGRAMS_AND_CREATIONS = {
    "admission": {"init", "tick"},
    "reservation": {"init_ledger", "init_receiver", "send", "attempt", "crash"},
}
"""Actions that are no single step on a store that others can have open."""


@functools.cache
def _prepared(machine: str) -> tuple[PreparedCase, ...]:
    """Return one case for each of the chosen actions."""
    by_name = {case.case.name: case for case in reversed(prepare_cases(machine))}
    return tuple(by_name[name] for name in CHOSEN[machine])


def _ghost_case() -> tuple[PreparedCase, int]:
    """Return a claim, and the place of its last write."""
    case = _prepared("admission")[0]
    writes = [place for place, each in enumerate(case.operations) if isinstance(each, Written)]
    return case, writes[-1]


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_each_step_that_changes_a_store_has_a_case(machine: str) -> None:
    """A new action of the model is not forgotten here."""
    names = {case.name for case in find_death_cases(machine)}

    expected = {action_name(kind) for kind in MACHINES[machine].steps}
    assert names == expected - PROGRAMS_AND_CREATIONS[machine]


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_death_inside_commit_leaves_the_state_before_or_after(machine: str) -> None:
    """Before, half-way through and after each operation: one of the two, and both are seen."""
    aftermaths = list(run_deaths(machine, _prepared(machine), has_survivor=False))

    assert len(aftermaths) > 20
    for case in _prepared(machine):
        assert {each.last for owner, each in aftermaths if owner is case} == {"before", "after"}


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_with_a_survivor_the_new_state_comes_up_when_all_are_gone(machine: str) -> None:
    """Beside a survivor everyone reads the old state; some of it are ghost commits (STORAGE 1)."""
    prepared = _prepared(machine)[:1]

    aftermaths = [each for _, each in run_deaths(machine, prepared, has_survivor=True)]

    assert {each.survivor for each in aftermaths} == {"before"}
    assert {each.beside for each in aftermaths} == {"before"}
    assert {each.last for each in aftermaths} == {"before", "after"}
    assert _places(aftermaths, lambda each: each.is_ghost) == _places(
        aftermaths, lambda each: each.last == "after"
    )


def _places(
    aftermaths: list[Aftermath], is_wanted: Callable[[Aftermath], bool]
) -> list[tuple[int, str]]:
    return [(each.place, each.mode) for each in aftermaths if is_wanted(each)]


def test_a_report_of_deaths_counts_both_states() -> None:
    """The first case of a machine, alone and beside a survivor."""
    report = check_deaths("admission", most_cases=1)

    assert report.problems == ()
    assert report.verdict is Verdict.PASS
    assert report.deaths == report.before + report.after
    assert 0 < report.ghosts < report.after


SETTLES = {
    "nothing": ((), False),
    "an empty write transaction": (("begin immediate", "commit"), False),
    "a passive checkpoint": (("pragma wal_checkpoint(passive)",), False),
    "a truncating checkpoint": (("pragma wal_checkpoint(truncate)",), True),
    "an update to the same value": (("update store set clock = clock",), False),
    "a write": (("update store set clock = 1", "update store set clock = 0"), True),
}


@pytest.mark.parametrize("doing", SETTLES)
def test_a_ghost_commit_is_settled_by_writing(doing: str) -> None:
    """Reading, an empty transaction and a passive checkpoint settle nothing; a write does.

    SQLite writes no page for an update to the same value.
    """
    statements, is_settled = SETTLES[doing]
    case, last_write = _ghost_case()
    with scratch_folder() as folder, DeathHouse("admission", folder) as house:
        house.lay_out(case.files)
        house.survive()
        house.die(case, last_write, "after")

        house.ask(do="run", statements=statements)
        beside = name_state(case.case, repr(house.read()))
        house.end_survivor()
        last = name_state(case.case, repr(house.read()))

    assert beside == "before"
    assert last == ("before" if is_settled else "after")


def test_the_clean_close_of_the_last_connection_settles_a_ghost_commit() -> None:
    """The last one to close checkpoints what it knows of, and deletes the log with the rest."""
    case, last_write = _ghost_case()
    with scratch_folder() as folder, DeathHouse("admission", folder) as house:
        house.lay_out(case.files)
        house.survive()
        house.die(case, last_write, "after")

        house.end_survivor(is_clean=True)

        assert name_state(case.case, repr(house.read())) == "before"


def test_a_real_death_leaves_the_files_that_the_log_foretells() -> None:
    """After each death the files are byte for byte those rebuilt from one recording."""
    deaths = 0
    with scratch_folder() as folder, DeathHouse("admission", folder) as house:
        for case in _prepared("admission"):
            for place, mode in case.deaths():
                house.lay_out(case.files)
                house.die(case, place, mode)

                found = {file.name: file.read_bytes() for file in folder.glob("*.db*")}
                found.pop("admission.db-shm", None)
                assert found == case.foretell(place, mode), (case.case.name, place, mode)
                deaths += 1
    assert deaths > 20


def test_a_child_that_does_not_die_where_it_was_told_to_proves_nothing() -> None:
    """A place beyond the COMMIT is an error of the harness, never a pass."""
    case = _prepared("admission")[0]
    with scratch_folder() as folder, DeathHouse("admission", folder) as house:
        house.lay_out(case.files)
        beyond = replace(case, operations=(*case.operations, Synced("x")))

        with pytest.raises(DeathNotCertain, match="the end"):
            house.die(beyond, len(case.operations), "before")


# ── A COMMIT that raises ──────────────────────────────────────────────────────────────────


def _admit_under_a_failing_gate(
    folder: Path, is_failing: Callable[[StorageEvent], bool]
) -> tuple[int, int]:
    """Admit while an operation inside COMMIT raises.

    Return how many records the same connection reads then, and how many a fresh opener does once
    the process is gone, that is: on the files as they are.
    """
    with recording() as recorder:
        path = folder / "a.db"
        driver = functools.partial(connect, driver=recorder.connect)
        admission_module.init(path, connect=driver)
        store = admission_module.AdmissionStore(path, connect=driver)
        recorder.gate = _failing_gate(recorder, is_failing)
        with pytest.raises(sqlite3.OperationalError) as raised:
            store.admit("r1", "A", "aa")
        assert raised.value.sqlite_errorcode == apsw.SQLITE_IOERR_FSYNC
        same = len(store.snapshot()["records"])
        (folder / "later").mkdir()
        for suffix in ("", "-wal"):
            shutil.copy(f"{path}{suffix}", folder / "later")
        recorder.gate = _plain
        store.close()
    later = admission_module.snapshot(folder / "later" / "a.db")
    return same, len(later["records"])


def _plain(event: StorageEvent, perform: Perform, file: RecordedFile | None) -> None:  # noqa: ARG001 - the shape of a gate
    perform()


def _failing_gate(
    recorder: Recorder, is_failing: Callable[[StorageEvent], bool]
) -> Callable[[StorageEvent, Perform, RecordedFile | None], None]:
    begun = len(recorder.log)

    def gate(event: StorageEvent, perform: Perform, file: RecordedFile | None) -> None:  # noqa: ARG001 - the shape of a gate
        has_written = any(
            isinstance(each, Written) and each.offset > 0 for each in recorder.log[begun:]
        )
        if is_failing(event) and has_written:
            raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)
        perform()

    return gate


def test_a_commit_that_raises_at_its_sync_is_unknown(tmp_path: Path) -> None:
    """The call raises, its connection reads the old state, and a later opener the new one (2)."""
    same, later = _admit_under_a_failing_gate(tmp_path, lambda event: isinstance(event, Synced))

    assert (same, later) == (0, 1)


def test_a_commit_that_raises_at_a_write_reads_old_both_times(tmp_path: Path) -> None:
    """Every other failing operation leaves the old state, then and later (2)."""
    same, later = _admit_under_a_failing_gate(tmp_path, lambda event: isinstance(event, Written))

    assert (same, later) == (0, 0)


# ── What else the crash model must carry ──────────────────────────────────────────────────


def test_a_connection_reads_its_own_uncommitted_rows(tmp_path: Path) -> None:
    """Only a second connection shows that a commit was forgotten (STORAGE 9)."""
    path = tmp_path / "a.db"
    admission_module.init(path)
    writer, reader = _open_standard(path), _open_standard(path)

    writer.execute("begin immediate")
    writer.execute("update store set clock = 7")

    assert writer.execute("select clock from store").fetchone() == (7,)
    assert reader.execute("select clock from store").fetchone() == (0,)
    writer.close()
    reader.close()


def test_a_deferred_transaction_can_not_become_a_writer_behind_another_commit(
    tmp_path: Path,
) -> None:
    """It fails at once with a busy snapshot, however long the timeout is (STORAGE 10)."""
    path = tmp_path / "a.db"
    admission_module.init(path)
    first, second = _open_standard(path), _open_standard(path)
    first.execute("pragma busy_timeout = 60000")
    first.execute("begin deferred")
    first.execute("select clock from store").fetchone()
    second.execute("update store set clock = 1")

    with pytest.raises(sqlite3.OperationalError) as raised:
        first.execute("update store set clock = 2")

    assert raised.value.sqlite_errorcode == sqlite3.SQLITE_BUSY_SNAPSHOT
    first.close()
    second.close()


def _open_standard(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, isolation_level=None)


def test_the_binding_raises_what_sqlite3_raises(tmp_path: Path) -> None:
    """An error of APSW arrives with the class and the extended code that `sqlite3` gives it."""
    path = tmp_path / "a.db"
    admission_module.init(path)
    statement = "insert into effect (request_id, value) values ('r1', 'nonsense')"
    standard = _open_standard(path)
    with pytest.raises(sqlite3.IntegrityError) as expected:
        standard.execute(statement)
    standard.close()

    with recording() as recorder:
        bound: BoundConnection = recorder.connect(f"{path.as_uri()}?mode=rw")
        with pytest.raises(sqlite3.IntegrityError) as found:
            bound.execute(statement)
        bound.close()

    assert found.value.sqlite_errorcode == expected.value.sqlite_errorcode
    assert found.value.sqlite_errorname == expected.value.sqlite_errorname
