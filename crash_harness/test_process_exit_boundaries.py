"""Boundaries are found in statements and named from the SQL; files are compared by content."""

import itertools
import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.place import scratch_folder
from crash_harness.boundaries import Statement, merge_orders, read_tape, shorten
from crash_harness.calls import operation_name
from crash_harness.cases import (
    NO_CALLS,
    Databases,
    find_nearest,
    find_starts,
)
from crash_harness.child import END, OPERATIONS
from crash_harness.exit_report import CaseName, UnknownName
from crash_harness.files import StoreFiles, content_of, read_files, write_files
from crash_harness.forking import Call, ForkingParent
from impl.sqlite import admission
from impl.sqlite.connection import connect
from model.machine import action_name
from model.scopes import MACHINES


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory."""
    with scratch_folder() as path:
        yield path


def _tape(*statements: str) -> list[Statement]:
    return [Statement(*each.split(": ")) for each in statements]


@pytest.mark.parametrize(
    ("sql", "name"),
    [
        ("begin immediate", "begin"),
        ("begin deferred", "begin deferred"),
        ("BEGIN", "begin deferred"),
        ("COMMIT", "commit"),
        ("end transaction", "commit"),
        ("rollback", "rollback"),
        ("pragma journal_mode = wal", "set journal_mode"),
        ("pragma journal_mode", "read journal_mode"),
        ("\n  insert into task (sequence)\n  values (1)", "insert task"),
        ("insert or ignore into task values (1)", "insert task"),
        ("update store set clock = 5", "update store"),
        ('delete from "effect" where 1', "delete effect"),
        ("select count(*), sum(size) from task indexed by i", "select task"),
        ("select 'a from b', x from intent", "select intent"),
        ("select 'it''s from b' from intent", "select intent"),
        ("-- a comment from here\nselect 1 from store", "select store"),
        ("/* from nowhere */ select 1", "select"),
        ("create unique index effect_once on effect (intent_id)", "create index effect_once"),
        ("create table call (ledger text) strict", "create table call"),
        ("vacuum", "vacuum"),
    ],
)
def test_a_statement_is_named_by_its_keyword_and_what_it_is_about(sql: str, name: str) -> None:
    """The name does not depend on case, layout, comments or values."""
    assert shorten(sql) == name


def test_a_boundary_is_before_each_statement_and_after_the_last() -> None:
    """Neighbours name a boundary, and a commit beside it outweighs them."""
    tape = _tape(
        "admission: begin immediate",
        "admission: insert into intent values (1)",
        "admission: insert into task values (1)",
        "admission: commit",
    )

    boundaries = read_tape(tape, names_stores=False)

    assert [(each.name, each.commits) for each in boundaries] == [
        ("before begin", 0),
        ("between begin and insert intent", 0),
        ("between insert intent and insert task", 0),
        ("before commit", 0),
        ("after commit", 1),
    ]
    assert [each.is_beside_commit for each in boundaries] == [False, False, False, True, True]


def test_a_call_without_statements_has_one_boundary() -> None:
    """It is before the call returns."""
    (boundary,) = read_tape([], names_stores=False)

    assert boundary.name == "before it returns"


def test_the_end_of_a_transaction_that_only_read_is_no_commit() -> None:
    """A deferred transaction counts as a commit only if it has written."""
    reading = _tape("a: begin", "a: select 1 from store", "a: commit")
    writing = _tape("a: begin", "a: update store set clock = 1", "a: commit")

    assert read_tape(reading, names_stores=False)[-1].commits == 0
    assert read_tape(writing, names_stores=False)[-1].commits == 1


def test_a_write_outside_of_a_transaction_is_a_commit_of_its_own() -> None:
    """In autocommit mode each write is durable by itself."""
    tape = _tape("a: insert into effect values (1)", "a: update task set state = 'done'")

    assert [each.commits for each in read_tape(tape, names_stores=False)] == [0, 1, 2]


def test_statements_of_two_stores_are_named_with_their_store() -> None:
    """Where an operation crosses from one store to the other, both are named."""
    tape = _tape(
        "ledger: begin immediate",
        "ledger: commit",
        "receiver: begin immediate",
        "ledger: select 1 from intent",
    )

    assert [each.name for each in read_tape(tape, names_stores=True)] == [
        "ledger: before begin",
        "ledger: before commit",
        "ledger: after commit",
        "between receiver begin and ledger select intent",
        "ledger: after select intent",
    ]


def test_no_two_boundaries_of_a_call_share_a_name(folder: Path) -> None:
    """What is repeated gets a number, also where a call runs the same statement twice."""
    with ForkingParent() as parent:
        path = str(folder / "admission.db")
        death = parent.run(Call("init", (4, 256, 2, 128, 96), {"admission": path}), END)

    names = [each.name for each in read_tape(death.statements, names_stores=False)]

    assert len(names) == len(set(names))
    assert "between set journal_mode and read journal_mode (2)" in names


def test_a_name_depends_on_no_later_statement() -> None:
    """So a process that dies can be told where, without having run on."""
    tape = _tape("a: begin immediate", "a: update store set clock = 1", "a: commit", "a: begin")

    full = read_tape(tape, names_stores=False)

    for length in range(1, len(tape) + 1):
        assert read_tape(tape[:length], names_stores=False)[:-1] == full[:length]


def test_the_orders_of_different_outcomes_merge_into_one() -> None:
    """A refusal's boundaries stand among those of the longest course."""
    assert merge_orders([("a", "d"), ("a", "b", "c", "d"), ("a", "b", "x")]) == (
        *("a", "b", "x", "c", "d"),
    )


@pytest.mark.parametrize("machine", MACHINES)
def test_every_action_that_touches_a_store_can_be_run_by_a_child(machine: str) -> None:
    """An action that a model gets tomorrow has to get its row in the binding."""
    actions = {action_name(kind) for kind in MACHINES[machine].steps if kind not in NO_CALLS}

    assert actions <= set(OPERATIONS)


@pytest.mark.parametrize("machine", MACHINES)
def test_starts_are_distinct_and_cover_every_reachable_outcome(machine: str) -> None:
    """TINY and SMALL together have a start for each (action, outcome) of the protocol's table."""
    tiny = find_starts(machine, "TINY")
    pairs = MACHINES[machine].pairs()
    missing = [pair for pair in pairs if pair not in {start.pair for start in tiny.starts}]
    small = find_nearest(machine, "SMALL", missing)
    no_calls = {action_name(kind) for kind in NO_CALLS}

    assert len({start.key for start in tiny.starts}) == len(tiny.starts)
    assert len({start.digest for start in tiny.starts}) == len(tiny.starts)
    assert {pair for pair in missing if pair[0] not in no_calls} == {
        start.pair for start in small.starts
    }


def test_what_other_workers_hold_makes_no_start_of_its_own() -> None:
    """The distinct starts of the dispatch budget are far fewer than its calls."""
    found = find_starts("reservation", "TINY")
    reserves = [start for start in found.starts if operation_name(start.action) == "reserve"]

    states = {start.key[0] for start in reserves}

    assert len(reserves) == len(states)
    assert len(found.search.parents) > len(states)


def test_the_databases_of_a_start_are_those_of_production(folder: Path) -> None:
    """They are in WAL mode, closed in good order, and opened with `synchronous` at full."""
    found = find_starts("admission", "TINY")
    last = list(found.search.parents)[-1]

    files = Databases(found.search, folder).files_of(last)

    assert [(each.name, each.log, each.journal) for each in files] == [("admission", b"", b"")]
    assert files[0].main[18:20] == b"\x02\x02"  # the header's words for a write-ahead log
    write_files(folder, files)
    connection = connect(folder / "admission.db", create=False)
    modes = [
        connection.execute(f"pragma {name}").fetchone() for name in ("journal_mode", "synchronous")
    ]
    connection.close()
    assert modes == [("wal",), (2,)]


def test_a_start_with_a_log_has_its_last_commit_there_alone(folder: Path) -> None:
    """Opening such a store is what a process does that comes after a crash."""
    found = find_starts("admission", "TINY")
    databases = Databases(found.search, folder)
    state = next(state for state in found.search.parents if state.records)

    clean, logged = databases.files_of(state), databases.files_of(state, has_log=True)

    assert logged[0].log
    assert content_of(clean) != content_of(logged)


def test_files_are_compared_without_what_is_random_in_them(folder: Path) -> None:
    """The salts of a write-ahead log differ from run to run; its frames don't."""
    contents = []
    for name in ("one", "two"):
        own = folder / name
        own.mkdir()
        admission.init(own / "admission.db")
        with ForkingParent() as parent:
            call = Call("admit", ("r", "t", "x"), {"admission": str(own / "admission.db")})
            parent.run(call, END)
        contents.append(read_files(own, ["admission"]))

    assert contents[0] != contents[1]
    assert content_of(contents[0]) == content_of(contents[1])


def test_files_read_back_are_those_written(folder: Path) -> None:
    """Nothing is left of databases that were there before."""
    files = (StoreFiles("admission", b"main", b"log", b"journal"),)
    write_files(folder, (StoreFiles("admission", b"other", b"", b"longer than before"),))

    write_files(folder, files)

    assert read_files(folder, ["admission"]) == files


@pytest.mark.parametrize("way", ["exit", "kill"])
def test_a_log_left_by_a_death_is_read_by_the_next_process(folder: Path, way: str) -> None:
    """Files that were copied after a death hold what had been committed."""
    admission.init(folder / "admission.db")
    with ForkingParent() as parent:
        call = Call("admit", ("r", "t", "x"), {"admission": str(folder / "admission.db")})
        parent.run(call, END, way=way)
    files = read_files(folder, ["admission"])
    shutil.rmtree(folder)
    folder.mkdir()

    write_files(folder, files)

    with sqlite3.connect(folder / "admission.db") as connection:
        rows = connection.execute("select request_id from task").fetchall()
    connection.close()
    assert files[0].log
    assert rows == [("r",)]


@pytest.mark.parametrize("ending", ["exit", "kill", "busy", "io_error"])
def test_the_name_of_a_case_can_be_read_back(ending: str) -> None:
    """A case is repeated by the name that it is reported with."""
    place = ("reservation", "TINY", "open ledger", "0123abcd", "ledger: after commit (2)")
    for has_survivor, second in itertools.product((False, True), (None, "before commit")):
        case = CaseName(*place, ending=ending, has_survivor=has_survivor, second=second)

        assert CaseName.parse(str(case)) == case
        assert str(case) in case.command


def test_a_text_that_names_no_case_is_refused() -> None:
    """The error says how a name looks."""
    with pytest.raises(UnknownName, match="MACHINE SCOPE / OPERATION"):
        CaseName.parse("admit / before commit")
