"""Admission stays cheap as history grows: an admit at 10⁶ finished records against one at 10³.

Both stores hold 1,000 outstanding records, and both are measured in turn, admit by admit.
"""

import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

import impl.sqlite.admission as store_module
from bench.measure import Figure

OUTSTANDING = 1_000
FEW_FINISHED = 1_000
MANY_FINISHED = 1_000_000
ADMITS = 200
ROUNDS = 5
ROOM = store_module.Limits(10**6, 10**9, 10**6, 10**9, 96)


def fill_store(path: Path, finished: int) -> None:
    """Create a store with finished and outstanding records, by plain SQL."""
    store_module.init(path, ROOM)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("pragma synchronous = off")
    connection.execute("begin")
    total = finished + OUTSTANDING
    connection.execute(
        """
        with recursive number(n) as (select 1 union all select n + 1 from number where n < ?)
        insert into intent (request_id, tenant, payload, size)
        select 'r' || n, 't' || (n % 50), x'616263', 3 from number
        """,
        (total,),
    )
    connection.execute(
        """
        with recursive number(n) as (select 1 union all select n + 1 from number where n < ?)
        insert into task (sequence, request_id, tenant, size, state, generation, lease)
        select n, 'r' || n, 't' || (n % 50), 3, iif(n <= ?, 'done', 'queued'), n <= ?, null
        from number
        """,
        (total, finished, finished),
    )
    connection.execute(
        "insert into effect (request_id, value) "
        "select request_id, 'synthetic-completed' from task where state = 'done'"
    )
    connection.execute("commit")
    connection.execute("pragma wal_checkpoint(truncate)")
    connection.close()


def _admit_and_cancel(store: store_module.AdmissionStore, name: str) -> float:
    """Return the seconds of one accepted admit; the cancel behind it keeps the store as it is."""
    started = time.perf_counter()
    store.admit(name, "t1", "abc")
    seconds = time.perf_counter() - started
    store.cancel_unstarted(name)
    return seconds


def measure_history() -> list[Figure]:
    """Return the time of an admit in both stores, and their ratio round by round."""
    few: list[float] = []
    many: list[float] = []
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, "few.db"), Path(folder, "many.db")]
        for path, finished in zip(paths, (FEW_FINISHED, MANY_FINISHED), strict=True):
            fill_store(path, finished)
        with (
            store_module.AdmissionStore(paths[0]) as small,
            store_module.AdmissionStore(paths[1]) as large,
        ):
            for number in range(ROUNDS):
                pairs = [
                    (
                        _admit_and_cancel(small, f"n{number}-{each}"),
                        _admit_and_cancel(large, f"n{number}-{each}"),
                    )
                    for each in range(ADMITS)
                ]
                few.append(1e6 * statistics.median(pair[0] for pair in pairs))
                many.append(1e6 * statistics.median(pair[1] for pair in pairs))
                ratios.append(many[-1] / few[-1])
    return [
        Figure("admit, 1,000 outstanding, 1,000 finished", "µs", tuple(few)),
        Figure("admit, 1,000 outstanding, 1,000,000 finished", "µs", tuple(many)),
        Figure("the second by the first", "times", tuple(ratios), bar=1.5, less_is_better=True),
    ]
