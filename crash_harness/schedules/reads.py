"""A reader beside the other operations: `snapshot` must be one state that was current meanwhile.

Reading is no action of the model, since it changes nothing; it is an operation of a scene. The
model takes it as a step that answers what its own snapshot is (A15). So the linearizability
checker demands a place for it between its call and its return, like for any other operation.
"""

import json
from dataclasses import dataclass, replace
from typing import Any

from model.machine import Machine

RECEIVER = "receiver"


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """A call of `snapshot` on a store: a ledger by its file, "receiver", or "" for the only one."""

    store: str = ""

    def __str__(self) -> str:
        """Return the call in words."""
        return f"snapshot of {self.store or 'the store'}"


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a reader was told, as text that is equal for equal content."""

    text: str
    kind = "snapshot"

    def __str__(self) -> str:
        """Return the content."""
        return self.text


def freeze_snapshot(content: Any) -> Snapshot:
    """Return the content of a snapshot as a value that can be compared and remembered."""
    return Snapshot(json.dumps(content, sort_keys=True, ensure_ascii=False))


def with_reads(machine: Machine[Any, Any, Any]) -> Machine[Any, Any, Any]:
    """Return the machine, in which a reader takes a step too: it answers, and changes nothing."""

    def advance(state: Any, action: Any, earlier: tuple[Any, ...]) -> tuple[Any, Any, bool]:
        if not isinstance(action, ReadSnapshot):
            return machine.advance(state, action, earlier)
        content: Any = machine.snapshot(state)
        if action.store:
            content = content[action.store]
        return state, freeze_snapshot(content), True

    return replace(machine, advance=advance)


def list_reads(machine: str, scope: Any) -> list[ReadSnapshot]:
    """Return a reader of each store of a scope."""
    if machine == "admission":
        return [ReadSnapshot()]
    return [ReadSnapshot(store) for store in (*scope.ledgers, RECEIVER)]
