"""Mistakes planted in the model of durable admission: one for each property, its only killer.

Reading hint: the killers stand in the order of `model.admission_properties`.
"""

from conformance.mutants.mutant import Engine, Mutant

STEPS = "model/admission.py"
WORDS = "model/admission_vocabulary.py"
SCOPE = "model/admission_scope.py"

ADMISSION_MODEL_MUTANTS = (
    Mutant(
        name="model-capacity-checked-before-adding",
        machine="admission",
        rule="A4",
        why="Asks whether the store is over a limit already, and forgets the record to come.",
        file=STEPS,
        edit="""\
-    if count + 1 > limits.global_slots or used_bytes + size_bytes > limits.global_bytes:
+    if count > limits.global_slots or used_bytes > limits.global_bytes:
""",
        engine=Engine.EXPLORE,
        killer="outstanding_work_stays_within_the_limits",
        shortest=3,
    ),
    Mutant(
        name="model-sequence-from-zero",
        machine="admission",
        rule="A8",
        why="Numbers the records from 0, as indexes go, and finds them by their id.",
        file=STEPS,
        edit="""\
-    put_record,
     set_clock,
 )
+
+
+def put_record(state: State, record: Record) -> State:
+    same = record.request_id
+    return replace(
+        state, records=tuple(record if r.request_id == same else r for r in state.records)
+    )
@@
-        sequence=len(state.records) + 1,
+        sequence=len(state.records),
""",
        engine=Engine.EXPLORE,
        killer="sequence_numbers_count_the_admissions",
        shortest=2,
    ),
    Mutant(
        name="model-done-without-effect",
        machine="admission",
        rule="A10",
        why="Takes the state done for the effect itself.",
        file=STEPS,
        edit="""\
-    return put_record(replace(state, effects=effects), done), Answer.DONE
+    return put_record(state, done), Answer.DONE
""",
        engine=Engine.EXPLORE,
        killer="a_record_is_done_exactly_when_it_has_one_effect",
        shortest=4,
    ),
    Mutant(
        name="model-quarantine-keeps-the-lease",
        machine="admission",
        rule="A11",
        why="Keeps the lease of a record that is set aside, to show how long it had been held.",
        file=STEPS,
        edit="""\
-    return put_record(state, move_record(held, QUARANTINED)), Answer.QUARANTINED
+    return put_record(state, move_record(held, QUARANTINED, lease=held.lease)), Answer.QUARANTINED
""",
        engine=Engine.EXPLORE,
        killer="a_record_has_a_lease_exactly_when_inflight",
        shortest=4,
    ),
    Mutant(
        name="model-cancel-takes-a-generation",
        machine="admission",
        rule="A13",
        why="Raises the generation with every change of state, so that any older token is void.",
        file=STEPS,
        edit="""\
-    return put_record(state, move_record(record, CANCELLED)), Answer.CANCELLED
+    cancelled = move_record(record, CANCELLED, generation=record.generation + 1)
+    return put_record(state, cancelled), Answer.CANCELLED
""",
        engine=Engine.EXPLORE,
        killer="generations_fit_the_state_of_their_record",
        shortest=3,
    ),
    Mutant(
        name="model-cancellation-is-logged-as-a-record",
        machine="admission",
        rule="A14",
        why="Appends the cancellation to the history as a row of its own, as an audit log would.",
        file=STEPS,
        edit="""\
-    return put_record(state, move_record(record, CANCELLED)), Answer.CANCELLED
+    state = put_record(state, move_record(record, CANCELLED))
+    entry = replace(
+        move_record(record, CANCELLED), sequence=len(state.records) + 1
+    )
+    return replace(state, records=(*state.records, entry)), Answer.CANCELLED
""",
        engine=Engine.EXPLORE,
        killer="ids_are_unique",
        shortest=3,
        also=("identity_is_permanent", "terminal_is_for_ever"),
    ),
    Mutant(
        name="model-an-old-record-sized-in-characters",
        machine="admission",
        rule="A5",
        why="Takes the length of the text for its size, as everywhere else in Python.",
        file=SCOPE,
        edit="""\
-        size_bytes=len(payload.encode()),
+        size_bytes=len(payload),
""",
        engine=Engine.EXPLORE,
        killer="a_size_is_the_length_in_utf8_bytes",
        shortest=0,
        note="The mistake is in a state from which the search starts. In a step it breaks "
        "usage_moves_only_by_acceptance_and_by_a_terminal_state or identity_is_permanent too: "
        "these two imply the property along a search, and it alone judges a single state.",
    ),
    Mutant(
        name="model-lease-one-tick-longer",
        machine="admission",
        rule="A8",
        why="The lease is to last five whole ticks after the one in which it was given.",
        file=STEPS,
        edit="""\
-    lease = action.now + state.lease_ticks
+    lease = action.now + state.lease_ticks + 1
""",
        engine=Engine.EXPLORE,
        killer="generations_and_leases_keep_their_bounds",
        shortest=3,
    ),
    Mutant(
        name="model-claim-on-an-absent-store",
        machine="admission",
        rule="A1",
        why="Nothing is due in a store that isn't there, so claim needs no guard of its own.",
        file=STEPS,
        edit='''\
     """Hand out the first record that is due, under a new generation and a new lease (A8)."""
-    if state.limits is None:
-        return state, Answer.STORE_MISSING
''',
        engine=Engine.EXPLORE,
        killer="an_absent_store_is_empty",
        shortest=1,
    ),
    Mutant(
        name="model-late-token-requeues",
        machine="admission",
        rule="A10",
        why="A token that comes too late shows that the lease has expired, so the record is "
        "queued at once.",
        file=STEPS,
        edit="""\
-        return set_clock(state, action.now), Answer.STALE  # the clock moves all the same (A9)
+        state = set_clock(state, action.now)
+        late = find_record(state, action.token.request_id)
+        if late is None or late.lease is None or late.lease > action.now:
+            return state, Answer.STALE
+        return put_record(state, move_record(late, QUEUED)), Answer.STALE
""",
        engine=Engine.EXPLORE,
        killer="refusals_change_nothing",
        shortest=4,
    ),
    Mutant(
        name="model-a-stale-token-keeps-the-clock",
        machine="admission",
        rule="A9",
        why="A call that changes nothing else leaves the clock as it is, too.",
        file=STEPS,
        edit="""\
-        return set_clock(state, action.now), Answer.STALE  # the clock moves all the same (A9)
+        return state, Answer.STALE
""",
        engine=Engine.EXPLORE,
        killer="the_clock_never_goes_back",
        shortest=2,
    ),
    Mutant(
        name="model-redrive-starts-afresh",
        machine="admission",
        rule="A12",
        why="A record that somebody has looked at gets a clean start, as if never claimed.",
        file=STEPS,
        edit="""\
-    queued = move_record(record, QUEUED, generation=record.generation + 1)
+    queued = move_record(record, QUEUED, generation=0)
""",
        engine=Engine.EXPLORE,
        killer="generations_never_go_down",
        shortest=5,
    ),
    Mutant(
        name="model-claim-voids-finished-tokens",
        machine="admission",
        rule="A14",
        why="Each claim raises the generation of the finished records too, to fence their tokens.",
        file=STEPS,
        edit="""\
-    return put_record(set_clock(state, action.now), claimed), Claimed(token)
+    fenced = tuple(
+        replace(r, generation=r.generation + 1)
+        if r.state is DONE and r.generation < GENERATION_MAX
+        else r
+        for r in state.records
+    )
+    state = replace(set_clock(state, action.now), records=fenced)
+    return put_record(state, claimed), Claimed(token)
""",
        engine=Engine.EXPLORE,
        killer="terminal_is_for_ever",
        shortest=6,
    ),
    Mutant(
        name="model-claim-folds-the-payload",
        machine="admission",
        rule="A2",
        why="Hands the payload out in one form of upper and lower case, and stores that form.",
        file=STEPS,
        edit="""\
     claimed = move_record(due, INFLIGHT, generation=generation, lease=lease)
+    claimed = replace(claimed, payload=due.payload.upper())
""",
        engine=Engine.EXPLORE,
        killer="identity_is_permanent",
        scope="SMALL",
        shortest=3,
    ),
    Mutant(
        name="model-init-takes-other-limits",
        machine="admission",
        rule="A1",
        why="Whoever starts the service with new limits wants them to be used.",
        file=STEPS,
        edit="""\
-        return state, Answer.LIMITS_MISMATCH
+        return replace(state, limits=action.limits), Answer.READY
""",
        engine=Engine.EXPLORE,
        killer="limits_never_change",
        shortest=2,
    ),
    Mutant(
        name="model-admit-evicts-unstarted-work",
        machine="admission",
        rule="A7",
        why="A full store makes room by cancelling the oldest record that nobody has started.",
        file=STEPS,
        edit="""\
-        return state, Answer.GLOBAL_FULL
+        unstarted = [r for r in state.records if r.state is QUEUED and r.generation == 0]
+        if not unstarted:
+            return state, Answer.GLOBAL_FULL
+        return admit(put_record(state, move_record(unstarted[0], CANCELLED)), action)
""",
        engine=Engine.EXPLORE,
        killer="usage_moves_only_by_acceptance_and_by_a_terminal_state",
        shortest=3,
    ),
    Mutant(
        name="model-reclaim-keeps-the-generation",
        machine="admission",
        rule="A8",
        why="A record that is claimed again after its lease is the same piece of work.",
        file=STEPS,
        edit="""\
-    generation = due.generation + 1
+    generation = due.generation + (due.state is QUEUED)
""",
        engine=Engine.EXPLORE,
        killer="a_new_token_is_newer_than_every_earlier_one",
        shortest=4,
    ),
    Mutant(
        name="model-resolve-ignores-the-generation",
        machine="admission",
        rule="A10",
        why="The lease is what counts: whoever brings the id while it runs may finish the record.",
        file=WORDS,
        edit="""\
-    if record is None or record.state is not INFLIGHT or record.generation != token.generation:
+    if record is None or record.state is not INFLIGHT:
""",
        engine=Engine.EXPLORE,
        killer="only_the_current_token_finishes_a_record",
        shortest=4,
    ),
    Mutant(
        name="model-cancel-completes",
        machine="admission",
        rule="A13",
        why="One terminal state is enough: a withdrawn record is finished by the ordinary way.",
        file=STEPS,
        edit="""\
-    return put_record(state, move_record(record, CANCELLED)), Answer.CANCELLED
+    effect = Effect(record.sequence, record.request_id)
+    effects = tuple(sorted((*state.effects, effect), key=lambda e: e.sequence))
+    done = move_record(record, DONE, generation=1)
+    return put_record(replace(state, effects=effects), done), Answer.CANCELLED
""",
        engine=Engine.EXPLORE,
        killer="a_claimed_record_is_never_cancelled",
        shortest=3,
        note="That a claimed record is cancelled is forbidden twice more along a search: by "
        "generations_fit_the_state_of_their_record, and with the generation set back to 0 by "
        "generations_never_go_down.",
    ),
)
