"""The nineteen frozen scenarios: runs them for real, and compares them with the stored results.

Two judges: the model, call by call (`scenarios_stage`), and the committed file of results, field
by field. The file can be rebuilt after a change of a rule, but never from a run that differs from
the model.

Results hold counts and states only: no winners, times, process ids or paths.
"""

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.changed_source import Change
from conformance.place import scratch_folder
from crash_harness import scenarios_admission, scenarios_dispatch
from crash_harness.contest_order import find_differences
from crash_harness.contest_pool import LIMIT_SECONDS, Pool, WorkerLost
from crash_harness.scenarios_stage import FieldDifference, Stage
from model.checking.explore import Verdict

RESULTS = Path(__file__).with_name("results.json")
LINE_WIDTH = 120

SCENARIOS: Mapping[str, Callable[[Stage], dict[str, Any]]] = {
    f"{group}/{play.__name__}": play
    for group, module in (("admission", scenarios_admission), ("dispatch", scenarios_dispatch))
    for play in module.SCENARIOS
}


class NotOfTheModel(Exception):
    """These results may not be stored: they are not what the model says."""


@dataclass(frozen=True, slots=True)
class ScenarioRun:
    """What the scenarios have shown.

    `problems` are the fields that differ from the model. `lost` has the last words of workers
    that hung or ended, by scenario, and `has_hung` the scenarios in which one hung.
    """

    results: Mapping[str, Any]
    problems: tuple[FieldDifference, ...]
    lost: Mapping[str, str]
    has_hung: frozenset[str]
    seconds: float

    @property
    def verdict(self) -> Verdict:
        """The model's verdict alone: fail where it differs, undetermined where a worker hung."""
        if self.problems or self.lost.keys() - self.has_hung:
            return Verdict.FAIL
        return Verdict.UNDETERMINED if self.lost or not self.results else Verdict.PASS


@dataclass(frozen=True, slots=True)
class ScenarioReport:
    """A run beside the stored results; `differences` have the old value first."""

    run: ScenarioRun
    differences: tuple[FieldDifference, ...]

    @property
    def verdict(self) -> Verdict:
        """Fail where a field differs from the stored results or from the model."""
        return Verdict.FAIL if self.differences else self.run.verdict


def scenario_sentence(name: str) -> str:
    """Return the one sentence that says what a scenario shows."""
    return (SCENARIOS[name].__doc__ or "").strip().splitlines()[0]


def check_scenarios(
    *,
    names: Sequence[str] | None = None,
    changes: Sequence[Change] = (),
    stored: Mapping[str, Any] | None = None,
    limit_seconds: float = LIMIT_SECONDS,
    progress: Callable[[int], None] = lambda _scenarios: None,
) -> ScenarioReport:
    """Run the scenarios and compare each with its stored result, field by field."""
    run = run_scenarios(
        names=names, changes=changes, limit_seconds=limit_seconds, progress=progress
    )
    before = read_results() if stored is None else stored
    return ScenarioReport(run, tuple(compare_results(before, run, names)))


def run_scenarios(
    *,
    names: Sequence[str] | None = None,
    changes: Sequence[Change] = (),
    limit_seconds: float = LIMIT_SECONDS,
    progress: Callable[[int], None] = lambda _scenarios: None,
) -> ScenarioRun:
    """Run scenarios side by side, each in its own processes and files; `LookupError` for a name.

    `changes` are made in the workers' copies of the implementation. `progress` is told how many
    scenarios are done.
    """
    started = time.perf_counter()
    chosen = tuple(SCENARIOS) if names is None else tuple(names)
    for name in chosen:
        if name not in SCENARIOS:
            raise LookupError(f"no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    results: dict[str, Any] = {}
    problems: dict[str, list[FieldDifference]] = {}
    lost: dict[str, str] = {}
    hung = set()
    with (
        Pool(changes=changes, limit_seconds=limit_seconds) as pool,
        ThreadPoolExecutor(os.cpu_count() or 1) as executor,
    ):
        futures = {executor.submit(_run_scenario, name, pool): name for name in chosen}
        for done, future in enumerate(as_completed(futures), start=1):
            name = futures[future]
            try:
                results[name], problems[name] = future.result()
            except WorkerLost as error:
                lost[name] = str(error)
                hung |= {name} if error.has_hung else set()
            progress(done)
    return ScenarioRun(
        results={name: results[name] for name in chosen if name in results},
        problems=tuple(each for name in chosen for each in problems.get(name, ())),
        lost={name: lost[name] for name in chosen if name in lost},
        has_hung=frozenset(hung),
        seconds=time.perf_counter() - started,
    )


def _run_scenario(name: str, pool: Pool) -> tuple[dict[str, Any], list[FieldDifference]]:
    with scratch_folder() as folder:
        stage = Stage(name, pool, folder)
        result = SCENARIOS[name](stage)
    plain: dict[str, Any] = json.loads(json.dumps(result))
    return plain, stage.problems


def _or_read(stored: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return read_results() if stored is None else stored


def read_results(path: Path | None = None) -> dict[str, Any]:
    """Return the stored results by scenario; nothing where there is no file yet."""
    path = path or RESULTS
    if not path.exists():
        return {}
    stored: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return stored


def compare_results(
    stored: Mapping[str, Any], run: ScenarioRun, names: Sequence[str] | None = None
) -> Iterator[FieldDifference]:
    """Yield each field in which the stored and the new results differ; a missing one is None."""
    chosen = tuple(dict.fromkeys((*stored, *run.results))) if names is None else names
    for name in chosen:
        if name in run.lost:
            continue
        for path, old, new in find_differences(stored.get(name), run.results.get(name)):
            yield FieldDifference(name, path or "the whole result", old, new)


def write_results(run: ScenarioRun, path: Path | None = None) -> None:
    """Store the results of a complete run; `NotOfTheModel` if the model says otherwise."""
    if run.verdict is not Verdict.PASS or set(run.results) != set(SCENARIOS):
        raise NotOfTheModel("only a complete run that agrees with the model may be stored")
    (path or RESULTS).write_text(format_results(run.results) + "\n", "utf-8")


def format_results(value: Any, indent: int = 0, used: int = 0) -> str:
    """Return JSON in which everything that fits into a line stands in one.

    `used` is how much of the line is taken already by the name and what follows the value.
    """
    line = json.dumps(value, ensure_ascii=False)
    is_leaf = not isinstance(value, dict | list) or not value
    if is_leaf or (indent > 0 and indent + used + len(line) <= LINE_WIDTH):
        return line
    inner = indent + 2
    if isinstance(value, list):
        parts = [format_results(each, inner, 1) for each in value]
    else:
        names = {name: f"{json.dumps(name, ensure_ascii=False)}: " for name in value}
        parts = [
            names[name] + format_results(each, inner, len(names[name]) + 1)
            for name, each in value.items()
        ]
    opening, closing = "[]" if isinstance(value, list) else "{}"
    body = ",\n".join(" " * inner + part for part in parts)
    return f"{opening}\n{body}\n{' ' * indent}{closing}"
