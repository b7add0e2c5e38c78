"""What `admit-one mutants` shows: the kill matrix as text, as plain values, and as a page.

The page `docs/mutants.md` has one recorded part, the kill matrix, which takes long to run. All the
rest is made from the catalogue, and a test compares it.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from conformance.mutants.catalogue import IMPLIED, MUTANTS
from conformance.mutants.matrix import Cell
from conformance.mutants.mutant import Engine, Mutant
from model.checking.explore import Verdict
from model.scopes import MACHINES

PAGE = "docs/mutants.md"
BEGIN, END = "<!-- recorded: admit-one mutants run --every-engine -->", "<!-- end -->"
RECORDED = re.compile(f"{re.escape(BEGIN)}\n(.*?){re.escape(END)}", re.DOTALL)
COLUMNS = tuple(engine for engine in Engine if engine is not Engine.EXPLORE)

INTRODUCTION = """\
# Planted mistakes

<!-- Made by `admit-one mutants run --every-engine --write`, and held against the catalogue. -->

A test that has never failed proves nothing.
Each mistake below is one that a good engineer could make.
It is a text change to one file, loaded in memory, and it names the rule that it breaks
and the engine that must kill it.
`admit-one mutants show NAME` prints one, and `admit-one mutants run` sets the engines on all.

A mutant is **killed** when an engine reports a divergence from the model or a broken property.
A timeout is no kill, and neither is an error.
"""
MATRIX = """\
## The implementation: mutant × engine

`exhaustive` takes every call of a scope from every state, breadth first:
its cell has the kind of the divergence, and the length of a shortest trace.
`walk` and `hypothesis` draw lots: their cells have the number of seeds that killed the mutant,
and the length of the shortest trace that any of them found;
it may be shorter than the one of `exhaustive`,
since a walk also starts from stores that are old, and not from the absent one alone.
`crash`, `race` and `power-loss` are set as the quick profile sets them:
the place in a call where a process died, the finding and its switches from one caller to the other,
the property that a loss of power broke.
They run the mutant from states that the right model reaches, so they, too, see many a mistake
that has nothing to do with crashes or callers that meet.
A cell ends with the seconds that a trial took on the average, on two cores at work.
The engine in the second column must kill the mutant.
"""
MODEL = """\
## The models: mutant × property

Each property is the only one that catches its mutant in the whole search of the scope,
unless others are named beside it.
Left out are the properties that only restate which answer a step must give (`Machine.answers`):
they catch much of what the others catch.
Their own mutants, at the end, are caught by nothing else at all.
"""
NOT_ALONE = """\
## Properties that never break alone

They follow from others along a search.
They stay, because they judge a single state, as after a crash, where there is no step to judge.
"""
SURVIVORS = """\
## What survives, and why

Each of these is killed by the engine that it names, or by none if it is equivalent,
and survives the others for the reason given.
"""
TEXTS = """\
## The changes
"""


def describe_cell(cell: Cell | None) -> str:
    """Return a cell in a few words: what killed the mutant, by how long a trace, how fast."""
    if cell is None:
        return "–"
    if cell.errors:
        return "error"
    timeouts = f"{cell.timeouts} timed out" if cell.timeouts else ""
    share = f"{cell.killed}/{cell.trials}"
    if cell.trials == 1:
        share = cell.by[0] if cell.killed else "survives" * (not timeouts)
    length = str(cell.length) if cell.length else ""
    seconds = f"{cell.seconds:.1f} s" if cell.seconds else ""
    return ", ".join(filter(None, (share, length, timeouts, seconds)))


def judge(cells: Sequence[Cell], mutants: Iterable[Mutant]) -> tuple[Verdict, list[str]]:
    """Return the verdict on a matrix, and what is wrong in sentences.

    Every mutant dies by the engine that it names, if that one was run; nothing else dies of an
    engine that kills what is unchanged.
    """
    problems = [f"{cell.mutant}, {cell.engine}: {error}" for cell in cells for error in cell.errors]
    problems += [
        f"{cell.engine} kills {cell.mutant}, where nothing is changed"
        for cell in cells
        if cell.mutant.startswith("unchanged-") and cell.killed
    ]
    undecided: list[str] = []
    found = {(cell.mutant, cell.engine): cell for cell in cells}
    for mutant in mutants:
        cell = None if mutant.engine is None else found.get((mutant.name, mutant.engine))
        if cell is not None and not cell.killed and not cell.errors:
            sentence = f"{mutant.name} survives {mutant.engine}, which must kill it"
            (undecided if cell.timeouts else problems).append(sentence)
        killers = [c for c in cells if c.mutant == mutant.name and c.killed]
        if mutant.engine is None and killers:
            problems.append(f"{mutant.name} is no equivalent: {killers[0].engine} kills it")
    if problems:
        return Verdict.FAIL, [*problems, *undecided]
    return (Verdict.UNDETERMINED if undecided else Verdict.PASS), undecided


def build_matrix_rows(cells: Sequence[Cell], mutants: Iterable[Mutant]) -> list[list[str]]:
    """Return a row for each mutant: its name, its rule, its engine, and a cell for each engine."""
    found = {(cell.mutant, cell.engine): cell for cell in cells}
    return [
        [
            mutant.name,
            mutant.rule,
            str(mutant.engine or "none: equivalent"),
            *(describe_cell(found.get((mutant.name, engine))) for engine in COLUMNS),
        ]
        for mutant in mutants
        if not mutant.is_of_the_model
    ]


def build_cell_values(cell: Cell) -> dict[str, Any]:
    """Return a cell as JSON has it."""
    return {
        "mutant": cell.mutant,
        "engine": str(cell.engine),
        "killed": cell.killed,
        "trials": cell.trials,
        "timeouts": cell.timeouts,
        "errors": list(cell.errors),
        "by": list(cell.by),
        "length": cell.length,
        "seconds": round(cell.seconds, 3),
    }


def find_recorded(page: str) -> str:
    """Return the recorded matrix of a page, as it stands there."""
    match = RECORDED.search(page)
    return "" if match is None else match[1]


def format_matrix(cells: Sequence[Cell]) -> str:
    """Return the kill matrix of the implementation as a Markdown table."""
    headings = ["mutant", "must be killed by", *map(str, COLUMNS)]
    rows = [[f"`{row[0]}`", *row[2:]] for row in build_matrix_rows(cells, MUTANTS)]
    return "\n".join(_format_table(headings, rows)) + "\n"


def format_page(recorded: str) -> str:
    """Return the whole page around a recorded matrix."""
    parts = [
        INTRODUCTION,
        *_format_numbers(),
        "",
        MATRIX,
        f"{BEGIN}\n{recorded}{END}",
        "",
        MODEL,
        *_format_model_mutants(),
        NOT_ALONE,
        *_format_table(
            ("machine", "property", "why"),
            [[machine, f"`{name}`", why] for (machine, name), why in IMPLIED.items()],
        ),
        "",
        SURVIVORS,
        *_format_survivors(),
        "",
        TEXTS,
        *(line for mutant in MUTANTS for line in _format_mutant(mutant)),
    ]
    return "\n".join(parts).rstrip("\n") + "\n"


def _format_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [headings, ["---"] * len(headings), *rows]
    return [f"| {' | '.join(cell.replace('|', '∣') for cell in line)} |" for line in lines]


def _format_numbers() -> list[str]:
    """Return how many mutants each engine must kill."""

    def count(matches: Callable[[Mutant], bool]) -> str:
        return str(sum(map(matches, MUTANTS)))

    rows = [[str(engine), count(lambda m, e=engine: m.engine is e)] for engine in Engine]  # type: ignore[misc]
    rows.append(["none: equivalent", count(lambda mutant: mutant.engine is None)])
    return _format_table(("engine", "mutants that it must kill"), [r for r in rows if r[1] != "0"])


def _format_model_mutants() -> Iterable[str]:
    """Yield a table for each machine, in the order of its properties."""
    for name, machine in MACHINES.items():
        order = [check.__name__ for check in (*machine.invariants, *machine.step_properties)]
        of_machine = [m for m in MUTANTS if m.is_of_the_model and m.machine == name]
        rows = [
            [
                f"`{mutant.name}`",
                mutant.rule,
                f"`{mutant.killer}`",
                ", ".join(f"`{each}`" for each in mutant.also) or "–",
                mutant.scope,
                str(mutant.shortest),
            ]
            for mutant in sorted(of_machine, key=lambda each: order.index(each.killer))
        ]
        headings = ("mutant", "rule", "property", "others", "scope", "shortest trace")
        yield f"### {name.capitalize()}\n"
        yield from _format_table(headings, rows)
        yield ""


def _format_survivors() -> list[str]:
    searched = (Engine.EXPLORE, Engine.EXHAUSTIVE)
    rows = [
        [f"`{mutant.name}`", str(mutant.engine or "none: equivalent"), mutant.note]
        for mutant in MUTANTS
        if mutant.engine not in searched
    ]
    return _format_table(("mutant", "killed by", "why the others don't see it"), rows)


def format_header(mutant: Mutant) -> list[str]:
    """Return what is to be known of a mutant beside its diff, as lines."""
    where = f"{mutant.killer}, {mutant.scope}, shortest trace {mutant.shortest}"
    engine = str(mutant.engine or "none: it is equivalent")
    facts: Mapping[str, str] = {
        "breaks": f"{mutant.rule} ({mutant.machine})",
        "why": mutant.why,
        "killed by": f"{engine} ({where})" if mutant.killer else engine,
        "note": mutant.note,
    }
    return [f"{name + ':':<11}{text}" for name, text in facts.items() if text]


def _format_mutant(mutant: Mutant) -> list[str]:
    killed = f"Killed by {mutant.engine}" if mutant.engine else "Equivalent"
    if mutant.killer:
        killed += f": {mutant.killer}, {mutant.scope}, shortest trace {mutant.shortest}"
    lines = [f"### {mutant.name}", "", f"Breaks {mutant.rule}. {mutant.why}", "", f"{killed}."]
    if mutant.note:
        lines += ["", mutant.note]
    return [*lines, "", "```diff", *mutant.unified_diff().splitlines(), "```", ""]
