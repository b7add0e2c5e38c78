"""The kill matrix: mutant × engine, away from the caller's process and each trial within a time.

A mutant may hang, or leave a process in pieces; so each mutant and engine gets a process of its
own. It is started anew, never forked, since a process with a database open must not fork.

A timeout is no kill, and neither is an error: a mutant that no longer applies, does not load, or
takes its process down fails the matrix.
"""

import multiprocessing
import multiprocessing.connection
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from multiprocessing import resource_tracker

from conformance.mutants.kills import EngineEntry, EngineRun, Kill
from conformance.mutants.mutant import Engine, Mutant
from conformance.run_end import starting_processes
from model.scopes import MACHINES

SEEDS = tuple(range(10))
LIMIT_SECONDS = 120.0
FEW_SECONDS = 5.0
LIMIT_BYTES = 3 << 30


class Ending(StrEnum):
    """How a trial ended."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMEOUT = "timeout"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Trial:
    """One engine set on one mutant, with one seed."""

    mutant: Mutant
    entry: EngineEntry
    seed: int


@dataclass(frozen=True, slots=True)
class Result:
    """How a trial ended, and what killed the mutant if it was killed."""

    mutant: str
    engine: Engine
    seed: int
    ending: Ending
    seconds: float
    kill: Kill | None = None
    message: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """All trials of an engine on a mutant: how many killed it, in which time, by which trace.

    `length` is that of the shortest trace found here, None where nothing was.
    """

    mutant: str
    engine: Engine
    killed: int
    trials: int
    timeouts: int
    errors: tuple[str, ...]
    seconds: float
    by: tuple[str, ...]
    length: int | None


def plan_trials(
    mutants: Sequence[Mutant],
    entries: Sequence[EngineEntry],
    seeds: Sequence[int] = SEEDS,
    *,
    takes_time: bool = False,
) -> list[Trial]:
    """Return every trial: one seed for an engine that searches, all of them for one of chance.

    `takes_time` sets slow engines on every mutant.
    """
    return [
        Trial(mutant, entry, seed)
        for mutant in mutants
        for entry in entries
        if entry.suits(mutant, takes_time=takes_time)
        for seed in (seeds if entry.draws_lots else seeds[:1])
    ]


def make_controls(entries: Sequence[EngineEntry]) -> list[Trial]:
    """Return a trial of each engine and machine in which nothing is changed.

    An engine that kills such a mutant proves nothing by its other kills.
    """
    controls = []
    for entry in entries:
        for machine in MACHINES:
            unchanged = Mutant(
                name=f"unchanged-{machine}",
                machine=machine,
                rule="",
                why="Nothing is changed.",
                file="model/" if entry.is_of_the_model else "impl/",
                edit="",
                engine=None,
            )
            controls.append(Trial(unchanged, entry, SEEDS[0]))
    return controls


def run_trial(trial: Trial, limit_seconds: float = LIMIT_SECONDS) -> Result:
    """Run a trial in a new process, and end that process when its time is up."""
    return run_in_order([trial], limit_seconds)[0]


def run_in_order(trials: Sequence[Trial], limit_seconds: float = LIMIT_SECONDS) -> list[Result]:
    """Run trials that differ by their seed, one after another in one process as long as it lives.

    The time is that of each trial. After a timeout, or the end of the process, the rest goes on in
    another one.
    """
    results: list[Result] = []
    while len(results) < len(trials):
        results += _run_until_lost(trials[len(results) :], limit_seconds)
    return results


def _run_until_lost(trials: Sequence[Trial], limit_seconds: float) -> list[Result]:
    """Run trials in one process, up to and with the first that it doesn't outlive; at least one."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    first, seeds = trials[0], [trial.seed for trial in trials]
    process = context.Process(
        target=_serve, args=(theirs, first.entry.run, first.mutant, seeds), daemon=True
    )
    resource_tracker.ensure_running()  # its own start would make the process hear signals again
    with starting_processes():
        process.start()
    theirs.close()
    results = []
    is_lost = False
    for trial in trials:
        result = Result(trial.mutant.name, trial.entry.engine, trial.seed, Ending.ERROR, 0.0)
        try:
            answer = ours.recv() if ours.poll(limit_seconds) else None
        except EOFError:
            is_lost = True
            process.join(FEW_SECONDS)
            result = replace(result, message=f"the process ended with {process.exitcode}")
        else:
            is_lost = answer is None
            result = _read_answer(result, answer, limit_seconds)
        results.append(result)
        if is_lost:
            break
    if is_lost:
        process.kill()
    process.join()
    ours.close()
    return results


Answer = tuple[float, Kill | None] | str
"""Seconds and what was found, or what was raised."""


def _read_answer(result: Result, answer: Answer | None, limit_seconds: float) -> Result:
    if answer is None:
        message = f"no end in {limit_seconds:.0f} s"
        return replace(result, ending=Ending.TIMEOUT, seconds=limit_seconds, message=message)
    if isinstance(answer, str):
        return replace(result, message=answer)
    seconds, kill = answer
    ending = Ending.SURVIVED if kill is None else Ending.KILLED
    return replace(result, ending=ending, seconds=seconds, kill=kill)


def _serve(
    theirs: multiprocessing.connection.Connection,
    run: EngineRun,
    mutant: Mutant,
    seeds: Sequence[int],
) -> None:
    """Run an engine on a mutant in this process, and send what each seed found or raised.

    A mutant that eats memory raises `MemoryError` here, before the machine suffers.
    """
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_BYTES, most))
    for seed in seeds:
        started = time.perf_counter()
        try:
            kill = run(mutant, seed)
        except Exception as error:  # noqa: BLE001 - whatever it is, the parent has to hear of it
            theirs.send(f"{type(error).__name__}: {error}")
        else:
            theirs.send((time.perf_counter() - started, kill))


def run_trials(
    trials: Sequence[Trial],
    *,
    workers: int = 1,
    limit_seconds: float = LIMIT_SECONDS,
    progress: Callable[[int], None] = lambda _done: None,
) -> Iterator[Result]:
    """Run all trials, in as many processes at a time as there are workers; yield the results."""
    groups: dict[tuple[str, Engine], list[Trial]] = {}
    for trial in trials:
        groups.setdefault((trial.mutant.name, trial.entry.engine), []).append(trial)
    done = 0
    with ThreadPoolExecutor(workers) as pool:
        futures = [pool.submit(run_in_order, each, limit_seconds) for each in groups.values()]
        for future in as_completed(futures):
            results = future.result()
            done += len(results)
            progress(done)
            yield from results


def build_cells(trials: Sequence[Trial], results: Sequence[Result]) -> list[Cell]:
    """Return one cell for each mutant and engine, in the order of the trials."""
    keys = dict.fromkeys((trial.mutant.name, trial.entry.engine) for trial in trials)
    return [_build_cell(key, [r for r in results if (r.mutant, r.engine) == key]) for key in keys]


def _build_cell(key: tuple[str, Engine], results: Sequence[Result]) -> Cell:
    kills = sorted(
        (r.kill for r in results if r.kill is not None), key=lambda kill: (kill.length, kill.by)
    )
    return Cell(
        mutant=key[0],
        engine=key[1],
        killed=len(kills),
        trials=len(results),
        timeouts=sum(r.ending is Ending.TIMEOUT for r in results),
        errors=tuple(sorted({r.message for r in results if r.ending is Ending.ERROR})),
        seconds=sum(r.seconds for r in results) / max(len(results), 1),
        by=kills[0].by if kills else (),
        length=kills[0].length if kills else None,
    )
