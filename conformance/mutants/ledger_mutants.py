"""Mistakes planted in the sender ledger on SQLite, and in an attempt."""

from conformance.mutants.mutant import Engine, Mutant

LEDGER = "impl/sqlite/reservation.py"

LEDGER_MUTANTS = (
    Mutant(
        name="send-before-reserve",
        machine="reservation",
        rule="B2",
        why="Books the unit when the call has been made, so that only calls that happened count.",
        file=LEDGER,
        edit='''\
     """
+    intents = ledger.snapshot()['intents']
+    intent = next((i for i in intents if i['intent_id'] == intent_id), None)
+    if intent is not None and intent['spent'] < intent['cap']:
+        early = Permit(
+            ledger=ledger.name,
+            intent_id=intent_id,
+            seq=intent['spent'] + 1,
+            payload=intent['payload'],
+            safety=Safety(intent['safety']),
+        )
+        answer = receiver.send(early)
     reserved = ledger.reserve(intent_id)
@@
-    answer = receiver.send(reserved)
''',
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=5,
    ),
    Mutant(
        name="send-before-reserve-once-allowed",
        machine="reservation",
        rule="B2",
        why="Looks first whether a reservation would be granted, calls, and then books it.",
        file=LEDGER,
        edit='''\
     """
+    intents = ledger.snapshot()['intents']
+    intent = next((i for i in intents if i['intent_id'] == intent_id), None)
+    is_allowed = intent is not None and intent['receipt'] is None
+    if is_allowed and intent['safety'] == Safety.NON_IDEMPOTENT:
+        is_allowed = intent['spent'] == 0
+    if is_allowed and intent['spent'] < intent['cap']:
+        early = Permit(
+            ledger=ledger.name,
+            intent_id=intent_id,
+            seq=intent['spent'] + 1,
+            payload=intent['payload'],
+            safety=Safety(intent['safety']),
+        )
+        answer = receiver.send(early)
     reserved = ledger.reserve(intent_id)
@@
-    answer = receiver.send(reserved)
''',
        engine=Engine.CRASH,
        note="Only an exit between the call and the reservation shows it: (0, 1, 1) is no state "
        "that the protocol allows.",
    ),
    Mutant(
        name="reserve-checks-outside-the-transaction",
        machine="reservation",
        rule="B2",
        why="Holds the write lock for the two writes alone, to let other senders in.",
        file=LEDGER,
        edit="""\
         intent_id = check_name("intent_id", intent_id)
         connection = self._connection
-        with transaction(connection):
+        with reading(connection):
             intent = connection.execute(
@@
             seq = spent + 1
+        with transaction(connection):
""",
        engine=Engine.RACE,
        note="No lone caller can see it. The keys of the schema refuse a number that is given "
        "twice, so that the loser of a race hears an error in place of a refusal or a permit.",
    ),
    Mutant(
        name="unknown-checked-outside-the-transaction",
        machine="reservation",
        rule="B8",
        why="Asks for earlier reservations before the write lock is taken, to hold it shortly.",
        file=LEDGER,
        edit='''\
         intent_id = check_name("intent_id", intent_id)
         connection = self._connection
+        with reading(connection):
+            unacknowledged = connection.execute(
+                "select seq from reservation"
+                " where intent_id = :intent_id and ticket is null limit 1",
+                {"intent_id": intent_id},
+            ).fetchone()
         with transaction(connection):
@@
-                unacknowledged = connection.execute(
-                    """
-                    select seq from reservation
-                    where intent_id = :intent_id and ticket is null
-                    limit 1
-                    """,
-                    {"intent_id": intent_id},
-                ).fetchone()
''',
        engine=Engine.RACE,
        note="No lone caller can see it. A check of the schema refuses a second unit of a non- "
        "idempotent intent, so that the loser hears an error in place of `unknown`.",
    ),
    Mutant(
        name="permit-before-the-commit",
        machine="reservation",
        rule="B2",
        why="Sends inside the transaction, so that a send that raises takes its reservation back.",
        file=LEDGER,
        edit="""\
+from collections.abc import Callable
 from dataclasses import asdict, dataclass
@@
-    def reserve(self, intent_id: str) -> Permit | ReserveRefusal:
+    def reserve(
+        self, intent_id: str, use: Callable[[Permit], object] = lambda _: None
+    ) -> Permit | ReserveRefusal:
@@
-        return Permit(
-            ledger=self._name,
-            intent_id=intent_id,
-            seq=seq,
-            payload=payload.decode("utf-8"),
-            safety=Safety(safety),
-        )
+            permit = Permit(
+                ledger=self._name,
+                intent_id=intent_id,
+                seq=seq,
+                payload=payload.decode("utf-8"),
+                safety=Safety(safety),
+            )
+            use(permit)
+        return permit
@@
-    reserved = ledger.reserve(intent_id)
+    answers: list[Receipt | SendRefusal] = []
+    reserved = ledger.reserve(intent_id, lambda permit: answers.append(receiver.send(permit)))
@@
-    answer = receiver.send(reserved)
+    answer = answers[0]
""",
        engine=Engine.RACE,
        note="Alone, the commit follows the call at once. Who reads in between sees a call at the "
        "receiver and no reservation, and so does an exit there.",
    ),
    Mutant(
        name="refund-without-acknowledgement",
        machine="reservation",
        rule="B3",
        why="A reservation that was never acknowledged bought nothing, so its unit comes back.",
        file=LEDGER,
        edit="""\
                     return ReserveRefusal.UNKNOWN_REQUIRES_RECONCILIATION
+            else:
+                spent -= connection.execute(
+                    "delete from reservation"
+                    " where intent_id = :intent_id and ticket is null",
+                    {"intent_id": intent_id},
+                ).rowcount
+                connection.execute(
+                    "update intent set spent = :spent where intent_id = :intent_id",
+                    {"spent": spent, "intent_id": intent_id},
+                )
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="an-old-reservation-sent-again",
        machine="reservation",
        rule="B4",
        why="A reservation without an acknowledgement is taken up again before a new one is made.",
        file=LEDGER,
        edit="""\
     reserved = ledger.reserve(intent_id)
+    snapshot = ledger.snapshot()
+    old = [
+        each['seq']
+        for each in snapshot['reservations']
+        if each['intent_id'] == intent_id and not each['acknowledged']
+    ]
+    if isinstance(reserved, Permit) and old[0] < reserved.seq:
+        reserved = Permit(
+            ledger=ledger.name,
+            intent_id=intent_id,
+            seq=old[0],
+            payload=reserved.payload,
+            safety=reserved.safety,
+        )
""",
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=5,
    ),
    Mutant(
        name="opening-again-resets-spent",
        machine="reservation",
        rule="B1",
        why="A caller that opens the intent again starts over.",
        file=LEDGER,
        edit="""\
                 is_same = known == (content, safety.value, cap)
+                if is_same:
+                    connection.execute(
+                        "update intent set spent = 0 where intent_id = :intent_id",
+                        {"intent_id": intent_id},
+                    )
""",
        engine=Engine.EXHAUSTIVE,
        killer="state",
        shortest=4,
    ),
    Mutant(
        name="opening-again-ignores-the-cap",
        machine="reservation",
        rule="B1",
        why="The cap belongs to the sender and not to the intent, so it is not compared.",
        file=LEDGER,
        edit="""\
-                is_same = known == (content, safety.value, cap)
+                is_same = known[:2] == (content, safety.value)
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="FIELDS",
        shortest=3,
    ),
    Mutant(
        name="counter-in-memory",
        machine="reservation",
        rule="B2",
        why="Counts the reservations in the object, and saves a read in each transaction.",
        file=LEDGER,
        edit="""\
             _require_name(self._name, wanted)
+        self._spent: dict[str, int] = {}
@@
                     return ReserveRefusal.UNKNOWN_REQUIRES_RECONCILIATION
+            spent = self._spent.get(intent_id, 0)
@@
             seq = spent + 1
+            self._spent[intent_id] = seq
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=4,
    ),
    Mutant(
        name="confirmed-is-not-checked",
        machine="reservation",
        rule="B2",
        why="The cap bounds the calls anyway, and the receiver knows a repeated one.",
        file=LEDGER,
        edit="""\
-            if ticket is not None:
-                return ReserveRefusal.CONFIRMED
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=5,
    ),
    Mutant(
        name="unknown-ignored",
        machine="reservation",
        rule="B8",
        why="Leaves a second try to the cap, which the caller has chosen for this intent.",
        file=LEDGER,
        edit="""\
-                if unacknowledged is not None:
-                    return ReserveRefusal.UNKNOWN_REQUIRES_RECONCILIATION
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="exhausted-before-unknown",
        machine="reservation",
        rule="B2",
        why="The budget is the cheaper question, so it is asked first.",
        file=LEDGER,
        edit="""\
                 return ReserveRefusal.CONFIRMED
+            if spent == cap:
+                return ReserveRefusal.BUDGET_EXHAUSTED
@@
-            if spent == cap:
-                return ReserveRefusal.BUDGET_EXHAUSTED
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=4,
    ),
    Mutant(
        name="unknown-only-with-a-logged-call",
        machine="reservation",
        rule="B8",
        why="The receiver's log shows that nothing was sent, so that it is safe to send now.",
        file=LEDGER,
        edit="""\
     reserved = ledger.reserve(intent_id)
+    if reserved is ReserveRefusal.UNKNOWN_REQUIRES_RECONCILIATION:
+        calls = receiver.snapshot()['calls']
+        intents = ledger.snapshot()['intents']
+        intent = next(i for i in intents if i['intent_id'] == intent_id)
+        if intent_id not in [call['intent_id'] for call in calls]:
+            reserved = Permit(
+                ledger=ledger.name,
+                intent_id=intent_id,
+                seq=intent['spent'],
+                payload=intent['payload'],
+                safety=Safety(intent['safety']),
+            )
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        shortest=5,
    ),
    Mutant(
        name="any-receipt-confirms",
        machine="reservation",
        rule="B6",
        why="Receipts come from the receiver, so what stands in one is not checked again.",
        file=LEDGER,
        edit="""\
-            if (receipt_id, receipt_content) != (intent_id, payload):
-                return ConfirmOutcome.REJECTED
""",
        engine=Engine.EXHAUSTIVE,
        killer="outcome",
        scope="SMALL",
        shortest=4,
    ),
    Mutant(
        name="a-later-receipt-confirms-too",
        machine="reservation",
        rule="B6",
        why="Two receipts for the same business say the same, whatever their numbers.",
        file=LEDGER,
        edit="""\
-            if stored_ticket not in (None, ticket):
-                return ConfirmOutcome.REJECTED
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        scope="SMALL",
        shortest=4,
    ),
    Mutant(
        name="acknowledgement-and-receipt-in-two-transactions",
        machine="reservation",
        rule="B6",
        why="Keeps each transaction short: the acknowledgement first, then the receipt.",
        file=LEDGER,
        edit="""\
                 return ConfirmOutcome.ALREADY_CONFIRMED
+        with transaction(connection):
""",
        engine=Engine.EXHAUSTIVE,
        killer="schema",
        shortest=4,
        note="The deferred key from reservation to intent refuses the first commit, before any "
        "crash.",
    ),
    Mutant(
        name="attempt-sends-twice",
        machine="reservation",
        rule="B12",
        why="Sends again when the first answer was a conflict, which may have passed since.",
        file=LEDGER,
        edit="""\
     if isinstance(answer, SendRefusal):
+        again = ledger.reserve(intent_id)
+        if isinstance(again, Permit):
+            reserved, answer = again, receiver.send(again)
+    if isinstance(answer, SendRefusal):
""",
        engine=Engine.EXHAUSTIVE,
        killer="state",
        scope="CONFLICTS",
        shortest=4,
    ),
)
