"""What a reader sees of the dispatch budget: committed rows alone, as JSON has them."""

from model.reservation_vocabulary import Ledger, Receiver, State


def snapshot_ledger(ledger: Ledger) -> dict[str, object]:
    """Return what a reader sees of an existing ledger, as JSON has it."""
    return {
        "name": ledger.name,
        "intents": [
            {
                "intent_id": i.intent_id,
                "payload": i.payload,
                "safety": str(i.safety),
                "cap": i.cap,
                "spent": i.spent,
                "receipt": None
                if i.receipt is None
                else {
                    "intent_id": i.receipt.intent_id,
                    "payload": i.receipt.payload,
                    "ticket": i.receipt.ticket,
                },
            }
            for i in ledger.intents
        ],
        "reservations": [
            {"intent_id": i.intent_id, "seq": r.seq, "acknowledged": r.is_acknowledged}
            for i in ledger.intents
            for r in i.reservations
        ],
    }


def snapshot_receiver(receiver: Receiver) -> dict[str, object]:
    """Return what a reader sees of an existing receiver, as JSON has it."""
    safeties = {identity.intent_id: str(identity.safety) for identity in receiver.identities}
    return {
        "calls": [
            {"ledger": c.ledger, "intent_id": c.intent_id, "seq": c.seq} for c in receiver.calls
        ],
        "effects": [
            {
                "ticket": e.ticket,
                "intent_id": e.intent_id,
                "safety": safeties.get(e.intent_id),
                "payload": e.payload,
            }
            for e in receiver.effects
        ],
    }


def snapshot(state: State) -> dict[str, object]:
    """Return what a reader sees of every ledger that exists, and of the receiver."""
    snapshots: dict[str, object] = {
        ledger.file: snapshot_ledger(ledger) for ledger in state.ledgers if ledger.name is not None
    }
    if state.receiver.exists:
        snapshots["receiver"] = snapshot_receiver(state.receiver)
    return snapshots
