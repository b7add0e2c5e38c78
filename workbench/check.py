"""What `verify` runs and what comes back: checks and findings, as plain values.

A check names a function by its path, so that it can be carried to another process.
"""

import importlib
import time
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model.checking.explore import Verdict


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
    that show what is wrong, and `traces` the counterexamples as JSON values.
    """

    verdict: Verdict
    covered: str
    counts: Mapping[str, Any]
    report: tuple[str, ...] = ()
    traces: tuple[Any, ...] = ()
    name: str = ""
    seconds: float = 0.0
    repeat: str = field(default="")


def run_check(check: Check) -> Finding:
    """Run a check in this process, and say how long it took.

    An engine that raises has shown nothing: that fails, with all that is known about it.
    """
    module, _, name = check.function.partition(":")
    started = time.perf_counter()
    finding: Finding
    try:
        finding = getattr(importlib.import_module(module), name)(**check.options)
    except Exception:  # noqa: BLE001 - one broken check must not hide what the others found
        report = ("the check itself failed:", *traceback.format_exc().splitlines())
        finding = Finding(Verdict.FAIL, "nothing was shown", {}, report)
    return Finding(
        verdict=finding.verdict,
        covered=finding.covered,
        counts=finding.counts,
        report=finding.report,
        traces=finding.traces,
        name=check.name,
        seconds=time.perf_counter() - started,
    )
