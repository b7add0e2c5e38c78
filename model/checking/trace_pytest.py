"""A trace as a test: a module for pytest that replays it on the SQLite implementation.

The test fails where the implementation, or a property of the model, is as it was when the trace
was found, and passes where both are right.
"""

import re
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from model.checking.trace import UNKNOWN, TraceStep
from model.checking.trace_report import TraceReport
from model.checking.trace_text import NARRATORS, describe_outcome
from model.checking.trace_words import make_printable

MOST_NAME = 70
MOST_LINE = 90


class NotExportable(ValueError):
    """This trace can't be a test by itself."""


def format_pytest(report: TraceReport, crash_runner: str | None = None) -> str:
    """Return a report as the text of a test module.

    A trace with a crash needs `crash_runner`, "package.module:name", which the test imports.
    """
    trace = report.trace
    if trace.schedule:
        raise NotExportable("a schedule can't be replayed by a plain test")
    has_crash = any(step.crash is not None for step in trace.steps)
    if has_crash and crash_runner is None:
        raise NotExportable("a trace with a crash needs a crash runner")
    imports = {"conformance.replay": {"ReplayVerdict", "replay_actions"}}
    initial = write_source(trace.initial, imports, 4)
    steps = [line for step in trace.steps for line in _write_step(trace.machine, step, imports)]
    options = ""
    if has_crash and crash_runner is not None:
        module, _, runner = crash_runner.partition(":")
        imports.setdefault(module, set()).add(runner)
        options = f", crash_runner={runner}"
    name, sentence = trace.machine, "The implementation does what the specification does."
    if report.failures:
        name, sentence = report.failures[0].name, report.failures[0].sentence
    return "\n".join(
        [
            f'"""Found by: {_quote_docstring(report.repeat)}"""',
            "",
            *(_write_import(module, sorted(names)) for module, names in sorted(imports.items())),
            "",
            "",
            f"def test_{_slug(name)}() -> None:",
            f'    """{_quote_docstring(sentence)}"""',
            f"    initial = {initial}",
            *("    actions = (", *(f"        {line}" for line in steps), "    )"),
            "",
            f'    replayed = replay_actions("{trace.machine}", initial, actions{options})',
            "",
            "    assert replayed.verdict is ReplayVerdict.SAME, replayed.explain()",
            "",
        ]
    )


def _write_import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) < MOST_LINE:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def _write_step(machine: str, step: TraceStep, imports: dict[str, set[str]]) -> list[str]:
    """Return a comment in words and the action, or the whole step where no answer came."""
    said = NARRATORS[machine].describe_action(step.action)
    comment = f"# {make_printable(said)} → {describe_outcome(machine, step.outcome)}"
    if step.crash is None and step.outcome is not UNKNOWN:
        return [comment, f"{write_source(step.action, imports, 8)},"]
    bare = TraceStep(step.action, step.outcome, None, step.process, step.crash)
    return [comment, f"{write_source(bare, imports, 8)},"]


def write_source(value: Any, imports: dict[str, set[str]], indent: int = 0) -> str:
    """Return a value as Python writes it, and note what that needs to import.

    Fields that have their default are left out. What doesn't fit into a line is broken up.
    """
    if isinstance(value, Enum):
        imports.setdefault(type(value).__module__, set()).add(type(value).__name__)
        return f"{type(value).__name__}.{value.name}"
    if is_dataclass(value) and not isinstance(value, type):
        imports.setdefault(type(value).__module__, set()).add(type(value).__name__)
        parts = [
            f"{each.name}={write_source(getattr(value, each.name), imports, indent + 4)}"
            for each in fields(value)
            if each.default is MISSING or getattr(value, each.name) != each.default
        ]
        return _lay_out(f"{type(value).__name__}(", parts, ")", indent)
    if isinstance(value, tuple):
        items = [write_source(each, imports, indent + 4) for each in value]
        return f"({items[0]},)" if len(items) == 1 else _lay_out("(", items, ")", indent)
    if isinstance(value, str) and value.isprintable() and not set(value) & {'"', "\\"}:
        return f'"{value}"'
    return ascii(value)


def _lay_out(start: str, parts: list[str], end: str, indent: int) -> str:
    """Return parts in one line if they fit, one on each line otherwise."""
    line = f"{start}{', '.join(parts)}{end}"
    if "\n" not in line and indent + len(line) < MOST_LINE:
        return line
    inner = "".join(f"{' ' * (indent + 4)}{part},\n" for part in parts)
    return f"{start}\n{inner}{' ' * indent}{end}"


def _quote_docstring(text: str) -> str:
    shown = make_printable(text).replace("\\", "\\\\").replace('"', "'")
    return shown.strip()


def _slug(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower()).strip("_")[:MOST_NAME] or "trace"
