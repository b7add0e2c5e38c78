"""The schedules of the quick profile pass, with their counts, and with exits and timeouts."""

import json
from dataclasses import replace
from typing import Any

import pytest

from conformance.place import scratch_folder
from crash_harness.schedules import engine
from crash_harness.schedules.as_trace import build_report, build_trace, read_trace
from crash_harness.schedules.beyond import BEYOND
from crash_harness.schedules.engine import (
    build_schedule_counts,
    format_schedules,
    run_schedules,
)
from crash_harness.schedules.failure import describe_run, replay_schedule
from crash_harness.schedules.judge import UNEXPLAINED, Judge
from crash_harness.schedules.pairs import find_nearest_pairs, list_labels
from crash_harness.schedules.plans import Family, Planner
from crash_harness.schedules.replaying import judge_recording, run_schedule
from crash_harness.schedules.runner import Ending, Run, Runner, Scene
from crash_harness.schedules.scenery import Scenery, build_scene
from crash_harness.schedules.search import ScheduleDiffers, follow, one_of_each_class
from crash_harness.schedules.single import explore_scene
from crash_harness.schedules.stage import Stage, can_race
from model.admission_vocabulary import Admit, Answer, Init
from model.checking.explore import Verdict
from model.checking.trace_json import dump_report, load_report
from model.reservation_vocabulary import (
    IDEMPOTENT,
    Attempt,
    Crash,
    InitLedger,
    InitReceiver,
    OpenIntent,
    Perform,
    Reserve,
)
from model.scopes import ADMISSION_TINY, MACHINES, SCOPES

ONE_SLOT = (Init(ADMISSION_TINY.limits),)
LAST_SLOT = (Admit("r1", "A", "中"), Admit("r2", "B", "中"))
TWO_UNITS = (
    InitLedger("L1", "L1"),
    InitReceiver(),
    OpenIntent("L1", "i1", "p", IDEMPOTENT, 2),
)
ATTEMPTS = (Attempt("a", "i1"), Attempt("b", "i1"))


@pytest.mark.parametrize("machine", MACHINES)
def test_the_quick_profile_passes_and_covers_all_that_it_plans(machine: str) -> None:
    """Every planned scene is searched, every family has schedules, and the counts are printed."""
    told: list[int] = []

    report = run_schedules(machine, "quick", seed=1, progress=told.append)

    assert report.verdict is Verdict.PASS, "\n".join(format_schedules(report))
    assert set(report.coverage) == set(Family)
    for family, covered in report.coverage.items():
        assert covered.done == covered.planned > 0, family
        assert covered.schedules >= covered.done, family
        is_nearest = "each in its nearest state" in covered.describe_share()
        assert is_nearest is (family is not Family.TRIPLE), family
    assert "to 2 switches)" in report.coverage[Family.ABSENT].describe_share()
    assert told[-1] == report.schedules
    assert len(format_schedules(report)) == len(Family)
    assert json.dumps(build_schedule_counts(report))


@pytest.mark.parametrize("machine", MACHINES)
def test_quick_pairs_every_action_and_outcome_that_can_be_together(machine: str) -> None:
    """TINY and the scope beyond it show every row of the protocol's table that is a call."""
    seen = set()
    for scope in (SCOPES[machine]["TINY"], BEYOND[machine]):
        with scratch_folder() as folder, Stage(machine, scope, folder) as stage:
            scenery = Scenery(stage)
            for state, pair in find_nearest_pairs(scenery):
                labels = {action: label for label, action in list_labels(scenery, state)}
                seen |= {labels[action] for action in pair}

    missing = set(MACHINES[machine].pairs()) - seen
    assert missing <= {
        ("tick", "ticked"),  # no call
        ("crash", "crashed"),  # no call: lanes exit instead
        ("attempt", "rejected"),  # only another confirmation in the middle makes it
    }


def test_a_rejected_attempt_is_what_a_forged_confirmation_in_the_middle_makes() -> None:
    """The outcome that no call has alone comes out of a schedule, and the model explains it."""
    forged = BEYOND["reservation"].forged_receipts[0]
    confirm = next(
        action
        for action in MACHINES["reservation"].offered_actions(BEYOND["reservation"], EMPTY)
        if getattr(action, "receipt", None) == forged
    )

    report = explore_scene("reservation", TWO_UNITS, (ATTEMPTS[0], confirm))

    assert report.failure is None
    assert ("rejected", "confirmed") in {outcomes for outcomes, _, _ in report.results}


EMPTY = MACHINES["reservation"].initial_states(BEYOND["reservation"])[0]


def test_the_full_profile_plans_the_nearest_states_first() -> None:
    """Its pairs have a change, and the seed only draws the order within a state."""
    scope = SCOPES["reservation"]["TINY"]
    with scratch_folder() as folder, Stage("reservation", scope, folder) as stage:
        planners = [Planner(stage, "full", seed) for seed in (1, 1, 2)]
        for planner in planners:
            planner.choose()

        one, same, other = (list(p.chosen(Family.PAIR)) for p in planners)

    places = {state: place for place, state in enumerate(planners[0].scenery.states())}
    assert one == same != other
    assert [places[state] for state, _ in one] == sorted(places[state] for state, _ in one)
    assert [state for state, _ in one] == [state for state, _ in other]


def test_a_family_that_runs_out_of_time_is_labelled_as_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The share that was done, and the limit, stand in the text and in the counts."""
    monkeypatch.setattr(engine, "OF_TINY", (Family.PAIR, Family.READ))
    monkeypatch.setitem(engine.FULL_SECONDS, Family.PAIR, 0.05)

    report = run_schedules("admission", "full", seed=1)

    pairs, reads, *_ = format_schedules(report)
    counts = build_schedule_counts(report)
    covered = report.coverage[Family.PAIR]
    share = f"{covered.done:,} of {covered.planned:,} (bounded: the nearest "
    assert 0 < covered.done < covered.planned
    assert share in pairs
    assert ", in 0.05 s)" in pairs
    assert "bounded" not in reads
    assert counts[Family.PAIR]["limit_seconds"] == 0.05
    assert counts[Family.READ]["limit_seconds"] is None
    assert report.verdict is Verdict.PASS


def test_two_workers_race_and_one_worker_never_races_with_itself() -> None:
    """A worker is a process, which is in one place at a time; an exit is no call."""
    state = EMPTY
    assert can_race("reservation", state, (Reserve("a", "i1"), Reserve("b", "i1")))
    assert not can_race("reservation", state, (Reserve("a", "i1"), Attempt("a", "i1")))
    assert not can_race("reservation", state, (Reserve("a", "i1"), Crash("b")))
    assert not can_race("reservation", state, (Reserve("a", "i1"), Perform("b", "i1", 1)))


# ── Exits and timeouts ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("executed", range(6))
def test_an_admission_that_exits_before_its_commit_leaves_the_slot(executed: int) -> None:
    """At each of its turns: the other one is accepted, unless it had come first."""
    report = explore_scene("admission", ONE_SLOT, LAST_SLOT, exits=((1, executed),))

    assert report.failure is None
    assert {outcomes for outcomes, _, _ in report.results} <= {
        ("unknown", "accepted"),
        ("global_full", "accepted"),  # it was over before that turn
    }


@pytest.mark.parametrize("executed", [0, 4, 5, 7, 8, 12, 13, 18])
def test_an_attempt_that_exits_keeps_what_it_has_committed(executed: int) -> None:
    """Spent units stay spent, and the other attempt ends with the one effect (B3, B10)."""
    report = explore_scene("reservation", TWO_UNITS, ATTEMPTS, exits=((1, executed),))

    assert report.failure is None
    for outcomes, final, _ in report.results:
        assert outcomes[1] in {"confirmed", "budget_exhausted"}
        assert len(final.receiver.effects) == 1


def make_run(scene: Scene, final: Any, *endings: Ending) -> Run:
    """Return a run as if these operations had ended so."""
    return Run(scene, endings=endings, final=final, is_complete=True)


@pytest.mark.parametrize("commits", [0, 1])
def test_an_exit_counts_for_exactly_the_steps_that_it_committed(commits: int) -> None:
    """An unknown outcome is no excuse: what was committed must be there, and nothing else (C3)."""
    machine = MACHINES["admission"]
    before, _ = machine.step(machine.initial_states(ADMISSION_TINY)[0], ONE_SLOT[0])
    after, _ = machine.step(before, LAST_SLOT[0])
    scene = Scene("admission", ADMISSION_TINY, before, (), before, (LAST_SLOT[0],))
    gone = Ending(LAST_SLOT[0], has_exited=True, called=0, commits=commits)
    judge = Judge("admission")

    assert bool(judge.judge(make_run(scene, after, gone))) is (commits == 0)
    assert bool(judge.judge(make_run(scene, before, gone))) is (commits == 1)


def test_a_call_that_begins_after_another_has_returned_comes_after_it() -> None:
    """Real time counts: the same answers are explained if the two overlapped, and not otherwise."""
    machine = MACHINES["admission"]
    before, _ = machine.step(machine.initial_states(ADMISSION_TINY)[0], ONE_SLOT[0])
    after, _ = machine.step(before, LAST_SLOT[1])
    scene = Scene("admission", ADMISSION_TINY, before, (), before, LAST_SLOT)
    refused = Ending(LAST_SLOT[0], Answer.GLOBAL_FULL, called=0, returned=3)
    overlapping = Ending(LAST_SLOT[1], Answer.ACCEPTED, called=2, returned=5)
    later = replace(overlapping, called=4)
    judge = Judge("admission")

    assert judge.judge(make_run(scene, after, refused, overlapping)) == []
    (problem,) = judge.judge(make_run(scene, after, refused, later))
    assert problem.kind == UNEXPLAINED


def test_an_order_names_operations_as_the_scene_does_whichever_was_called_first() -> None:
    """Operation 2 is called first here, and is the one that is explained."""
    machine = MACHINES["admission"]
    before, _ = machine.step(machine.initial_states(ADMISSION_TINY)[0], ONE_SLOT[0])
    after, _ = machine.step(before, LAST_SLOT[1])
    scene = Scene("admission", ADMISSION_TINY, before, (), before, LAST_SLOT)
    wrong = Ending(LAST_SLOT[0], Answer.CONFLICT, called=2, returned=5)
    right = Ending(LAST_SLOT[1], Answer.ACCEPTED, called=0, returned=3)

    (problem,) = Judge("admission").judge(make_run(scene, after, wrong, right))

    assert problem.clause.startswith("this order explains some of the answers: operation 2; ")
    assert "of process 1 answered conflict" in problem.clause


@pytest.mark.parametrize("lane", [1, 2])
def test_a_lock_timeout_is_an_error_that_changes_nothing(lane: int) -> None:
    """A caller that doesn't wait hears BUSY, never a refusal, and has taken no slot."""
    report = explore_scene("admission", ONE_SLOT, LAST_SLOT, hurried=(lane,))

    assert report.failure is None
    assert {outcomes[lane - 1] for outcomes, _, _ in report.results} == {
        "accepted",
        "global_full",
        "unknown",
    }


def test_two_that_create_the_store_at_once_both_find_it_ready() -> None:
    """Opening, the switch of the journal mode and creation are turns, in every class of orders."""
    report = explore_scene("admission", (), (ONE_SLOT[0], ONE_SLOT[0]))

    assert report.failure is None
    assert report.is_complete
    assert {outcomes for outcomes, _, _ in report.results} == {("ready", "ready")}
    assert report.tally.complete > 500


# ── Schedules as lists of turns ───────────────────────────────────────────────────────────


def test_a_schedule_is_a_list_of_turns_and_gives_the_same_run_again() -> None:
    """Every class of a pair of attempts, run again from its list alone."""
    scope = SCOPES["reservation"]["TINY"]
    with scratch_folder() as folder, Stage("reservation", scope, folder) as stage:
        scene, image = build_scene(stage, EMPTY_TINY, TWO_UNITS, ATTEMPTS)
        runner = Runner(stage)
        runs = list(one_of_each_class(runner, scene, image).runs())
        again = [runner.run(scene, image, follow(run.schedule)) for run in runs]

    for run, repeated in zip(runs, again, strict=True):
        assert repeated.turns == run.turns
        assert repeated.final == run.final
        assert [e.outcome for e in repeated.endings] == [e.outcome for e in run.endings]


EMPTY_TINY = MACHINES["reservation"].initial_states(SCOPES["reservation"]["TINY"])[0]


def test_a_schedule_that_needs_a_lane_that_can_not_go_on_is_refused() -> None:
    """It is another schedule then, and must not pass for this one."""
    scope = SCOPES["admission"]["TINY"]
    scene = Scene("admission", scope, ABSENT, ONE_SLOT, None, LAST_SLOT)

    with pytest.raises(ScheduleDiffers):
        replay_schedule(scene, (1, 2))


ABSENT = MACHINES["admission"].initial_states(ADMISSION_TINY)[0]


@pytest.mark.parametrize(
    ("exits", "hurried"), [((), ()), (((1, 3),), ()), ((), (2,))], ids=["plain", "exit", "hurried"]
)
def test_a_run_becomes_a_file_and_the_file_gives_the_same_run_again(
    exits: tuple[tuple[int, int], ...], hurried: tuple[int, ...]
) -> None:
    """Setup, operations, turns, exits and timeouts all go through the trace format."""
    scope = SCOPES["admission"]["TINY"]
    turns = (1, 1, 1, 2) if hurried else (1, 1, 1)
    with scratch_folder() as folder, Stage("admission", scope, folder) as stage:
        scene, image = build_scene(stage, ABSENT, ONE_SLOT, LAST_SLOT)
        scene = replace(scene, exits=exits, hurried=hurried)
        shown = describe_run(Runner(stage).run(scene, image, follow(turns)), ())

    text = dump_report(build_report(shown, "admit-one race --schedules"))
    read, read_turns = read_trace(load_report(text).trace)
    again = run_schedule(load_report(text).trace)

    assert (read, read_turns) == (scene, shown.turns)
    assert again.failures == ()
    assert again.trace == build_trace(shown)
    assert judge_recording(again.trace).failures == ()


def test_the_commits_before_an_exit_go_through_the_file_and_are_judged() -> None:
    """What was reserved before the exit must be there, by the recording alone."""
    scope = SCOPES["reservation"]["TINY"]
    after_the_commit = 5
    with scratch_folder() as folder, Stage("reservation", scope, folder) as stage:
        scene, image = build_scene(stage, EMPTY_TINY, TWO_UNITS, ATTEMPTS)
        scene = replace(scene, exits=((1, after_the_commit),))
        turns = (1,) * (after_the_commit + 1)
        shown = describe_run(Runner(stage).run(scene, image, follow(turns)), ())

    trace = build_trace(shown)
    gone = trace.steps[trace.alone]
    assert gone.crash is not None
    edited = replace(gone, crash=replace(gone.crash, commits=0))
    steps = (*trace.steps[: trace.alone], edited, *trace.steps[trace.alone + 1 :])

    assert gone.crash.commits == 1
    assert judge_recording(trace).failures == ()
    assert run_schedule(trace).failures == ()
    assert judge_recording(replace(trace, steps=steps)).failures[0].name == UNEXPLAINED
