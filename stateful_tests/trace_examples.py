"""Planted mistakes whose traces the tests of the trace format use."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

from conformance.changed_source import Change, load_changed_implementation
from conformance.exhaustive import check_exhaustively
from conformance.implementation import Implementation
from conformance.replay_report import from_found
from model.admission import STEPS
from model.admission_scope import ADMISSION
from model.admission_vocabulary import Action, Admit, Outcome, State
from model.checking.explore import explore
from model.checking.trace_report import TraceReport, Versions, from_violation
from model.machine import Machine
from model.scopes import ADMISSION_TINY, RESERVATION_TINY

VERSIONS = Versions("3.13.0", "3.50.4", "0.1.0")


def admit_beyond_the_slots(state: State, action: Admit) -> tuple[State, Outcome]:
    """Admit as if there were more of everything that is global."""
    if state.limits is None:
        return STEPS[Admit](state, action)
    wide = replace(state.limits, global_slots=9, global_bytes=99, tenant_slots=9, tenant_bytes=99)
    after, outcome = STEPS[Admit](replace(state, limits=wide), action)
    return replace(after, limits=state.limits), outcome


FAULTY_ADMISSION: Machine[State, Action, Outcome] = replace(
    ADMISSION, steps={**STEPS, Admit: admit_beyond_the_slots}
)

LEASE_BOUNDARY = Change(
    "impl/sqlite/admission_store.py",
    """                select request_id, 'synthetic-completed'
                from task
                where request_id = :request_id and state = 'inflight'
                  and generation = :generation and lease > :now
""",
    """                select request_id, 'synthetic-completed'
                from task
                where request_id = :request_id and state = 'inflight'
                  and generation = :generation and lease >= :now
""",
)
SPENT_STAYS = Change(
    "impl/sqlite/reservation.py",
    "update intent set spent = spent + 1 where",
    "update intent set spent = spent + 0 where",
)
CHANGES = {"admission": LEASE_BOUNDARY, "reservation": SPENT_STAYS}
TINY: dict[str, Any] = {"admission": ADMISSION_TINY, "reservation": RESERVATION_TINY}


@lru_cache(maxsize=1)
def find_violation() -> TraceReport:
    """Return the report of a model that admits beyond its slots."""
    (violation, *_) = explore(FAULTY_ADMISSION, ADMISSION_TINY).violations
    return replace(from_violation(violation), versions=VERSIONS)


@lru_cache(maxsize=2)
def find_faulty(machine: str) -> Implementation:
    """Return an implementation with a planted mistake."""
    return load_changed_implementation([CHANGES[machine]])


@lru_cache(maxsize=2)
def find_divergence(machine: str) -> TraceReport:
    """Return the report of an implementation that parts from the model."""
    faulty = find_faulty(machine)
    (found, *_) = check_exhaustively(machine, TINY[machine], implementation=faulty).found
    return replace(from_found(found, "admit-one verify"), versions=VERSIONS)


def list_reports() -> dict[str, TraceReport]:
    """Return every example by name."""
    return {
        "violation": find_violation(),
        "admission divergence": find_divergence("admission"),
        "reservation divergence": find_divergence("reservation"),
    }
