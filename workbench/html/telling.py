"""What a page shows of a trace, as plain values: moments, lanes, and states with their changes.

Every word comes from the functions of the text export, so that both always say the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from model.checking.trace import UNKNOWN, CrashPoint, Trace, TraceStep, Turn
from model.checking.trace_explanation import (
    NARRATORS,
    RAISED,
    Mistake,
    describe_outcome,
    explain_outcome,
    find_mistake,
)
from model.checking.trace_text import SEEN_BY_ITSELF, describe_crash, describe_state_change
from model.checking.trace_words import (
    Hop,
    Implied,
    Narrator,
    describe_changes,
    describe_differences,
    tell_apart,
)
from model.machine import Word
from model.scopes import MACHINES

ABSENT_VALUES = ("none", "no")
MOST_LANES = 9
"""With more, callers of one kind ("worker 1", "worker 2") share a lane."""


class Mark(Word):
    """What became of an entity or a field, or how it differs from what is specified."""

    SAME = "same"
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of an entity: what it was, and what it is; the one that is None was not there."""

    name: str
    before: str | None
    now: str | None

    @property
    def mark(self) -> Mark:
        """Tell whether the field changed."""
        return Mark.SAME if self.before == self.now else Mark.CHANGED


@dataclass(frozen=True, slots=True)
class EntityView:
    """A record, an effect, a ledger … with its fields."""

    name: str
    mark: Mark
    fields: tuple[FieldView, ...]


@dataclass(frozen=True, slots=True)
class Side:
    """What an implementation did where it parts from the specification."""

    answer: str
    changes: tuple[str, ...]
    wrong: tuple[str, ...]
    entities: tuple[EntityView, ...] | None


@dataclass(frozen=True, slots=True)
class Moment:
    """One step as it is told.

    `outcome` is None where none was recorded, `entities` where nobody looked.
    `because` says why the specification answers so, `specified` what it answers where the step
    does something else, and `wrong` what else of the step is not as specified.
    """

    number: int
    hops: tuple[Hop, ...]
    action: str
    outcome: str | None
    is_answered: bool
    because: str
    changes: tuple[str, ...]
    entities: tuple[EntityView, ...] | None
    crash: CrashPoint | None
    crash_words: tuple[str, ...] = ()
    specified: str | None = None
    wrong: tuple[str, ...] = ()
    found: Side | None = None


@dataclass(frozen=True, slots=True)
class Lanes:
    """The lanes of a picture: callers first, then stores; `places` has the lane of each name."""

    names: tuple[str, ...]
    callers: int
    places: Mapping[str, int]

    def find(self, name: str) -> int:
        """Return the number of the lane, from 0."""
        return self.places[name]


# ── States ────────────────────────────────────────────────────────────────────────────────


def compare_states(narrator: Narrator, before: Any, after: Any) -> tuple[EntityView, ...]:
    """Return the entities of a state, with what is new, changed or gone; `before` may be None."""
    new = narrator.list_entities(after)
    old = new if before is None else narrator.list_entities(before)
    views = [_compare_entity(name, old.get(name), fields) for name, fields in new.items()]
    views += [
        _compare_entity(name, fields, None) for name, fields in old.items() if name not in new
    ]
    return tuple(views)


def _compare_entity(
    name: str, old: Mapping[str, str] | None, new: Mapping[str, str] | None
) -> EntityView:
    both = old if new is None else new
    if old is None or new is None:
        mark = Mark.NEW if old is None else Mark.GONE
        fields = [FieldView(field, value, value) for field, value in (both or {}).items()]
    else:
        names = dict.fromkeys((*new, *old))
        fields = [FieldView(field, old.get(field), new.get(field)) for field in names]
        mark = Mark.CHANGED if any(each.mark is not Mark.SAME for each in fields) else Mark.SAME
    said = [each for each in fields if not _is_implied(each)]
    shown = [each for each in said if not {each.before, each.now} <= {None, *ABSENT_VALUES}]
    return EntityView(name, mark, tuple(shown or said))


def _is_implied(field: FieldView) -> bool:
    """Tell whether the other fields say this one, then and now."""
    return field.mark is Mark.SAME and isinstance(field.now, Implied)


# ── Moments ───────────────────────────────────────────────────────────────────────────────


def tell_moments(trace: Trace) -> list[Moment]:
    """Return the steps of a trace as they are told."""
    mistake = find_mistake(trace)
    return [_tell_step(trace, index, mistake) for index in range(len(trace))]


def _tell_step(trace: Trace, index: int, mistake: Mistake | None) -> Moment:
    narrator = NARRATORS[trace.machine]
    step, before, number = trace.steps[index], trace.states[index], index + 1
    is_mistaken = mistake is not None and mistake.step == number
    return Moment(
        number=number,
        hops=narrator.find_hops(trace, index),
        action=narrator.describe_action(step.action),
        outcome=None if step.outcome is None else describe_outcome(trace.machine, step.outcome),
        is_answered=step.outcome is not UNKNOWN and step.outcome is not None,
        because=_explain(trace, index, mistake),
        changes=_tell_changes(narrator, before, step),
        entities=None if step.after is None else compare_states(narrator, before, step.after),
        crash=step.crash,
        crash_words=tuple(line.strip() for line in describe_crash(step)),
        specified=_tell_specified(narrator, step, mistake) if is_mistaken else None,
        wrong=_tell_wrong(narrator, step, mistake) if is_mistaken else (),
        found=_tell_found(trace, index),
    )


def _tell_changes(narrator: Narrator, before: Any, step: TraceStep) -> tuple[str, ...]:
    return tuple(describe_state_change(narrator, before, step.after))


def _explain(trace: Trace, index: int, mistake: Mistake | None) -> str:
    """Return why the specification answers so here; after its first mistake a trace has no why."""
    step, before = trace.steps[index], trace.states[index]
    if mistake is not None and index + 1 >= mistake.step:
        return mistake.because if index + 1 == mistake.step else ""
    if before is None or step.outcome in (None, UNKNOWN):
        return ""
    if MACHINES[trace.machine].step(before, step.action)[1] != step.outcome:
        return ""
    return explain_outcome(trace.machine, before, step.action, step.outcome)


def _tell_specified(narrator: Narrator, step: TraceStep, mistake: Mistake | None) -> str | None:
    if mistake is None or mistake.outcome == step.outcome:
        return None
    return tell_apart(narrator, mistake.outcome, step.outcome)[0]


def _tell_wrong(narrator: Narrator, step: TraceStep, mistake: Mistake | None) -> tuple[str, ...]:
    if mistake is None or mistake.outcome != step.outcome:
        return ()
    return tuple(describe_differences(narrator, mistake.after, step.after))


def _tell_found(trace: Trace, index: int) -> Side | None:
    step, before = trace.steps[index], trace.states[index]
    observed = step.observed
    if observed is None:
        return None
    narrator = NARRATORS[trace.machine]
    if observed.kind in RAISED:
        return Side(f"raises {observed.found}", (), (), None)
    answer = step.outcome if observed.outcome is None else observed.outcome
    said = describe_outcome(trace.machine, answer)
    changes: list[str] = []
    wrong = [] if observed.kind in SEEN_BY_ITSELF else [f"{observed.kind}: {observed.found}"]
    entities = None
    if observed.state is None:
        wrong = wrong or [observed.found] * (observed.found != said)
    else:
        specified = step.after
        entities = compare_states(narrator, specified, observed.state)
        if before is not None:
            changes = describe_changes(narrator, before, observed.state) or ["nothing changes"]
        if specified is not None:
            wrong += describe_differences(narrator, specified, observed.state)
    return Side(said, tuple(changes), tuple(wrong), entities)


# ── Lanes ─────────────────────────────────────────────────────────────────────────────────


def lay_lanes(moments: Sequence[Moment]) -> Lanes:
    """Return a lane for each caller, in the order of their first call, then one for each store."""
    hops = [hop for moment in moments for hop in moment.hops]
    callers = list(dict.fromkeys(hop.caller for hop in hops))
    stores = list(dict.fromkeys(hop.store for hop in hops if hop.store not in callers))
    names = {name: name_lane(name) for name in callers}
    if len(callers) + len(stores) > MOST_LANES:
        names = _fold_callers(callers, MOST_LANES - len(stores))
    lanes = list(dict.fromkeys([*names.values(), *stores])) or ["store"]
    places = {name: lanes.index(names.get(name, name)) for name in (*callers, *stores)}
    return Lanes(tuple(lanes), len(set(names.values())), places)


def name_lane(caller: str) -> str:
    """Return the name over a lane; a bare number is the number of a caller."""
    return f"caller {caller}" if caller.isdigit() else caller


def _fold_callers(callers: Sequence[str], room: int) -> dict[str, str]:
    """Return the lane of each caller where there is not room for one each."""
    kinds = {caller: name_lane(caller).split()[0] for caller in callers}
    members = list(kinds.values())
    folded = {c: f"{k}s" if members.count(k) > 1 else name_lane(c) for c, k in kinds.items()}
    return folded if len(set(folded.values())) <= room else dict.fromkeys(callers, "callers")


def find_turn_lane(turn: Turn, moments: Sequence[Moment], lanes: Lanes) -> int:
    """Return the lane of the caller whose operation took a turn."""
    if 1 <= turn.step <= len(moments):
        return lanes.find(moments[turn.step - 1].hops[0].caller)
    return 0
