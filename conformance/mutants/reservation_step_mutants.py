"""Mistakes planted in the model of the dispatch budget: one for each step property.

Reading hint: the killers stand in the order of `model.reservation_step_properties`.
"""

from conformance.mutants.mutant import Engine, Mutant

STEPS = "model/reservation.py"

RESERVATION_STEP_MUTANTS = (
    Mutant(
        name="model-confirmation-recalls-permits",
        machine="reservation",
        rule="B7",
        why="A worker that hears that the intent is confirmed has nothing more to send.",
        file=STEPS,
        edit="""\
-        return state, Answer.CONFIRMED
+        return put_hand(state, worker, ()), Answer.CONFIRMED
""",
        engine=Engine.EXPLORE,
        killer="refusals_change_nothing",
        shortest=6,
    ),
    Mutant(
        name="model-reserve-in-blocks-of-two",
        machine="reservation",
        rule="B2",
        why="Takes two reservations in one commit where the budget allows, to save the second.",
        file=STEPS,
        edit="""\
     reservations = (*intent.reservations, Reservation(seq))
+    if intent.safety is IDEMPOTENT and seq < intent.cap:
+        seq += 1
+        reservations = (*reservations, Reservation(seq))
""",
        engine=Engine.EXPLORE,
        killer="spent_rises_by_one_exactly_when_a_permit_is_handed_out",
        shortest=3,
    ),
    Mutant(
        name="model-every-call-is-idempotent",
        machine="reservation",
        rule="B2",
        why="Sends each call as idempotent, which the receiver knows how to repeat.",
        file=STEPS,
        edit="""\
-    permit = Permit(ledger.name, intent.intent_id, seq, intent.payload, intent.safety)
+    permit = Permit(ledger.name, intent.intent_id, seq, intent.payload, IDEMPOTENT)
""",
        engine=Engine.EXPLORE,
        killer="a_permit_carries_its_reservation",
        shortest=3,
    ),
    Mutant(
        name="model-confirmed-is-not-checked",
        machine="reservation",
        rule="B2",
        why="The cap bounds the calls anyway, and the receiver knows a repeated one.",
        file=STEPS,
        edit="""\
-    if intent.receipt is not None:
-        return state, Answer.CONFIRMED
""",
        engine=Engine.EXPLORE,
        killer="a_confirmed_intent_is_final",
        shortest=5,
    ),
    Mutant(
        name="model-one-acknowledgement",
        machine="reservation",
        rule="B6",
        why="Keeps the acknowledgement at the reservation whose receipt came last.",
        file=STEPS,
        edit="""\
-        replace(old, is_acknowledged=True) if old.seq == action.seq else old
+        replace(old, is_acknowledged=old.seq == action.seq)
""",
        engine=Engine.EXPLORE,
        killer="acknowledgements_are_never_taken_back",
        shortest=6,
    ),
    Mutant(
        name="model-open-raises-the-cap",
        machine="reservation",
        rule="B1",
        why="A caller who opens the intent again with a larger cap means to allow more.",
        file=STEPS,
        edit="""\
     if kept != (action.payload, action.safety, action.cap):
-        return state, Answer.CONFLICT
+        raised = replace(known, cap=max(known.cap, action.cap))
+        return put_intent(state, action.ledger, raised), Answer.OPENED
""",
        engine=Engine.EXPLORE,
        killer="identity_is_permanent",
        shortest=3,
    ),
    Mutant(
        name="model-confirmation-redacts-the-effect",
        machine="reservation",
        rule="B5",
        why="Once an effect is confirmed, its payload is removed from the receiver, for privacy.",
        file=STEPS,
        edit="""\
     )
+    if intent.safety is NON_IDEMPOTENT:
+        effects = tuple(
+            replace(e, payload='') if e.intent_id == intent.intent_id else e
+            for e in state.receiver.effects
+        )
+        receiver = replace(state.receiver, effects=effects)
+        state = replace(state, receiver=receiver)
     outcome = Answer.CONFIRMED if intent.receipt is None else Answer.ALREADY_CONFIRMED
""",
        engine=Engine.EXPLORE,
        killer="calls_and_effects_are_never_taken_back",
        shortest=6,
    ),
    Mutant(
        name="model-confirmation-completes-the-call-log",
        machine="reservation",
        rule="B5",
        why="A receipt proves a call, so one that no worker holds and that isn't logged is added.",
        file=STEPS,
        edit="""\
     )
+    call = Call(ledger.name, intent.intent_id, action.seq)
+    held = [find_held(w, intent.intent_id, action.seq) for w in state.workers]
+    if call not in state.receiver.calls and held == [None] * len(held):
+        calls = tuple(sorted((*state.receiver.calls, call)))
+        state = replace(state, receiver=replace(state.receiver, calls=calls))
     outcome = Answer.CONFIRMED if intent.receipt is None else Answer.ALREADY_CONFIRMED
""",
        engine=Engine.EXPLORE,
        killer="a_call_is_logged_exactly_by_entering",
        shortest=7,
    ),
    Mutant(
        name="model-receipt-with-the-ticket-before",
        machine="reservation",
        rule="B5",
        why="Reads the number of effects for the receipt before the new one is counted.",
        file=STEPS,
        edit="""\
-    receipt = Receipt(permit.intent_id, permit.payload, ticket)
+    receipt = Receipt(permit.intent_id, permit.payload, ticket - 1)
""",
        engine=Engine.EXPLORE,
        killer="a_receipt_names_an_effect",
        shortest=5,
    ),
    Mutant(
        name="model-exhausted-before-unknown",
        machine="reservation",
        rule="B2",
        why="The budget is the cheaper question, so it is asked first.",
        file=STEPS,
        edit="""\
         return state, Answer.CONFIRMED
+    if intent.spent == intent.cap:
+        return state, Answer.EXHAUSTED
""",
        engine=Engine.EXPLORE,
        killer="unknown_stops_a_non_idempotent_intent",
        shortest=4,
    ),
    Mutant(
        name="model-recovery-rebuilds-permits",
        machine="reservation",
        rule="B11",
        why="A worker that comes back finds its permits in the ledger and goes on.",
        file=STEPS,
        edit="""\
-    return put_hand(state, worker, ()), Answer.CRASHED
+    return state, Answer.CRASHED
""",
        engine=Engine.EXPLORE,
        killer="a_crash_loses_hands_and_nothing_else",
        shortest=4,
    ),
    Mutant(
        name="model-attempt-does-not-confirm",
        machine="reservation",
        rule="B12",
        why="The attempt has the receipt and returns it; to store it is the caller's business.",
        file=STEPS,
        edit="""\
-    state, outcome = confirm(state, Confirm(file, intent_id, seq, receipt))
+    _, outcome = confirm(state, Confirm(file, intent_id, seq, receipt))
""",
        engine=Engine.EXPLORE,
        killer="a_confirmation_brings_the_stored_receipt",
        shortest=4,
    ),
)
