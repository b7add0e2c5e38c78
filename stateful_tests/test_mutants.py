"""Every planted mistake applies, and dies by the engine that it names, by the recorded trace."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from conformance.changed_source import (
    ROOT,
    load_changed_implementation,
    load_changed_specification,
    read_source,
)
from conformance.mutants.catalogue import IMPLIED, MUTANTS, UnknownMutant, find_mutant
from conformance.mutants.kills import Survived, explore_mutant, find_broken, kill_by_exhaustive
from conformance.mutants.mutant import Engine, Mutant
from model.scopes import MACHINES

RULE = re.compile(r"^- \*\*([ABC]\d+) ", re.MULTILINE)
SEARCHED = (Engine.EXPLORE, Engine.EXHAUSTIVE)
PROPERTIES = [
    (name, check.__name__)
    for name, machine in MACHINES.items()
    for check in (*machine.invariants, *machine.step_properties)
]


def _of(*engines: Engine | None) -> list[object]:
    return [pytest.param(m, id=m.name) for m in MUTANTS if m.engine in engines]


def test_names_are_unique_and_in_kebab_case() -> None:
    """A mutant is found by its name."""
    assert [name for name, times in Counter(m.name for m in MUTANTS).items() if times > 1] == []
    for mutant in MUTANTS:
        assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", mutant.name)
        assert find_mutant(mutant.name) is mutant
    with pytest.raises(UnknownMutant):
        find_mutant("no-such-mutant")


def test_every_mutant_names_a_rule_of_its_machine() -> None:
    """The rule that a mutant breaks stands in the protocols."""
    rules = set(RULE.findall(read_source("docs/protocols.md")))

    for mutant in MUTANTS:
        assert mutant.rule in rules
        assert mutant.rule[0] in {"admission": "AC", "reservation": "BC"}[mutant.machine]


def test_every_mutant_says_why_a_good_engineer_would_write_it() -> None:
    """One sentence; a mutant that no search kills also says why it survives them."""
    for mutant in MUTANTS:
        assert re.fullmatch(r"[A-Z].*[^.]\.", mutant.why)
        assert bool(mutant.killer) is (mutant.engine in SEARCHED)
        assert mutant.killer or mutant.note


@pytest.mark.parametrize("mutant", [pytest.param(m, id=m.name) for m in MUTANTS])
def test_a_mutant_applies_exactly_once_and_loads(mutant: Mutant) -> None:
    """The text to be changed is in the file once, and the changed package can be imported."""
    assert len({change.file for change in mutant.changes}) == 1
    if mutant.is_of_the_model:
        assert "propert" not in mutant.file
        assert "answers" not in mutant.file
        load_changed_specification(mutant.changes)
    else:
        load_changed_implementation(mutant.changes)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is what applies a diff here")
def test_shown_diffs_apply(tmp_path: Path) -> None:
    """What `show` prints turns a copy of the file into what the engines run."""
    for mutant in MUTANTS:
        copy = tmp_path / mutant.name / mutant.file
        copy.parent.mkdir(parents=True)
        shutil.copy(ROOT / mutant.file, copy)
        subprocess.run(
            ["git", "apply", "--unidiff-zero", "-"],  # noqa: S607 - as a reader would call it
            cwd=tmp_path / mutant.name,
            env={"GIT_CEILING_DIRECTORIES": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/local/bin"},
            input=mutant.unified_diff(),
            encoding="utf-8",
            check=True,
        )
        text = copy.read_text("utf-8")
        for change in mutant.changes:
            assert change.new in text


@pytest.mark.parametrize("mutant", _of(Engine.EXHAUSTIVE))
def test_exhaustive_conformance_kills(mutant: Mutant) -> None:
    """The implementation parts from the model as recorded, after a trace of the recorded length."""
    found = kill_by_exhaustive(mutant)

    assert (found.divergence.kind, len(found.trace)) == (mutant.killer, mutant.shortest)


@pytest.mark.parametrize("mutant", _of(Engine.EXPLORE))
def test_the_search_of_the_model_kills(mutant: Mutant) -> None:
    """Exactly the recorded properties break, the first of them after the recorded length."""
    found = explore_mutant(mutant)

    broken = {violation.property_name: violation.trace for violation in found.violations}
    assert set(find_broken(mutant, found)) == {mutant.killer, *mutant.also}
    assert len(broken[mutant.killer]) == mutant.shortest


@pytest.mark.parametrize("mutant", _of(None, Engine.CRASH, Engine.RACE, Engine.POWER_LOSS))
def test_a_search_does_not_see_what_it_cannot_see(mutant: Mutant) -> None:
    """Equivalent mutants, and those of crashes and races, survive a lone caller without faults."""
    with pytest.raises(Survived):
        kill_by_exhaustive(mutant)


@pytest.mark.parametrize(("machine", "name"), PROPERTIES)
def test_every_property_is_the_only_killer_of_a_mutant(machine: str, name: str) -> None:
    """A property that catches nothing alone proves nothing, unless it is said what implies it."""
    mine = [m for m in MUTANTS if (m.is_of_the_model, m.machine, m.killer) == (True, machine, name)]

    assert mine
    assert ((machine, name) in IMPLIED) is all(mutant.also for mutant in mine)


def test_implied_properties_exist() -> None:
    """The list of properties that never break alone names none that is gone."""
    assert set(IMPLIED) <= set(PROPERTIES)
