"""The engines as `verify` calls them: each runs one check and returns a `Finding`."""

import functools
import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from conformance.exhaustive import Found, check_exhaustively
from conformance.replay_report import from_divergence, from_found
from conformance.walk import run_walk
from model.checking.explore import Exploration, Watch, explore
from model.checking.trace_json import encode_report
from model.checking.trace_report import TraceReport, from_violation
from model.checking.trace_text import format_report
from model.scopes import MACHINES, SCOPES
from workbench.check import Finding, leave_out_repeats, name_repeat

SHOWN_FAILURES = 3


def _count_seen(outcomes: Mapping[tuple[str, str], int]) -> str:
    """Return how many of the protocol's (action, outcome) pairs were seen, in words."""
    return f"{sum(map(bool, outcomes.values()))} of {len(outcomes)} outcomes"


def check_model(machine: str, scope: str, watch: Watch = Watch.EVERY_CALL) -> Finding:
    """Search the model: every property holds, and the numbers are the recorded ones."""
    found: Exploration = explore(MACHINES[machine], SCOPES[machine][scope], watch=watch)
    covered = (
        f"{found.states:,} states, {found.transitions:,} transitions, {found.calls:,} calls, "
        f"depth {found.depth}, {_count_seen(found.outcomes)}"
    )
    if watch is Watch.EVERY_CALL:
        covered += f", {len(found.witnesses)} of {len(MACHINES[machine].witnesses)} witnesses"
    if watch is Watch.CHANGES:
        covered += ", step properties on the transitions"
    reports = [from_violation(violation) for violation in found.violations]
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
        report=(*format_reports(reports), *found.problems),
        traces=tuple(map(encode_report, reports)),
    )


def check_conformance(
    machine: str, scope: str, *, profile: str = "quick", workers: int = 1
) -> Finding:
    """Take every call from every state of the scope on the real database."""
    check = functools.partial(check_exhaustively, machine, SCOPES[machine][scope])
    if workers == 1:
        found = check()
    else:
        spawn = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(min(workers, os.cpu_count() or 1), mp_context=spawn) as executor:
            found = check(executor=executor)
    counts = found.counts
    repeat = name_repeat(f"exhaustive {machine} {scope}", profile)
    reports = [from_found(each, repeat) for each in select_failures(found.found)]
    more = len(found.found) - len(reports)
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
            *format_reports(reports),
            *([f"and {more} more divergences at this depth"] if more else []),
            *found.problems,
        ),
        traces=tuple(map(encode_report, reports)),
    )


def check_walk(
    machine: str, scope: str, *, seed: int, steps: int, profile: str = "quick"
) -> Finding:
    """Walk on real files for a number of steps."""
    found = run_walk(machine, SCOPES[machine][scope], seed=seed, steps=steps)
    covered = (
        f"{found.steps:,} steps on {found.stores:,} stores, {found.reopened:,} reopenings, "
        f"{found.states:,} of {found.states_of_scope:,} states, {found.transitions:,} of "
        f"{found.transitions_of_scope:,} transitions, {_count_seen(found.outcomes)}, seed {seed}"
    )
    repeat = name_repeat(f"walk {machine} {scope}", profile, seed)
    reports = [] if found.found is None else [from_divergence(*found.found, repeat)]
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
        report=tuple(format_reports(reports)),
        traces=tuple(map(encode_report, reports)),
    )


def format_reports(reports: Iterable[TraceReport]) -> list[str]:
    """Return the traces as lines, an empty one between two."""
    text = "\n\n".join(format_report(report).rstrip() for report in reports)
    return leave_out_repeats(text.splitlines())


def select_failures(found: Sequence[Found]) -> list[Found]:
    """Return one divergence of each kind, at most `SHOWN_FAILURES`: the others look alike."""
    kinds: dict[tuple[str, str], Found] = {}
    for each in found:
        key = (type(each.divergence.action).__name__, each.divergence.kind)
        kinds.setdefault(key, each)
    return list(kinds.values())[:SHOWN_FAILURES]
