"""Durable admission on SQLite (section A of the protocols): creation, and each action on a path.

An action here opens the store, does the method of the same name and closes the store again.
Arguments are checked first: `InvalidInput` before `StoreMissing` (A16). Whatever raises has
changed nothing, the clock included, unless the storage failed inside a commit (C2).

Not here: a worker, a queue service, authentication, a way to change limits, deletion of history.

Reading hint: the rules and their SQL are in `admission_store.py`; use its `AdmissionStore`,
re-exported here, to keep a connection open over several actions.
"""

from dataclasses import asdict, fields
from typing import Any

from impl.sqlite.admission_store import (
    DEFAULT_LIMITS,
    LEASE_TICKS,
    SCHEMA,
    AdmissionStore,
    AdmitOutcome,
    CancelOutcome,
    Limits,
    QuarantineOutcome,
    RedriveOutcome,
    ResolveOutcome,
    Token,
    check_token,
    read_limits,
)
from impl.sqlite.connection import Connect, StorePath, connect
from impl.sqlite.errors import LimitsMismatch
from impl.sqlite.inputs import check_name, check_number, check_payload, check_type
from impl.sqlite.store import creation

__all__ = [
    "DEFAULT_LIMITS",
    "LEASE_TICKS",
    "SCHEMA",
    "AdmissionStore",
    "AdmitOutcome",
    "CancelOutcome",
    "Limits",
    "QuarantineOutcome",
    "RedriveOutcome",
    "ResolveOutcome",
    "Token",
    "admit",
    "cancel_unstarted",
    "claim",
    "init",
    "quarantine",
    "redrive",
    "resolve",
    "snapshot",
]


def init(path: StorePath, limits: Limits = DEFAULT_LIMITS, *, connect: Connect = connect) -> None:
    """Create the store, or accept an existing one with the same five limits (A1).

    `LimitsMismatch` if they differ, `SchemaMismatch` if the file is something else; nothing
    changes then. Several processes may do it at once.
    """
    limits = _check_limits(limits)
    with creation(path, SCHEMA, connect) as (connection, is_new):
        if is_new:
            connection.execute(
                """
                insert into store (one, global_slots, global_bytes, tenant_slots, tenant_bytes,
                                   item_bytes, clock)
                values (1, :global_slots, :global_bytes, :tenant_slots, :tenant_bytes,
                        :item_bytes, 0)
                """,
                asdict(limits),
            )
        stored = read_limits(connection)
        if stored != limits:
            raise LimitsMismatch(f"the store was created with {stored}; {limits} was asked for")


def admit(
    path: StorePath, request_id: str, tenant: str, payload: str, *, connect: Connect = connect
) -> AdmitOutcome:
    """Do `AdmissionStore.admit` on the store at the path (A2)."""
    check_name("request_id", request_id)
    check_name("tenant", tenant)
    check_payload(payload)
    with AdmissionStore(path, connect=connect) as store:
        return store.admit(request_id, tenant, payload)


def claim(path: StorePath, now: int, *, connect: Connect = connect) -> Token | None:
    """Do `AdmissionStore.claim` on the store at the path (A8)."""
    check_number("now", now)
    with AdmissionStore(path, connect=connect) as store:
        return store.claim(now)


def resolve(
    path: StorePath, token: Token, now: int, *, connect: Connect = connect
) -> ResolveOutcome:
    """Do `AdmissionStore.resolve` on the store at the path (A10)."""
    check_token(token)
    check_number("now", now)
    with AdmissionStore(path, connect=connect) as store:
        return store.resolve(token, now)


def quarantine(
    path: StorePath, token: Token, now: int, *, connect: Connect = connect
) -> QuarantineOutcome:
    """Do `AdmissionStore.quarantine` on the store at the path (A11)."""
    check_token(token)
    check_number("now", now)
    with AdmissionStore(path, connect=connect) as store:
        return store.quarantine(token, now)


def redrive(
    path: StorePath, request_id: str, generation: int, *, connect: Connect = connect
) -> RedriveOutcome:
    """Do `AdmissionStore.redrive` on the store at the path (A12)."""
    check_name("request_id", request_id)
    check_number("generation", generation)
    with AdmissionStore(path, connect=connect) as store:
        return store.redrive(request_id, generation)


def cancel_unstarted(
    path: StorePath, request_id: str, *, connect: Connect = connect
) -> CancelOutcome:
    """Do `AdmissionStore.cancel_unstarted` on the store at the path (A13)."""
    check_name("request_id", request_id)
    with AdmissionStore(path, connect=connect) as store:
        return store.cancel_unstarted(request_id)


def snapshot(path: StorePath, *, connect: Connect = connect) -> dict[str, Any]:
    """Do `AdmissionStore.snapshot` on the store at the path (A15)."""
    with AdmissionStore(path, connect=connect) as store:
        return store.snapshot()


def _check_limits(limits: object) -> Limits:
    limits = check_type("limits", limits, Limits)
    return Limits(
        **{
            field.name: check_number(field.name, getattr(limits, field.name))
            for field in fields(limits)
        }
    )
