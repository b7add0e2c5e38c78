"""Mistakes planted in the answers of both models: one for each property of `answers`.

Each of these leaves no state that is forbidden: a wrong answer is all that can be seen.
"""

from conformance.mutants.mutant import Engine, Mutant

ADMISSION = "model/admission.py"
WORDS = "model/admission_vocabulary.py"
RESERVATION = "model/reservation.py"

ANSWER_MUTANTS = (
    Mutant(
        name="model-redrive-counts-as-a-tick",
        machine="admission",
        rule="A9",
        why="Lets the clock go on with a redrive, so that whatever comes after it is later.",
        file=ADMISSION,
        edit="""\
     queued = move_record(record, QUEUED, generation=record.generation + 1)
-    return put_record(state, queued), Answer.QUEUED
+    return put_record(replace(state, clock=state.clock + 1), queued), Answer.QUEUED
""",
        engine=Engine.EXPLORE,
        killer="only_a_tick_moves_the_clock",
        shortest=5,
    ),
    Mutant(
        name="model-init-accepts-any-limits",
        machine="admission",
        rule="A1",
        why="The store is there, which is all that init has to see to.",
        file=ADMISSION,
        edit="""\
-        return state, Answer.LIMITS_MISMATCH
+        return state, Answer.READY
""",
        engine=Engine.EXPLORE,
        killer="a_store_is_ready_only_for_its_own_limits",
        shortest=2,
    ),
    Mutant(
        name="model-capacity-before-identity",
        machine="admission",
        rule="A2",
        why="Refuses a full store early, before anything else is looked at.",
        file=ADMISSION,
        edit="""\
-    if known is not None:  # at full capacity too, and in every state of the record
-        if known.tenant == action.tenant and known.payload == action.payload:
-            return state, Answer.REPLAY
-        return state, Answer.CONFLICT
@@
         return state, Answer.TENANT_FULL
+    if known is not None:
+        if known.tenant == action.tenant and known.payload == action.payload:
+            return state, Answer.REPLAY
+        return state, Answer.CONFLICT
""",
        engine=Engine.EXPLORE,
        killer="an_admit_is_decided_in_order",
        shortest=3,
    ),
    Mutant(
        name="model-tenants-in-lower-case",
        machine="admission",
        rule="A2",
        why="Writes tenants in lower case, so that one of them is not counted as two.",
        file=ADMISSION,
        edit="""\
-        tenant=action.tenant,
+        tenant=action.tenant.lower(),
""",
        engine=Engine.EXPLORE,
        killer="an_accepted_record_is_what_was_asked_for",
        shortest=2,
    ),
    Mutant(
        name="model-lease-one-tick-shorter",
        machine="admission",
        rule="A8",
        why="The tick in which the lease is given is the first of the five.",
        file=ADMISSION,
        edit="""\
-    lease = action.now + state.lease_ticks
+    lease = action.now + state.lease_ticks - 1
""",
        engine=Engine.EXPLORE,
        killer="a_record_moves_one_step_of_its_life_cycle",
        shortest=3,
    ),
    Mutant(
        name="model-newest-record-first",
        machine="admission",
        rule="A8",
        why="Serves the record that came last, whose caller is still waiting.",
        file=WORDS,
        edit='''\
     """Return the record that a claim hands out: the lowest sequence number that is due (A8)."""
-    for record in state.records:
+    for record in reversed(state.records):
''',
        engine=Engine.EXPLORE,
        killer="a_claim_takes_the_first_record_that_is_due",
        scope="SMALL",
        shortest=4,
    ),
    Mutant(
        name="model-redrive-asks-for-admission-again",
        machine="admission",
        rule="A12",
        why="Queues a record again as admit does, and counts it once more beside its own charge.",
        file=ADMISSION,
        edit="""\
+    if compute_usage(state.records)[0] + 1 > state.limits.global_slots:
+        return state, Answer.STALE
     queued = move_record(record, QUEUED, generation=record.generation + 1)
""",
        engine=Engine.EXPLORE,
        killer="nobody_is_refused_without_a_reason",
        shortest=5,
    ),
    Mutant(
        name="model-init-accepts-any-name",
        machine="reservation",
        rule="B1",
        why="The file is a ledger, and whose it is can be seen in it.",
        file=RESERVATION,
        edit="""\
-        return state, Answer.LEDGER_MISMATCH
+        return state, Answer.READY
""",
        engine=Engine.EXPLORE,
        killer="a_ledger_is_ready_only_under_its_own_name",
        shortest=2,
    ),
    Mutant(
        name="model-opening-compares-the-payload",
        machine="reservation",
        rule="B1",
        why="The payload is what is to be done; safety and cap are how, and may differ.",
        file=RESERVATION,
        edit="""\
-    if kept != (action.payload, action.safety, action.cap):
+    if kept[0] != action.payload:
""",
        engine=Engine.EXPLORE,
        killer="an_intent_is_opened_as_it_was_asked_for",
        shortest=3,
    ),
    Mutant(
        name="model-exhausted-before-confirmed",
        machine="reservation",
        rule="B2",
        why="The budget is the cheaper question, so it is asked first.",
        file=RESERVATION,
        edit="""\
+    if intent.spent == intent.cap and not has_unacknowledged(intent):
+        return state, Answer.EXHAUSTED
     if intent.receipt is not None:
         return state, Answer.CONFIRMED
""",
        engine=Engine.EXPLORE,
        killer="a_reservation_is_decided_in_order",
        shortest=5,
    ),
    Mutant(
        name="model-a-repeat-is-a-conflict",
        machine="reservation",
        rule="B5",
        why="An id that was used before is used up, whatever comes along with it.",
        file=RESERVATION,
        edit="""\
-    if known is not None and known != identity:
+    if known is not None:
""",
        engine=Engine.EXPLORE,
        killer="the_first_call_decides_what_an_id_is",
        shortest=6,
    ),
    Mutant(
        name="model-a-receipt-acknowledges-all",
        machine="reservation",
        rule="B6",
        why="A receipt is for the intent, so it acknowledges every reservation that was made.",
        file=RESERVATION,
        edit="""\
-        replace(old, is_acknowledged=True) if old.seq == action.seq else old
-        for old in intent.reservations
+        replace(old, is_acknowledged=True) for old in intent.reservations
""",
        engine=Engine.EXPLORE,
        killer="a_confirmation_is_for_its_own_reservation",
        shortest=7,
    ),
    Mutant(
        name="model-confirmation-empties-hands",
        machine="reservation",
        rule="B7",
        why="A confirmed intent needs no further call, so that its permits are taken back.",
        file=RESERVATION,
        edit="""\
+    for worker in state.workers:
+        if worker.ledger == action.ledger:
+            for held in worker.hand:
+                state = drop_permit(state, worker.name, action.intent_id, held.permit.seq)
     outcome = Answer.CONFIRMED if intent.receipt is None else Answer.ALREADY_CONFIRMED
""",
        engine=Engine.EXPLORE,
        killer="only_its_own_worker_changes_a_hand",
        shortest=5,
    ),
)
