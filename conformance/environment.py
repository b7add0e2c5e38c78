"""Which Python and which SQLite a report speaks of, and whether that SQLite has a known bug."""

import platform
import sqlite3

WAL_RESET_SINCE = (3, 7, 0)
WAL_RESET_FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""The release with the fix, last, and the older series that got it."""


def has_wal_reset_bug(version: tuple[int, int, int]) -> bool:
    """Tell whether two connections that write and checkpoint at once can damage this SQLite's WAL.

    Source: https://www.sqlite.org/wal.html#walresetbug, fixed in 3.51.3, 3.50.7 and 3.44.6.
    """
    if not WAL_RESET_SINCE <= version < WAL_RESET_FIXED[-1]:
        return False
    return not any(version[:2] == fixed[:2] and version >= fixed for fixed in WAL_RESET_FIXED[:-1])


def describe_versions() -> list[str]:
    """Return the versions in one line, and a warning in another where it is due."""
    lines = [f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}"]
    numbers = sqlite3.sqlite_version_info
    if has_wal_reset_bug((numbers[0], numbers[1], numbers[2])):
        lines.append(
            f"warning: SQLite {sqlite3.sqlite_version} is in the range with the WAL-reset bug "
            "(3.7.0 to 3.51.2; fixed in 3.51.3, 3.50.7 and 3.44.6): two connections that write "
            "and checkpoint at once can lose a commit"
        )
    return lines
