"""What a store does with files that are not its own."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from impl.sqlite import admission, receiver, reservation
from impl.sqlite.admission_store import AdmissionStore
from impl.sqlite.connection import (
    APPLICATION_ID,
)
from impl.sqlite.errors import InvalidInput, SchemaMismatch, StoreMissing
from impl.sqlite.receiver import Receiver
from impl.sqlite.reservation import Ledger

KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any]]] = {
    "admission": (admission.init, AdmissionStore),
    "ledger": (lambda path: reservation.init(path, "L1"), Ledger),
    "receiver": (receiver.init, Receiver),
}
every_kind = pytest.mark.parametrize("kind", KINDS)
OUR_VERSIONS = (101, 201, 301)
FOREIGN_NUMBERS = [
    (application_id, version)
    for application_id in (0, APPLICATION_ID - 1, APPLICATION_ID, APPLICATION_ID + 1)
    for version in (0, 1, *OUR_VERSIONS, *(number + 1 for number in OUR_VERSIONS))
    if (application_id, version) != (0, 0)
]


@every_kind
@pytest.mark.parametrize("numbers", FOREIGN_NUMBERS, ids=str)
def test_a_database_with_other_numbers_is_refused_and_left_alone(
    kind: str, numbers: tuple[int, int], tmp_path: Path
) -> None:
    """Another program's, another kind's and another version's file: none is opened or changed."""
    init, open_store = KINDS[kind]
    path = tmp_path / "foreign"
    init(path)
    mine = read_numbers(path)
    write_numbers(path, numbers)
    content = path.read_bytes()

    if numbers == mine:
        open_store(path).close()
        init(path)
        return
    for attempt in (open_store, init):
        with pytest.raises(SchemaMismatch):
            attempt(path)
    assert path.read_bytes() == content


@every_kind
def test_a_database_of_nobody_with_a_table_is_refused_and_left_alone(
    kind: str, tmp_path: Path
) -> None:
    """Somebody keeps rows there, and has never heard of numbers in the header."""
    path = tmp_path / "foreign"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("create table t (a)")
    content = path.read_bytes()

    for attempt in KINDS[kind]:
        with pytest.raises(SchemaMismatch):
            attempt(path)
    assert path.read_bytes() == content


@every_kind
@pytest.mark.parametrize("tables", [0, 1])
@pytest.mark.parametrize(
    "numbers",
    [(7, 0), (0, 7), (7, 7), (1, 1), (-7, 0), (-7, -7), (APPLICATION_ID + 1, 7), (2**31 - 1, 0)],
    ids=str,
)
def test_a_database_that_carries_a_mark_is_not_blank(
    kind: str, numbers: tuple[int, int], tables: int, tmp_path: Path
) -> None:
    """Somebody has made it, with a table or before the first one."""
    path = tmp_path / "foreign"
    write_numbers(path, numbers)
    with closing(sqlite3.connect(path)) as connection:
        for number in range(tables):
            connection.execute(f"create table t{number} (a)")
    content = path.read_bytes()

    for attempt in KINDS[kind]:
        with pytest.raises(SchemaMismatch):
            attempt(path)
    assert path.read_bytes() == content


@every_kind
@pytest.mark.parametrize("content", [b"no database, " * 100, b"no"], ids=["long", "short"])
def test_a_file_that_is_no_database_is_refused_and_left_alone(
    kind: str, content: bytes, tmp_path: Path
) -> None:
    """SQLite says that it is none, and we say so with the path."""
    path = tmp_path / "text"
    path.write_bytes(content)

    for attempt in KINDS[kind]:
        with pytest.raises(SchemaMismatch, match="text"):
            attempt(path)
    assert path.read_bytes() == content


@every_kind
def test_a_missing_store_is_told_and_not_created(kind: str, tmp_path: Path) -> None:
    """Only `init` creates: no file appears, no companion of one, and no folder."""
    open_store = KINDS[kind][1]

    for path in (tmp_path / "store", tmp_path / "no folder" / "store"):
        with pytest.raises(StoreMissing, match="store"):
            open_store(path)

    assert list(tmp_path.iterdir()) == []


@every_kind
@pytest.mark.parametrize("content", [b"", b"x"], ids=["empty", "one byte"])
def test_an_empty_file_is_no_store_until_it_is_created(
    kind: str, content: bytes, tmp_path: Path
) -> None:
    """A process that dies early in `init` leaves such a file, and the next one goes on.

    One byte counts as nothing: on some file systems SQLite itself writes it into an empty file.
    """
    init, open_store = KINDS[kind]
    path = tmp_path / "empty"
    path.write_bytes(content)

    with pytest.raises(StoreMissing):
        open_store(path)
    assert path.read_bytes() == content
    init(path)
    open_store(path).close()


def test_a_path_that_is_no_file_is_an_error_of_the_storage(tmp_path: Path) -> None:
    """A folder is there, so that it is not missing, and SQLite can't open it."""
    with pytest.raises(sqlite3.OperationalError):
        AdmissionStore(tmp_path)
    with pytest.raises(sqlite3.OperationalError):
        admission.init(tmp_path)
    with pytest.raises(sqlite3.OperationalError):
        admission.init(tmp_path / "no folder" / "store")
    with pytest.raises(sqlite3.OperationalError):
        AdmissionStore(tmp_path / ("too long" * 100))


def test_a_path_with_a_nul_is_invalid(tmp_path: Path) -> None:
    """SQLite would open the file that is named before it."""
    with pytest.raises(InvalidInput):
        admission.init(f"{tmp_path}/a\0b")

    assert list(tmp_path.iterdir()) == []


def read_numbers(path: Path) -> tuple[int, int]:
    """Return the application id and the version in a file's header."""
    with closing(sqlite3.connect(path)) as connection:
        application_id = connection.execute("pragma application_id").fetchone()[0]
        return application_id, connection.execute("pragma user_version").fetchone()[0]


def write_numbers(path: Path, numbers: tuple[int, int]) -> None:
    """Write the application id and the version into a file's header."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma application_id = {numbers[0]}")
        connection.execute(f"pragma user_version = {numbers[1]}")
        connection.execute("pragma wal_checkpoint(truncate)")
