"""Runs of the frozen scenarios, in real processes on real files, as tables.

The scenarios are those of `crash_harness.scenarios`, compared there with the model call by call;
each is run once, whoever asks first.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.mutants.mutant import Mutant
from crash_harness.histories import run_histories
from crash_harness.scenarios import run_scenarios, scenario_sentence
from model.checking.explore import Verdict
from model.checking.trace_words import count
from workbench.lessons.blocks import Block, Prose
from workbench.lessons.evidence import Evidence, tabulate

EXITS = "admission/eight_exits"
LIFE = "admission/life_cycle"
TWELVE = "admission/twelve_processes"
FAULTS = (
    "dispatch/fault_71_before_the_reservation_commits",
    "dispatch/fault_72_before_the_send",
    "dispatch/fault_73_before_the_receipt_arrives",
    "dispatch/fault_74_after_the_confirmation",
)
THREE_PERMITS = "dispatch/eight_processes_for_three_permits"
REFUND = "dispatch/a_refund_breaks_the_budget"
NOTHING_SENT = "dispatch/exhausted_with_nothing_sent"
UNKNOWN = "dispatch/a_non_idempotent_unknown_stops"
ALL = (EXITS, LIFE, TWELVE, *FAULTS, THREE_PERMITS, REFUND, NOTHING_SENT, UNKNOWN)

HISTORY_RUNS, HISTORY_SEED = 3, 3
NUMBERS = ("spent#", "calls#", "effects#")

_results: dict[str, Any] = {}
"""What has been run already, by scenario."""


class ScenarioFailed(AssertionError):
    """A scenario is not as the model says, so that no lesson can be told from it."""


def play(names: Iterable[str]) -> Mapping[str, Any]:
    """Return the results of scenarios; those that nobody has asked for yet are run together."""
    wanted = tuple(names)
    missing = [name for name in wanted if name not in _results]
    if missing:
        run = run_scenarios(names=missing)
        if run.verdict is not Verdict.PASS:
            raise ScenarioFailed(f"{run.verdict}: {run.problems} {dict(run.lost)}")
        _results.update(run.results)
    return {name: _results[name] for name in wanted}


def _numbers(counted: Mapping[str, int]) -> tuple[int, int, int]:
    return counted["spent"], counted["receiver_calls"], counted["effects"]


def _words(name: str) -> str:
    return name.replace("_", " ")


def show_life() -> tuple[Block, ...]:
    """Show what one task of three bytes holds while it lives."""
    states = play([LIFE])[LIFE]
    rows: list[tuple[object, ...]] = []
    for name, seen in states.items():
        if "outcome" in seen:
            rows.append((_words(name), seen["outcome"], *seen["usage"]))
    return tabulate(scenario_sentence(LIFE), ("call", "answer", "slots#", "bytes#"), rows)


def show_exits() -> tuple[Block, ...]:
    """Show what eight processes that died have left, and what their repeated call was told."""
    rows: list[tuple[object, ...]] = []
    for name, case in play([EXITS])[EXITS].items():
        records = [each["state"] for each in case["found"]["records"].values()]
        effects = count(len(case["found"]["effects"]), "effect")
        found = f"{', '.join(records) or 'no record'}; {effects}"
        rows.append((_words(name), found, case["repeated"]))
    headings = ("the process died", "a new connection finds", "the repeated call hears")
    return tabulate(scenario_sentence(EXITS), headings, rows)


def show_faults() -> tuple[Block, ...]:
    """Show the three numbers after the four fault points of an attempt."""
    rows: list[tuple[object, ...]] = []
    for case in play(FAULTS).values():
        at_exit, after = _numbers(case["at_exit"]), _numbers(case["afterwards"])
        rows.append((case["exit_code"], f"{at_exit}", case["fresh_attempt"], f"{after}"))
    headings = ("exit code#", "at the exit", "a fresh attempt", "after it")
    return tabulate("An attempt with cap 2; (spent, calls, effects)", headings, rows)


def show_twelve() -> tuple[Block, ...]:
    """Show who got in when twelve processes asked at once."""
    rows: list[tuple[object, ...]] = []
    for name, case in play([TWELVE])[TWELVE].items():
        tally = case["outcomes"]
        rows.append((_words(name), ", ".join(f"{number} {what}" for what, number in tally.items())))
    return tabulate(scenario_sentence(TWELVE), ("twelve processes", "answers"), rows)


def show_three_permits() -> tuple[Block, ...]:
    """Show what eight processes made of three permits."""
    result = play([THREE_PERMITS])[THREE_PERMITS]
    rows: list[tuple[object, ...]] = [
        (name, ", ".join(f"{number} {what}" for what, number in tally.items()))
        for name, tally in result["rounds"].items()
    ]
    return tabulate(scenario_sentence(THREE_PERMITS), ("eight processes", "answers"), rows)


def show_refund() -> tuple[Block, ...]:
    """Show the three numbers of the design that refunds."""
    result = play([REFUND])[REFUND]
    rows: list[tuple[object, ...]] = [
        (f"round {number}, before the refund", *_numbers(each["before_the_refund"]))
        for number, each in enumerate(result["rounds"], start=1)
    ]
    rows.append(("in the end", *_numbers(result)))
    caption = f"{scenario_sentence(REFUND)} The cap is {result['cap']}."
    return tabulate(caption, ("", *NUMBERS), rows)


def show_nothing_sent() -> tuple[Block, ...]:
    """Show the budget that two dead processes have spent, without a single call."""
    result = play([NOTHING_SENT])[NOTHING_SENT]
    codes = " and ".join(map(str, result["exit_codes"]))
    rows: list[tuple[object, ...]] = [
        ("exit codes of the two that died after reserving", codes),
        ("what the third attempt hears", result["third_attempt"]),
        ("(spent, calls, effects)", f"{_numbers(result)}"),
    ]
    return tabulate(scenario_sentence(NOTHING_SENT), ("run", "found"), rows)


def show_unknown() -> tuple[Block, ...]:
    """Show that a ledger says the same, whether the call was made or not."""
    rows: list[tuple[object, ...]] = []
    for name, case in play([UNKNOWN])[UNKNOWN].items():
        rows.append((_words(name), *_numbers(case["at_exit"]), case["second_attempt"]))
    headings = ("what really happened", *NUMBERS, "the next attempt hears")
    return tabulate(f"{scenario_sentence(UNKNOWN)} The cap is 3.", headings, rows)


def show_histories() -> tuple[Block, ...]:
    """Let real processes loose on one store, and say what the judge of their history says."""
    report = run_histories("admission", runs=HISTORY_RUNS, seed=HISTORY_SEED)
    said = (
        f"{HISTORY_RUNS} times, four real processes made ten random calls each on one store; some "
        f"were killed inside a call. Verdict: **{report.verdict}**: for each history there is one "
        "order of the calls that explains every answer and what was left. Which calls overlap "
        "differs from run to run; the verdict must not."
    )
    return (Prose(said),)


def experiment_with(mutant: Mutant) -> Evidence:
    """Run the scenario of the eight exits on a changed implementation."""
    run = run_scenarios(names=[EXITS], changes=mutant.changes)
    found = [f"{each.field}: expected {each.expected}, found {each.found}" for each in run.problems]
    found += [line for words in run.lost.values() for line in words.splitlines()[-1:]]
    covered = "Eight real processes died at eight places, and each time another one looked."
    return Evidence(run.verdict, covered, problems=tuple(found))
