"""The reference implementation on SQLite: standard library only, nothing cached in memory.

It is not a queue service: no worker loop, no network, no retries of its own.

Read in this order: `admission.sql` and `admission_store.py` (durable admission); `ledger.sql` and
`reservation.py` (the sender's dispatch budget); `receiver.sql` and `receiver.py` (the receiver).
`connection.py` is the seam through which a harness reaches all three; `store.py` opens and creates.
"""
