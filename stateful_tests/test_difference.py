"""Two versions of a protocol are compared call by call, and part at the shortest trace."""

import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conformance.changed_source import ROOT
from conformance.difference import Comparison, compare_models, list_changed_fields
from conformance.difference_of_properties import read_text
from conformance.difference_on_sqlite import compare_implementations
from conformance.versions import (
    Version,
    VersionError,
    load_specification,
    load_version_of_implementation,
    open_version,
    plain,
)
from model.checking.explore import explore
from model.scopes import MACHINES, SCOPES

LEASE = (
    "model/admission_vocabulary.py",
    "record.lease is not None and record.lease <= now",
    "record.lease is not None and record.lease < now",
)
LEASE_ON_SQLITE = (
    "impl/sqlite/admission_store.py",
    "state = 'inflight' and lease <= :now",
    "state = 'inflight' and lease < :now",
)


def _copy(folder: Path, *changes: tuple[str, str, str]) -> Version:
    """Return a version in a folder: this one, with text changes."""
    for package in ("model", "impl"):
        shutil.copytree(ROOT / package, folder / package)
    for file, old, new in changes:
        text = (folder / file).read_text("utf-8")
        assert text.count(old) == 1, (file, old)
        (folder / file).write_text(text.replace(old, new), "utf-8")
    return Version("another version", folder)


def _compare_models(version: Version, machine: str) -> Comparison:
    machines, scopes = load_specification(version)
    return compare_models(
        machine,
        "TINY",
        (machines[machine], scopes[machine]["TINY"]),
        (MACHINES[machine], SCOPES[machine]["TINY"]),
    )


@pytest.mark.parametrize("machine", tuple(MACHINES))
def test_a_version_does_not_differ_from_itself(machine: str, tmp_path: Path) -> None:
    """Over all of TINY there is no difference, with the numbers of the scope."""
    version = _copy(tmp_path)
    expected = SCOPES[machine]["TINY"].expected

    model = _compare_models(version, machine)
    implementation = compare_implementations(
        machine, "TINY", load_version_of_implementation(version)
    )

    for found in (model, implementation):
        assert found.differences == ()
        assert found.is_complete
        assert (found.states, found.calls) == (expected.states, expected.calls)


def test_a_pure_refactoring_shows_no_difference(tmp_path: Path) -> None:
    """Renaming a local variable, in the model and in the implementation, reports nothing."""
    version = _copy(tmp_path)
    for file in ("model/admission.py", "impl/sqlite/admission_store.py"):
        path = tmp_path / file
        text, renamed = re.subn(r"\bknown\b", "earlier_one", path.read_text("utf-8"))
        assert renamed > 1
        path.write_text(text, "utf-8")

    model = _compare_models(version, "admission")
    implementation = compare_implementations(
        "admission", "TINY", load_version_of_implementation(version)
    )

    assert model.differences == implementation.differences == ()


def test_the_lease_boundary_is_shown_by_a_shortest_trace(tmp_path: Path) -> None:
    """With `<` for `<=` at the lease, the shortest trace claims twice, five ticks apart."""
    version = _copy(tmp_path, LEASE, LEASE_ON_SQLITE)

    found = (
        _compare_models(version, "admission"),
        compare_implementations("admission", "TINY", load_version_of_implementation(version)),
    )

    for comparison in found:
        difference = next(each for each in comparison.differences if each.after == "claimed")
        assert difference.before == "nothing_due"
        assert difference.name.endswith("admission claim: nothing_due -> claimed")
        assert [action.split()[0] for action, _ in difference.trace] == [
            "init",
            "admit",
            "claim",
            "claim",
        ]
        assert difference.trace[-1] == ("claim at tick 5", "nothing_due -> claimed")
        assert "state.records[0].generation: 1 -> 2" in difference.details


def test_a_difference_of_the_state_alone_is_told(tmp_path: Path) -> None:
    """A redrive that keeps the generation has the same outcome, and leaves another state."""
    change = (
        "model/admission.py",
        "queued = move_record(record, QUEUED, generation=record.generation + 1)",
        "queued = move_record(record, QUEUED)",
    )

    found = _compare_models(_copy(tmp_path, change), "admission")

    assert [each.name for each in found.differences] == [
        "model admission redrive: queued, another state"
    ]
    assert found.differences[0].details == ("state.records[0].generation: 1 -> 2",)


def test_removed_and_added_words_are_told(tmp_path: Path) -> None:
    """An outcome that only one version's table has is reported as such."""
    machines, scopes = load_specification(_copy(tmp_path))
    tables = dict(machines["admission"].outcomes)
    resolve = next(kind for kind in tables if kind.__name__ == "Resolve")
    tables[resolve] = tuple(each if each != "stale" else "expired" for each in tables[resolve])

    found = compare_models(
        "admission",
        "TINY",
        (replace(machines["admission"], outcomes=tables), scopes["admission"]["TINY"]),
        (MACHINES["admission"], SCOPES["admission"]["TINY"]),
    )

    assert [each.name for each in found.differences] == [
        "model admission resolve: removed outcome expired",
        "model admission resolve: added outcome stale",
    ]


def _plant_property(folder: Path) -> str:
    """Weaken an invariant of a version until it always holds; return its name."""
    path = folder / "model" / "admission_properties.py"
    name = MACHINES["admission"].invariants[0].__name__
    text = path.read_text("utf-8")
    head, body = text.split(f"def {name}(", 1)
    signature, rest = body.split('"""\n', 1)
    path.write_text(f'{head}def {name}({signature}"""\n    return None\n{rest}', "utf-8")
    return name


def test_a_weakened_property_is_told_by_its_text(tmp_path: Path) -> None:
    """An invariant that always holds shows in no state, and is reported all the same."""
    version = _copy(tmp_path)
    name = _plant_property(tmp_path)

    found = _compare_models(version, "admission")

    assert [each.name for each in found.differences] == [
        f"model admission property {name}: its text changed"
    ]


def test_variables_layout_and_wording_of_a_property_are_no_difference(tmp_path: Path) -> None:
    """Two texts of one property are the same but for names, comments and what a clause says."""

    def one(state: Any) -> str | None:
        """Hold."""
        return None if state.clock >= 0 else f"the clock is {state.clock}"

    def other(found: Any) -> str | None:
        return None if found.clock >= 0 else f"clock {found.clock}"  # so it is said

    def wrong(found: Any) -> str | None:
        return None if found.clock > 0 else f"clock {found.clock}"

    texts = [str(read_text(each)).replace("other", "one") for each in (one, other)]

    assert texts[0] == texts[1]
    assert texts[0] != str(read_text(wrong)).replace("wrong", "one")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("planted", "names"),
    [
        ("another clock", ["1: one state -> another state"]),
        ("one fewer", ["1: missing -> there"]),
    ],
    ids=["another state", "one fewer"],
)
def test_an_initial_state_that_differs_is_told(
    planted: str, names: list[str], tmp_path: Path
) -> None:
    """What only one version begins with is a difference, and nothing passes without a call."""
    version = _copy(tmp_path)
    machines, scopes = load_specification(version)
    machine, scope = machines["admission"], scopes["admission"]["TINY"]
    states = machine.initial_states(scope)
    changed = states[:-1]
    if planted != "one fewer":
        changed = (*changed, replace(states[-1], clock=1))
    machine = replace(machine, initial_states=lambda _scope: changed)

    found = compare_models(
        "admission",
        "TINY",
        (machine, scope),
        (MACHINES["admission"], SCOPES["admission"]["TINY"]),
    )

    assert [each.name for each in found.differences] == [
        f"model admission start {name}" for name in names
    ]


def test_a_version_that_can_not_be_brought_into_a_start_is_told(tmp_path: Path) -> None:
    """An `init` that always raises leaves nothing to compare but the starts themselves."""
    file = tmp_path / "impl" / "sqlite" / "admission.py"
    version = _copy(tmp_path)
    text = file.read_text("utf-8")
    file.write_text(f"{text}\n\ndef init(*_given, **_options):\n    raise SystemExit(0)\n", "utf-8")

    found = compare_implementations("admission", "SUMS", load_version_of_implementation(version))

    assert found.calls == 0
    assert found.differences[0].name == "implementation admission start 1: raises Ended -> made"


def test_another_snapshot_of_the_same_state_is_told(tmp_path: Path) -> None:
    """Where states and outcomes agree, what is told of a state is compared too."""
    version = _copy(tmp_path)
    machines, scopes = load_specification(version)
    machine = machines["admission"]
    tell = machine.snapshot
    wrong = replace(machine, snapshot=lambda state: tell(state) and {**tell(state), "usage": 0})

    found = compare_models(
        "admission",
        "TINY",
        (wrong, scopes["admission"]["TINY"]),
        (MACHINES["admission"], SCOPES["admission"]["TINY"]),
    )

    assert [each.name for each in found.differences] == [
        "model admission snapshot: usage, another value"
    ]


def test_a_version_without_a_step_that_is_offered_raises_in_its_place(tmp_path: Path) -> None:
    """A call that the other version offers but can't take is a difference like another one."""
    machines, scopes = load_specification(_copy(tmp_path))
    machine = machines["admission"]
    steps = {kind: step for kind, step in machine.steps.items() if kind.__name__ != "Claim"}

    found = compare_models(
        "admission",
        "TINY",
        (replace(machine, steps=steps), scopes["admission"]["TINY"]),
        (MACHINES["admission"], SCOPES["admission"]["TINY"]),
    )

    assert "model admission claim: raises KeyError -> nothing_due" in [
        each.name for each in found.differences
    ]


def test_a_budget_that_is_used_up_is_no_agreement(tmp_path: Path) -> None:
    """A comparison that the budget ended says so."""
    machines, scopes = load_specification(_copy(tmp_path))

    found = compare_models(
        "admission",
        "TINY",
        (machines["admission"], scopes["admission"]["TINY"]),
        (MACHINES["admission"], SCOPES["admission"]["TINY"]),
        state_budget=30,
    )

    assert not found.is_complete


def test_loading_a_version_leaves_this_one_as_it_is(tmp_path: Path) -> None:
    """The modules of another version are its own, and this process keeps its own."""
    machines, _ = load_specification(_copy(tmp_path))

    assert machines["admission"] is not MACHINES["admission"]
    assert sys.modules["model.scopes"].MACHINES is MACHINES
    assert str(tmp_path) not in sys.path
    assert explore(MACHINES["admission"], SCOPES["admission"]["TINY"]).problems == ()


def test_a_version_that_is_none_is_a_typed_error(tmp_path: Path) -> None:
    """A name that is neither folder nor revision is refused, and so is an empty folder."""
    for name in ("no-such-thing", "--output=x"):
        version = open_version(name, tmp_path)
        with pytest.raises(VersionError, match="neither a folder nor a git revision"), version:
            pass
    with pytest.raises(VersionError):
        load_specification(Version("empty", tmp_path))


def test_a_git_revision_is_read_without_touching_the_tree(tmp_path: Path) -> None:
    """The packages of a revision come from its commit, also when the tree has changed since."""
    _copy(tmp_path, LEASE)
    git = ("git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "one")):
        subprocess.run([*git, *arguments], check=True, capture_output=True)
    shutil.rmtree(tmp_path / "model")

    with open_version("HEAD", tmp_path) as version:
        found = _compare_models(version, "admission")

    assert any(each.after == "claimed" for each in found.differences)
    assert not (tmp_path / "model").exists()


def test_changed_fields_are_named_by_their_place() -> None:
    """A difference deep in a state is told by the path to it."""
    scope = SCOPES["admission"]["TINY"]
    absent, old, _ = MACHINES["admission"].initial_states(scope)

    changes = list(list_changed_fields(plain(absent), plain(old)))

    assert changes[0].startswith("state.limits: None -> ")
    assert list(list_changed_fields(plain(old), plain(old))) == []


def test_the_command_exits_with_one_on_a_difference_that_is_not_allowed(tmp_path: Path) -> None:
    """`diff` fails, names the difference, and passes once the file of intended ones holds it."""
    _copy(tmp_path / "old", LEASE)
    allowed = tmp_path / "allowed"
    command = [sys.executable, "-m", "workbench.cli", "diff", str(tmp_path / "old")]
    command += ["--machine", "admission", "--subject", "model"]

    first = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    names = [
        line.split("  ")[-1] for line in first.stdout.splitlines() if line.startswith("  DIFFERS")
    ]
    allowed.write_text("# intended\n" + "\n".join(names) + "\n", "utf-8")
    second = subprocess.run(
        [*command, "--allow", str(allowed)], capture_output=True, text=True, check=False, cwd=ROOT
    )

    assert first.returncode == 1, first.stderr
    assert "model admission claim: nothing_due -> claimed" in names
    assert second.returncode == 0, second.stdout
    assert "DIFFERS" not in second.stdout
    assert "    3. claim at tick 0 → claimed r1 under generation 1\n" in first.stdout
    assert "    4. claim at tick 5: nothing_due -> claimed\n" in first.stdout
    assert "\nverdict: fail, 2 differences are not allowed\n" in first.stdout
    assert f"repeat: admit-one {shlex.join(command[3:])}\n" in first.stdout
    assert second.stdout.endswith("verdict: pass\n")
