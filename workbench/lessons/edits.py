"""Changes that only lessons make: one line in most cases, written as a planted mistake is.

The catalogue of `conformance.mutants` has one mistake for each property; these have a reader.
"""

from conformance.mutants.mutant import Engine, Mutant

ADMISSION_STEPS = "model/admission.py"
ADMISSION_WORDS = "model/admission_vocabulary.py"
RESERVATION_STEPS = "model/reservation.py"

ROOM_FOR_ONE_LESS = Mutant(
    name="room-for-one-less",
    machine="admission",
    rule="A4",
    why="Keeps one slot free, to be on the safe side.",
    file=ADMISSION_STEPS,
    edit="""\
-    if count + 1 > limits.global_slots or used_bytes + size_bytes > limits.global_bytes:
+    if count + 1 >= limits.global_slots or used_bytes + size_bytes > limits.global_bytes:
""",
    engine=Engine.EXPLORE,
    killer="an_admit_is_decided_in_order",
    shortest=2,
)

SIZE_IN_CHARACTERS = Mutant(
    name="size-in-characters",
    machine="admission",
    rule="A5",
    why="Takes the length of the text, as everywhere else in Python.",
    file=ADMISSION_STEPS,
    edit="""\
-    size_bytes = len(action.payload.encode())  # bytes, not characters (A5)
+    size_bytes = len(action.payload)
""",
    engine=Engine.EXPLORE,
    killer="a_size_is_the_length_in_utf8_bytes",
    shortest=2,
)

QUARANTINE_IS_FREE = Mutant(
    name="quarantine-is-free",
    machine="admission",
    rule="A7",
    why="Work that was set aside must not keep good work out.",
    file=ADMISSION_WORDS,
    edit="""\
-OUTSTANDING = frozenset({QUEUED, INFLIGHT, QUARANTINED})
+OUTSTANDING = frozenset({QUEUED, INFLIGHT})
""",
    engine=Engine.EXPLORE,
    killer="usage_moves_only_by_acceptance_and_by_a_terminal_state",
    shortest=4,
)

LEASE_HOLDS_AT_ITS_END = Mutant(
    name="lease-holds-at-its-end",
    machine="admission",
    rule="A10",
    why="A lease that ends at tick 5 is taken to hold during tick 5.",
    file=ADMISSION_WORDS,
    edit="""\
-    return record if record.lease is not None and record.lease > now else None
+    return record if record.lease is not None and record.lease >= now else None
""",
    engine=Engine.EXPLORE,
    killer="only_the_current_token_finishes_a_record",
    shortest=4,
)

CANCEL_WHAT_IS_QUEUED = Mutant(
    name="cancel-what-is-queued",
    machine="admission",
    rule="A13",
    why="A record that is queued is in nobody's hands, so it can be withdrawn.",
    file=ADMISSION_STEPS,
    edit="""\
-    if record is None or record.state is not QUEUED or record.generation != 0:
+    if record is None or record.state is not QUEUED:
""",
    engine=Engine.EXPLORE,
    killer="a_claimed_record_is_never_cancelled",
    shortest=6,
)

FINISHED_IDS_ARE_FREE = Mutant(
    name="finished-ids-are-free",
    machine="admission",
    rule="A14",
    why="An id whose work is finished is free again, as with a lock that was released.",
    file=ADMISSION_STEPS,
    edit="""\
-    if known is not None:  # at full capacity too, and in every state of the record
+    if known is not None and known.state in {QUEUED, INFLIGHT, QUARANTINED}:
""",
    engine=Engine.EXPLORE,
    killer="an_admit_is_decided_in_order",
    shortest=4,
)

ONE_MORE_THAN_THE_CAP = Mutant(
    name="one-more-than-the-cap",
    machine="reservation",
    rule="B9",
    why="Compares with > in place of ==, so that a cap that was passed is noticed too.",
    file=RESERVATION_STEPS,
    edit="""\
-    if intent.spent == intent.cap:
+    if intent.spent > intent.cap:
""",
    engine=Engine.EXPLORE,
    killer="calls_stay_within_spent_and_spent_within_the_cap",
    shortest=5,
)

SPENT_IS_NOT_WRITTEN = Mutant(
    name="spent-is-not-written",
    machine="reservation",
    rule="B2",
    why="The reservations can be counted, so the number beside them is not written.",
    file=RESERVATION_STEPS,
    edit="""\
-    spent = replace(intent, spent=seq, reservations=reservations)
+    spent = replace(intent, reservations=reservations)
""",
    engine=Engine.EXPLORE,
    killer="reservations_are_numbered_up_to_spent",
    shortest=3,
)

CONFIRMED_GIVES_BACK = Mutant(
    name="confirmed-gives-back",
    machine="reservation",
    rule="B3",
    why="A confirmed intent needs no budget any more, so a unit goes back.",
    file=RESERVATION_STEPS,
    edit="""\
     acknowledged = replace(intent, receipt=action.receipt, reservations=reservations)
+    acknowledged = replace(acknowledged, spent=intent.spent - 1)
""",
    engine=Engine.EXPLORE,
    killer="reservations_are_numbered_up_to_spent",
    shortest=4,
)

A_PERMIT_WHILE_NOTHING_WAS_SENT = Mutant(
    name="a-permit-while-nothing-was-sent",
    machine="reservation",
    rule="B10",
    why="The budget is there to bound calls. While no call was made, none can be too many.",
    file=RESERVATION_STEPS,
    edit="""\
-    if intent.spent == intent.cap:
+    calls = [call for call in state.receiver.calls if call.intent_id == intent.intent_id]
+    if intent.spent >= intent.cap and calls:
""",
    engine=Engine.EXPLORE,
    killer="calls_stay_within_spent_and_spent_within_the_cap",
    shortest=5,
)

A_CRASH_GIVES_BACK = Mutant(
    name="a-crash-gives-back",
    machine="reservation",
    rule="B3",
    why="What a dead process held and never sent can't be sent any more, so it goes back.",
    file=RESERVATION_STEPS,
    edit="""\
     if not worker.hand:
         return state, Answer.CRASHED
+    for held in worker.hand:
+        intent = find_intent(find_ledger(state, worker.ledger), held.permit.intent_id)
+        if intent is not None and held.stage is Stage.FRESH:
+            state = put_intent(state, worker.ledger, replace(intent, spent=intent.spent - 1))
""",
    engine=Engine.EXPLORE,
    killer="reservations_are_numbered_up_to_spent",
    shortest=4,
)

KEEP_A_SLOT = Mutant(
    name="keep-a-slot",
    machine="admission",
    rule="A18",
    why="The last slot is for a tenant that has none, so that nobody is shut out.",
    file=ADMISSION_STEPS,
    edit="""\
     count, used_bytes = compute_usage(state.records)
+    if count + 1 == limits.global_slots and compute_usage(state.records, action.tenant)[0]:
+        return state, Answer.GLOBAL_FULL
""",
    engine=Engine.EXPLORE,
    scope="X",
    killer="an_admit_is_decided_in_order",
    shortest=2,
)

NO_SYNC_AT_ALL = Mutant(
    name="no-sync-at-all",
    machine="admission",
    rule="C4",
    why="The operating system will write it anyway.",
    file="impl/sqlite/connection.py",
    edit="""\
-    synchronous: str = "full"
+    synchronous: str = "off"
""",
    engine=None,
)
