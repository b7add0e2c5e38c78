"""What survives a power loss under WAL and FULL, and what breaks without either."""

import functools
from dataclasses import replace
from typing import Any

import pytest

from conformance.changed_source import Change, load_changed_implementation
from conformance.implementation import Implementation, load_implementation
from conformance.mutants.catalogue import find_mutant
from crash_harness.power_loss.examination import Examined, Examiner
from crash_harness.power_loss.judge import Judge
from crash_harness.power_loss.log import DirectorySynced
from crash_harness.power_loss.profiles import PROFILES
from crash_harness.power_loss.recording import Recording, all_states
from crash_harness.power_loss.report import EVERYTHING, Plan, PowerLossReport
from crash_harness.power_loss.run import run_power_loss
from crash_harness.power_loss.starts import prepare
from crash_harness.power_loss.storage import KEPT
from crash_harness.power_loss.wide_scopes import WIDE_SCOPES
from crash_harness.power_loss.workloads import Settings, Start, open_workshop
from model.admission_vocabulary import Admit, Claim, Init
from model.checking.explore import Verdict
from model.reservation_vocabulary import IDEMPOTENT, OpenIntent, Reserve
from model.scopes import MACHINES

MACHINE_NAMES = tuple(MACHINES)
CONNECTION = "impl/sqlite/connection.py"
NOTHING_ELSE = 10 * EVERYTHING
CALLS = Plan(8, 2, 0, 0, 0, NOTHING_ELSE, NOTHING_ELSE, 20)
"""A few calls, without a second power loss."""
SHAPED = Plan(6, 2, 1, 0, 0, NOTHING_ELSE, NOTHING_ELSE, 20)
"""A few calls and a sequence with a reset of the log, without a second power loss."""
TRANSACTIONS = {
    "admission": (Claim(1), Admit("r1", "A", "aa"), Admit("r2", "B", "")),
    "reservation": (
        OpenIntent("L1", "i1", "p", IDEMPOTENT, 6),
        Reserve("a", "i1"),
        Reserve("b", "i1"),
    ),
}
"""Three transactions each, every one of which changes something."""


def _examine_with(machine: str, settings: Settings) -> tuple[Recording, list[Examined]]:
    """Record three transactions beside another process, and examine them."""
    version, scope = load_implementation(), WIDE_SCOPES[machine]
    with open_workshop(machine, scope, version, settings) as workshop:
        recording = workshop.record(
            "three transactions", prepare(workshop), TRANSACTIONS[machine], seed=3, keeps_open=True
        )
    judge = Judge(machine, scope, version, settings.pragmas_of(version))
    return recording, list(Examiner(judge, PROFILES["ext4"], seed=1).examine(recording))


def _refused_after_creation(version: Implementation, *, log_syncs_directory: bool) -> set[str]:
    """Create a store and admit to it; return how the states after a power loss are refused."""
    scope = WIDE_SCOPES["admission"]
    with open_workshop("admission", scope, version, Settings()) as workshop:
        state = workshop.machine.initial_states(scope)[0]
        start = Start(state, workshop.absent, state)
        entries = (Init(scope.limits), Admit("r1", "A", "aa"), Claim(1))
        recording = workshop.record("a creation", start, entries, seed=3)
    log = [
        event
        for event in recording.log
        if log_syncs_directory
        or not isinstance(event, DirectorySynced)
        or not event.file.endswith("-wal")
    ]
    judge = Judge("admission", scope, version, version.connection.PRAGMAS)
    examiner = Examiner(judge, PROFILES["ext4"], seed=1)
    states = examiner.examine(replace(recording, log=tuple(log)))
    return {each.failure.kind for each in states if each.failure is not None}


def _run(machine: str, plan: Plan = CALLS, **options: Any) -> PowerLossReport:
    return run_power_loss(machine, plan=plan, **options)


@functools.cache
def _run_without_syncs_of_commits(machine: str) -> PowerLossReport:
    return _run(machine, synchronous="normal")


# ── What holds ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_wal_with_full_loses_nothing_that_was_acknowledged(machine: str) -> None:
    """Every state that the quick profile makes is one that the model allows."""
    report = run_power_loss(machine, "quick")

    assert report.losses == ()
    assert report.disagreements == ()
    assert report.verdict is Verdict.PASS
    assert report.distinct > 3_000
    assert report.exhaustive_states > 3_000
    assert report.sampled_states > 1_000
    assert min(report.second_losses, report.real_files, report.repeated_calls, report.syncs) > 0


@pytest.mark.parametrize("machine", MACHINE_NAMES)
@pytest.mark.parametrize("profile", ["posix-strict", "sector"])
def test_wal_with_full_holds_on_harder_storage(machine: str, profile: str) -> None:
    """Names that wait for a directory sync, and writes torn at any sector, lose nothing either."""
    report = _run(machine, SHAPED if machine == "admission" else CALLS, storage_profile=profile)

    assert report.loss_count == 0
    assert report.distinct > 300


def test_a_rollback_journal_with_extra_loses_nothing() -> None:
    """DELETE with EXTRA syncs the directory after the journal's deletion (STORAGE 5)."""
    report = _run("admission", journal="delete", synchronous="extra")

    assert report.loss_count == 0
    assert report.distinct > 300


def test_the_same_seed_makes_the_same_states() -> None:
    """Two runs with one seed make the same states; another seed makes others."""
    first, second = (_run("admission", seed=5) for _ in range(2))
    third = _run("admission", seed=6)

    assert (first.states, first.distinct, first.recoveries) == (
        second.states,
        second.distinct,
        second.recoveries,
    )
    assert first.recordings == third.recordings
    assert first.distinct != third.distinct


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_recording_is_repeatable_to_the_byte(machine: str) -> None:
    """The same workload and seed give the same log, salts included."""
    first, second = (_examine_with(machine, Settings())[0] for _ in range(2))

    assert first.log == second.log
    assert first.files == second.files


# ── What breaks without it ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_normal_loses_acknowledged_steps_of_a_sound_database(machine: str) -> None:
    """NORMAL loses admissions and reservations, and the integrity check never says so (5, 6)."""
    report = _run_without_syncs_of_commits(machine)

    assert report.verdict is Verdict.FAIL
    assert report.failures["lost"] > 100
    assert "unreadable" not in report.failures
    assert report.disagreements == ()


def test_normal_loses_a_single_insert() -> None:
    """One admission, one lost commit frame, and the acknowledged record is gone (5)."""
    recording, states = _examine_with("admission", Settings(synchronous="normal"))

    lost = [each for each in states if each.failure is not None and each.failure.kind == "lost"]
    only_its_commit = [each for each in lost if each.choice.count(KEPT) == len(each.choice) - 1]
    assert only_its_commit
    assert recording.initial in {each.reading.state for each in lost}


def test_normal_lets_a_call_outlive_its_reservation() -> None:
    """Each database alone is sound, but together they have more calls than were spent (B9)."""
    report = _run_without_syncs_of_commits("reservation")

    (mixture,) = (loss for loss in report.losses if loss.kind == "mixture")
    assert "calls_stay_within_spent_and_spent_within_the_cap" in mixture.clause
    assert report.failures["mixture"] > 10


def test_a_changed_constant_of_the_implementation_is_found() -> None:
    """An implementation whose own setting is NORMAL fails without being told to."""
    change = Change(CONNECTION, 'synchronous: str = "full"', 'synchronous: str = "normal"')

    report = _run("admission", implementation=load_changed_implementation([change]))

    assert report.options.synchronous == "normal"
    assert report.failures["lost"] > 100


def test_creation_syncs_the_directory_by_itself() -> None:
    """A journal that comes back undoes the switch to WAL, and what was committed since.

    SQLite's `unix` syncs the directory once more with the first sync of a log. Where a system
    spares that, the setting `extra` during the switch is what keeps the store.
    """
    change = Change(CONNECTION, 'pragma synchronous = extra"', 'pragma synchronous = full"')
    changed = load_changed_implementation([change])

    assert _refused_after_creation(load_implementation(), log_syncs_directory=False) == set()
    assert "lost" in _refused_after_creation(changed, log_syncs_directory=False)
    assert _refused_after_creation(changed, log_syncs_directory=True) == set()


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_off_corrupts(machine: str) -> None:
    """Without any sync a power loss leaves databases that are damaged."""
    report = _run(machine, synchronous="off")

    assert report.syncs == 0
    assert report.failures["lost"] > 0
    assert report.failures["unreadable"] > 0


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_process_exit_can_not_show_a_missing_sync(machine: str) -> None:
    """OFF passes every case in which the operating system goes on (STORAGE 4)."""
    report = _run(machine, SHAPED, synchronous="off", storage_profile="process")

    assert report.loss_count == 0
    assert report.distinct > 100


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_rollback_journal_with_full_loses_one_step_per_transaction(machine: str) -> None:
    """Each acknowledged transaction is undone where the deletion of its journal is lost (5)."""
    recording, states = _examine_with(machine, Settings(journal="delete"))

    order = {state: place for place, state in enumerate(all_states(recording))}
    undone = {
        (order[each.reading.state], order[each.point.allowed[0]])
        for each in states
        if each.failure is not None and each.failure.kind == "lost"
    }
    assert undone >= {(step, step + 1) for step in range(len(TRANSACTIONS[machine]))}


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_full_rests_on_powersafe_overwrite(machine: str) -> None:
    """A torn write that damages its neighbours takes acknowledged steps along (STORAGE 7)."""
    report = _run(machine, SHAPED, storage_profile="no-psow")

    assert report.failures["lost"] > 0


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_psow_0_makes_up_for_unsafe_overwrites(machine: str) -> None:
    """Told of them by `psow=0`, SQLite pads its log, and one power loss takes nothing."""
    report = _run(machine, SHAPED, storage_profile="no-psow", powersafe_overwrite=False)

    assert report.loss_count == 0
    assert report.distinct > 300


def test_psow_0_does_not_make_up_for_two_power_losses() -> None:
    """A commit recovered without its padding shares a sector with the next, and goes with it."""
    plan = Plan(0, 0, 1, 0, 0, 100, NOTHING_ELSE, 20)

    report = run_power_loss(
        "admission", storage_profile="no-psow", powersafe_overwrite=False, plan=plan
    )

    assert report.second_losses > 10
    assert set(report.failures) == {"mixture"}
    assert all("power loss, then" in loss.title for loss in report.losses)


@pytest.mark.parametrize(
    ("name", "clause"),
    [
        ("reclaim-keeps-the-generation", "expected claimed ("),
        ("characters-for-bytes-in-the-size", "the initial state"),
        ("schema-lease-bound-too-high", "found IntegrityError"),
    ],
)
def test_an_implementation_that_parts_before_any_power_is_lost_fails(
    name: str, clause: str
) -> None:
    """What is wrong without a power loss is told as such, whether it is an answer or an error."""
    version = load_changed_implementation(find_mutant(name).changes)

    report = run_power_loss("admission", implementation=version)

    assert report.verdict is Verdict.FAIL
    assert clause in (report.divergence or "")


def test_an_implementation_that_writes_nothing_fails_and_is_no_fault_of_the_recording() -> None:
    """The receiver logs no call when it is entered, so that there is no write to record."""
    version = load_changed_implementation(
        find_mutant("call-log-in-the-business-transaction").changes
    )

    report = run_power_loss("reservation", implementation=version)

    assert report.verdict is Verdict.FAIL
    assert "enters with permit 1" in (report.divergence or "")


def test_a_transaction_that_begins_deferred_is_acknowledged_like_any_other() -> None:
    """The lock comes too late, which another caller would see; what is committed is durable."""
    version = load_changed_implementation(find_mutant("deferred-for-immediate").changes)

    report = run_power_loss("admission", implementation=version)

    assert report.verdict is Verdict.PASS
