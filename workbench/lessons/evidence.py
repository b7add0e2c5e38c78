"""What the engines show about a changed version, run when a lesson asks and remembered for the run.

A change of the model is searched by `explore`, one of the implementation by exhaustive
conformance; both are breadth first, so the trace is a shortest one. Crashes, power losses and
schedules have runs of their own (`failures`).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from conformance.changed_source import load_changed_implementation, load_changed_specification
from conformance.exhaustive import Conformance, check_exhaustively
from conformance.mutants.mutant import Mutant
from conformance.replay_report import from_found
from model.checking.explore import Exploration, Verdict, explore
from model.checking.trace import Trace, TraceStep
from model.checking.trace_explanation import explain
from model.checking.trace_report import Failure, TraceReport, from_violation
from model.checking.trace_shapes import VOCABULARIES, adopt, find_fields, find_shape
from model.checking.trace_text import describe_start, format_steps
from model.checking.trace_words import count
from model.reservation_properties import count_calls
from model.scopes import MACHINES, SCOPES
from workbench.lessons.blocks import Block, Grid, Meter, Meters, Prose, Steps

STATE_BUDGET = 3000
"""Enough for a killer in each scope that a lesson uses, and for TINY to its end."""


class Missing(LookupError):
    """A package that an engine needs is not installed."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a run has shown: the verdict, the trace as blocks, and the claims that are false.

    `covered` says how much was looked at, `problems` are findings that have no trace, `length`
    counts the steps of the trace, and `end` is the state in which it ends.
    """

    verdict: Verdict
    covered: str
    blocks: tuple[Block, ...] = ()
    claims: tuple[tuple[str, str, str], ...] = ()
    problems: tuple[str, ...] = ()
    length: int = 0
    end: Any = None


@lru_cache(maxsize=256)
def find_evidence(mutant: Mutant) -> Evidence:
    """Search the scope of a mutant with the engine that can judge it."""
    return _search_model(mutant) if mutant.is_of_the_model else _hold_against_model(mutant)


def find_command(mutant: Mutant) -> str:
    """Return the command with which a reader who has made the change sees the same."""
    if mutant.is_of_the_model:
        return f"admit-one explore {mutant.machine} {mutant.scope}"
    return f'admit-one verify --only "exhaustive {mutant.machine} {mutant.scope}"'


def _search_model(mutant: Mutant) -> Evidence:
    version = load_changed_specification(mutant.changes)
    scope = version.scopes[mutant.machine][mutant.scope]
    found = explore(version.machines[mutant.machine], scope, state_budget=STATE_BUDGET)
    covered = _say_exploration(found)
    if not found.violations:
        return Evidence(found.verdict, covered, problems=found.problems)
    shortest = min(len(each.trace) for each in found.violations)
    broken = [each for each in found.violations if len(each.trace) == shortest]
    broken.sort(key=lambda each: each.property_name != mutant.killer)
    told = _tell(from_violation(broken[0]), covered)
    if mutant.machine == "admission":
        snapshot = version.machines[mutant.machine].snapshot
        before, after = map(snapshot, broken[0].trace.states[-2:])
        told = replace(told, blocks=tuple(_count_as_changed(told.blocks, before, after)))
    others = tuple((each.kind, each.property_name, each.sentence) for each in broken[1:])
    return replace(told, claims=(*told.claims, *others))


def _count_as_changed(blocks: tuple[Block, ...], before: Any, after: Any) -> Iterator[Block]:
    """Yield blocks in which the end is drawn as the changed model counts, where it counts else."""
    for block in blocks:
        if isinstance(block, Meters) and block.meters != _draw_admission(after):
            counted = "as the changed model counts"
            yield Meters(f"before the last step, {counted}", _draw_admission(before))
            yield Meters(f"at the end, {counted}", _draw_admission(after))
        else:
            yield block


def _say_exploration(found: Exploration) -> str:
    counts = f"{found.states:,} states and {found.calls:,} calls of the model"
    where = f"in scope {found.scope}"
    if found.violations:
        return f"The search looked at {counts} {where}, and no trace from the start is shorter."
    return f"The search looked at all {counts} {where}: no property is false."


def _hold_against_model(mutant: Mutant) -> Evidence:
    found = check_exhaustively(
        mutant.machine,
        SCOPES[mutant.machine][mutant.scope],
        implementation=load_changed_implementation(mutant.changes),
        state_budget=STATE_BUDGET,
    )
    covered = _say_conformance(found)
    if not found.found:
        return Evidence(found.verdict, covered, problems=found.problems)
    first = min(found.found, key=lambda each: len(each.trace))
    return _tell(from_found(first, find_command(mutant)), covered)


def _say_conformance(found: Conformance) -> str:
    counts = f"{found.counts.states:,} states and {found.counts.calls:,} calls on SQLite"
    where = f"in scope {found.scope}"
    if found.found:
        return f"The search took {counts} {where}, and no trace from the start is shorter."
    return f"All {counts} {where} agree with the model, answer by answer and state by state."


def _tell(report: TraceReport, covered: str) -> Evidence:
    """Return the trace of a report as blocks."""
    return Evidence(
        verdict=Verdict.FAIL,
        covered=covered,
        blocks=tell_trace(report.trace, report.failures),
        claims=tuple(name_claims(report.failures)),
        length=len(report.trace),
        end=report.trace.states[-1],
    )


def name_claims(failures: tuple[Failure, ...]) -> list[tuple[str, str, str]]:
    """Return kind, name and sentence of what is false."""
    return [(each.kind, each.name, each.sentence) for each in failures]


def tell_trace(trace: Trace, failures: tuple[Failure, ...]) -> tuple[Block, ...]:
    """Return the steps, the state that they end in as a picture, and the explanation."""
    steps = tuple(line.removeprefix("  ") for line in format_steps(trace))
    length = count(len(trace), "step")
    blocks: list[Block] = [Steps(f"A trace: {length} from {describe_start(trace)}", steps)]
    last = trace.steps[-1] if trace.steps else None
    found = None if last is None or last.observed is None else last.observed.state
    is_told_apart = found is not None and found != trace.states[-1]
    title = "specified" if is_told_apart else "at the end"
    if trace.states[-1] is not None:
        blocks.append(Meters(title, draw_state(trace.machine, trace.states[-1])))
    if is_told_apart:
        blocks.append(Meters("found", draw_state(trace.machine, found)))
    paragraphs = [" ".join(each.split()) for each in explain(trace, failures)]
    return (*(b for b in blocks if not isinstance(b, Meters) or b.meters), *map(Prose, paragraphs))


def draw_state(machine: str, state: Any) -> tuple[Meter, ...]:
    """Return how full a state is: the budget of a store, or the three numbers of each intent."""
    if machine == "admission":
        return _draw_admission(MACHINES[machine].snapshot(state))
    return _draw_reservation(state)


def _draw_admission(seen: dict[str, Any] | None) -> tuple[Meter, ...]:
    """Return how full a store is by its snapshot, which a changed model makes in its own way."""
    if seen is None:
        return ()
    limits, (slots, used_bytes) = seen["limits"], seen["usage"]
    meters = [
        Meter("slots", slots, limits["global_slots"]),
        Meter("bytes", used_bytes, limits["global_bytes"]),
    ]
    for tenant in sorted({record["tenant"] for record in seen["records"]}):
        slots, used_bytes = seen["tenants"].get(tenant, (0, 0))
        meters += [
            Meter(f"slots of {tenant}", slots, limits["tenant_slots"]),
            Meter(f"bytes of {tenant}", used_bytes, limits["tenant_bytes"]),
        ]
    return (*meters, Meter("effects", len(seen["effects"]), None))


def _draw_reservation(state: Any) -> tuple[Meter, ...]:
    several = len(state.ledgers) > 1
    meters = []
    for ledger in state.ledgers:
        for intent in ledger.intents:
            name = f"{intent.intent_id} in {ledger.file}" if several else intent.intent_id
            calls = count_calls(state, ledger.name or ledger.file, intent.intent_id)
            effects = [e for e in state.receiver.effects if e.intent_id == intent.intent_id]
            meters += [
                Meter(f"spent of {name}", intent.spent, intent.cap),
                Meter(f"calls of {name}", calls, intent.cap),
                Meter(f"effects of {intent.intent_id}", len(effects), None),
            ]
    return tuple(dict.fromkeys(meters))


def run_changed(
    mutant: Mutant, initial: Any, actions: tuple[Any, ...], caption: str
) -> tuple[Block, ...]:
    """Take steps of a changed model from a state of the model; both have words of their own."""
    version = load_changed_specification(mutant.changes)
    machine = version.machines[mutant.machine]
    kinds = {kind.__name__: kind for kind in machine.steps}
    words = VOCABULARIES[mutant.machine]
    start = machine.initial_states(version.scopes[mutant.machine][mutant.scope])[0]
    own_state = adopt(initial, find_fields(type(start)))
    steps = []
    for action in actions:
        own_action = adopt(action, find_fields(kinds[type(action).__name__]))
        own_state, own_outcome = machine.step(own_state, own_action)
        outcome = adopt(own_outcome, find_shape(words.outcome))
        steps.append(TraceStep(action, outcome, adopt(own_state, find_shape(words.state))))
    trace = Trace(mutant.machine, "", initial, tuple(steps))
    lines = tuple(line.removeprefix("  ") for line in format_steps(trace))
    end = draw_state(mutant.machine, trace.states[-1])
    return Steps(caption, lines), Meters("at the end", end)


def tabulate(
    caption: str, headings: tuple[str, ...], rows: list[tuple[object, ...]]
) -> tuple[Block, ...]:
    """Return a table as the only block."""
    caption = caption.removesuffix(".")
    return (Grid(caption, headings, tuple(tuple(map(str, row)) for row in rows)),)
