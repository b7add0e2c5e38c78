"""A failed case as a counterexample: the way to its start, the crashes, and what was wrong then.

The last step has what was observed. Where a crash left what it may leave and the repeated call
went wrong, that call is a step of its own.
"""

from dataclasses import replace
from typing import Any

from conformance.subject import Divergence
from crash_harness.calls import operation_name
from crash_harness.cases import Search
from crash_harness.examine import Crashed, RawFailure
from crash_harness.exit_report import FailedCase
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_report import Failure, TraceReport
from model.checking.trace_words import describe_changes, describe_differences
from model.reservation_vocabulary import State, find_worker, put_hand

SENTENCES = {
    "state": "After a crash the durable state is the one that the commits so far have made.",
    "unreadable": "After a crash the durable rows are those of a state of the specification.",
    "answer": "A call that nothing interrupts is about to answer as the specification does.",
    "error": "An error of the storage comes out as itself.",
    "survivor": "A connection that was open over a crash reads what a fresh one reads.",
    "permit": "A permit that was sent is used, whatever became of it.",
    "statements": "The same call on the same databases makes the same statements.",
}
REPEATED = "Whoever got no answer repeats the call, and what comes of it is as specified (C2)."
CHECKED = "After a crash everything that is claimed of a state holds."


def explain(search: Search, raw: RawFailure) -> FailedCase:
    """Turn a failed case into a counterexample with the command that repeats it."""
    trace, wrong, case = search.trace_to(raw.start.state), raw.wrong, raw.case
    steps = list(trace.steps)
    state = trace.states[-1]
    for number, crash in enumerate(raw.crashes, start=1):
        is_wrong = number == len(raw.crashes) and wrong.repeated is None
        found = None if crash.state is None else _with_hands(crash.state, state, crash.action)
        specified = found
        if is_wrong and wrong.kind in ("state", "unreadable"):
            specified = _with_hands(wrong.expected, state, crash.action)
        steps.append(
            TraceStep(
                crash.action,
                UNKNOWN,
                specified,
                crash=_crash_point(raw, crash),
                observed=_observe(search, raw, state, specified, found) if is_wrong else None,
            )
        )
        state = specified
    if wrong.repeated is not None:
        after, outcome = search.machine.step(state, wrong.repeated)
        is_state = wrong.kind == "state"
        found = _with_hands(wrong.found, after, None) if is_state else None
        observed = _observe(search, raw, state, after, found)
        steps.append(TraceStep(wrong.repeated, outcome, after, observed=observed))
    observed = steps[-1].observed or Observed(wrong.kind, str(wrong.expected), str(wrong.found))
    clause = f"{wrong.kind}: expected {observed.expected}; found {observed.found}"
    sentence = REPEATED if wrong.repeated is not None else SENTENCES.get(wrong.kind, CHECKED)
    return FailedCase(
        case=case,
        divergence=Divergence(
            wrong.kind, steps[-1].action, observed.expected, observed.found, None, observed.state
        ),
        report=TraceReport(
            Trace(trace.machine, trace.scope, trace.initial, tuple(steps)),
            case.command,
            (Failure("crash", wrong.kind, sentence, clause),),
        ),
    )


def _crash_point(raw: RawFailure, crash: Crashed) -> CrashPoint:
    return CrashPoint(
        boundary=f"{operation_name(crash.action)} / {crash.boundary}",
        ending=Ending(raw.case.ending),
        commits=crash.commits,
        has_survivor=raw.case.has_survivor,
    )


def _observe(search: Search, raw: RawFailure, before: Any, specified: Any, found: Any) -> Observed:
    """Return what was expected and found, in words."""
    narrator, wrong = NARRATORS[search.machine.name], raw.wrong
    expected, seen = str(wrong.expected), str(wrong.found)
    outcome = wrong.found if wrong.kind == "outcome" else None
    if wrong.kind in ("state", "unreadable"):
        expected = "; ".join(describe_changes(narrator, before, specified)) or "nothing changes"
    if wrong.kind == "state":
        seen = "; ".join(describe_differences(narrator, specified, found))
    if wrong.kind == "outcome":
        expected, seen = (narrator.describe_outcome(o) for o in (wrong.expected, wrong.found))
    return Observed(wrong.kind, expected, seen, outcome, found)


def _with_hands(durable: Any, before: Any, action: Any) -> Any:
    """Return a durable state with what workers hold: as before, but for the one who died."""
    if not isinstance(durable, State):
        return durable
    state = replace(durable, workers=before.workers)
    worker = getattr(action, "worker", None)
    return state if worker is None else put_hand(state, find_worker(state, worker), ())
