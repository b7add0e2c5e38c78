"""Sets the searches on every small change of the code that cosmic-ray can make: `make mutation`.

Beside the planted mistakes, which somebody thought of, these are the ones that nobody did: another
comparison, another number, a negated condition, a decorator less. Each is loaded in memory and
judged like a mutant: by the scopes that are small, by the rule-based machine, and by the tests of
what no search looks at.

What survives is to be killed by a better search, or explained in `mutation_reasons`. A survivor
without an explanation fails the run, and so does one that had no time, and an explained one that
is killed.

Not here: a change of SQL or of a schema, which cosmic-ray takes for text; and what is no operator
where it stands: `|` for a choice of types, `*` and `/` in a signature.

Run it as `python -m workbench.mutation [FILE ...]`; it needs cosmic-ray.
"""

import importlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import typer

from conformance.changed_source import apply_changes, load_changed_implementation, read_source
from conformance.exhaustive import check_exhaustively
from conformance.mutants.kills import EngineEntry, Kill, explore_mutant
from conformance.mutants.matrix import Ending, Result, Trial, make_controls, run_trials
from conformance.mutants.mutant import Engine, Mutant, make_edit
from model.scopes import SCOPES
from workbench.mutant_engines import run_hypothesis
from workbench.mutation_reasons import explain
from workbench.mutation_tests import kill_by_tests
from workbench.progress import progress_bar

SEARCHED = {
    "admission": ("TINY", "TEXTS", "SUMS"),
    "reservation": ("TINY", "FIELDS", "TWICE", "IDS", "CONFLICTS"),
}
"""The scopes that are small."""
MODEL_BUDGET_STATES = 6000
LIMIT_SECONDS = 300.0
WORKERS = os.cpu_count() or 1
MODEL_FILES = (
    "model/admission.py",
    "model/admission_vocabulary.py",
    "model/reservation.py",
    "model/reservation_vocabulary.py",
)
IMPLEMENTATION_FILES = {
    "impl/sqlite/admission.py": ("admission",),
    "impl/sqlite/admission_store.py": ("admission",),
    "impl/sqlite/connection.py": ("admission", "reservation"),
    "impl/sqlite/inputs.py": ("admission", "reservation"),
    "impl/sqlite/receiver.py": ("reservation",),
    "impl/sqlite/reservation.py": ("reservation",),
    "impl/sqlite/store.py": ("admission", "reservation"),
    "impl/sqlite/vocabulary.py": ("reservation",),
}


def kill_small_change(mutant: Mutant, seed: int) -> Kill | None:
    """Set the tests, the searches of all small scopes and the rule-based machine on a change."""
    machines = IMPLEMENTATION_FILES.get(mutant.file, (mutant.machine,))
    if (killed := kill_by_tests(mutant)) is not None:
        return killed
    if mutant.is_of_the_model:
        return kill_by_model_search(mutant)
    version = load_changed_implementation(mutant.changes)
    for machine in machines:
        for scope in SEARCHED[machine]:
            parted = check_exhaustively(machine, SCOPES[machine][scope], implementation=version)
            if parted.found:
                return Kill((parted.found[0].divergence.kind,), len(parted.found[0].trace))
            if parted.counts.calls == 0:
                return Kill(parted.problems, 0)
    kills = (run_hypothesis(replace(mutant, machine=machine), seed) for machine in machines)
    return next((kill for kill in kills if kill is not None), None)


def kill_by_model_search(mutant: Mutant) -> Kill | None:
    """Search the small scopes, and a part of a large one, with a change of the model."""
    for scope in (*SEARCHED[mutant.machine], "SMALL"):
        found = explore_mutant(replace(mutant, scope=scope), MODEL_BUDGET_STATES)
        names = [violation.property_name for violation in found.violations]
        if problems := [*names, *found.problems]:
            return Kill((problems[0],), found.depth)
    return None


def find_small_changes(file: str) -> Iterator[Mutant]:
    """Yield every change of a file that cosmic-ray can make, as a mutant."""
    plugins: Any = importlib.import_module("cosmic_ray.plugins")
    mutating: Any = importlib.import_module("cosmic_ray.mutating")
    trees: Any = importlib.import_module("cosmic_ray.ast")
    text = read_source(file)
    tree = trees.get_ast(text)
    machine = "reservation" if "reservation" in file else "admission"
    for name in sorted(plugins.operator_names()):
        if "_BitOr_" in name or name.startswith("core/Variable"):
            continue
        operator = plugins.get_operator(name)()
        nodes = list(trees.ast_nodes(tree))
        for occurrence in range(sum(len(list(operator.mutation_positions(n))) for n in nodes)):
            changed = mutating.mutate_code(text, operator, occurrence)
            if changed is None or changed == text:
                continue
            edit = make_edit(text, changed)
            if "BinaryOperator" in name and is_signature(edit):
                continue
            mutant = Mutant(
                name=f"{file} {name.removeprefix('core/')} {occurrence}",
                machine=machine,
                rule="",
                why="",
                file=file,
                edit=edit,
                engine=Engine.EXHAUSTIVE,
            )
            if apply_changes(mutant.changes) != {file: changed}:  # an error would pass for a kill
                raise AssertionError(f"{mutant.name} is not the change that it was made for")
            yield mutant


def is_signature(edit: str) -> bool:
    """Tell whether the lines of a signature are changed, where `*` and `/` are no operators."""
    lines = [line[1:].strip() for line in edit.splitlines() if line.startswith("-")]
    return all(re.search(r"(^|[(\s])\*,", line) is not None for line in lines)


class EngineIsBroken(Exception):
    """The engines don't pass what is unchanged, and so would kill everything."""


def require_passing_engines(entry: EngineEntry) -> None:
    """Set the engine on the unchanged code of both machines; `EngineIsBroken` if it fails there."""
    controls = make_controls([entry, replace(entry, is_of_the_model=True)])
    for result in run_trials(controls, workers=WORKERS, limit_seconds=LIMIT_SECONDS):
        if result.ending is not Ending.SURVIVED:
            raise EngineIsBroken(f"{result.mutant}: {result.ending} {result.message}")


def main(files: list[str]) -> int:
    """Judge every small change, print what is wrong, and return the exit code.

    Wrong is a survivor without an explanation, a change that had no time, and one that is explained
    and yet killed: its explanation isn't true, or not any more. With engines that pass what is
    unchanged, an error is one of the changed code, and kills it.
    """
    entry = EngineEntry(Engine.EXHAUSTIVE, kill_small_change)
    require_passing_engines(entry)
    chosen = files or [*IMPLEMENTATION_FILES, *MODEL_FILES]
    found = {each.name: each for file in chosen for each in find_small_changes(file)}
    trials = [Trial(each, entry, 0) for each in found.values()]
    counts: Counter[Ending] = Counter()
    reasons: Counter[str] = Counter()
    wrong = 0
    with progress_bar("small changes", len(trials)) as advance:
        for result in run_trials(
            trials, workers=WORKERS, limit_seconds=LIMIT_SECONDS, progress=advance
        ):
            small_change = found[result.mutant]
            ending, reason = find_ending(result), explain(small_change)
            counts[ending] += 1
            if ending is Ending.SURVIVED and reason is not None:
                reasons[reason] += 1
            elif ending is not Ending.KILLED or reason is not None:
                wrong += 1
                typer.echo(f"{ending}: {result.mutant}")
                if reason is not None:
                    typer.echo(f"though explained: {reason}")
                typer.echo(small_change.edit)
    for reason, count in reasons.items():
        typer.echo(f"explained, {count}: {reason}")
    typer.echo(
        f"{counts[Ending.KILLED]} killed, {counts[Ending.SURVIVED]} survived "
        f"({reasons.total()} explained), {counts[Ending.TIMEOUT]} without an end; {wrong} wrong"
    )
    return int(wrong > 0)


def find_ending(result: Result) -> Ending:
    """Return how a trial ended: an error is one of the changed code, and kills it."""
    return Ending.KILLED if result.ending is Ending.ERROR else result.ending


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
