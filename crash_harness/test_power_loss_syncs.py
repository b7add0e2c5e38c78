"""Each sync that is needed, what is said about a loss, and which states are made."""

import itertools
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.implementation import load_implementation
from conformance.replay import ReplayVerdict, replay
from conformance.replayable import ReplayImpossible
from crash_harness.power_loss.enumerator import enumerate_choices, is_exhaustive
from crash_harness.power_loss.examination import Examiner
from crash_harness.power_loss.judge import Judge, read_real_files
from crash_harness.power_loss.log import (
    Created,
    Deleted,
    DirectorySynced,
    StorageEvent,
    Synced,
    UnsoundLog,
    Written,
    require_sound,
    sync_numbers,
    without_event,
)
from crash_harness.power_loss.loss import Loss, build_report, format_loss
from crash_harness.power_loss.profiles import PROFILES
from crash_harness.power_loss.recording import Recording
from crash_harness.power_loss.replaying import PowerLossRunner
from crash_harness.power_loss.report import EVERYTHING, Plan
from crash_harness.power_loss.run import run_power_loss
from crash_harness.power_loss.shapes import SHAPES
from crash_harness.power_loss.starts import prepare
from crash_harness.power_loss.storage import KEPT, LOST, Disk
from crash_harness.power_loss.wide_scopes import WIDE_SCOPES
from crash_harness.power_loss.workloads import Checkpoint, Settings, open_workshop
from model.admission_vocabulary import Admit, Claim
from model.checking.trace import Ending
from model.checking.trace_json import decode_report, encode_report
from model.checking.trace_text import format_report
from model.scopes import MACHINES, SCOPES

MACHINE_NAMES = tuple(MACHINES)
THREE_CALLS = (Claim(1), Admit("r1", "A", "aa"), Admit("r2", "B", ""))
FEW_FAILURES = 50
FEW_CALLS = 6
"""Up to the large transaction behind the reset of the log."""


def _record_anew(machine: str, entries: Any, settings: Settings | None = None) -> Recording:
    version, scope = load_implementation(), WIDE_SCOPES[machine]
    with open_workshop(machine, scope, version, settings or Settings()) as workshop:
        return workshop.record("a test", prepare(workshop), entries, seed=3, keeps_open=True)


def _refused(recording: Recording, profile: str = "ext4") -> set[str]:
    """Return the kinds of the refused states; the first few are enough."""
    version = load_implementation()
    judge = Judge(recording.machine, recording.scope, version, version.connection.PRAGMAS)
    states = Examiner(judge, PROFILES[profile], seed=1).examine(recording)
    failures = (examined.failure for examined in states)
    return {each.kind for each in itertools.islice(filter(None, failures), FEW_FAILURES)}


# ── Every sync that is needed ─────────────────────────────────────────────────────────────


def _without_each_sync(recording: Recording, profile: str) -> Iterator[tuple[str, bool]]:
    """Yield the meaning of each sync, and whether its removal is found."""
    for number in sync_numbers(recording.log):
        event = recording.log[number]
        changed = replace(recording, log=without_event(recording.log, number))
        pending = _pending_before(recording, number, profile)
        is_found = bool(_refused(changed, profile))
        yield f"{number} {event}: {pending}", is_found


def _pending_before(recording: Recording, number: int, profile: str) -> str:
    """Say what a sync settles: nothing, a log header alone, or more."""
    disk = Disk(PROFILES[profile])
    disk.load(recording.files)
    for place, event in enumerate(recording.log[:number]):
        if isinstance(event, StorageEvent):
            disk.replay(event, place)
    file = getattr(recording.log[number], "file", "")
    is_of_names = isinstance(recording.log[number], DirectorySynced)
    mine = [p for p in disk.pending if p.event.file == file and p.is_name == is_of_names]
    if not mine:
        return "nothing pending"
    if len(mine) == 1 and getattr(mine[0].event, "offset", 1) == 0 and file.endswith("-wal"):
        return "header alone"
    return "writes pending"


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_the_removal_of_each_needed_sync_is_found(machine: str) -> None:
    """Without the sync of a commit, of a checkpoint or of a new log header, something is lost.

    A sync that settles nothing is not needed. The header of the first log is covered by the sync
    of the commit behind it; that of a log that was reset is not.
    """
    recording = _record_anew(machine, SHAPES[machine]["small, reset, large"][:FEW_CALLS])

    found = list(_without_each_sync(recording, "ext4"))

    needed = [(sync, is_found) for sync, is_found in found if "writes pending" in sync]
    data_syncs = [each for each in needed if "Directory" not in each[0]]
    assert len(data_syncs) >= 5
    assert all(is_found for _, is_found in data_syncs), data_syncs
    headers = [is_found for sync, is_found in found if "header alone" in sync]
    assert headers[0] is False
    assert any(headers[1:])
    assert not any(is_found for sync, is_found in found if "nothing pending" in sync)


def test_the_removal_of_the_directory_sync_is_found_where_names_need_it() -> None:
    """Under posix-strict the log's name is lost with all that it holds."""
    recording = _record_anew("admission", THREE_CALLS)
    first = next(n for n, e in enumerate(recording.log) if isinstance(e, DirectorySynced))
    changed = replace(recording, log=without_event(recording.log, first))

    assert _refused(recording, "posix-strict") == set()
    assert "lost" in _refused(changed, "posix-strict")
    assert _refused(changed, "ext4") == set()


def test_a_log_without_a_write_or_without_a_sync_is_an_error() -> None:
    """A recorder that misses the writes or the syncs proves nothing, and never passes."""
    recording = _record_anew("admission", THREE_CALLS)
    syncless = [e for e in recording.log if not isinstance(e, Synced | DirectorySynced)]

    require_sound(recording.log)
    with pytest.raises(UnsoundLog, match="no write"):
        require_sound(())
    with pytest.raises(UnsoundLog, match="no sync"):
        require_sound(syncless)


# ── What is said about a loss ─────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def smallest_loss() -> Loss:
    """Return the loss of an acknowledged reservation under NORMAL."""
    plan = Plan(8, 0, 0, 0, 0, EVERYTHING, EVERYTHING, 20)
    report = run_power_loss("reservation", synchronous="normal", plan=plan)
    return next(loss for loss in report.losses if loss.kind == "lost")


def test_a_loss_names_the_write_and_the_fact_that_was_lost(smallest_loss: Loss) -> None:
    """A single lost write, what it means to SQLite, and the step whose commit had returned."""
    text = "\n".join(format_loss(smallest_loss))

    assert len(smallest_loss.lost) == 1
    assert "frame of page" in smallest_loss.lost[0]
    assert "one commit of it returned" in smallest_loss.acknowledged
    assert smallest_loss.clause in text
    assert "a_returned_commit_survives_a_power_loss" in text


def test_a_loss_is_a_trace_like_any_other(smallest_loss: Loss) -> None:
    """The trace ends in a crash point, and its report can be read."""
    report = build_report(smallest_loss, "admit-one power-loss")
    crash = report.trace.steps[-1].crash

    assert crash is not None
    assert crash.ending is Ending.POWER_LOSS
    assert crash.details == tuple(f"lost {each}" for each in smallest_loss.lost)
    assert "power loss at" in format_report(report)


def test_the_files_of_a_loss_show_it_to_anyone(smallest_loss: Loss, tmp_path: Path) -> None:
    """The kept files, opened with the standard `sqlite3`, lack what was acknowledged."""
    smallest_loss.write_files(tmp_path)
    version = load_implementation()

    reading = read_real_files("reservation", SCOPES["reservation"]["TINY"], version, tmp_path, None)

    observed = smallest_loss.trace.steps[-1].observed
    assert observed is not None
    assert reading.state == observed.state


# ── The enumeration ───────────────────────────────────────────────────────────────────────


def test_a_checkpoint_inside_a_commit_is_recorded() -> None:
    """With a small autocheckpoint, the database is written before the commit returns."""
    settings = Settings(autocheckpoint_pages=2)
    recording = _record_anew("admission", THREE_CALLS, settings)

    kinds = [(type(event).__name__, getattr(event, "file", "")) for event in recording.log]

    marks = [number for number, kind in enumerate(kinds) if kind[0].startswith("Commit")]
    inside = [kinds[a:b] for a, b in zip(marks[::2], marks[1::2], strict=True)]
    assert any(("Written", "admission.db") in events for events in inside)
    assert _refused(recording) == set()


def test_a_checkpoint_between_calls_is_recorded_outside_of_them() -> None:
    """A checkpoint of another connection stands between two operations of the log."""
    entries = (Claim(1), Checkpoint("truncate"), Claim(2))
    recording = _record_anew("admission", entries)

    kinds = [type(event).__name__ for event in recording.log]

    acknowledged = kinds.index("OperationAcknowledged")
    between = kinds[acknowledged : kinds.index("OperationStarted", acknowledged)]
    assert "Truncated" in between
    assert _refused(recording) == set()


def test_one_choice_keeps_everything_and_one_loses_all_that_is_pending() -> None:
    """The complete choice is the file as it was written; the empty one is what was synced."""
    disk = Disk(PROFILES["ext4"])
    disk.load({"a.db": b"old"})
    disk.replay(Written("a.db", 1, b"new"), 0)

    kept, lost = disk.image((KEPT,)), disk.image((LOST,))

    assert kept["a.db"].data == b"onew"
    assert lost["a.db"].data == b"old"


def test_every_subset_is_made_up_to_eight_pending_operations() -> None:
    """Eight writes give 256 choices, nine a bounded set that is labelled as sampled."""
    profile = PROFILES["ext4"]
    disk = Disk(profile)
    disk.load({"a.db": b""})
    counts = []

    for number in range(9):
        disk.replay(Written("a.db", number, b"x"), number)
        choices = enumerate_choices(disk.pending, profile, seed=1)
        counts.append((len(choices), is_exhaustive(disk.pending, profile)))

    assert counts[:8] == [(2 ** (number + 1), True) for number in range(8)]
    assert counts[8][1] is False
    assert 64 < counts[8][0] < 256


def test_a_write_is_torn_at_its_first_and_last_sector() -> None:
    """A write over three sectors keeps either end; one within a sector is whole or lost."""
    ends = PROFILES["ext4"].parts_of(Written("a.db", 500, bytes(600)))
    within = PROFILES["ext4"].parts_of(Written("a.db", 500, bytes(12)))

    assert ends == (((500, 512),), ((512, 1100),), ((500, 1024),), ((1024, 1100),))
    assert within == ()


def test_a_deleted_name_comes_back_until_its_directory_is_synced() -> None:
    """The loss of a deletion brings the old file back; a sync of the directory ends that."""
    disk = Disk(PROFILES["posix-strict"])
    disk.load({"a.db-journal": b"old"})
    disk.replay(Deleted("a.db-journal"), 0)

    assert disk.image((KEPT,)) == {}
    assert disk.image((LOST,))["a.db-journal"].data == b"old"
    disk.replay(DirectorySynced("a.db-journal"), 1)
    assert disk.pending == []
    assert disk.image(()) == {}


@pytest.mark.parametrize(("profile", "is_lost"), [("ext4", False), ("posix-strict", True)])
def test_a_new_name_is_settled_by_the_sync_of_its_file_or_its_directory(
    profile: str,
    is_lost: bool,  # noqa: FBT001 - a value of the table above
) -> None:
    """Under ext4 a file's sync keeps its name; under posix-strict only its directory's does."""
    disk = Disk(PROFILES[profile])
    disk.replay(Created("a.db-wal"), 0)
    disk.replay(Written("a.db-wal", 0, b"x"), 1)
    disk.replay(Synced("a.db-wal"), 2)

    assert len(disk.pending) == is_lost
    assert ("a.db-wal" in disk.image((LOST,) * is_lost)) is not is_lost


# ── The trace of a loss, run again ────────────────────────────────────────────────────────


def test_a_loss_is_written_read_and_replayed(smallest_loss: Loss) -> None:
    """The same power loss in the same call loses the same again, on the standard `sqlite3`."""
    report = build_report(smallest_loss, "admit-one power-loss --synchronous normal")
    read_back = decode_report(json.loads(json.dumps(encode_report(report)))).trace
    runner = PowerLossRunner(Settings(synchronous="normal"))

    replayed = replay(read_back, crash_runner=runner)

    assert replayed.verdict is ReplayVerdict.DIFFERS
    assert replayed.failures[0].name == "crash"
    observed = read_back.steps[-1].observed
    assert observed is not None
    assert replayed.trace.steps[-1].after == observed.state


def test_under_full_the_same_loss_can_not_happen(smallest_loss: Loss) -> None:
    """With its syncs the call asks for other events, and what was lost is not pending any more."""
    trace = build_report(smallest_loss, "").trace

    with pytest.raises(ReplayImpossible, match="another implementation"):
        replay(trace, crash_runner=PowerLossRunner())
