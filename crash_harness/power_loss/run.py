"""Runs the power-loss engine over one machine: what is recorded, and the report.

Single calls from the states of TINY, whose databases the implementation itself has made; then
sequences with checkpoints between and inside the calls, and payloads of several pages. All of it
repeats by its seed.
"""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import apsw

from conformance.implementation import Implementation, load_implementation
from conformance.place import scratch_folder
from crash_harness.power_loss.campaign import SQLITE_OF_REAL_FILES, Campaign
from crash_harness.power_loss.examination import Examiner
from crash_harness.power_loss.judge import Judge
from crash_harness.power_loss.loss import Loss
from crash_harness.power_loss.profiles import DEFAULT_PROFILE, PROFILES
from crash_harness.power_loss.recording import WorkloadDiverged
from crash_harness.power_loss.report import PLANS, Options, Plan, PowerLossReport
from crash_harness.power_loss.shapes import SHAPES
from crash_harness.power_loss.starts import (
    all_calls,
    changing_calls,
    draw_sequence,
    prepare,
    reach_states,
    record_calls,
)
from crash_harness.power_loss.wide_scopes import WIDE_SCOPES
from crash_harness.power_loss.workloads import Settings, Workshop, open_workshop
from model.scopes import SCOPES

AUTOCHECKPOINTS = (None, 6)
"""SQLite's own, and one so small that every few commits checkpoint by themselves."""
SEED_STRIDE = 10_000_019

Progress = Callable[[int], None]


def run_power_loss(
    machine: str,
    profile: str = "quick",
    *,
    storage_profile: str = DEFAULT_PROFILE,
    synchronous: str | None = None,
    journal: str | None = None,
    powersafe_overwrite: bool = True,
    seed: int = 1,
    implementation: Implementation | None = None,
    plan: Plan | None = None,
    progress: Progress = lambda _distinct: None,
) -> PowerLossReport:
    """Record workloads of a machine, make every state that a power loss may leave, and judge it.

    `profile` is one of `verify` and says how much; `storage_profile` says what a power loss may
    do. `synchronous` and `journal` are the implementation's own unless others are given.
    `progress` is told the number of distinct states. `UnsoundLog` if a recording lacks the writes
    or the syncs of what it changed.
    """
    started, cpu_started = time.perf_counter(), time.process_time()
    version = implementation or load_implementation()
    parameters = "" if powersafe_overwrite else "&psow=0"
    pragmas = Settings(synchronous, journal).pragmas_of(version)
    options = Options(
        machine=machine,
        storage_profile=storage_profile,
        synchronous=pragmas.synchronous,
        journal=pragmas.journal_mode,
        powersafe_overwrite=powersafe_overwrite,
        seed=seed,
    )
    plan = plan or PLANS[profile]
    seen: set[int] = set()
    campaigns: list[Campaign] = []
    divergence: str | None = None
    scopes: list[tuple[Any, int | None]] = [(SCOPES[machine]["TINY"], None)]
    scopes += [(WIDE_SCOPES[machine], pages) for pages in AUTOCHECKPOINTS]
    with scratch_folder() as folder:
        for scope, autocheckpoint_pages in scopes:
            settings = Settings(synchronous, journal, parameters, autocheckpoint_pages)
            judge = Judge(machine, scope, version, pragmas)
            examiner = Examiner(judge, PROFILES[storage_profile], seed)
            examiner.tally.seen = seen  # over all scopes
            needs_syncs = pragmas.synchronous != "off"
            campaign = Campaign(plan, examiner, folder, needs_syncs, progress)
            campaigns.append(campaign)
            take = _take_calls if scope is SCOPES[machine]["TINY"] else _take_sequences
            try:
                with open_workshop(machine, scope, version, settings) as workshop:
                    take(campaign, workshop, seed)
            except WorkloadDiverged as error:
                divergence = str(error)
                break
    return _conclude(
        campaigns,
        options,
        divergence,
        seconds=time.perf_counter() - started,
        cpu_seconds=time.process_time() - cpu_started,
    )


def _take_calls(campaign: Campaign, workshop: Workshop, seed: int) -> None:
    """Examine calls from every state of the scope: those that change something, and others."""
    known = reach_states(workshop)
    calls = all_calls(workshop, known)
    changing = changing_calls(workshop, calls)
    is_changing = set(map(id, changing))
    others = [call for call in calls if id(call) not in is_changing]
    chance = random.Random(seed)
    chosen = _draw(changing, campaign.plan.changing, chance)
    chosen += _draw(others, campaign.plan.other, chance)
    for recording in record_calls(workshop, known, chosen, seed * SEED_STRIDE):
        campaign.take(recording)
    campaign.recover_again(workshop, (seed + 1) * SEED_STRIDE)


def _draw(calls: Sequence[Any], count: int, chance: random.Random) -> list[Any]:
    return list(calls) if count >= len(calls) else chance.sample(calls, count)


def _take_sequences(campaign: Campaign, workshop: Workshop, seed: int) -> None:
    """Examine the shaped sequences and drawn ones, from stores that were just created."""
    start = prepare(workshop)
    chance = random.Random(seed)
    drawn = (
        (f"sequence {number}", draw_sequence(workshop, start.state, campaign.plan.length, chance))
        for number in range(campaign.plan.sequences)
    )
    sequences: Iterator[tuple[str, Sequence[Any]]]
    shapes = list(SHAPES[workshop.machine.name].items())[: campaign.plan.shapes]
    sequences = iter((*shapes, *drawn))
    for number, (title, entries) in enumerate(sequences):
        recording = workshop.record(
            title,
            start,
            entries,
            seed=seed * SEED_STRIDE + number,
            keeps_open=number % 3 < 2,  # noqa: PLR2004 - two of three beside another process
        )
        campaign.take(recording)
    campaign.recover_again(workshop, (seed + 2) * SEED_STRIDE)


def _conclude(
    campaigns: Sequence[Campaign],
    options: Options,
    divergence: str | None,
    *,
    seconds: float,
    cpu_seconds: float,
) -> PowerLossReport:
    """Add up what the campaigns have counted; of the losses the first of each kind is shown."""
    tallies = [campaign.examiner.tally for campaign in campaigns]
    failures: Counter[str] = Counter()
    losses: dict[str, Loss] = {}
    for campaign in campaigns:
        failures += campaign.failures
        for loss in campaign.losses:
            losses.setdefault(loss.kind, loss)
    return PowerLossReport(
        options=options,
        recordings=sum(tally.recordings for tally in tallies),
        syncs=sum(campaign.syncs for campaign in campaigns),
        exhaustive_points=sum(tally.exhaustive_points for tally in tallies),
        sampled_points=sum(tally.sampled_points for tally in tallies),
        exhaustive_states=sum(tally.exhaustive_states for tally in tallies),
        sampled_states=sum(tally.sampled_states for tally in tallies),
        distinct=len(tallies[0].seen),
        recoveries=sum(campaign.examiner.recovery.recoveries for campaign in campaigns),
        repeated_calls=sum(campaign.examiner.judge.repeated for campaign in campaigns),
        second_losses=sum(campaign.second_losses for campaign in campaigns),
        real_files=sum(campaign.real_files for campaign in campaigns),
        failures=dict(failures),
        disagreements=tuple(each for campaign in campaigns for each in campaign.disagreements),
        losses=tuple(losses.values()),
        sqlite_recorded=apsw.sqlite_lib_version(),
        sqlite_real_files=SQLITE_OF_REAL_FILES,
        seconds=seconds,
        cpu_seconds=cpu_seconds,
        divergence=divergence,
    )
