"""The admission store on SQLite: its values, and `AdmissionStore` with one method an action.

A method is one transaction, and its SQL stands in it. Nothing is kept in memory: limits, clock and
sums are read in the transaction that decides on them.

Not here: creation and the calls on a path (`admission.py`).

Reading hint: `admission.sql` first, then the methods, in the order of the protocol's table.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from impl.sqlite.connection import (
    Connection,
    expect_one_row,
    expect_row,
    reading,
    transaction,
)
from impl.sqlite.errors import ClockRegression, GenerationExhausted
from impl.sqlite.inputs import NUMBER_MAX, check_name, check_number, check_payload, check_type
from impl.sqlite.store import Schema, Store

LEASE_TICKS: Final = 5
SCHEMA: Final = Schema(file="admission.sql", user_version=101)


@dataclass(frozen=True, slots=True)
class Limits:
    """The five limits of a store; slots count records, bytes are UTF-8 bytes of payloads."""

    global_slots: int = 4
    global_bytes: int = 256
    tenant_slots: int = 2
    tenant_bytes: int = 128
    item_bytes: int = 96


DEFAULT_LIMITS: Final = Limits()


@dataclass(frozen=True, slots=True)
class Token:
    """What a claim hands out: good for the record as long as its generation is the current one."""

    request_id: str
    generation: int


class AdmitOutcome(StrEnum):
    """The outcomes of `admit`, in the order in which they are decided, acceptance last."""

    REPLAY = "replay"
    CONFLICT = "conflict"
    OVERSIZE = "oversize"
    GLOBAL_FULL = "global_full"
    TENANT_FULL = "tenant_full"
    ACCEPTED = "accepted"


class ResolveOutcome(StrEnum):
    """The outcomes of `resolve`."""

    DONE = "done"
    STALE = "stale"


class QuarantineOutcome(StrEnum):
    """The outcomes of `quarantine`."""

    QUARANTINED = "quarantined"
    STALE = "stale"


class RedriveOutcome(StrEnum):
    """The outcomes of `redrive`."""

    QUEUED = "queued"
    STALE = "stale"


class CancelOutcome(StrEnum):
    """The outcomes of `cancel_unstarted`."""

    CANCELLED = "cancelled"
    NOT_CANCELLED = "not_cancelled"


class AdmissionStore(Store):
    """An open admission store, for one thread; close it, or use it in a `with` statement."""

    schema = SCHEMA

    def admit(self, request_id: str, tenant: str, payload: str) -> AdmitOutcome:
        """Take a request in if it is new and fits; a known one is told apart by its content.

        Identity, item size, global budget, tenant budget, in this order (A2). Equality with a
        limit is allowed (A4). Every outcome but `accepted` leaves the store as it was (A3).
        Intent, task and decision are one transaction (A6).
        """
        request_id = check_name("request_id", request_id)
        tenant = check_name("tenant", tenant)
        content = check_payload(payload)
        size = len(content)
        row = {"request_id": request_id, "tenant": tenant, "payload": content, "size": size}
        connection = self._connection
        with transaction(connection):
            known = connection.execute(
                "select tenant, payload from intent where request_id = :request_id",
                {"request_id": request_id},
            ).fetchone()
            if known is not None:
                is_same = known == (tenant, content)
                return AdmitOutcome.REPLAY if is_same else AdmitOutcome.CONFLICT
            limits = read_limits(connection)
            if size > limits.item_bytes:
                return AdmitOutcome.OVERSIZE
            global_count, global_bytes, tenant_count, tenant_bytes = expect_row(
                connection.execute(
                    """
                    select count(*), coalesce(sum(size), 0),
                           coalesce(sum(tenant = :tenant), 0),
                           coalesce(sum(case when tenant = :tenant then size end), 0)
                    from task indexed by task_outstanding
                    where state in ('queued', 'inflight', 'quarantined')
                    """,
                    {"tenant": tenant},
                ).fetchone()
            )
            if global_count + 1 > limits.global_slots or global_bytes + size > limits.global_bytes:
                return AdmitOutcome.GLOBAL_FULL
            if tenant_count + 1 > limits.tenant_slots or tenant_bytes + size > limits.tenant_bytes:
                return AdmitOutcome.TENANT_FULL
            connection.execute(
                """
                insert into intent (request_id, tenant, payload, size)
                values (:request_id, :tenant, :payload, :size)
                """,
                row,
            )
            connection.execute(
                """
                insert into task (sequence, request_id, tenant, size, state, generation, lease)
                values ((select coalesce(max(sequence), 0) + 1 from task),
                        :request_id, :tenant, :size, 'queued', 0, null)
                """,
                row,
            )
        return AdmitOutcome.ACCEPTED

    def claim(self, now: int) -> Token | None:
        """Hand out the first record that is due, under a new generation and a lease of 5 ticks.

        Due are queued records and inflight ones whose lease is at or before now (A8). None if
        nothing is due; the clock is stored then too (A9). `ClockRegression` if now is before the
        stored clock. `GenerationExhausted` if the first due record stands at generation 10**9:
        it is not skipped (A16).
        """
        now = check_number("now", now)
        connection = self._connection
        with transaction(connection):
            self._advance_clock(now)
            due = connection.execute(
                """
                select request_id, generation
                from task indexed by task_outstanding
                where state in ('queued', 'inflight', 'quarantined')
                  and (state = 'queued' or (state = 'inflight' and lease <= :now))
                order by sequence
                limit 1
                """,
                {"now": now},
            ).fetchone()
            if due is None:
                return None
            request_id, generation = due
            _require_generation_left(request_id, generation)
            updated = connection.execute(
                """
                update task
                set state = 'inflight', generation = generation + 1, lease = :lease
                where request_id = :request_id
                """,
                {"request_id": request_id, "lease": now + LEASE_TICKS},
            )
            expect_one_row(updated)
        return Token(request_id, generation + 1)

    def resolve(self, token: Token, now: int) -> ResolveOutcome:
        """Complete the token's record: its one effect and the state `done`, in one transaction.

        `done` iff the record is inflight, its generation is the token's and its lease is after
        now; otherwise `stale`, also for an unknown id, and only the clock moves (A10).
        `ClockRegression` if now is before the stored clock (A9).
        """
        request_id, generation = check_token(token)
        now = check_number("now", now)
        connection = self._connection
        with transaction(connection):
            self._advance_clock(now)
            completed = connection.execute(
                """
                insert into effect (request_id, value)
                select request_id, 'synthetic-completed'
                from task
                where request_id = :request_id and state = 'inflight'
                  and generation = :generation and lease > :now
                """,
                {"request_id": request_id, "generation": generation, "now": now},
            )
            if completed.rowcount == 0:
                return ResolveOutcome.STALE
            updated = connection.execute(
                "update task set state = 'done', lease = null where request_id = :request_id",
                {"request_id": request_id},
            )
            expect_one_row(updated)
        return ResolveOutcome.DONE

    def quarantine(self, token: Token, now: int) -> QuarantineOutcome:
        """Set the token's record aside; it keeps its charge and its sequence number (A7, A11).

        `quarantined` under the same guard as `resolve`, otherwise `stale`.
        `ClockRegression` if now is before the stored clock (A9).
        """
        request_id, generation = check_token(token)
        now = check_number("now", now)
        connection = self._connection
        with transaction(connection):
            self._advance_clock(now)
            updated = connection.execute(
                """
                update task
                set state = 'quarantined', lease = null
                where request_id = :request_id and state = 'inflight'
                  and generation = :generation and lease > :now
                """,
                {"request_id": request_id, "generation": generation, "now": now},
            )
            if updated.rowcount == 0:
                return QuarantineOutcome.STALE
            expect_one_row(updated)
        return QuarantineOutcome.QUARANTINED

    def redrive(self, request_id: str, generation: int) -> RedriveOutcome:
        """Queue a quarantined record again, under a new generation, at its old place (A12).

        `queued` iff it is quarantined at this generation, otherwise `stale`. It is never refused
        for capacity, since it never gave its charge back. `GenerationExhausted` at 10**9 (A16).
        """
        request_id = check_name("request_id", request_id)
        generation = check_number("generation", generation)
        connection = self._connection
        with transaction(connection):
            picked = connection.execute(
                """
                select 1
                from task
                where request_id = :request_id and state = 'quarantined'
                  and generation = :generation
                """,
                {"request_id": request_id, "generation": generation},
            ).fetchone()
            if picked is None:
                return RedriveOutcome.STALE
            _require_generation_left(request_id, generation)
            updated = connection.execute(
                """
                update task
                set state = 'queued', generation = generation + 1
                where request_id = :request_id
                """,
                {"request_id": request_id},
            )
            expect_one_row(updated)
        return RedriveOutcome.QUEUED

    def cancel_unstarted(self, request_id: str) -> CancelOutcome:
        """Cancel a record that was never claimed, and give its charge back (A7, A13).

        `cancelled` iff it is queued at generation 0; otherwise `not_cancelled`, for ever.
        """
        request_id = check_name("request_id", request_id)
        connection = self._connection
        with transaction(connection):
            updated = connection.execute(
                """
                update task
                set state = 'cancelled'
                where request_id = :request_id and state = 'queued' and generation = 0
                """,
                {"request_id": request_id},
            )
            if updated.rowcount == 0:
                return CancelOutcome.NOT_CANCELLED
            expect_one_row(updated)
        return CancelOutcome.CANCELLED

    def snapshot(self) -> dict[str, Any]:
        """Read one consistent state and change nothing (A15).

        Plain data, ready for JSON: `limits` by name; `usage`, [count, bytes] over the outstanding
        records; `tenants`, the same for each tenant that has any; `clock`; `records` and
        `effects`, lists of dicts by sequence number.
        """
        connection = self._connection
        with reading(connection):
            limits = read_limits(connection)
            clock = expect_row(connection.execute("select clock from store").fetchone())[0]
            tenants = connection.execute(
                """
                select tenant, count(*), sum(size)
                from task indexed by task_outstanding
                where state in ('queued', 'inflight', 'quarantined')
                group by tenant
                order by tenant
                """
            ).fetchall()
            records = connection.execute(
                """
                select request_id, intent.tenant, intent.payload, intent.size,
                       sequence, state, generation, lease
                from task join intent using (request_id)
                order by sequence
                """
            ).fetchall()
            effects = connection.execute(
                """
                select request_id, value
                from effect join task using (request_id)
                order by sequence
                """
            ).fetchall()
        return {
            "limits": asdict(limits),
            "usage": [sum(row[1] for row in tenants), sum(row[2] for row in tenants)],
            "tenants": {tenant: [count, size] for tenant, count, size in tenants},
            "clock": clock,
            "records": [
                {
                    "request_id": request_id,
                    "tenant": tenant,
                    "payload": payload.decode("utf-8"),
                    "size": size,
                    "sequence": sequence,
                    "state": state,
                    "generation": generation,
                    "lease": lease,
                }
                for request_id, tenant, payload, size, sequence, state, generation, lease in records
            ],
            "effects": [
                {"request_id": request_id, "value": value} for request_id, value in effects
            ],
        }

    def _advance_clock(self, now: int) -> None:
        """Store the tick, inside the caller's transaction, or raise `ClockRegression` (A9)."""
        row = self._connection.execute("select clock from store").fetchone()
        clock = expect_row(row)[0]
        if now < clock:
            raise ClockRegression(
                f"now is {now}; the stored clock is {clock}, and it never goes back"
            )
        if now > clock:
            updated = self._connection.execute("update store set clock = :now", {"now": now})
            expect_one_row(updated)


def check_token(token: object) -> tuple[str, int]:
    """Return the request id and the generation of a token, both checked (A16)."""
    token = check_type("token", token, Token)
    return (
        check_name("token.request_id", token.request_id),
        check_number("token.generation", token.generation),
    )


def read_limits(connection: Connection) -> Limits:
    """Read the five stored limits, inside the caller's transaction."""
    row = connection.execute(
        "select global_slots, global_bytes, tenant_slots, tenant_bytes, item_bytes from store"
    ).fetchone()
    return Limits(*expect_row(row))


def _require_generation_left(request_id: str, generation: int) -> None:
    if generation >= NUMBER_MAX:
        raise GenerationExhausted(
            f"{request_id!r} stands at generation {generation}; the last one is {NUMBER_MAX}"
        )
