"""Power loss: what the disk may hold after it, what SQLite recovers from that, and the judge.

A workload runs on the unchanged implementation, whose writes and syncs a VFS records. From the
recording every state is made in which the storage may be left, SQLite recovers it, and what a new
process then reads must be a state of the model: at least all that was acknowledged (C4).

Not modelled: storage that damages bytes which it was not asked to write (the profile `no-psow`
does that, to show what it costs), that lies about a sync, or that loses what was synced;
and the wal-index (`-shm`), which never survives and is built anew.

Reading hint: `log`, `recorder`, `storage`, `enumerator`, `recovery`, `judge`, `run`, in this order.
`death` is about a process that dies inside COMMIT, by real deaths.
"""
