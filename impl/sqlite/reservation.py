"""The sender ledger on SQLite (section B of the protocols): `Ledger`, its functions, `attempt`.

A call is one transaction, and its SQL stands at its method. Budget is spent before anything is
sent and never comes back: `spent` counts committed reservations and proves no send (B3).

Not here: the receiver (`receiver.py`), a deadline, a retry, a refund, the recovery of a permit.
The ledger can't see the receiver, so it believes a receipt that fits (B6).

Reading hint: `ledger.sql` first, then the methods in the order of the protocol's table, then
`attempt`, which joins a ledger and a receiver.
"""

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Final

from impl.sqlite.connection import (
    Connect,
    StorePath,
    closing_on_error,
    connect,
    expect_one_row,
    expect_row,
    reading,
    transaction,
)
from impl.sqlite.errors import LedgerMismatch, UnknownIntent
from impl.sqlite.inputs import check_name, check_number, check_payload, check_type
from impl.sqlite.store import Schema, Store, creation
from impl.sqlite.vocabulary import Permit, Receipt, Safety, Sender, SendRefusal, check_safety

SCHEMA: Final = Schema(file="ledger.sql", user_version=201)


class OpenOutcome(StrEnum):
    """The outcomes of `open_intent`."""

    OPENED = "opened"
    UNCHANGED = "unchanged"
    CONFLICT = "conflict"


class ReserveRefusal(StrEnum):
    """What `reserve` returns instead of a permit, in the order in which it is decided."""

    CONFIRMED = "confirmed"
    UNKNOWN_REQUIRES_RECONCILIATION = "unknown_requires_reconciliation"
    BUDGET_EXHAUSTED = "budget_exhausted"


class ConfirmOutcome(StrEnum):
    """The outcomes of `confirm`."""

    CONFIRMED = "confirmed"
    ALREADY_CONFIRMED = "already_confirmed"
    REJECTED = "rejected"


class AttemptRefusal(StrEnum):
    """What `attempt` returns instead of `Confirmed`."""

    CONFLICT = "conflict"
    REJECTED = "rejected"
    UNKNOWN_REQUIRES_RECONCILIATION = "unknown_requires_reconciliation"
    BUDGET_EXHAUSTED = "budget_exhausted"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The good end of an attempt: the intent is confirmed, now or before, with this receipt."""

    receipt: Receipt


class Ledger(Store):
    """An open sender ledger, for one thread; close it, or use it in a `with` statement."""

    schema = SCHEMA

    def __init__(
        self, path: StorePath, name: str | None = None, *, connect: Connect = connect
    ) -> None:
        """Open an existing ledger, and make sure of its name if one is given.

        `LedgerMismatch` if the ledger has another name; else as `Store`.
        """
        wanted = None if name is None else check_name("name", name)
        super().__init__(path, connect=connect)
        with closing_on_error(self._connection):
            row = self._connection.execute("select name from ledger").fetchone()
            self._name: str = expect_row(row)[0]
            _require_name(self._name, wanted)

    @property
    def name(self) -> str:
        """The name given at creation; it goes along with each call."""
        return self._name

    def open_intent(
        self, intent_id: str, payload: str, safety: Safety | str, cap: int
    ) -> OpenOutcome:
        """Take an intent in, with a cap on its reservations; a cap of zero is legal (B1).

        The same four values again are `unchanged`, any other value is `conflict`; neither
        changes anything.
        """
        intent_id = check_name("intent_id", intent_id)
        content = check_payload(payload)
        safety = check_safety(safety)
        cap = check_number("cap", cap)
        connection = self._connection
        with transaction(connection):
            known = connection.execute(
                "select payload, safety, cap from intent where intent_id = :intent_id",
                {"intent_id": intent_id},
            ).fetchone()
            if known is not None:
                is_same = known == (content, safety.value, cap)
                return OpenOutcome.UNCHANGED if is_same else OpenOutcome.CONFLICT
            connection.execute(
                """
                insert into intent (intent_id, payload, safety, cap, spent, ticket, confirmed_seq)
                values (:intent_id, :payload, :safety, :cap, 0, null, null)
                """,
                {"intent_id": intent_id, "payload": content, "safety": safety.value, "cap": cap},
            )
        return OpenOutcome.OPENED

    def reserve(self, intent_id: str) -> Permit | ReserveRefusal:
        """Spend one of the intent's budget and hand out the permit for one send (B2).

        Refused, in this order: a confirmed intent; a non-idempotent one with an unacknowledged
        reservation (B8); spent = cap. The permit is made after the commit. `UnknownIntent` if
        the intent was never opened.
        """
        intent_id = check_name("intent_id", intent_id)
        connection = self._connection
        with transaction(connection):
            intent = connection.execute(
                """
                select payload, safety, cap, spent, ticket from intent
                where intent_id = :intent_id
                """,
                {"intent_id": intent_id},
            ).fetchone()
            if intent is None:
                raise _unknown_intent(intent_id)
            payload, safety, cap, spent, ticket = intent
            if ticket is not None:
                return ReserveRefusal.CONFIRMED
            if safety == Safety.NON_IDEMPOTENT:
                unacknowledged = connection.execute(
                    """
                    select seq from reservation
                    where intent_id = :intent_id and ticket is null
                    limit 1
                    """,
                    {"intent_id": intent_id},
                ).fetchone()
                if unacknowledged is not None:
                    return ReserveRefusal.UNKNOWN_REQUIRES_RECONCILIATION
            if spent == cap:
                return ReserveRefusal.BUDGET_EXHAUSTED
            seq = spent + 1
            updated = connection.execute(
                "update intent set spent = spent + 1 where intent_id = :intent_id",
                {"intent_id": intent_id},
            )
            expect_one_row(updated)
            connection.execute(
                """
                insert into reservation (intent_id, seq, ticket)
                values (:intent_id, :seq, null)
                """,
                {"intent_id": intent_id, "seq": seq},
            )
        return Permit(
            ledger=self._name,
            intent_id=intent_id,
            seq=seq,
            payload=payload.decode("utf-8"),
            safety=Safety(safety),
        )

    def confirm(self, intent_id: str, seq: int, receipt: Receipt) -> ConfirmOutcome:
        """Acknowledge a reservation, and store the intent's first receipt for good (B6).

        `rejected`, and nothing changes: no such reservation, a receipt for another id or payload,
        or one unlike the stored receipt. `confirmed` exactly once an intent, later
        `already_confirmed`. `UnknownIntent` if the intent was never opened.
        """
        intent_id = check_name("intent_id", intent_id)
        seq = check_number("seq", seq)
        receipt_id, receipt_content, ticket = _check_receipt(receipt)
        row = {"intent_id": intent_id, "seq": seq, "ticket": ticket}
        connection = self._connection
        with transaction(connection):
            intent = connection.execute(
                "select payload, ticket from intent where intent_id = :intent_id",
                {"intent_id": intent_id},
            ).fetchone()
            if intent is None:
                raise _unknown_intent(intent_id)
            payload, stored_ticket = intent
            reservation = connection.execute(
                "select seq from reservation where intent_id = :intent_id and seq = :seq",
                {"intent_id": intent_id, "seq": seq},
            ).fetchone()
            if reservation is None:
                return ConfirmOutcome.REJECTED
            if (receipt_id, receipt_content) != (intent_id, payload):
                return ConfirmOutcome.REJECTED
            if stored_ticket not in (None, ticket):
                return ConfirmOutcome.REJECTED
            acknowledged = connection.execute(
                """
                update reservation set ticket = :ticket
                where intent_id = :intent_id and seq = :seq
                """,
                row,
            )
            expect_one_row(acknowledged)
            if stored_ticket is not None:
                return ConfirmOutcome.ALREADY_CONFIRMED
            stored = connection.execute(
                """
                update intent set ticket = :ticket, confirmed_seq = :seq
                where intent_id = :intent_id
                """,
                row,
            )
            expect_one_row(stored)
        return ConfirmOutcome.CONFIRMED

    def stored_receipt(self, intent_id: str) -> Receipt | None:
        """Read the intent's receipt, None if it is not confirmed; it changes nothing.

        `UnknownIntent` if the intent was never opened.
        """
        intent_id = check_name("intent_id", intent_id)
        connection = self._connection
        with reading(connection):
            intent = connection.execute(
                "select payload, ticket from intent where intent_id = :intent_id",
                {"intent_id": intent_id},
            ).fetchone()
        if intent is None:
            raise _unknown_intent(intent_id)
        payload, ticket = intent
        return None if ticket is None else Receipt(intent_id, payload.decode("utf-8"), ticket)

    def snapshot(self) -> dict[str, Any]:
        """Read one consistent state and change nothing (A15).

        Plain data, ready for JSON: `name`; `intents`, dicts by intent id, with the receipt as a
        dict or None; `reservations`, dicts by intent id and seq. `spent` and the reservations
        are stored separately, and neither is computed from the other.
        """
        connection = self._connection
        with reading(connection):
            intents = connection.execute(
                """
                select intent_id, payload, safety, cap, spent, ticket
                from intent
                order by intent_id
                """
            ).fetchall()
            reservations = connection.execute(
                "select intent_id, seq, ticket from reservation order by intent_id, seq"
            ).fetchall()
        return {
            "name": self._name,
            "intents": [_intent_as_dict(intent) for intent in intents],
            "reservations": [
                {"intent_id": intent_id, "seq": seq, "acknowledged": ticket is not None}
                for intent_id, seq, ticket in reservations
            ],
        }


def attempt(ledger: Ledger, receiver: Sender, intent_id: str) -> Confirmed | AttemptRefusal:
    """Reserve, send at most once, confirm (B12).

    An intent confirmed earlier gives its stored receipt, and nothing is sent. After the
    receiver's `conflict` the reservation stays unacknowledged. It is no transaction: a crash
    leaves exactly the steps that had committed (C3). `UnknownIntent` as in `reserve`.
    """
    reserved = ledger.reserve(intent_id)
    if reserved is ReserveRefusal.CONFIRMED:
        stored = ledger.stored_receipt(intent_id)
        if stored is None:
            raise AssertionError(f"intent {intent_id!r} is confirmed without a receipt")
        return Confirmed(stored)
    if isinstance(reserved, ReserveRefusal):
        return AttemptRefusal(reserved.value)
    answer = receiver.send(reserved)
    if isinstance(answer, SendRefusal):
        return AttemptRefusal.CONFLICT
    if ledger.confirm(intent_id, reserved.seq, answer) is ConfirmOutcome.REJECTED:
        return AttemptRefusal.REJECTED
    return Confirmed(answer)


def init(path: StorePath, name: str, *, connect: Connect = connect) -> None:
    """Create the ledger under a name, or accept an existing one with the same name.

    `LedgerMismatch` if it has another name, `SchemaMismatch` if the file is something else;
    nothing changes then. Several processes may do it at once.
    """
    name = check_name("name", name)
    with creation(path, SCHEMA, connect) as (connection, is_new):
        if is_new:
            connection.execute("insert into ledger (one, name) values (1, :name)", {"name": name})
        stored = expect_row(connection.execute("select name from ledger").fetchone())[0]
        _require_name(stored, name)


def open_intent(
    path: StorePath,
    intent_id: str,
    payload: str,
    safety: Safety | str,
    cap: int,
    *,
    connect: Connect = connect,
) -> OpenOutcome:
    """Do `Ledger.open_intent` on the ledger at the path (B1)."""
    check_name("intent_id", intent_id)
    check_payload(payload)
    check_safety(safety)
    check_number("cap", cap)
    with Ledger(path, connect=connect) as ledger:
        return ledger.open_intent(intent_id, payload, safety, cap)


def reserve(
    path: StorePath, intent_id: str, *, connect: Connect = connect
) -> Permit | ReserveRefusal:
    """Do `Ledger.reserve` on the ledger at the path (B2)."""
    check_name("intent_id", intent_id)
    with Ledger(path, connect=connect) as ledger:
        return ledger.reserve(intent_id)


def confirm(
    path: StorePath, intent_id: str, seq: int, receipt: Receipt, *, connect: Connect = connect
) -> ConfirmOutcome:
    """Do `Ledger.confirm` on the ledger at the path (B6)."""
    check_name("intent_id", intent_id)
    check_number("seq", seq)
    _check_receipt(receipt)
    with Ledger(path, connect=connect) as ledger:
        return ledger.confirm(intent_id, seq, receipt)


def snapshot(path: StorePath, *, connect: Connect = connect) -> dict[str, Any]:
    """Do `Ledger.snapshot` on the ledger at the path (A15)."""
    with Ledger(path, connect=connect) as ledger:
        return ledger.snapshot()


def _intent_as_dict(row: tuple[Any, ...]) -> dict[str, Any]:
    intent_id, payload, safety, cap, spent, ticket = row
    text = payload.decode("utf-8")
    receipt = None if ticket is None else asdict(Receipt(intent_id, text, ticket))
    return {
        "intent_id": intent_id,
        "payload": text,
        "safety": safety,
        "cap": cap,
        "spent": spent,
        "receipt": receipt,
    }


def _check_receipt(receipt: object) -> tuple[str, bytes, int]:
    receipt = check_type("receipt", receipt, Receipt)
    return (
        check_name("receipt.intent_id", receipt.intent_id),
        check_payload(receipt.payload),
        check_number("receipt.ticket", receipt.ticket),
    )


def _require_name(stored: str, wanted: str | None) -> None:
    if wanted not in (None, stored):
        raise LedgerMismatch(f"the ledger was created as {stored!r}; {wanted!r} was asked for")


def _unknown_intent(intent_id: str) -> UnknownIntent:
    return UnknownIntent(f"the ledger holds no intent {intent_id!r}")
