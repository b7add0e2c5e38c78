"""The cost of an admission follows the outstanding work, never the history."""

import sqlite3
from functools import partial
from pathlib import Path

import impl.sqlite.admission as store_module
from impl.sqlite.connection import connect, open_database


def _trace_admit(path: Path) -> list[str]:
    """Return the statements of one accepted admit, with their values filled in."""
    statements: list[str] = []

    def open_traced(uri: str) -> sqlite3.Connection:
        connection = open_database(uri)
        assert isinstance(connection, sqlite3.Connection)
        connection.set_trace_callback(statements.append)
        return connection

    seam = partial(connect, driver=open_traced)
    with store_module.AdmissionStore(path, connect=seam) as store:
        statements.clear()
        assert store.admit("new", "tenant-a", "x") == "accepted"
    return statements


def test_admit_reads_the_outstanding_rows_through_a_covering_index_alone(tmp_path: Path) -> None:
    """No statement of an accepted admit scans a table, and the sums never touch one."""
    path = tmp_path / "a.db"
    store_module.init(path)
    statements = _trace_admit(path)
    reader = sqlite3.connect(path)

    plans = {
        statement: [row[3] for row in reader.execute(f"explain query plan {statement}")]
        for statement in statements
        if statement.lstrip().startswith(("select", "insert", "update"))
    }
    reader.close()

    sums = [plan for statement, plan in plans.items() if "sum(size)" in statement]
    assert sums == [["SCAN task USING COVERING INDEX task_outstanding"]]
    scans = [step for plan in plans.values() for step in plan if step.startswith("SCAN")]
    assert [scan for scan in scans if "task_outstanding" not in scan and scan != "SCAN store"] == []


def test_admit_takes_no_more_steps_with_finished_records(tmp_path: Path) -> None:
    """SQLite's machine takes as many steps for an admit with 500 finished records as with one."""
    paths = {finished: tmp_path / f"{finished}.db" for finished in (1, 500)}
    for finished, path in paths.items():
        store_module.init(path)
        with store_module.AdmissionStore(path) as store:
            for number in range(finished):
                store.admit(f"r{number}", "tenant-a", "x")
                token = store.claim(0)
                assert token is not None
                store.resolve(token, 0)

    steps = {finished: _count_steps(path) for finished, path in paths.items()}

    assert abs(steps[500] - steps[1]) <= 1, steps


def _count_steps(path: Path) -> int:
    """Return how many batches of ten instructions of SQLite's machine an accepted admit takes."""
    batches = [0]

    def count() -> int:
        batches[0] += 1
        return 0

    def open_counted(uri: str) -> sqlite3.Connection:
        connection = open_database(uri)
        assert isinstance(connection, sqlite3.Connection)
        connection.set_progress_handler(count, 10)
        return connection

    with store_module.AdmissionStore(path, connect=partial(connect, driver=open_counted)) as store:
        batches[0] = 0
        assert store.admit("new", "tenant-b", "x") == "accepted"
        return batches[0]
