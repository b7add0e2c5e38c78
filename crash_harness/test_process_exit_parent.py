"""The lean parent forks only when it may, and the harness takes nothing for a death but a proof."""

import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.changed_source import Change
from conformance.implementation import load_implementation
from conformance.place import scratch_folder
from crash_harness.child import END, EXIT_CODE
from crash_harness.forking import PROGRAM, ROOT, Call, ForkingParent, HarnessError
from crash_harness.parent import StillOpen, Watch, refuse_open_files
from impl.sqlite import admission

STORE = "impl/sqlite/admission_store.py"
CONNECTION = "impl/sqlite/connection.py"
BEFORE_INSERT = (
    '            connection.execute(\n                """\n                insert into intent'
)


@pytest.fixture
def path() -> Iterator[Path]:
    """The path of a new admission store."""
    with scratch_folder() as folder:
        admission.init(folder / "admission.db")
        yield folder / "admission.db"


def _admit(path: Path) -> Call:
    return Call("admit", ("r", "t", "x"), {"admission": str(path)})


def _run_first(statement: str) -> Change:
    """Return a change that runs a Python statement in the middle of `admit`."""
    return Change(STORE, BEFORE_INSERT, f"            {statement}\n{BEFORE_INSERT}")


def test_a_child_dies_between_two_statements_and_says_so(path: Path) -> None:
    """Its last words name the statements that ran, and the one that did not."""
    with ForkingParent() as parent:
        death = parent.run(_admit(path), 2)

    assert [each.sql.split()[0] for each in death.statements] == ["begin", "select"]
    assert death.following is not None
    assert death.following.sql.startswith("select global_slots")


@pytest.mark.parametrize("way", ["exit", "kill"])
def test_both_ways_to_die_leave_the_same_rows(path: Path, way: str) -> None:
    """An exit and a kill before the commit leave nothing, and after it everything."""
    with ForkingParent() as parent:
        parent.run(_admit(path), 6, way=way)
        before = admission.snapshot(path)["records"]
        parent.run(_admit(path), END, way=way)
        after = admission.snapshot(path)["records"]

    assert before == []
    assert [record["request_id"] for record in after] == ["r"]


def test_a_child_that_never_meets_its_boundary_is_an_error_of_the_harness(path: Path) -> None:
    """It is not a pass: nothing was shown."""
    with ForkingParent() as parent, pytest.raises(HarnessError, match=r"boundary 99 ended.*97"):
        parent.run(_admit(path), 99)


def test_a_boundary_past_the_end_may_be_asked_for_as_the_last_one(path: Path) -> None:
    """A rule that draws a number needs no knowledge of the operation."""
    with ForkingParent() as parent:
        death = parent.run(_admit(path), 99, or_last=True)

    assert death.following is None
    assert death.answer == "accepted"


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("__import__('os')._exit(0)", "ended with code 0"),
        (f"__import__('os')._exit({EXIT_CODE})", "died at 0"),
        ("__import__('os').kill(__import__('os').getpid(), 11)", f"code {-signal.SIGSEGV}"),
        ("raise SystemExit", "ended with code 98"),
    ],
)
def test_a_child_that_dies_elsewhere_is_an_error_of_the_harness(
    path: Path, statement: str, message: str
) -> None:
    """Another exit code, another place or another signal proves nothing."""
    with (
        ForkingParent([_run_first(statement)]) as parent,
        pytest.raises(HarnessError, match=message),
    ):
        parent.run(_admit(path), 6)


def test_a_child_that_hangs_is_killed_and_is_an_error_of_the_harness(path: Path) -> None:
    """The wait is bounded, and the parent serves the next case."""
    started = time.monotonic()
    with ForkingParent([_run_first("__import__('time').sleep(60)")], seconds=0.3) as parent:
        with pytest.raises(HarnessError, match=r"did not end within 0\.3 s"):
            parent.run(_admit(path), 6)
        death = parent.run(_admit(path), 1)

    assert len(death.statements) == 1
    assert time.monotonic() - started < 30


def test_a_parent_that_has_opened_a_connection_refuses_to_fork(path: Path) -> None:
    """A child would inherit its locks, and lose commits."""
    opens = Change(
        CONNECTION,
        "PRAGMAS: Final = Pragmas()\n",
        f"PRAGMAS: Final = Pragmas()\nHELD = sqlite3.connect({str(path)!r})\n",
    )
    with (
        ForkingParent([opens]) as parent,
        pytest.raises(HarnessError, match="has opened 1 connections"),
    ):
        parent.run(_admit(path), 0)


def test_the_watch_sees_every_connection_of_its_process() -> None:
    """One that is closed again counts too: the parent has no use for any."""
    watch = Watch()
    watch.refuse_open_databases()

    sqlite3.connect(":memory:").close()

    with pytest.raises(StillOpen, match="has opened 1 connections"):
        watch.refuse_open_databases()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="this system does not tell")
@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", "-journal"])
def test_an_open_database_file_is_seen_however_it_was_opened(tmp_path: Path, suffix: str) -> None:
    """A descriptor that SQLite did not open would drop locks when it is closed."""
    refuse_open_files()

    with (
        (tmp_path / f"x.db{suffix}").open("w"),
        pytest.raises(StillOpen, match=re.escape(f"x.db{suffix} is open")),
    ):
        refuse_open_files()


def test_the_parent_is_lean() -> None:
    """It imports the implementation, and neither a model nor a tool."""
    program = PROGRAM.replace(
        "from crash_harness.parent import main\nmain()\n",
        "from crash_harness import parent\nparent.load_version([])\nprint(*sys.modules)\n",
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program, str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
    )

    modules = done.stdout.split()

    assert "impl.sqlite.admission" in modules
    heavy = ("model", "hypothesis", "pytest", "typer", "rich", "subprocess", "multiprocessing")
    assert [name for name in modules if name.partition(".")[0] in heavy] == []


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="this system does not tell")
def test_the_parent_is_small() -> None:
    """What is resident in it is paid for with each fork."""
    with ForkingParent() as parent:
        status = Path(f"/proc/{parent.pid}/status").read_text("utf-8")

    match = re.search(r"VmRSS:\s+(\d+) kB", status)

    assert match is not None
    assert int(match[1]) < 32_000


def test_the_parent_ends_with_its_owner(path: Path) -> None:
    """No process is left behind."""
    with ForkingParent() as parent:
        parent.run(_admit(path), 1)
        pid = parent.pid

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_change_that_does_not_load_is_an_error_of_the_harness() -> None:
    """It must not be taken for a mistake that was found."""
    broken = Change(CONNECTION, "PRAGMAS: Final = Pragmas()\n", "PRAGMAS: Final = Nothing()\n")

    with pytest.raises(HarnessError, match="Nothing"):
        ForkingParent([broken])


def test_a_parent_that_is_gone_is_an_error_of_the_harness(path: Path) -> None:
    """The harness does not wait for it for ever."""
    parent = ForkingParent()
    os.kill(parent.pid, signal.SIGKILL)

    with pytest.raises(HarnessError, match="has ended"):
        parent.run(_admit(path), 0)
    parent.close()


def test_the_implementation_under_test_is_the_one_in_the_tree() -> None:
    """Without changes the child runs the very modules that a user imports."""
    assert load_implementation().admission is admission
