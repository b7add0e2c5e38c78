"""Runs in which something fails: a process dies, the power goes, two processes meet.

They call the engines of the crash harness. What an engine needs beside the standard library may not
be installed: then `Missing` says which extra brings it, and the lesson goes on without the run.
"""

import importlib.util
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from conformance.changed_source import load_changed_implementation
from conformance.mutants.mutant import Mutant
from conformance.place import scratch_folder
from crash_harness.contest_pool import Pool
from crash_harness.contest_worker import Look, Stop
from crash_harness.exits import run_exits
from crash_harness.scenarios_stage import ADMISSION_FILE, Play, Stage
from model.admission_vocabulary import ABSENT, Admit, Claim, Init, Limits, Resolve, Token
from model.checking.explore import Verdict
from model.checking.trace import UNKNOWN, CrashPoint, Ending, Observed, Trace, TraceStep
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_report import Failure
from model.checking.trace_words import describe_changes, describe_differences
from model.machine import property_sentence
from model.reservation_vocabulary import (
    IDEMPOTENT,
    InitLedger,
    OpenIntent,
    Reserve,
)
from model.scopes import MACHINES, SCOPES
from workbench.lessons.blocks import Block, Grid, Meters, Prose
from workbench.lessons.evidence import Evidence, Missing, draw_state, name_claims, tell_trace

EXIT_CODE = 73
AFTER_THE_CALL = "receiver: after commit"
MOST_SWITCHES = 3
DURABLE = Failure(
    "crash",
    "state",
    "After a crash the durable state is one that the specification allows there.",
    "",
)


def require(package: str, extra: str) -> None:
    """Raise `Missing` if a package is not installed."""
    if importlib.util.find_spec(package) is None:
        raise Missing(f"this run needs {package}: pip install 'admit-one[{extra}]'")


# ── A process dies ────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=8)
def die_after_commit(mutant: Mutant) -> Evidence:
    """Let a process end right after the first commit of `resolve`, and look at what is left."""
    setup = (Init(Limits(1, 3, 1, 3, 3)), Admit("r1", "A", "中"), Claim(0))
    dying = Resolve(Token("r1", 1), 1)
    stop = Stop(ADMISSION_FILE, "after", "commit", exit_code=EXIT_CODE)
    with Pool(changes=mutant.changes) as pool, scratch_folder() as folder:
        stage = Stage(mutant.name, pool, folder)
        with stage.admission() as play:
            steps = tuple(_take(play, action) for action in setup)
            code = play.exit_at(dying, stop, 1)
            allowed = play.state
            play.worker.tell(Look())
            found = play.worker.hear().state
    covered = (
        f"A real process ended there by itself, with exit code {code}, and another one looked."
    )
    crash = CrashPoint("resolve / after its first commit", Ending.EXIT, commits=1)
    narrator = NARRATORS["admission"]
    if found == allowed:
        return Evidence(Verdict.PASS, covered)
    expected = "; ".join(describe_changes(narrator, steps[-1].after, allowed))
    unlike = "; ".join(describe_differences(narrator, allowed, found))
    observed = Observed("crash", expected, unlike, UNKNOWN, found)
    last = TraceStep(dying, UNKNOWN, allowed, crash=crash, observed=observed)
    trace = Trace("admission", "", ABSENT, (*steps, last))
    failures = (DURABLE, *_find_broken_invariants("admission", found))
    said = (Prose(f"Specified is: {expected}."), Prose(f"Found was: {unlike}."))
    told = tell_trace(trace, failures)
    return Evidence(
        verdict=Verdict.FAIL,
        covered=covered,
        blocks=(*(each for each in told if not isinstance(each, Prose)), *said),
        claims=tuple(name_claims(failures)),
        length=len(trace),
    )


def _find_broken_invariants(machine: str, state: Any) -> Iterator[Failure]:
    for check in MACHINES[machine].invariants:
        clause = check(state)
        if clause is not None:
            yield Failure("invariant", check.__name__, property_sentence(check), clause)


@lru_cache(maxsize=8)
def die_after_the_call(mutant: Mutant) -> Evidence:
    """Let attempts end right after the receiver's commits, and look at what is left."""
    run = run_exits(
        mutant.machine, operation="attempt", boundary=AFTER_THE_CALL, changes=mutant.changes
    )
    covered = (
        f"{run.deaths} real processes died in an attempt, right after a commit of the receiver, "
        "and each time another one looked at what was left."
    )
    if not run.failures:
        return Evidence(run.verdict, covered, problems=run.problems)
    report = min(run.failures, key=lambda each: len(each.report.trace)).report
    observed = report.trace.steps[-1].observed
    found = None if observed is None else observed.state
    broken = () if found is None else _find_broken_invariants(mutant.machine, found)
    failures = (*report.failures, *broken)
    return Evidence(
        verdict=Verdict.FAIL,
        covered=covered,
        blocks=tell_trace(report.trace, failures),
        claims=tuple(name_claims(failures)),
        length=len(report.trace),
    )


def _take(play: Play, action: Any) -> TraceStep:
    """Take a call in a real process, and return it as a step."""
    _, outcome = MACHINES["admission"].step(play.state, action)
    play.call(action)
    return TraceStep(action, outcome, play.state)


# ── The power goes ────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=8)
def lose_power(mutant: Mutant) -> Evidence:
    """Admit one request, make every state that a power loss may leave then, and judge them."""
    require("apsw", "power-loss")
    from crash_harness.power_loss import (  # noqa: PLC0415 - only where apsw is installed
        campaign,
        profiles,
        report,
        starts,
        workloads,
    )
    from crash_harness.power_loss.examination import Examiner  # noqa: PLC0415 - the same
    from crash_harness.power_loss.judge import Judge  # noqa: PLC0415 - the same

    version = load_changed_implementation(mutant.changes)
    pragmas = version.connection.PRAGMAS
    scope = SCOPES["admission"]["TINY"]
    judge = Judge("admission", scope, version, pragmas)
    examiner = Examiner(judge, profiles.PROFILES[profiles.DEFAULT_PROFILE], 1)
    plan = report.PLANS["quick"]
    settings = workloads.Settings(synchronous=pragmas.synchronous)
    with (
        scratch_folder() as folder,
        workloads.open_workshop("admission", scope, version, settings) as workshop,
    ):
        examined = campaign.Campaign(plan, examiner, folder, False, lambda _states: None)  # noqa: FBT003 - no sync is asked for
        start = starts.prepare(workshop)
        entries = [Admit("r1", "A", "中")]
        examined.take(workshop.record("one request", start, entries, seed=1, keeps_open=True))
    states, lost = len(examiner.tally.seen), examined.failures.total()
    covered = (
        f"With `synchronous={pragmas.synchronous}`, a request was accepted, and the power went "
        f"before, during and after that. Of {states} different states that may be left, {lost} "
        "break a promise."
    )
    if not examined.losses:
        return Evidence(Verdict.PASS, covered)
    return _tell_loss(min(examined.losses, key=lambda each: len(each.lost)), covered)


def _tell_loss(loss: Any, covered: str) -> Evidence:
    failure = Failure("power loss", loss.property_name, loss.sentence, loss.clause)
    told = tell_trace(loss.trace, (failure,))
    said = (
        Prose(f"Promised was: {loss.acknowledged}."),
        Prose(
            f"The smallest loss that breaks it: {'; '.join(loss.lost)}. Read was: {loss.clause}."
        ),
    )
    return Evidence(
        verdict=Verdict.FAIL,
        covered=covered,
        blocks=(*(each for each in told if not isinstance(each, Prose)), *said),
        claims=tuple(name_claims((failure,))),
        length=len(loss.trace),
    )


def keep_power() -> tuple[Block, ...]:
    """Do the same with the settings as they are."""
    try:
        return (Prose(lose_power(_UNCHANGED).covered),)
    except Missing as missing:
        return (Prose(f"Not run: {missing}."),)


def may_be_lost(mutant: Mutant) -> str:
    """Say whether something acknowledged may be lost."""
    return "it may be gone" if lose_power(mutant).verdict is Verdict.FAIL else "it is there"


_UNCHANGED = Mutant(
    name="unchanged", machine="admission", rule="C4", why="", file="", edit="", engine=None
)

# ── Two processes meet ────────────────────────────────────────────────────────────────────

_SCENES: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
    "admission": (
        (Init(Limits(1, 3, 1, 3, 3)),),
        (Admit("r1", "A", "中"), Admit("r2", "B", "中")),
    ),
    "reservation": (
        (InitLedger("L1", "L1"), OpenIntent("L1", "i1", "p", IDEMPOTENT, 1)),
        (Reserve("a", "i1"), Reserve("b", "i1")),
    ),
}
"""What is done before, and what two callers then do at the same time, for the last unit."""


@lru_cache(maxsize=8)
def meet(mutant: Mutant) -> Evidence:
    """Let two callers want the last unit, in every order of their statements."""
    require("greenlet", "schedules")
    from crash_harness.schedules.failure import describe_run  # noqa: PLC0415 - needs greenlet
    from crash_harness.schedules.judge import Judge  # noqa: PLC0415 - the same
    from crash_harness.schedules.runner import Runner  # noqa: PLC0415 - the same
    from crash_harness.schedules.scenery import build_scene  # noqa: PLC0415 - the same
    from crash_harness.schedules.search import by_switches  # noqa: PLC0415 - the same
    from crash_harness.schedules.stage import Stage as Lanes  # noqa: PLC0415 - the same

    machine = mutant.machine
    scope = SCOPES[machine]["TINY"]
    setup, actions = _SCENES[machine]
    version = load_changed_implementation(mutant.changes)
    tried = 0
    with scratch_folder() as folder, Lanes(machine, scope, folder, version) as lanes:
        initial = MACHINES[machine].initial_states(scope)[0]
        scene, image = build_scene(lanes, initial, setup, actions)
        runner, judge = Runner(lanes), Judge(machine)
        for switches in range(MOST_SWITCHES + 1):
            for run in by_switches(runner, scene, image, switches).runs():
                tried += 1
                if problems := judge.judge(run):
                    return _tell_meeting(describe_run(run, problems), tried, switches)
    covered = (
        f"{tried} orders of the statements were run, up to {MOST_SWITCHES} switches: all pass."
    )
    return Evidence(Verdict.PASS, covered)


def _tell_meeting(failure: Any, tried: int, switches: int) -> Evidence:
    """Return a schedule as a table with a column for each caller."""
    machine = failure.scene.machine
    narrator = NARRATORS[machine]
    said = [narrator.describe_action(action) for action in failure.scene.actions]
    rows = []
    for number, turn in enumerate(failure.turns, start=1):
        cells = ["", ""]
        waits = "" if turn.result == "ran" else f"[{turn.result}] "
        cells[turn.lane - 1] = waits + " ".join(turn.statement.split())
        rows.append((str(number), *cells))
    rows.append(("", *(f"→ {outcome}" for outcome in failure.outcomes)))
    claims = tuple((p.kind, p.kind, p.sentence) for p in failure.problems)
    blocks: list[Block] = [
        Grid(
            "One turn a line, each in the column of its caller",
            ("turn#", *said),
            tuple(rows),
            is_schedule=True,
        )
    ]
    if failure.final is not None:
        blocks.append(Meters("at the end", draw_state(machine, failure.final)))
    blocks += [Prose(" ".join(f"{problem.clause}.".split())) for problem in failure.problems]
    covered = (
        f"It is order {tried} of those tried, with {switches} switches from one caller to the "
        "other; every order with fewer switches was run before, and passes."
    )
    return Evidence(Verdict.FAIL, covered, tuple(blocks), claims, length=len(failure.turns))
