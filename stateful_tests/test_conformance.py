"""The SQLite implementation is held against the models, and the engines notice what they must."""

import multiprocessing
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.changed_source import Change, load_changed_implementation
from conformance.exhaustive import check_exhaustively
from conformance.implementation import load_implementation
from conformance.lockstep import check_call
from conformance.mutants.catalogue import find_mutant
from conformance.place import ImageFile, RealFile, dump
from conformance.sqlite import make_subject
from conformance.sqlite_admission import AdmissionSubject
from conformance.subject import Unreadable
from conformance.walk import run_walk
from model.admission_vocabulary import ABSENT, Admit, Answer, Claim, Init, Limits
from model.checking.explore import Verdict
from model.scopes import MACHINES, SCOPES

MACHINE_NAMES = tuple(MACHINES)


@pytest.mark.parametrize(
    ("machine", "name"),
    [
        *((machine, "TINY") for machine in MACHINE_NAMES),
        ("admission", "TEXTS"),
        *(("reservation", name) for name in ("FIELDS", "TWICE", "IDS", "CONFLICTS")),
    ],
)
def test_every_call_from_every_state_of_a_small_scope_conforms(machine: str, name: str) -> None:
    """The implementation takes every transition once, and reaches the model's numbers."""
    scope = SCOPES[machine][name]

    found = check_exhaustively(machine, scope)

    assert found.found == ()
    assert found.verdict is Verdict.PASS
    assert found.counts == scope.expected
    assert found.snapshots == scope.expected.states


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_an_executor_finds_the_same_numbers(machine: str) -> None:
    """Exhaustive conformance over the executor interface covers what one process covers."""
    scope = SCOPES[machine]["TINY"]
    spawn = multiprocessing.get_context("spawn")

    with ProcessPoolExecutor(2, mp_context=spawn) as executor:
        found = check_exhaustively(machine, scope, executor=executor)

    assert found.verdict is Verdict.PASS
    assert found.counts == scope.expected


def test_a_budget_that_is_used_up_never_passes() -> None:
    """A search that was ended by its state budget is undetermined."""
    found = check_exhaustively("admission", SCOPES["admission"]["TINY"], state_budget=50)

    assert found.verdict is Verdict.UNDETERMINED


def test_a_covered_number_that_is_not_the_models_fails() -> None:
    """A scope whose recorded numbers differ from what was covered fails, and says both."""
    scope = SCOPES["admission"]["TINY"]
    wrong = replace(scope, expected=replace(scope.expected, calls=scope.expected.calls + 1))

    found = check_exhaustively("admission", wrong)

    assert found.verdict is Verdict.FAIL
    assert "18090" in found.problems[-1]
    assert "18089" in found.problems[-1]


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_walk_on_real_files_conforms_and_repeats_by_its_seed(machine: str) -> None:
    """The same seed walks the same way, over files with a write-ahead log."""
    scope = SCOPES[machine]["SMALL"]

    first = run_walk(machine, scope, seed=7, steps=300)
    second = run_walk(machine, scope, seed=7, steps=300)

    assert first.found is None
    assert first.verdict is Verdict.PASS
    assert first.steps == second.steps == 300
    assert first.outcomes == second.outcomes
    assert (first.states, first.transitions) == (second.states, second.transitions)
    assert first.stores > 1
    assert first.reopened > 0


def test_a_walk_without_a_step_never_passes() -> None:
    """Nothing was looked at: that is undetermined."""
    walk = run_walk("admission", SCOPES["admission"]["TINY"], seed=1, steps=0)

    assert walk.verdict is Verdict.UNDETERMINED


def test_a_walk_compares_the_implementations_own_snapshot() -> None:
    """Where only the snapshot is wrong, the walk sees it, and the shortest way is left."""
    mutant = find_mutant("usage-counts-finished-work")

    walk = run_walk(
        mutant.machine,
        SCOPES[mutant.machine]["SMALL"],
        seed=1,
        steps=2_000,
        implementation=load_changed_implementation(mutant.changes),
    )

    assert walk.verdict is Verdict.FAIL
    divergence, trace = walk.found or pytest.fail("nothing was found")
    assert divergence.kind == "snapshot"
    assert len(trace) < 10


def test_a_walk_reports_an_implementation_that_cannot_be_brought_to_an_old_store() -> None:
    """An error on the way to an initial state is a failure without a step."""
    change = Change(
        "impl/sqlite/admission.sql",
        "generation between 0 and 1000000000",
        "generation between 0 and 1000",
    )

    walk = run_walk(
        "admission",
        SCOPES["admission"]["TINY"],
        seed=1,
        steps=500,
        implementation=load_changed_implementation([change]),
    )

    assert walk.verdict is Verdict.FAIL
    divergence, trace = walk.found or pytest.fail("nothing was found")
    assert divergence.kind == "exception"
    assert "IntegrityError" in divergence.found
    assert len(trace) == 0


@pytest.mark.parametrize("machine", MACHINE_NAMES)
def test_a_restored_database_is_the_one_that_was_saved(machine: str, tmp_path: Path) -> None:
    """Putting an image back brings every row back, under connections that stay open."""
    scope = SCOPES[machine]["TINY"]
    subject = make_subject(machine, scope, tmp_path, has_images=True)
    state = MACHINES[machine].initial_states(scope)[0]
    saved = []

    for _ in range(6):
        image = subject.image()
        saved.append((state, image))
        action = next(
            action
            for action in MACHINES[machine].offered_actions(scope, state)
            if MACHINES[machine].step(state, action)[0] != state
        )
        state = check_call(MACHINES[machine], subject, state, image, action).after

    for earlier, image in reversed(saved):
        subject.restore(image, earlier)
        assert subject.observe() == earlier
    subject.close()


def _admission(tmp_path: Path) -> tuple[Any, ImageFile]:
    implementation = load_implementation()
    place = ImageFile(tmp_path / "a.db", implementation)
    return AdmissionSubject(place, implementation), place


def test_rows_of_no_state_are_refused(tmp_path: Path) -> None:
    """The abstraction function refuses an intent without its task."""
    subject, place = _admission(tmp_path)
    subject.apply(Init(Limits()))
    subject.apply(Admit("r1", "A", "x"))
    observer = place.observer()
    assert observer is not None
    observer.execute("pragma foreign_keys = off")
    observer.execute("delete from task")

    with pytest.raises(Unreadable, match="r1"):
        subject.observe()


def test_a_change_that_no_row_shows_is_a_divergence(tmp_path: Path) -> None:
    """A refusal that writes anything at all is found, even where every row reads the same."""
    subject, place = _admission(tmp_path)
    machine = MACHINES["admission"]
    state, _ = machine.step(ABSENT, Init(Limits()))
    subject.apply(Init(Limits()))
    image = subject.image()

    def claim_and_scribble(action: Any, original: Any = subject.apply) -> Any:
        observer = place.observer()
        assert observer is not None
        observer.execute("create table scribble (x)")
        observer.execute("drop table scribble")
        return original(action)

    subject.apply = claim_and_scribble
    checked = check_call(machine, subject, state, image, Claim(0))

    assert checked.outcome is Answer.NOTHING_DUE
    assert checked.divergence is not None
    assert checked.divergence.kind == "refusal"


def test_durable_state_is_read_through_a_second_connection(tmp_path: Path) -> None:
    """What a connection has not committed is not observed."""
    implementation = load_implementation()
    place = RealFile(tmp_path / "a.db", implementation)
    implementation.admission.init(place.path, connect=place.connect)
    writer = sqlite3.connect(place.path, isolation_level=None)
    writer.execute("begin immediate")
    writer.execute("update store set clock = 9")

    seen = dump(place.observer())

    assert seen["store"][0][-1] == 0
    writer.execute("commit")
    assert dump(place.observer())["store"][0][-1] == 9
    writer.close()
    place.close()


def test_a_tenant_whose_bytes_are_not_added_up_is_found() -> None:
    """Where each item alone is compared with the tenant's bytes, only SUMS sees it."""
    change = Change(
        "impl/sqlite/admission_store.py",
        "tenant_count + 1 > limits.tenant_slots or tenant_bytes + size > limits.tenant_bytes",
        "tenant_count + 1 > limits.tenant_slots or size > limits.tenant_bytes",
    )
    changed = load_changed_implementation([change])

    tiny, sums = (
        check_exhaustively("admission", SCOPES["admission"][scope], implementation=changed)
        for scope in ("TINY", "SUMS")
    )

    assert tiny.verdict is Verdict.PASS
    assert sums.verdict is Verdict.FAIL
    divergence = sums.found[0].divergence
    assert (divergence.expected, divergence.found) == ("tenant_full", "accepted")
    assert len(sums.found[0].trace) == 2


@pytest.mark.parametrize("operator", ["*", "**", "<<", "|", "^"])
def test_a_tenant_whose_bytes_are_combined_otherwise_is_found(operator: str) -> None:
    """Nothing but a sum has the answers of SUMS, whose sizes are 0, 1 and the tenant's limit."""
    change = Change(
        "impl/sqlite/admission_store.py",
        "tenant_bytes + size > limits.tenant_bytes",
        f"(tenant_bytes {operator} size) > limits.tenant_bytes",
    )
    changed = load_changed_implementation([change])

    sums = check_exhaustively("admission", SCOPES["admission"]["SUMS"], implementation=changed)

    assert sums.verdict is Verdict.FAIL
    divergence = sums.found[0].divergence
    assert {divergence.expected, divergence.found} == {"accepted", "tenant_full"}


def test_a_tenant_whose_slots_are_counted_twice_is_found() -> None:
    """Twice the count differs from one more than it where a third record fits."""
    change = Change(
        "impl/sqlite/admission_store.py",
        "tenant_count + 1 > limits.tenant_slots",
        "tenant_count * 2 > limits.tenant_slots",
    )
    changed = load_changed_implementation([change])

    sums = check_exhaustively("admission", SCOPES["admission"]["SUMS"], implementation=changed)

    assert sums.verdict is Verdict.FAIL
    divergence = sums.found[0].divergence
    assert (divergence.expected, divergence.found) == ("accepted", "tenant_full")
    assert len(sums.found[0].trace) == 3
