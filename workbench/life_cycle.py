"""The life cycle of a record and of an intent, read off the steps that a search has taken.

Nothing here is drawn by hand: an arrow stands where some reachable step changed a record or an
intent. What is chosen is the projection alone, that is, which states of it a reader tells apart.

Not shown: refusals (they change nothing), the clock, the receiver, and what workers hold.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from model.admission_vocabulary import Record
from model.admission_vocabulary import State as AdmissionState
from model.machine import action_name, outcome_name
from model.reservation_vocabulary import (
    NON_IDEMPOTENT,
    Attempt,
    Intent,
    Send,
    has_unacknowledged,
)
from model.reservation_vocabulary import State as ReservationState

ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class LifeCycle:
    """A projection of a machine's states: what lives in a state, and where each stands.

    `programs` are actions that are made of other steps, which have arrows of their own.
    """

    subject: str
    find_subjects: Callable[[Any], Mapping[Any, Any]]
    find_node: Callable[[Any], str]
    programs: frozenset[type[Any]] = frozenset()


@dataclass(frozen=True, slots=True)
class Arrow:
    """Some reachable step leads a subject from one node to another, or back to the same."""

    source: str
    target: str
    action: str
    outcome: str


@dataclass(slots=True)
class ArrowRecorder:
    """Collects the arrows of a search; it stands among the step properties, and always holds."""

    life_cycle: LifeCycle
    arrows: dict[Arrow, None] = field(default_factory=dict)

    def __call__(self, before: Any, action: Any, outcome: Any, after: Any) -> None:
        """Note an arrow for each subject that this step changed."""
        if before is after or type(action) in self.life_cycle.programs:
            return
        old = self.life_cycle.find_subjects(before)
        for key, subject in self.life_cycle.find_subjects(after).items():
            earlier = old.get(key)
            if subject == earlier:
                continue
            source = ABSENT if earlier is None else self.life_cycle.find_node(earlier)
            target = self.life_cycle.find_node(subject)
            names = action_name(type(action)), outcome_name(outcome)
            self.arrows.setdefault(Arrow(source, target, *names))


def find_intent_phase(intent: Intent) -> str:
    """Return where an intent stands, by what `reserve` would answer: the same guards, in order.

    "confirmed", "unknown" and "exhausted" get no permit; "open" would get its first one, and
    "reserved" another one after an unacknowledged one.
    """
    if intent.receipt is not None:
        return "confirmed"
    if intent.safety is NON_IDEMPOTENT and has_unacknowledged(intent):
        return "unknown"
    if intent.spent == intent.cap:
        return "exhausted"
    return "reserved" if intent.reservations else "open"


def _find_records(state: AdmissionState) -> dict[str, Record]:
    return {record.request_id: record for record in state.records}


def _find_record_state(record: Record) -> str:
    return str(record.state)


def _find_intents(state: ReservationState) -> dict[tuple[str, str], Intent]:
    return {
        (ledger.file, intent.intent_id): intent
        for ledger in state.ledgers
        for intent in ledger.intents
    }


LIFE_CYCLES: Mapping[str, LifeCycle] = {
    "admission": LifeCycle("record", _find_records, _find_record_state),
    "reservation": LifeCycle(
        "intent", _find_intents, find_intent_phase, programs=frozenset({Send, Attempt})
    ),
}
"""The life cycle that teaches a machine, by the machine's name."""


def summarize_state(life_cycle: LifeCycle, state: Any) -> str:
    """Return where the subjects of a state stand, without their names: "cancelled, done"."""
    nodes = sorted(map(life_cycle.find_node, life_cycle.find_subjects(state).values()))
    return ", ".join(nodes) or f"no {life_cycle.subject}"


def order_arrows(arrows: Iterable[Arrow]) -> tuple[Arrow, ...]:
    """Return the arrows in the order of a life, from the absent subject on.

    A scope that starts from old records too would otherwise begin in the middle.
    """
    arrows = tuple(arrows)
    reached = _reach_nodes(arrows)
    return tuple(
        sorted(arrows, key=lambda arrow: (reached.index(arrow.source), reached.index(arrow.target)))
    )


def _reach_nodes(arrows: Sequence[Arrow]) -> list[str]:
    """Return the nodes in the order in which the arrows reach them from the absent subject.

    A subject that no arrow from there reaches (an incomplete search) comes last.
    """
    reached = [ABSENT]
    for node in reached:  # it grows while it is walked, by each node once
        reached += dict.fromkeys(
            arrow.target for arrow in arrows if arrow.source == node and arrow.target not in reached
        )
    ends = (node for arrow in arrows for node in (arrow.source, arrow.target))
    return list(dict.fromkeys([*reached, *ends]))


def find_final_nodes(arrows: Iterable[Arrow]) -> tuple[str, ...]:
    """Return the nodes that no arrow leaves for another node."""
    arrows = tuple(arrows)
    left = {arrow.source for arrow in arrows if arrow.source != arrow.target}
    return tuple(dict.fromkeys(a.target for a in arrows if a.target not in left))


def format_mermaid(arrows: Iterable[Arrow]) -> str:
    """Return the arrows as a Mermaid state diagram."""
    arrows = order_arrows(arrows)
    lines = ["stateDiagram-v2"]
    for arrow in arrows:
        source = "[*]" if arrow.source == ABSENT else arrow.source
        lines.append(f"    {source} --> {arrow.target} : {arrow.action} / {arrow.outcome}")
    lines += [f"    {node} --> [*]" for node in find_final_nodes(arrows)]
    return "\n".join(lines)


def format_dot(arrows: Iterable[Arrow], name: str) -> str:
    """Return the arrows as a Graphviz graph; nodes that no arrow leaves have a double line."""
    arrows = order_arrows(arrows)
    lines = [f"digraph {name} {{", "    node [shape=box, style=rounded];"]
    lines.append(f"    {ABSENT} [shape=point];")
    lines += [f"    {node} [peripheries=2];" for node in find_final_nodes(arrows)]
    lines += [
        f'    {arrow.source} -> {arrow.target} [label="{arrow.action} / {arrow.outcome}"];'
        for arrow in arrows
    ]
    return "\n".join([*lines, "}"])
