"""A bug of SQLite that the project has met: `sqlite3_deserialize` leaves prepared statements alive.

A statement that was prepared before the call keeps a pointer to a table of the schema that the
call frees. The child process below shows it: its allocator overwrites what is freed, so that the
stale pointer is met every time and not once in some hundred runs.
See `docs/track_record.md`.
"""

import platform
import sqlite3
import subprocess
import sys

import pytest

LAYOUTS = tuple(range(0, 4096, 256))
"""Sizes of the environment, each of which moves what is allocated."""

OVERWRITES_FREED_MEMORY = {
    "MALLOC_PERTURB_": "85",
    "GLIBC_TUNABLES": "glibc.malloc.tcache_count=0",
}

PROGRAM = """
import resource, sqlite3, sys
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
connection = sqlite3.connect(
    ":memory:", isolation_level=None, cached_statements=int(sys.argv[1])
)
connection.execute("create table t (a integer) strict")
connection.execute("insert into t values (1)")
connection.deserialize(connection.serialize())
connection.execute("insert into t values (1)")
print(connection.execute("select count(*) from t").fetchone()[0])
"""

needs_glibc = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc",
    reason="the variables that overwrite freed memory are those of the GNU C library",
)


def run_program(cached_statements: int, padding: int = 0) -> subprocess.CompletedProcess[str]:
    """Run the program in a process of its own, with this many prepared statements kept.

    Its environment and its modules are the same wherever the test runs: what is met in freed
    memory depends on all that was allocated before.
    """
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM, str(cached_statements)],
        env={"PADDING": "x" * padding, **OVERWRITES_FREED_MEMORY},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@needs_glibc
def test_a_statement_that_outlives_deserialize_reads_freed_memory() -> None:
    """A process dies by a signal when it runs a cached statement after `deserialize`.

    What stands in freed memory is undefined, so several layouts of it are tried.
    """
    codes = [run_program(cached_statements=128, padding=size).returncode for size in LAYOUTS]

    if not any(code < 0 for code in codes):
        pytest.skip(f"SQLite {sqlite3.sqlite_version} shows no use after free in {len(codes)} runs")
    assert all(code <= 0 for code in codes)


def test_without_cached_statements_deserialize_is_sound() -> None:
    """The same process lives when no prepared statement outlives `deserialize`."""
    child = run_program(cached_statements=0)

    assert (child.returncode, child.stdout.strip()) == (0, "2"), child.stderr
