"""The engines as `verify` calls them: each runs one check and returns a `Finding`."""

import functools
import multiprocessing
import os
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor

from conformance.exhaustive import Found, check_exhaustively
from conformance.walk import run_walk
from model.checking.explore import Exploration, explore
from model.scopes import MACHINES, SCOPES
from workbench.check import Finding
from workbench.trace_report import build_trace_values, format_trace, format_violation

SHOWN_FAILURES = 3


def _count_seen(outcomes: Mapping[tuple[str, str], int]) -> str:
    """Return how many of the protocol's (action, outcome) pairs were seen, in words."""
    return f"{sum(map(bool, outcomes.values()))} of {len(outcomes)} outcomes"


def check_model(machine: str, scope: str, *, watches_every_call: bool = True) -> Finding:
    """Search the model: every property holds, and the numbers are the recorded ones."""
    found: Exploration = explore(
        MACHINES[machine], SCOPES[machine][scope], watches_every_call=watches_every_call
    )
    covered = (
        f"{found.states:,} states, {found.transitions:,} transitions, {found.calls:,} calls, "
        f"depth {found.depth}, {_count_seen(found.outcomes)}"
    )
    if watches_every_call:
        covered += f", {len(found.witnesses)} of {len(MACHINES[machine].witnesses)} witnesses"
    report = [line for violation in found.violations for line in format_violation(violation)]
    return Finding(
        verdict=found.verdict,
        covered=covered,
        counts={
            "states": found.states,
            "transitions": found.transitions,
            "calls": found.calls,
            "depth": found.depth,
            "outcomes": {" ".join(pair): count for pair, count in found.outcomes.items()},
        },
        report=(*report, *found.problems),
        traces=tuple(build_trace_values(violation.trace) for violation in found.violations),
    )


def check_conformance(machine: str, scope: str, *, workers: int = 1) -> Finding:
    """Take every call from every state of the scope on the real database."""
    check = functools.partial(check_exhaustively, machine, SCOPES[machine][scope])
    if workers == 1:
        found = check()
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, os.cpu_count() or 1), mp_context=spawn) as executor:
            found = check(executor=executor)
    counts = found.counts
    return Finding(
        verdict=found.verdict,
        covered=(
            f"{counts.states:,} states, {counts.transitions:,} transitions, {counts.calls:,} calls "
            f"on SQLite, {_count_seen(found.outcomes)}, {found.snapshots:,} snapshots"
        ),
        counts={
            "states": counts.states,
            "transitions": counts.transitions,
            "calls": counts.calls,
            "depth": counts.depth,
            "snapshots": found.snapshots,
            "outcomes": {" ".join(pair): count for pair, count in found.outcomes.items()},
        },
        report=(
            *(line for each in found.found[:SHOWN_FAILURES] for line in format_found(each)),
            *found.problems,
        ),
        traces=tuple(build_trace_values(each.trace) for each in found.found[:SHOWN_FAILURES]),
    )


def check_walk(machine: str, scope: str, *, seed: int, steps: int) -> Finding:
    """Walk on real files for a number of steps."""
    found = run_walk(machine, SCOPES[machine][scope], seed=seed, steps=steps)
    covered = (
        f"{found.steps:,} steps on {found.stores:,} stores, {found.reopened:,} reopenings, "
        f"{found.states:,} of {found.states_of_scope:,} states, {found.transitions:,} of "
        f"{found.transitions_of_scope:,} transitions, {_count_seen(found.outcomes)}, seed {seed}"
    )
    report: list[str] = []
    if found.found is not None:
        report = format_found(Found(*found.found))
    return Finding(
        verdict=found.verdict,
        covered=covered,
        counts={
            "steps": found.steps,
            "stores": found.stores,
            "states": found.states,
            "transitions": found.transitions,
            "seed": seed,
            "outcomes": {" ".join(pair): count for pair, count in found.outcomes.items()},
        },
        report=tuple(report),
        traces=() if found.found is None else (build_trace_values(found.found[1]),),
    )


def format_found(found: Found) -> list[str]:
    """Return where implementation and model part: the way there, what was expected and found."""
    divergence, trace = found.divergence, found.trace
    return [
        f"FAIL: the implementation and the model part at {divergence.action!r}",
        f"  {divergence.kind}: expected {divergence.expected}",
        f"  {' ' * len(divergence.kind)}  found    {divergence.found}",
        f"  trace, {len(trace)} steps, from {trace.initial!r}",
        *(f"    {line}" for line in format_trace(trace)),
    ]
