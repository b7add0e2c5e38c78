"""Mistakes planted in what the admission store on SQLite takes in: identity, budget, charge."""

from conformance.mutants.mutant import Engine, Mutant

STORE = "impl/sqlite/admission_store.py"

ADMISSION_MUTANTS = (
    Mutant(
        name="capacity-before-identity",
        machine="admission",
        rule="A2",
        why="Refuses a full store early, before anything else is looked at.",
        file=STORE,
        edit="""\
-            if known is not None:
-                is_same = known == (tenant, content)
-                return AdmitOutcome.REPLAY if is_same else AdmitOutcome.CONFLICT
@@
                 return AdmitOutcome.TENANT_FULL
+            if known is not None:
+                is_same = known == (tenant, content)
+                return AdmitOutcome.REPLAY if is_same else AdmitOutcome.CONFLICT
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=3,
    ),
    Mutant(
        name="tenant-before-global",
        machine="admission",
        rule="A2",
        why="Tells a tenant of its own limit first, since that is what the tenant can change.",
        file=STORE,
        edit="""\
             )
+            if tenant_count + 1 > limits.tenant_slots or tenant_bytes + size > limits.tenant_bytes:
+                return AdmitOutcome.TENANT_FULL
             if global_count + 1 > limits.global_slots or global_bytes + size > limits.global_bytes:
@@
-            if tenant_count + 1 > limits.tenant_slots or tenant_bytes + size > limits.tenant_bytes:
-                return AdmitOutcome.TENANT_FULL
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=3,
    ),
    Mutant(
        name="payload-compared-after-normalisation",
        machine="admission",
        rule="A2",
        why="Two spellings of the same text in Unicode look the same, so they are the same.",
        file=STORE,
        edit="""\

+import unicodedata
 from dataclasses import asdict, dataclass
@@
-                is_same = known == (tenant, content)
+                same = unicodedata.normalize('NFC', payload)
+                stored = unicodedata.normalize('NFC', known[1].decode())
+                is_same = (known[0], stored) == (tenant, same)
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TEXTS",
        shortest=3,
    ),
    Mutant(
        name="payload-compared-as-json",
        machine="admission",
        rule="A2",
        why="A client that repeats a request may write its JSON with other spaces.",
        file=STORE,
        edit="""\

+import json
 from dataclasses import asdict, dataclass
@@
-                is_same = known == (tenant, content)
+                is_same = known[0] == tenant and _read(known[1]) == _read(content)
@@

+def _read(content: bytes) -> object:
+    try:
+        return json.loads(content)
+    except ValueError:
+        return content
+
+
 def check_token(token: object) -> tuple[str, int]:
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TEXTS",
        shortest=3,
    ),
    Mutant(
        name="payload-compared-without-case",
        machine="admission",
        rule="A2",
        why="Compares as the ids of mail and host names are compared.",
        file=STORE,
        edit="""\
-                is_same = known == (tenant, content)
+                is_same = known[0] == tenant and (
+                    known[1].decode().casefold() == payload.casefold()
+                )
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TEXTS",
        shortest=3,
    ),
    Mutant(
        name="payload-compared-after-trimming",
        machine="admission",
        rule="A2",
        why="Spaces at the end come from the way a request was typed, and mean nothing.",
        file=STORE,
        edit="""\
-                is_same = known == (tenant, content)
+                is_same = (known[0], known[1].strip()) == (tenant, content.strip())
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TEXTS",
        shortest=3,
    ),
    Mutant(
        name="tenant-not-compared",
        machine="admission",
        rule="A2",
        why="The id is unique over all tenants, so that the payload alone decides.",
        file=STORE,
        edit="""\
-                is_same = known == (tenant, content)
+                is_same = known[1] == content
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=3,
    ),
    Mutant(
        name="identity-of-outstanding-work-alone",
        machine="admission",
        rule="A14",
        why="An id whose work is finished is free again, as with a lock that was released.",
        file=STORE,
        edit="""\
-                "select tenant, payload from intent where request_id = :request_id",
+                "select intent.tenant, payload from intent join task using (request_id)"
+                " where request_id = :request_id and state not in ('done', 'cancelled')",
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=4,
    ),
    Mutant(
        name="characters-for-bytes-in-the-item-check",
        machine="admission",
        rule="A5",
        why="Takes the length of the text, as everywhere else in Python.",
        file=STORE,
        edit="""\
-            if size > limits.item_bytes:
+            if len(payload) > limits.item_bytes:
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="TEXTS",
        shortest=2,
    ),
    Mutant(
        name="characters-for-bytes-in-the-size",
        machine="admission",
        rule="A5",
        why="Takes the length of the text, as everywhere else in Python.",
        file=STORE,
        edit="""\
-        size = len(content)
+        size = len(payload)
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=2,
    ),
    Mutant(
        name="a-refusal-leaves-the-id-bound",
        machine="admission",
        rule="A3",
        why="Writes down at once who asked for what, and decides afterwards.",
        file=STORE,
        edit='''\
                 return AdmitOutcome.REPLAY if is_same else AdmitOutcome.CONFLICT
+            connection.execute(
+                """
+                insert into intent (request_id, tenant, payload, size)
+                values (:request_id, :tenant, :payload, :size)
+                """,
+                row,
+            )
@@
-            connection.execute(
-                """
-                insert into intent (request_id, tenant, payload, size)
-                values (:request_id, :tenant, :payload, :size)
-                """,
-                row,
-            )
''',
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=2,
        note="The deferred key from intent to task refuses the commit.",
    ),
    Mutant(
        name="admit-checks-outside-the-transaction",
        machine="admission",
        rule="A6",
        why="Holds the write lock for the two inserts alone, to let other writers in.",
        file=STORE,
        edit="""\
         connection = self._connection
-        with transaction(connection):
+        with reading(connection):
             known = connection.execute(
@@
                 return AdmitOutcome.TENANT_FULL
+        with transaction(connection):
""",
        engine=Engine.RACE,
        note="No single caller can see it: two have to decide before either writes.",
    ),
    Mutant(
        name="intent-and-task-in-two-transactions",
        machine="admission",
        rule="A6",
        why="Keeps each transaction short.",
        file=STORE,
        edit="""\
             )
+        with transaction(connection):
             connection.execute(
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=2,
        note="The deferred key from intent to task refuses the first commit, before any crash.",
    ),
    Mutant(
        name="slot-released-at-claim",
        machine="admission",
        rule="A7",
        why="Counts what waits in the queue: work in progress is no longer in the way.",
        file=STORE,
        edit="""\
                     where state in ('queued', 'inflight', 'quarantined')
+                      and state <> 'inflight'
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="slot-released-at-expiry",
        machine="admission",
        rule="A7",
        why="Whoever let a lease run out is gone, and so is the work.",
        file=STORE,
        edit="""\
                     where state in ('queued', 'inflight', 'quarantined')
+                      and (state <> 'inflight' or lease > (select clock from store))
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=5,
    ),
    Mutant(
        name="slot-released-at-quarantine",
        machine="admission",
        rule="A7",
        why="Work that was set aside must not keep good work out.",
        file=STORE,
        edit="""\
                     where state in ('queued', 'inflight', 'quarantined')
+                      and state <> 'quarantined'
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=5,
    ),
    Mutant(
        name="redrive-asks-for-admission-again",
        machine="admission",
        rule="A12",
        why="Queues a record again as admit does, and counts it once more beside its own charge.",
        file=STORE,
        edit="""\
                 return RedriveOutcome.STALE
             _require_generation_left(request_id, generation)
+            count = expect_row(
+                connection.execute(
+                    "select count(*) from task"
+                    " where state in ('queued', 'inflight', 'quarantined')"
+                ).fetchone()
+            )[0]
+            if count + 1 > read_limits(connection).global_slots:
+                return AdmitOutcome.GLOBAL_FULL
             updated = connection.execute(
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=5,
    ),
)
