"""`admit-one experiment`: the nineteen frozen scenarios, run for real and compared."""

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Annotated, Any

import typer

from conformance.environment import describe_versions
from crash_harness.scenarios import (
    SCENARIOS,
    NotOfTheModel,
    ScenarioReport,
    check_scenarios,
    scenario_sentence,
    write_results,
)
from crash_harness.scenarios_stage import FieldDifference
from model.checking.explore import Verdict
from model.machine import in_words
from workbench.exit_codes import EXIT_CODES
from workbench.output import kept_for_the_report
from workbench.progress import progress_bar


def experiment(
    *,
    write: Annotated[
        bool,
        typer.Option("--write/--check", help="Rebuild the stored results, or compare with them."),
    ] = False,
    scenario: Annotated[
        list[str] | None, typer.Option(help="Only this scenario; may be given several times.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Run the frozen scenarios of the source articles, and compare them field by field.

    --write shows the difference first, and stores nothing that the model does not say.
    """
    if write and scenario:
        raise typer.BadParameter("--write stores all scenarios; it takes no --scenario")
    chosen = tuple(SCENARIOS) if not scenario else tuple(dict.fromkeys(scenario))
    for name in chosen:
        if name not in SCENARIOS:
            raise typer.BadParameter(f"no scenario {name!r}; there are {', '.join(SCENARIOS)}")
    with kept_for_the_report(), progress_bar("scenarios", len(chosen)) as advance:
        report = check_scenarios(names=chosen if scenario else None, progress=advance)
    verdict = report.run.verdict if write else report.verdict
    if as_json:
        typer.echo(json.dumps(build_experiment_values(report), indent=2, ensure_ascii=False))
    else:
        typer.echo("\n".join(format_experiment(report, chosen)))
    if write:
        _write(report)
    raise typer.Exit(EXIT_CODES[verdict])


def format_experiment(report: ScenarioReport, chosen: Iterable[str]) -> list[str]:
    """Return a line for each scenario, and one for each field that is not what it must be."""
    lines = ["admit-one experiment", *describe_versions(), ""]
    run = report.run
    stored = sorted({each.scenario for each in report.differences} - set(chosen))
    passed = 0
    for name in (*chosen, *stored):
        wrong = [
            *_format_fields(report.differences, name, ("stored", "new")),
            *_format_fields(run.problems, name, ("the model has", "found")),
            *run.lost.get(name, "").splitlines(),
        ]
        verdict = Verdict.FAIL if wrong else Verdict.PASS
        if name in run.has_hung:
            verdict = Verdict.UNDETERMINED
        passed += verdict is Verdict.PASS
        sentence = scenario_sentence(name) if name in SCENARIOS else "there is no such scenario"
        lines += [f"{verdict:<5} {name}: {sentence}", *(f"      {line}" for line in wrong)]
        if wrong:
            lines.append(f"      repeat: admit-one experiment --check --scenario {name}")
    total = len({*chosen, *stored})
    count = f"{passed} of {total} scenarios are as stored and as the model has them"
    return [*lines, "", f"{report.verdict}: {count}, in {run.seconds:.1f} s"]


def build_experiment_values(report: ScenarioReport) -> dict[str, Any]:
    """Return the report as JSON has it."""
    return {
        "versions": describe_versions(),
        "verdict": report.verdict,
        "seconds": round(report.run.seconds, 3),
        "results": dict(report.run.results),
        "differences": [asdict(each) for each in report.differences],
        "problems": [asdict(each) for each in report.run.problems],
        "lost": dict(report.run.lost),
    }


def _format_fields(
    differences: Iterable[FieldDifference], name: str, words: tuple[str, str]
) -> list[str]:
    return [
        f"{each.field}: {words[0]} {in_words(each.expected)}, {words[1]} {in_words(each.found)}"
        for each in differences
        if each.scenario == name
    ]


def _write(report: ScenarioReport) -> None:
    """Store the results after the difference was shown; refuse what the model does not say."""
    if not report.differences:
        typer.echo("the stored results stay as they are", err=True)
        return
    try:
        write_results(report.run)
    except NotOfTheModel as error:
        typer.echo(f"nothing is stored: {error}", err=True)
        return
    count = len(report.differences)
    typer.echo(f"stored, with {count} field{'s' * (count != 1)} changed", err=True)
