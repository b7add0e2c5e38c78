"""Mistakes planted in what becomes of a record in SQLite, and in how its store is kept."""

from conformance.mutants.mutant import Engine, Mutant

STORE = "impl/sqlite/admission_store.py"
CALLS = "impl/sqlite/admission.py"
SCHEMA = "impl/sqlite/admission.sql"
CONNECTION = "impl/sqlite/connection.py"

RECORD_MUTANTS = (
    Mutant(
        name="lease-boundary-exclusive",
        machine="admission",
        rule="A8",
        why="A lease that ends at tick 5 is taken to hold during tick 5.",
        file=STORE,
        edit="""\
-                  and (state = 'queued' or (state = 'inflight' and lease <= :now))
+                  and (state = 'queued' or (state = 'inflight' and lease < :now))
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="newest-record-first",
        machine="admission",
        rule="A8",
        why="Serves the record that came last, whose caller is still waiting.",
        file=STORE,
        edit="""\
                   and (state = 'queued' or (state = 'inflight' and lease <= :now))
-                order by sequence
+                order by sequence desc
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="SMALL",
        shortest=4,
    ),
    Mutant(
        name="claim-without-an-order",
        machine="admission",
        rule="A8",
        why="The index gives the records in the order of admission, so that no order is asked for.",
        file=STORE,
        edit="""\
                   and (state = 'queued' or (state = 'inflight' and lease <= :now))
-                order by sequence
""",
        engine=None,
        scope="SMALL",
        note="Equivalent: `indexed by` holds the query to an index that begins with the sequence "
        "number, and SQLite reads it from its beginning. Nothing promises that it always "
        "will.",
    ),
    Mutant(
        name="reclaim-keeps-the-generation",
        machine="admission",
        rule="A8",
        why="A record that is claimed again after its lease is the same piece of work.",
        file=STORE,
        edit="""\
-                select request_id, generation
+                select request_id, generation, state
@@
-            request_id, generation = due
+            request_id, generation, state = due
+            generation -= state == 'inflight'
@@
-                set state = 'inflight', generation = generation + 1, lease = :lease
+                set state = 'inflight', generation = generation + (state = 'queued'),
+                    lease = :lease
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="claim-skips-exhausted-generations",
        machine="admission",
        rule="A16",
        why="One record that can't be claimed any more must not stop all the others.",
        file=STORE,
        edit="""\
                   and (state = 'queued' or (state = 'inflight' and lease <= :now))
+                  and generation < 1000000000
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=2,
    ),
    Mutant(
        name="resolve-ignores-the-generation",
        machine="admission",
        rule="A10",
        why="The lease is what counts: whoever brings the id while it runs may finish the record.",
        file=STORE,
        edit='''\
                 from task
                 where request_id = :request_id and state = 'inflight'
-                  and generation = :generation and lease > :now
+                  and lease > :now
                 """,
''',
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="resolve-ignores-the-lease",
        machine="admission",
        rule="A10",
        why="The work is done, and nobody else has claimed it: it would be a waste to refuse it.",
        file=STORE,
        edit='''\
                 from task
                 where request_id = :request_id and state = 'inflight'
-                  and generation = :generation and lease > :now
+                  and generation = :generation
                 """,
''',
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="effect-in-a-second-transaction",
        machine="admission",
        rule="A10",
        why="Marks the record done first, and does the business when nobody can claim it any more.",
        file=STORE,
        edit="""\
-                insert into effect (request_id, value)
-                select request_id, 'synthetic-completed'
-                from task
+                update task set state = 'done', lease = null
@@
                 return ResolveOutcome.STALE
+        with transaction(connection):
@@
-                "update task set state = 'done', lease = null where request_id = :request_id",
+                "insert into effect (request_id, value)"
+                " values (:request_id, 'synthetic-completed')",
""",
        engine=Engine.CRASH,
        note="Only an exit between the two commits shows it. No constraint forbids a done task "
        "without an effect: SQL can't say it of the pair in this direction without a column "
        "more.",
    ),
    Mutant(
        name="redrive-keeps-the-generation",
        machine="admission",
        rule="A12",
        why="Nobody holds a token of a record that was set aside, so none has to be voided.",
        file=STORE,
        edit="""\
-                set state = 'queued', generation = generation + 1
+                set state = 'queued'
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=5,
        note="A queued task is never at generation 1.",
    ),
    Mutant(
        name="redrive-ignores-the-generation",
        machine="admission",
        rule="A12",
        why="Whoever redrives has looked at the record itself, and not at a token.",
        file=STORE,
        edit="""\
-                  and generation = :generation
@@
-                {"request_id": request_id, "generation": generation},
+                {"request_id": request_id},
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=5,
    ),
    Mutant(
        name="cancel-after-a-claim",
        machine="admission",
        rule="A13",
        why="A record that is queued again is in nobody's hands, so it can be withdrawn.",
        file=STORE,
        edit="""\
-                where request_id = :request_id and state = 'queued' and generation = 0
+                where request_id = :request_id and state = 'queued'
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=6,
        note="A cancelled task is at generation 0.",
    ),
    Mutant(
        name="cancelled-records-purged",
        machine="admission",
        rule="A14",
        why="A request that was withdrawn before anyone saw it leaves nothing worth keeping.",
        file=STORE,
        edit="""\
             expect_one_row(updated)
+            for table in ("task", "intent"):
+                connection.execute(
+                    f"delete from {table} where request_id = :request_id",
+                    {"request_id": request_id},
+                )
         return CancelOutcome.CANCELLED
""",
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=3,
    ),
    Mutant(
        name="init-takes-other-limits",
        machine="admission",
        rule="A1",
        why="Whoever starts the service with new limits wants them to be used.",
        file=CALLS,
        edit="""\
-            raise LimitsMismatch(f"the store was created with {stored}; {limits} was asked for")
+            connection.execute(
+                "update store set global_slots = :global_slots,"
+                " global_bytes = :global_bytes, tenant_slots = :tenant_slots,"
+                " tenant_bytes = :tenant_bytes, item_bytes = :item_bytes",
+                asdict(limits),
+            )
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=2,
    ),
    Mutant(
        name="clock-may-go-back",
        machine="admission",
        rule="A9",
        why="Callers on several machines have clocks that differ, and none of them is wrong.",
        file=STORE,
        edit="""\
-        if now < clock:
-            raise ClockRegression(
-                f"now is {now}; the stored clock is {clock}, and it never goes back"
-            )
-        if now > clock:
+        if now != clock:
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=3,
    ),
    Mutant(
        name="clock-stored-only-with-work",
        machine="admission",
        rule="A9",
        why="Saves the write where a claim has found nothing.",
        file=STORE,
        edit="""\
         with transaction(connection):
-            self._advance_clock(now)
             due = connection.execute(
@@
                 return None
+            self._advance_clock(now)
""",
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=2,
    ),
    Mutant(
        name="usage-counts-finished-work",
        machine="admission",
        rule="A15",
        why="Shows all that a tenant has ever asked for, as a bill would.",
        file=STORE,
        edit="""\
                 select tenant, count(*), sum(size)
-                from task indexed by task_outstanding
-                where state in ('queued', 'inflight', 'quarantined')
+                from task
""",
        engine=Engine.EXHAUSTIVE,
        killer="snapshot",
        shortest=3,
    ),
    Mutant(
        name="schema-lease-bound-too-high",
        machine="admission",
        rule="A8",
        why="No claim comes before the first tick, which is 1, so that no lease ends before 6.",
        file=SCHEMA,
        edit="""\
-    lease integer check (lease between 5 and 1000000005),
+    lease integer check (lease between 6 and 1000000005),
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=3,
    ),
    Mutant(
        name="busy-reported-as-full",
        machine="admission",
        rule="A6",
        why="A store that can't be locked has no room for more work, so the caller hears that.",
        file=STORE,
        edit="""\

+import sqlite3
 from dataclasses import asdict, dataclass
@@
     def admit(self, request_id: str, tenant: str, payload: str) -> AdmitOutcome:
+        try:
+            return self._admit(request_id, tenant, payload)
+        except sqlite3.OperationalError:
+            return AdmitOutcome.GLOBAL_FULL
+
+    def _admit(self, request_id: str, tenant: str, payload: str) -> AdmitOutcome:
""",
        engine=Engine.RACE,
        note="No lone caller ever waits for the lock.",
    ),
    Mutant(
        name="deferred-for-immediate",
        machine="admission",
        rule="A6",
        why="Takes the write lock only when something is written: most calls are refused anyway.",
        file=CONNECTION,
        edit="""\
-    with _bracket(connection, "begin immediate"):
+    with _bracket(connection, "begin deferred"):
""",
        engine=Engine.RACE,
        note="A lone caller gets the write lock whenever it asks.",
    ),
    Mutant(
        name="synchronous-normal",
        machine="admission",
        rule="C4",
        why="In WAL mode NORMAL is the setting that most guides recommend, and it is faster.",
        file=CONNECTION,
        edit="""\
-    synchronous: str = "full"
+    synchronous: str = "normal"
""",
        engine=Engine.POWER_LOSS,
        note="A process exit keeps what the operating system holds; only a power loss takes it.",
    ),
)
