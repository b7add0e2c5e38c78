"""The receiver on SQLite (section B of the protocols): `Receiver`, whose effects are real rows.

A send is two transactions: the call log first, then the business (B5). The log is an instrument:
nothing here reads it to decide anything, so it also counts calls that break the protocol.

Not here: the transport, the sender's ledger (`reservation.py`), a limit on calls.

Reading hint: `receiver.sql` first, then `send`.
"""

from typing import Any, Final

from impl.sqlite.connection import (
    Connect,
    StorePath,
    connect,
    expect_row,
    reading,
    transaction,
)
from impl.sqlite.inputs import check_name, check_number, check_payload, check_type
from impl.sqlite.store import Schema, Store, creation
from impl.sqlite.vocabulary import Call, Permit, Receipt, Safety, SendRefusal, check_safety

SCHEMA: Final = Schema(file="receiver.sql", user_version=301)


class Receiver(Store):
    """An open receiver, for one thread; close it, or use it in a `with` statement."""

    schema = SCHEMA

    def send(self, permit: Permit, /) -> Receipt | SendRefusal:
        """Use the permit for one send: `enter`, then `perform` (B4, B5).

        `PermitUsed` if the permit was sent before, whatever became of that.
        """
        return self.perform(self.enter(permit))

    def enter(self, permit: Permit) -> Call:
        """Use the permit and commit its call to the log (B4, B5).

        The permit is marked before the log is written, and stays marked if that fails.
        """
        call = _check_call(check_type("permit", permit, Permit).call)
        permit.use()
        connection = self._connection
        with transaction(connection):
            connection.execute(
                """
                insert into call (ledger, intent_id, seq)
                values (:ledger, :intent_id, :seq)
                """,
                {"ledger": call.ledger, "intent_id": call.intent_id, "seq": call.seq},
            )
        return call

    def perform(self, call: Call) -> Receipt | SendRefusal:
        """Do the business of a call that has entered, in one transaction (B5).

        `conflict`, without an effect, if the id's first call had another safety or, idempotent,
        another payload. An idempotent id has one effect, and each call gets its receipt; a
        non-idempotent id gets an effect for each call.
        """
        call = _check_call(check_type("call", call, Call))
        content = call.payload.encode("utf-8")
        is_idempotent = call.safety is Safety.IDEMPOTENT
        row = {
            "intent_id": call.intent_id,
            "safety": call.safety.value,
            "payload": content,
            "identity_payload": content if is_idempotent else None,
        }
        connection = self._connection
        with transaction(connection):
            identity = connection.execute(
                "select safety, payload from identity where intent_id = :intent_id",
                {"intent_id": call.intent_id},
            ).fetchone()
            if identity is None:
                connection.execute(
                    """
                    insert into identity (intent_id, safety, payload)
                    values (:intent_id, :safety, :identity_payload)
                    """,
                    row,
                )
            elif identity != (row["safety"], row["identity_payload"]):
                return SendRefusal.CONFLICT
            elif is_idempotent:
                effect = connection.execute(
                    """
                    select ticket from effect
                    where intent_id = :intent_id and safety = 'idempotent'
                    """,
                    {"intent_id": call.intent_id},
                ).fetchone()
                return Receipt(call.intent_id, call.payload, expect_row(effect)[0])
            effect = connection.execute(
                """
                insert into effect (ticket, intent_id, safety, payload)
                values ((select coalesce(max(ticket), 0) + 1 from effect),
                        :intent_id, :safety, :payload)
                returning ticket
                """,
                row,
            ).fetchone()
            ticket = expect_row(effect)[0]
        return Receipt(call.intent_id, call.payload, ticket)

    def snapshot(self) -> dict[str, Any]:
        """Read one consistent state and change nothing (A15).

        Plain data, ready for JSON: `calls`, dicts by ledger, intent id and seq; `effects`, dicts
        by ticket. What an id's first call fixed is what its first effect shows.
        """
        connection = self._connection
        with reading(connection):
            calls = connection.execute(
                "select ledger, intent_id, seq from call order by ledger, intent_id, seq"
            ).fetchall()
            effects = connection.execute(
                "select ticket, intent_id, safety, payload from effect order by ticket"
            ).fetchall()
        return {
            "calls": [
                {"ledger": ledger, "intent_id": intent_id, "seq": seq}
                for ledger, intent_id, seq in calls
            ],
            "effects": [
                {
                    "ticket": ticket,
                    "intent_id": intent_id,
                    "safety": safety,
                    "payload": payload.decode("utf-8"),
                }
                for ticket, intent_id, safety, payload in effects
            ],
        }


def init(path: StorePath, *, connect: Connect = connect) -> None:
    """Create the receiver, or accept an existing one.

    `SchemaMismatch` if the file is something else, and nothing changes then. Several processes
    may do it at once.
    """
    with creation(path, SCHEMA, connect):
        pass  # A new receiver has no first row.


def snapshot(path: StorePath, *, connect: Connect = connect) -> dict[str, Any]:
    """Do `Receiver.snapshot` on the receiver at the path (A15)."""
    with Receiver(path, connect=connect) as receiver:
        return receiver.snapshot()


def _check_call(call: Call) -> Call:
    return Call(
        ledger=check_name("ledger", call.ledger),
        intent_id=check_name("intent_id", call.intent_id),
        seq=check_number("seq", call.seq),
        payload=check_payload(call.payload).decode("utf-8"),
        safety=check_safety(call.safety),
    )
