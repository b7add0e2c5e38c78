"""A trace as a test: a module for pytest that replays it on the SQLite implementation.

The test fails where the implementation, or a property of the model, is as it was when the trace
was found, and passes where both are right. Since a mended implementation has other statements, a
schedule becomes a test of every order of its operations, a power loss in the last call one of every
power loss in that call, and the exit of a process one of an exit at every boundary of its call.
"""

import re
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any

from model.checking.trace import Ending, NoAnswer, Trace, TraceStep
from model.checking.trace_explanation import NARRATORS
from model.checking.trace_report import TraceReport
from model.checking.trace_text import say_answer
from model.checking.trace_words import make_printable

INVARIANT = "invariant"
MOST_NAME = 70
MOST_LINE = 90


class NotExportable(ValueError):
    """This trace can't be a test by itself."""


def format_pytest(report: TraceReport) -> str:
    """Return a report as the text of a test module.

    `NotExportable` if several steps crash, or one by an error of the storage, or if the power is
    lost before the last call, or if there is no call: the state at the start is wrong itself.
    """
    trace = report.trace
    if not trace.steps and any(each.kind == INVARIANT for each in report.failures):
        raise NotExportable("the state at the start is wrong, and no call can set that right")
    imports = {"conformance.replay": {"ReplayVerdict"}}
    arguments = [("initial", [write_source(trace.initial, imports, 4)])]
    options = []
    if trace.schedule:
        call = _call(imports, "crash_harness.schedules.replaying", "replay_together")
        arguments.append(("before", _write_steps(trace, trace.steps[: trace.alone], imports)))
        arguments.append(("together", _write_steps(trace, trace.steps[trace.alone :], imports)))
        options = _list_faults(trace)
    elif _ends_in_power_loss(trace):
        call = _call(imports, "crash_harness.power_loss.single", "replay_with_power_loss")
        arguments.append(("actions", _write_steps(trace, trace.steps, imports)))
    elif (place := _find_exit(trace)) is not None:
        call = _call(imports, "crash_harness.exit_replaying", "replay_with_exits")
        arguments.append(("before", _write_steps(trace, trace.steps[:place], imports)))
        arguments.append(("action", [write_source(trace.steps[place].action, imports, 4)]))
        arguments.append(("after", _write_steps(trace, trace.steps[place + 1 :], imports)))
    elif any(step.crash is not None for step in trace.steps):
        raise NotExportable("this crash can't be a test: it repeats by the command that found it")
    else:
        call = _call(imports, "conformance.replay", "replay_actions")
        arguments.append(("actions", _write_steps(trace, trace.steps, imports)))
    names = [f'"{trace.machine}"', *(name for name, _ in arguments), *options]
    return _write_module(report, imports, arguments, _lay_out(f"{call}(", names, ")", 15))


def _call(imports: dict[str, set[str]], module: str, name: str) -> str:
    """Return the name of a function, and note where it comes from."""
    imports.setdefault(module, set()).add(name)
    return name


def _ends_in_power_loss(trace: Trace) -> bool:
    """Tell whether the power is lost in the last step, and nothing else crashes."""
    crashes = [step.crash for step in trace.steps]
    last = crashes[-1] if crashes else None
    return last is not None and last.ending is Ending.POWER_LOSS and not any(crashes[:-1])


def _find_exit(trace: Trace) -> int | None:
    """Return the step in which a process exits or is killed, if nothing else crashes."""
    places = [place for place, step in enumerate(trace.steps) if step.crash is not None]
    if len(places) != 1:
        return None
    crash = trace.steps[places[0]].crash
    is_gone = crash is not None and crash.ending in (Ending.EXIT, Ending.KILL)
    return places[0] if is_gone else None


def _list_faults(trace: Trace) -> list[str]:
    """Return as options which operations of a schedule exit, and which don't wait for a lock."""
    lanes = [(turn.step - trace.alone, turn.result) for turn in trace.schedule]
    exits = tuple(
        (lane, lanes[:place].count((lane, "ran")))
        for place, (lane, result) in enumerate(lanes)
        if result == Ending.EXIT.value
    )
    hurried = tuple(
        number
        for number, step in enumerate(trace.steps[trace.alone :], start=1)
        if step.crash is not None and step.crash.ending is Ending.BUSY
    )
    faults = {"exits": exits, "hurried": hurried}
    return [f"{name}={write_source(found, {}, 8)}" for name, found in faults.items() if found]


def _write_module(
    report: TraceReport,
    imports: dict[str, set[str]],
    arguments: list[tuple[str, list[str]]],
    call: str,
) -> str:
    """Return the module: a docstring, the imports, and one test."""
    sentence = "The implementation does what the specification does."
    if report.failures:
        sentence = report.failures[0].sentence
    lines = []
    for argument, source in arguments:
        first, *rest = source
        lines += [f"    {argument} = {first}", *(f"    {line}" for line in rest)]
    return "\n".join(
        [
            f'"""Found by: {_quote_docstring(report.repeat)}"""',
            "",
            *(_write_import(module, sorted(names)) for module, names in sorted(imports.items())),
            "",
            "",
            f"def test_{_slug(_name_test(report))}() -> None:",
            f'    """{_quote_docstring(sentence)}"""',
            *lines,
            "",
            f"    replayed = {call}",
            "",
            "    assert replayed.verdict is ReplayVerdict.SAME, replayed.explain()",
            "",
        ]
    )


def _name_test(report: TraceReport) -> str:
    """Return what a test is called: by the property, or by what goes wrong beside a single call."""
    if report.trace.schedule:
        return "calls at the same time"
    if _find_exit(report.trace) is not None:
        return "an exit at every boundary"
    return report.failures[0].name if report.failures else report.trace.machine


def _write_import(module: str, names: list[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) < MOST_LINE:
        return line
    return "\n".join([f"from {module} import (", *(f"    {name}," for name in names), ")"])


def _write_steps(
    trace: Trace, steps: tuple[TraceStep, ...], imports: dict[str, set[str]]
) -> list[str]:
    """Return steps as a tuple, a line for each line of the source."""
    lines = [line for step in steps for line in _write_step(trace, step, imports)]
    return ["(", *(f"    {line}" for line in lines), ")"] if lines else ["()"]


def _write_step(trace: Trace, step: TraceStep, imports: dict[str, set[str]]) -> list[str]:
    """Return a comment in words and the action, or the whole step where no answer came."""
    said = NARRATORS[trace.machine].describe_action(step.action)
    comment = f"# {make_printable(f'{said} → {say_answer(trace.machine, step)}')}"
    has_crash = any(each.crash is not None for each in trace.steps)
    if trace.schedule or has_crash or not isinstance(step.outcome, NoAnswer):
        return [comment, f"{write_source(step.action, imports, 8)},"]
    bare = TraceStep(step.action, step.outcome, None, step.process)
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
        is_single = len(items) == 1 and "\n" not in items[0]
        return f"({items[0]},)" if is_single else _lay_out("(", items, ")", indent)
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
