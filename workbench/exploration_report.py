"""What a search has seen, as text for a person and as plain values for a machine."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from model.checking.explore import Exploration, Verdict
from model.checking.trace_json import encode_report
from model.checking.trace_report import TraceReport, from_violation
from model.checking.trace_text import format_report
from model.machine import Machine, Scope, property_sentence
from workbench.life_cycle import LIFE_CYCLES, summarize_state
from workbench.tables import count, format_table

MOST_DEADLOCK_KINDS = 12


def format_exploration(found: Exploration, scope: Scope, repeat: str) -> list[str]:
    """Return the report as lines; `repeat` is the command that searches again in the same way."""
    symmetry = "interchangeable names count once" if found.is_symmetric else "every name counts"
    counts = (
        f"{found.states:,} states, {found.transitions:,} transitions, {found.calls:,} calls, "
        f"depth {found.depth}, {found.seconds:.1f} s"
    )
    lines = [
        f"{found.machine} {found.scope}: {counts}",
        f"{symmetry}; {_compare_with_recorded(found, scope)}",
        "",
        *_format_outcomes(found, scope),
        "",
        *_format_witnesses(found, scope),
        "",
        *_format_deadlocks(found),
    ]
    for violation in found.violations:
        lines += ["", *format_report(from_violation(violation, repeat)).rstrip().splitlines()]
    lines += ["", *(f"problem: {problem}" for problem in found.problems)]
    if found.problems:
        lines.append("")
    lines.append(f"verdict: {found.verdict}")
    if found.verdict is Verdict.UNDETERMINED:
        lines.append("The state budget is used up before the scope is searched.")
    if found.verdict is not Verdict.PASS:
        lines.append(f"repeat: {repeat}")
    return lines


def build_exploration_values(
    found: Exploration, machine: Machine[Any, Any, Any], scope: Scope, repeat: str
) -> dict[str, Any]:
    """Return the report as JSON has it."""
    sentences = {witness.__name__: property_sentence(witness) for witness in machine.witnesses}
    return {
        "machine": found.machine,
        "scope": found.scope,
        "is_symmetric": found.is_symmetric,
        **asdict(found.counts),
        "expected": None if scope.expected is None else asdict(scope.expected),
        "outcomes": [
            {
                "action": action,
                "outcome": outcome,
                "calls": calls,
                "unreachable": scope.unreachable.get(f"{action} {outcome}"),
            }
            for (action, outcome), calls in found.outcomes.items()
        ],
        "witnesses": [
            {
                "name": name,
                "sentence": sentence,
                "shortest_trace": encode_report(TraceReport(found.witnesses[name], repeat))
                if name in found.witnesses
                else None,
                "unreachable": scope.unreachable.get(name),
            }
            for name, sentence in sentences.items()
        ],
        "deadlocks": {"states": len(found.deadlocks), "kinds": count_deadlock_kinds(found)},
        "violations": [encode_report(from_violation(each, repeat)) for each in found.violations],
        "problems": list(found.problems),
        "verdict": str(found.verdict),
        "seconds": round(found.seconds, 3),
        "repeat": repeat,
    }


def count_deadlock_kinds(found: Exploration) -> Mapping[str, int]:
    """Return how many deadlocks there are of each kind, by where records or intents stand."""
    life_cycle = LIFE_CYCLES[found.machine]
    kinds = Counter(summarize_state(life_cycle, state) for state in found.deadlocks)
    return dict(sorted(kinds.items(), key=lambda kind: (-kind[1], kind[0])))


def _compare_with_recorded(found: Exploration, scope: Scope) -> str:
    if scope.expected is None:
        return "no numbers are recorded for this scope"
    if found.is_symmetric is not scope.is_symmetric:
        return "the recorded numbers are with symmetry, and are not compared"
    if not found.is_complete:
        return f"recorded are {scope.expected.states:,} states"
    return f"the recorded numbers are {'these' if scope.expected == found.counts else 'others'}"


def _format_outcomes(found: Exploration, scope: Scope) -> list[str]:
    rows = [
        (action, outcome, calls, "" if calls else _explain(found, scope, f"{action} {outcome}"))
        for (action, outcome), calls in found.outcomes.items()
    ]
    return format_table(("action", "outcome", "calls#", ""), rows)


def _format_witnesses(found: Exploration, scope: Scope) -> list[str]:
    seen = [(name, len(trace), "") for name, trace in found.witnesses.items()]
    names = {name for name in scope.unreachable if " " not in name} - found.witnesses.keys()
    unseen = [(name, "–", _explain(found, scope, name)) for name in sorted(names)]
    return format_table(("witness", "shortest trace#", ""), [*seen, *unseen])


def _explain(found: Exploration, scope: Scope, name: str) -> str:
    reason = scope.unreachable.get(name)
    if reason is not None:
        return f"out of reach here: {reason}"
    return "NEVER SEEN" if found.is_complete else "not seen yet"


def _format_deadlocks(found: Exploration) -> list[str]:
    if not found.deadlocks:
        return ["no state in which no call changes anything"]
    subject = LIFE_CYCLES[found.machine].subject
    states = f"{count(len(found.deadlocks), 'state')} in which no call changes anything"
    lines = [f"{states} (the scope ends there), by where each {subject} stands:"]
    kinds = list(count_deadlock_kinds(found).items())
    lines += [f"{states:>8,}  {kind}" for kind, states in kinds[:MOST_DEADLOCK_KINDS]]
    if len(kinds) > MOST_DEADLOCK_KINDS:
        rest = sum(states for _, states in kinds[MOST_DEADLOCK_KINDS:])
        lines.append(f"{rest:>8,}  in {len(kinds) - MOST_DEADLOCK_KINDS} other ways")
    return lines
