"""A changed copy of a package is loaded in memory, and the real one stays as it is."""

import sqlite3
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import impl.sqlite.admission
import impl.sqlite.store
from conformance.changed_source import (
    ROOT,
    Change,
    ChangeDoesNotApply,
    ChangeDoesNotLoad,
    apply_changes,
    load_changed_implementation,
    load_changed_specification,
    load_modules,
    read_source,
)
from conformance.implementation import MODULES, load_implementation
from conformance.mutants.catalogue import find_mutant
from conformance.mutants.mutant import make_edit
from model.admission import STEPS
from model.admission_properties import INVARIANTS
from model.scopes import MACHINES

STORE = "impl/sqlite/admission_store.py"
SCHEMA = "impl/sqlite/admission.sql"
STEP = "model/admission.py"
LEASE = Change(STORE, "LEASE_TICKS: Final = 5", "LEASE_TICKS: Final = 6")
LATER = Change(SCHEMA, "lease between 5 and", "lease between 7 and")
ROOM = Change(STEP, "count + 1 > limits.global_slots", "count > limits.global_slots")


def test_a_changed_implementation_behaves_as_changed(tmp_path: Path) -> None:
    """The changed constant is the one that the changed store uses."""
    changed = load_changed_implementation([LEASE]).admission
    path = tmp_path / "store.db"
    changed.init(path)
    changed.admit(path, "r1", "A", "x")

    changed.claim(path, 0)

    assert changed.snapshot(path)["records"][0]["lease"] == 6


def test_the_real_package_stays_as_it_is() -> None:
    """Neither `sys.modules` nor the packages' own attributes know of the copy."""
    real = load_implementation()
    modules = dict(sys.modules)
    names = set(vars(impl.sqlite))

    load_changed_implementation([LEASE])
    load_changed_specification([ROOM])

    assert {name: sys.modules.get(name) for name in modules} == modules
    assert not [n for n in set(sys.modules) - set(modules) if n.startswith(("impl", "model"))]
    assert set(vars(impl.sqlite)) == names
    assert load_implementation() == real
    assert real.admission.LEASE_TICKS == 5


def test_the_classes_of_a_copy_are_its_own() -> None:
    """Every module of a copy is another one, and so are its classes; two copies share none."""
    real = load_implementation()

    one, two = load_changed_implementation([LEASE]), load_changed_implementation([LEASE])

    for name in MODULES:
        assert len({id(getattr(each, name)) for each in (real, one, two)}) == 3
    assert len({each.errors.StoreMissing for each in (real, one, two)}) == 3
    assert one.admission.AdmissionStore.__mro__[1] is not impl.sqlite.store.Store


def test_a_copy_without_a_change_equals_the_real_package() -> None:
    """Nothing is changed by loading alone."""
    copy = load_changed_implementation([])

    assert list(copy.admission.SCHEMA.statements()) == list(
        impl.sqlite.admission.SCHEMA.statements()
    )
    assert copy.admission.AdmissionStore is not impl.sqlite.admission.AdmissionStore


def test_a_changed_schema_is_read_by_the_copy_alone(tmp_path: Path) -> None:
    """The file beside the module is changed in memory: the copy sees it, the tree doesn't."""
    before = read_source(SCHEMA)
    changed = load_changed_implementation([LATER])
    path = tmp_path / "store.db"
    changed.admission.init(path)
    changed.admission.admit(path, "r1", "A", "x")

    with pytest.raises(sqlite3.IntegrityError, match="lease between 7 and"):
        changed.admission.claim(path, 0)

    assert read_source(SCHEMA) == before
    assert "lease between 7" not in "".join(impl.sqlite.admission.SCHEMA.statements())


def test_the_steps_of_a_changed_model_are_its_own_and_its_properties_have_the_real_text() -> None:
    """The mutated step is the one in the machine; judges and shapes of models are shared."""
    changed = load_changed_specification([ROOM])

    machine = changed.machines["admission"]
    assert type(machine) is type(MACHINES["admission"])
    assert [step.__name__ for step in machine.steps.values()] == [
        step.__name__ for step in STEPS.values()
    ]
    assert not set(machine.steps.values()) & set(STEPS.values())
    assert [check.__name__ for check in machine.invariants] == [c.__name__ for c in INVARIANTS]
    for old, new in zip(INVARIANTS, machine.invariants, strict=True):
        assert old is not new
        assert old.__code__.co_code == new.__code__.co_code


@pytest.mark.parametrize(
    "change",
    [
        Change(STORE, "no such text", "x"),
        Change(STORE, "connection", "x"),
        Change(STORE, "", "x"),
        Change(STORE, "LEASE_TICKS: Final = 5", "LEASE_TICKS: Final = 5"),
        Change("impl/sqlite/no_such_file.py", "a", "b"),
    ],
    ids=["never", "many-times", "empty", "no-change", "no-file"],
)
def test_a_change_must_apply_exactly_once(change: Change) -> None:
    """A text that is not there once, an edit of nothing, and a missing file are errors."""
    with pytest.raises(ChangeDoesNotApply):
        apply_changes([change])


def test_two_changes_may_not_meet() -> None:
    """Two changes of the same place are an error, in either order."""
    twice = [LEASE, Change(STORE, "Final = 5\n", "Final = 7\n")]

    for changes in (twice, twice[::-1]):
        with pytest.raises(ChangeDoesNotApply, match="meet"):
            apply_changes(changes)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LEASE_TICKS: Final = 5", "LEASE_TICKS: Final = ("),
        ("LEASE_TICKS: Final = 5", "LEASE_TICKS: Final = no_such_name"),
        ("from enum import StrEnum", "from enum import no_such_name"),
        ("from enum import StrEnum", "import impl.sqlite.errors"),
    ],
    ids=["syntax", "name", "import", "plain-import-of-the-package"],
)
def test_a_change_that_does_not_load_is_an_error(old: str, new: str) -> None:
    """What can't be compiled or imported is no mutant."""
    with pytest.raises(ChangeDoesNotLoad):
        load_changed_implementation([Change(STORE, old, new)])


def test_a_changed_file_that_nobody_reads_is_an_error() -> None:
    """A change of a module that the copy never imports would be no change at all."""
    texts = apply_changes([LEASE])

    with pytest.raises(ChangeDoesNotLoad, match="admission_store"):
        load_modules(["impl.sqlite.errors"], texts, package="impl.sqlite")


def test_the_tree_is_where_the_packages_are() -> None:
    """Files are named from the folder that holds the packages."""
    assert Path(impl.sqlite.store.__file__) == ROOT / "impl/sqlite/store.py"


@pytest.mark.parametrize("line", ["    return x", "        return x", "    if y:"])
def test_an_edit_has_as_much_context_as_its_place_needs(line: str) -> None:
    """Also where the line stands elsewhere with more before it: a change is looked for as text."""
    text = read_source(STORE)
    planted = f"{text}\n\ndef f(x, y):\n    if y:\n        return x\n    return x\n"
    changed = planted[::-1].replace(f"{line}\n"[::-1], f"{line}  # other\n"[::-1], 1)[::-1]

    edit = make_edit(planted, changed)

    ((old, new),) = [
        (c.old, c.new) for c in replace(find_mutant("clock-may-go-back"), edit=edit).changes
    ]
    assert planted.count(old) == 1
    assert planted.replace(old, new) == changed
