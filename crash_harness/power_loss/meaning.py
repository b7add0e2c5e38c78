"""What a write means to SQLite: a frame of the log, its header, a database page, and whose page."""

import contextlib
import struct
from collections.abc import Mapping

import apsw

from crash_harness.power_loss.log import (
    Created,
    Deleted,
    DirectorySynced,
    StorageEvent,
    Synced,
    Truncated,
    Written,
    database_of,
)
from crash_harness.power_loss.memory import memory_storage
from crash_harness.power_loss.storage import Image

WAL_HEADER_BYTES = 32
FRAME_HEADER_BYTES = 24
JOURNAL_HEADER_BYTES = 28
DEFAULT_PAGE_BYTES = 4096


def name_pages(image: Image, database: str) -> Mapping[int, str]:
    """Return the table or index that each page belongs to, as SQLite tells it."""
    storage = memory_storage()
    storage.load({file: content.data for file, content in image.items()})
    with contextlib.suppress(apsw.Error):
        connection = storage.open(database)
        try:
            rows = connection.execute("select pageno, name from dbstat").fetchall()
            return {int(str(page)): str(name) for page, name in rows}
        finally:
            connection.close()
    return {}


def describe_event(event: StorageEvent, image: Image, pages: Mapping[int, str]) -> str:
    """Return one event of the storage in words; the image has all pending operations applied."""
    match event:
        case Created(file):
            return f"creation of {file}"
        case Deleted(file):
            return f"deletion of {file}"
        case Truncated(file, size):
            return f"truncation of {file} to {size:,} bytes"
        case Synced(file):
            return f"sync of {file}"
        case DirectorySynced(file):
            return f"sync of the directory of {file}"
        case Written():
            return f"{_describe_write(event, image, pages)} ({event.file}, offset {event.offset:,})"


def _describe_write(write: Written, image: Image, pages: Mapping[int, str]) -> str:
    if write.file.endswith("-wal"):
        return _describe_wal_write(write, image, pages)
    if write.file.endswith("-journal"):
        is_header = write.offset == 0 and len(write.data) >= JOURNAL_HEADER_BYTES
        return "header of the rollback journal" if is_header else "record of the rollback journal"
    page = write.offset // _page_bytes(image, write.file) + 1
    header = "header and " if page == 1 else ""
    return f"database {header}page {_name(page, pages)}"


def _describe_wal_write(write: Written, image: Image, pages: Mapping[int, str]) -> str:
    if write.offset == 0:
        return "WAL header"
    frame_bytes = FRAME_HEADER_BYTES + _page_bytes(image, database_of(write.file))
    place = (write.offset - WAL_HEADER_BYTES) % frame_bytes
    start = write.offset - place
    content = image[write.file].data if write.file in image else b""
    header = write.data if place == 0 else content[start:]
    if len(header) < FRAME_HEADER_BYTES:
        return "part of a WAL frame"
    page, size_after_commit = struct.unpack(">II", header[:8])
    kind = "commit frame" if size_after_commit else "WAL frame"
    part = "header of the " if len(write.data) == FRAME_HEADER_BYTES else ""
    return f"{part}{kind} of page {_name(page, pages)}"


def _name(page: int, pages: Mapping[int, str]) -> str:
    return f"{page} ({pages[page]})" if page in pages else str(page)


def _page_bytes(image: Image, database: str) -> int:
    """Return the page size that the database header has, 1 meaning 65,536."""
    if database not in image or len(image[database].data) < DEFAULT_PAGE_BYTES // 8:
        return DEFAULT_PAGE_BYTES
    (size,) = struct.unpack(">H", image[database].data[16:18])
    return 65_536 if size == 1 else size or DEFAULT_PAGE_BYTES
