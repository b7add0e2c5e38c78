"""Mistakes planted in the model of the dispatch budget: one for each invariant, its killer.

Reading hint: the killers stand in the order of `model.reservation_properties`.
"""

from conformance.mutants.mutant import Engine, Mutant

STEPS = "model/reservation.py"

RESERVATION_INVARIANT_MUTANTS = (
    Mutant(
        name="model-one-more-than-the-cap",
        machine="reservation",
        rule="B2",
        why="Compares with > instead of =, so that a cap that was passed is noticed too.",
        file=STEPS,
        edit="""\
-    if intent.spent == intent.cap:
+    if intent.spent > intent.cap:
""",
        engine=Engine.EXPLORE,
        killer="calls_stay_within_spent_and_spent_within_the_cap",
        shortest=5,
    ),
    Mutant(
        name="model-attempt-signs-with-the-worker",
        machine="reservation",
        rule="B5",
        why="Puts the name of the worker in place of the ledger's, to see in the log who called.",
        file=STEPS,
        edit="""\
     if len(earlier) == len(("reserved",)):
+        mine = find_worker(state, worker)
+        signed = replace(mine.hand[-1].permit, ledger=worker)
+        state = put_hand(state, mine, (*mine.hand[:-1], Held(signed)))
""",
        engine=Engine.EXPLORE,
        killer="every_call_has_an_intent",
        shortest=4,
    ),
    Mutant(
        name="model-newest-reservation-first",
        machine="reservation",
        rule="B9",
        why="Keeps the newest reservation at the front, where it is looked for most often.",
        file=STEPS,
        edit="""\
-    reservations = (*intent.reservations, Reservation(seq))
+    reservations = (Reservation(seq), *intent.reservations)
""",
        engine=Engine.EXPLORE,
        killer="reservations_are_numbered_up_to_spent",
        shortest=4,
    ),
    Mutant(
        name="model-attempt-sends-an-old-reservation-again",
        machine="reservation",
        rule="B4",
        why="Repeats the last call that arrived, since the receiver knows its number already.",
        file=STEPS,
        edit="""\
     seq = find_seq(earlier)
+    calls = state.receiver.calls
+    logged = [c.seq for c in calls if (c.ledger, c.intent_id) == (file, intent_id)]
+    sent = min(logged, default=seq)
@@
-        state, outcome = enter(state, Enter(worker, intent_id, seq))
+        mine = find_worker(state, worker)
+        repeated = replace(mine.hand[-1].permit, seq=sent)
+        others = tuple(held for held in mine.hand[:-1] if held.permit != repeated)
+        state = put_hand(state, mine, (*others, Held(repeated)))
+        state, outcome = enter(state, Enter(worker, intent_id, sent))
@@
-        state, outcome = perform(state, Perform(worker, intent_id, seq))
+        state, outcome = perform(state, Perform(worker, intent_id, sent))
@@
-            return drop_permit(state, worker, intent_id, seq), outcome, True
+            return drop_permit(state, worker, intent_id, sent), outcome, True
@@
-    return drop_permit(state, worker, intent_id, seq), ended, True
+    return drop_permit(state, worker, intent_id, sent), ended, True
""",
        engine=Engine.EXPLORE,
        killer="each_reservation_enters_at_most_once",
        shortest=6,
    ),
    Mutant(
        name="model-a-second-effect-for-the-audit",
        machine="reservation",
        rule="B9",
        why="Writes a second row beside each effect that can't be repeated, for the audit.",
        file=STEPS,
        edit="""\
     effects = (*receiver.effects, Effect(ticket, permit.intent_id, permit.payload))
+    if permit.safety is NON_IDEMPOTENT:
+        effects = (*effects, replace(effects[-1], ticket=ticket + 1))
""",
        engine=Engine.EXPLORE,
        killer="effects_stay_within_calls",
        shortest=4,
    ),
    Mutant(
        name="model-no-deduplication",
        machine="reservation",
        rule="B5",
        why="Checks a repeated call for a conflict, and takes that for the whole deduplication.",
        file=STEPS,
        edit="""\
-    if known is not None and known.safety is IDEMPOTENT:
-        effect = next(e for e in receiver.effects if e.intent_id == permit.intent_id)
-        return state, Received(Receipt(effect.intent_id, effect.payload, effect.ticket))
""",
        engine=Engine.EXPLORE,
        killer="an_idempotent_id_has_at_most_one_effect",
        shortest=6,
    ),
    Mutant(
        name="model-identity-of-idempotent-ids-alone",
        machine="reservation",
        rule="B5",
        why="Keeps an identity only where there is something to deduplicate.",
        file=STEPS,
        edit="""\
     identities = receiver.identities
-    if known is None:
+    if known is None and permit.safety is IDEMPOTENT:
""",
        engine=Engine.EXPLORE,
        killer="the_receiver_knows_an_id_exactly_when_it_has_an_effect",
        shortest=4,
    ),
    Mutant(
        name="model-ticket-from-the-call-log",
        machine="reservation",
        rule="B5",
        why="Numbers the effects like the calls that made them.",
        file=STEPS,
        edit="""\
-    ticket = len(receiver.effects) + 1
+    ticket = len(receiver.calls)
""",
        engine=Engine.EXPLORE,
        killer="tickets_count_the_effects",
        shortest=6,
    ),
    Mutant(
        name="model-unknown-ignored",
        machine="reservation",
        rule="B8",
        why="Leaves a second try to the cap, which the caller has chosen for this intent.",
        file=STEPS,
        edit="""\
-    if intent.safety is NON_IDEMPOTENT and has_unacknowledged(intent):
-        return state, Answer.UNKNOWN  # whatever is left of the budget (B8)
""",
        engine=Engine.EXPLORE,
        killer="a_non_idempotent_intent_spends_at_most_one",
        scope="SMALL",
        shortest=4,
        also=("unknown_stops_a_non_idempotent_intent",),
    ),
    Mutant(
        name="model-receipt-without-acknowledgement",
        machine="reservation",
        rule="B6",
        why="The stored receipt says that the intent is confirmed, and the flag says it again.",
        file=STEPS,
        edit="""\
-    acknowledged = replace(intent, receipt=action.receipt, reservations=reservations)
+    acknowledged = replace(intent, receipt=action.receipt)
""",
        engine=Engine.EXPLORE,
        killer="confirmed_exactly_when_a_reservation_is_acknowledged",
        shortest=4,
    ),
    Mutant(
        name="model-any-receipt-confirms",
        machine="reservation",
        rule="B6",
        why="Receipts come from the receiver, so what stands in one is not checked again.",
        file=STEPS,
        edit="""\
-    if (action.receipt.intent_id, action.receipt.payload) != (intent.intent_id, intent.payload):
-        return state, Answer.REJECTED
""",
        engine=Engine.EXPLORE,
        killer="a_stored_receipt_is_for_its_intent",
        scope="SMALL",
        shortest=4,
    ),
    Mutant(
        name="model-permit-numbered-after-the-cap",
        machine="reservation",
        rule="B2",
        why="Numbers the permits that go out after those of the ledger's own attempts.",
        file=STEPS,
        edit="""\
-    return put_hand(state, worker, (*worker.hand, Held(permit))), Reserved(permit)
+    later = replace(permit, seq=seq + intent.cap)
+    return put_hand(state, worker, (*worker.hand, Held(later))), Reserved(permit)
@@
         state, outcome = reserve(state, Reserve(worker, intent_id))
+        if isinstance(outcome, Reserved):
+            mine = find_worker(state, worker)
+            state = put_hand(state, mine, (*mine.hand[:-1], Held(outcome.permit)))
""",
        engine=Engine.EXPLORE,
        killer="a_permit_belongs_to_a_committed_reservation",
        shortest=3,
    ),
    Mutant(
        name="model-spare-permit",
        machine="reservation",
        rule="B4",
        why="Keeps a second copy of the permit in the hand, for a repetition after a timeout.",
        file=STEPS,
        edit="""\
-    return put_hand(state, worker, (*worker.hand, Held(permit))), Reserved(permit)
+    return put_hand(state, worker, (*worker.hand, Held(permit), Held(permit))), Reserved(permit)
""",
        engine=Engine.EXPLORE,
        killer="a_permit_is_in_one_hand",
        shortest=3,
    ),
    Mutant(
        name="model-one-live-permit-a-worker",
        machine="reservation",
        rule="B4",
        why="A worker that gets a new permit has its earlier ones marked used, sent or not.",
        file=STEPS,
        edit="""\
-    return put_hand(state, worker, (*worker.hand, Held(permit))), Reserved(permit)
+    earlier = tuple(Held(held.permit, Stage.USED) for held in worker.hand)
+    return put_hand(state, worker, (*earlier, Held(permit))), Reserved(permit)
""",
        engine=Engine.EXPLORE,
        killer="a_permit_that_has_entered_is_in_the_call_log",
        shortest=4,
    ),
)
