"""What a mutant is: a planted mistake in one file, and what must notice it."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from conformance.changed_source import Change, apply_changes, read_source


class Engine(StrEnum):
    """What can kill a mutant; the first two search a scope completely, the next two draw lots."""

    EXPLORE = "explore"
    EXHAUSTIVE = "exhaustive"
    WALK = "walk"
    HYPOTHESIS = "hypothesis"
    CRASH = "crash"
    RACE = "race"
    POWER_LOSS = "power-loss"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A mistake that a good engineer could make, as a text change to one file.

    `why` says for what good reason it would be written. `edit` is the change as a diff shows it:
    lines that begin with "-" give way to those that begin with "+", the others stay, and "@@"
    stands between two places. There are no line numbers: what is to be changed must stand in the
    file exactly once. `engine` is the one that must kill the mutant; None for an equivalent one,
    which none can.

    `killer` and `shortest` are what `explore` and `exhaustive` must find in `scope`: the property
    that breaks or the kind of the divergence, and the length of a shortest trace. `also` are other
    properties that break in the scope, later or at the same time; without any, `killer` is the
    only one. `note` says what else is to be known: why it survives an engine, or every engine.
    """

    name: str
    machine: str
    rule: str
    why: str
    file: str
    edit: str
    engine: Engine | None
    killer: str = ""
    scope: str = "TINY"
    shortest: int = 0
    also: tuple[str, ...] = ()
    note: str = ""

    @property
    def changes(self) -> tuple[Change, ...]:
        """The edit as changes of the file, one for each place."""
        places: list[list[str]] = [[]]
        for line in self.edit.splitlines():
            if line == "@@":
                places.append([])
            else:
                places[-1].append(line)
        return tuple(
            Change(self.file, _join(lines, without="+"), _join(lines, without="-"))
            for lines in places
            if lines
        )

    @property
    def is_of_the_model(self) -> bool:
        """Whether the mistake is in the specification; otherwise it is in the implementation."""
        return PurePosixPath(self.file).parts[0] == "model"

    def unified_diff(self) -> str:
        """Return the mistake as a unified diff, which `git apply` and `patch -p1` take."""
        (changed,) = apply_changes(self.changes).values()
        return "".join(
            difflib.unified_diff(
                read_source(self.file).splitlines(keepends=True),
                changed.splitlines(keepends=True),
                f"a/{self.file}",
                f"b/{self.file}",
            )
        )


def _join(lines: Iterable[str], *, without: str) -> str:
    """Return one side of an edit, in whole lines."""
    return "".join(f"{line[1:]}\n" for line in lines if not line.startswith(without))


def make_edit(text: str, changed: str) -> str:
    """Return the edit that turns a text into another, with as much context as tells each place."""
    old, new = text.splitlines(), changed.splitlines()
    places = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            continue
        first, last = start, end
        while first == last or text.count("\n".join(old[first:last]) + "\n") != 1:
            if first > 0:
                first -= 1
            else:
                last += 1
        lines = [f" {line}" for line in old[first:start]]
        lines += [f"-{line}" for line in old[start:end]]
        lines += [f"+{line}" for line in new[new_start:new_end]]
        lines += [f" {line}" for line in old[end:last]]
        places.append("\n".join(lines))
    return "\n@@\n".join(places) + "\n"
