"""What `verify` runs and what comes back: checks and findings, as plain values.

A check names a function by its path, so that it can be carried to another process.
"""

import importlib
import shlex
import time
import traceback
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from model.checking.explore import Verdict
from model.checking.linearizability import JudgedHistory
from workbench.extras import EXTRAS, explain_missing


@dataclass(frozen=True, slots=True)
class Check:
    """One engine over one machine and scope: `function` is "module:name", called with `options`.

    `weight` is about how many seconds it takes on one core; the longest start first.
    """

    name: str
    function: str
    options: Mapping[str, Any]
    weight: float


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check has covered and found.

    `covered` is the line that a person reads, `counts` the same for machines, `report` the lines
    that show what is wrong, `traces` the counterexamples as JSON values, and `histories` those
    that no order explains.
    """

    verdict: Verdict
    covered: str
    counts: Mapping[str, Any]
    report: tuple[str, ...] = ()
    traces: tuple[Any, ...] = ()
    histories: tuple[JudgedHistory, ...] = ()
    name: str = ""
    seconds: float = 0.0
    repeat: str = ""


def name_repeat(check: str, profile: str, seed: int | None = None) -> str:
    """Return the command that runs a check again; the quick profile is the one that is usual."""
    words = ["admit-one", "verify", *["--profile", profile] * (profile != "quick")]
    words += ["--only", check]
    return shlex.join(words if seed is None else [*words, "--seed", str(seed)])


def run_check(check: Check) -> Finding:
    """Run a check in this process, and say how long it took.

    An engine that raises has shown nothing: that fails, with all that is known about it, also where
    it raises what would end the process. One that lacks a package says which extra brings it.
    """
    module, _, name = check.function.partition(":")
    started = time.perf_counter()
    finding: Finding
    try:
        finding = getattr(importlib.import_module(module), name)(**check.options)
    except BaseException as error:  # noqa: BLE001 - one broken check must not hide the others
        report = _describe_error(error)
        finding = Finding(Verdict.FAIL, "nothing was shown", {}, report)
    return replace(finding, name=check.name, seconds=time.perf_counter() - started)


def leave_out_repeats(lines: Iterable[str]) -> list[str]:
    """Return the lines of a report without the commands of its traces.

    Each of them runs the whole check again, and so does the one that stands below the report.
    """
    return [line for line in lines if not line.startswith("repeat: ")]


def _describe_error(error: BaseException) -> tuple[str, ...]:
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return (f"the check {explain_missing(error)}",)
    text = "".join(traceback.format_exception(error))
    return ("the check itself failed:", *text.splitlines())
