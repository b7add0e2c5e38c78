"""Mistakes planted in the receiver on SQLite, and in the permit that a sender brings to it."""

from conformance.mutants.mutant import Engine, Mutant

RECEIVER = "impl/sqlite/receiver.py"
SCHEMA = "impl/sqlite/receiver.sql"

RECEIVER_MUTANTS = (
    Mutant(
        name="deduplication-in-a-second-transaction",
        machine="reservation",
        rule="B5",
        why="Writes down who calls first, and does the business in a transaction of its own.",
        file=RECEIVER,
        edit="""\
                 )
+                connection.execute("commit")
+                connection.execute("begin immediate")
""",
        engine=Engine.CRASH,
        note="Only an exit between the two commits shows it. The key from effect to identity "
        "forbids the other order, and nothing can forbid an identity that waits for its "
        "effect.",
    ),
    Mutant(
        name="no-deduplication",
        machine="reservation",
        rule="B5",
        why="Checks a repeated call for a conflict, and takes that for the whole deduplication.",
        file=RECEIVER,
        edit="""\
-            elif is_idempotent:
+            elif False:
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=6,
        note="The unique index over the effects of idempotent ids refuses the second one.",
    ),
    Mutant(
        name="conflict-is-not-checked",
        machine="reservation",
        rule="B5",
        why="The id says what is to be done, so that what comes along with it is not compared.",
        file=RECEIVER,
        edit="""\
-            elif identity != (row["safety"], row["identity_payload"]):
-                return SendRefusal.CONFLICT
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="CONFLICTS",
        shortest=4,
    ),
    Mutant(
        name="safety-is-not-compared",
        machine="reservation",
        rule="B5",
        why="Compares the payload, which is what the business is about.",
        file=RECEIVER,
        edit="""\
-            elif identity != (row["safety"], row["identity_payload"]):
+            elif is_idempotent and identity[1] not in (None, content):
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        scope="CONFLICTS",
        shortest=4,
    ),
    Mutant(
        name="call-log-in-the-business-transaction",
        machine="reservation",
        rule="B5",
        why="A call and its effect belong together, so they are committed together.",
        file=RECEIVER,
        edit='''\
-        with transaction(connection):
-            connection.execute(
-                """
-                insert into call (ledger, intent_id, seq)
-                values (:ledger, :intent_id, :seq)
-                """,
-                {"ledger": call.ledger, "intent_id": call.intent_id, "seq": call.seq},
-            )
@@
         with transaction(connection):
+            connection.execute(
+                """
+                insert into call (ledger, intent_id, seq)
+                values (:ledger, :intent_id, :seq)
+                """,
+                {"ledger": call.ledger, "intent_id": call.intent_id, "seq": call.seq},
+            )
             identity = connection.execute(
''',
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=5,
    ),
    Mutant(
        name="transport-sends-twice",
        machine="reservation",
        rule="B9",
        why="A transport repeats what it has no answer to, so one that is sure repeats always.",
        file=RECEIVER,
        edit="""\
-        return self.perform(self.enter(permit))
+        call = self.enter(permit)
+        self.perform(call)
+        return self.perform(call)
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="permit-used-after-the-log",
        machine="reservation",
        rule="B4",
        why="Uses the permit up once its call is safely in the log, and not before.",
        file=RECEIVER,
        edit="""\
-        permit.use()
@@
+        permit.use()
         return call
""",
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=6,
    ),
    Mutant(
        name="non-idempotent-calls-deduplicated",
        machine="reservation",
        rule="B5",
        why="An id that has had its effect gets the same receipt again, whatever its safety.",
        file=RECEIVER,
        edit="""\
-            elif is_idempotent:
+            else:
@@
-                    where intent_id = :intent_id and safety = 'idempotent'
+                    where intent_id = :intent_id
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TWICE",
        shortest=4,
    ),
    Mutant(
        name="payload-compared-for-non-idempotent-calls",
        machine="reservation",
        rule="B5",
        why="Keeps the payload of each first call: another one under the same id is a mistake.",
        file=RECEIVER,
        edit="""\
-            elif identity != (row["safety"], row["identity_payload"]):
+            elif identity != (row["safety"], row["identity_payload"]) or (
+                connection.execute(
+                    "select 1 from effect where intent_id = :intent_id"
+                    " and payload <> :payload",
+                    row,
+                ).fetchone()
+            ):
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TWICE",
        shortest=4,
    ),
    Mutant(
        name="effect-once-for-every-id",
        machine="reservation",
        rule="B5",
        why="Sees to it in the schema that no id ever has two effects.",
        file=SCHEMA,
        edit="""\
-create unique index effect_once on effect (intent_id) where safety = 'idempotent';
+create unique index effect_once on effect (intent_id);
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        scope="TWICE",
        shortest=4,
    ),
    Mutant(
        name="the-newest-effect-is-the-receipt",
        machine="reservation",
        rule="B5",
        why="A repeat follows at once, so that the effect it repeats is the last one made.",
        file=RECEIVER,
        edit="""\
                     select ticket from effect
-                    where intent_id = :intent_id and safety = 'idempotent'
+                    where safety = 'idempotent' order by ticket desc limit 1
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="IDS",
        shortest=6,
    ),
)
