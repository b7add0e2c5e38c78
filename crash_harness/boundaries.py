"""Boundaries of an operation: found in the statements that one run of it made, named from the SQL.

A boundary is a place before a statement, or after the last one and before the call returns.
Nothing is listed by hand: a statement that an operation gets tomorrow brings its boundaries along.

Not here: how statements are recorded, and how a process ends at a boundary (`child`).

Reading hint: `read_tape` makes the names; `shorten` is the one place that looks into SQL.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
TEXT = re.compile(r"'(?:[^']|'')*'")
TARGETS = {
    "insert": re.compile(r"\binto (\w+)"),
    "replace": re.compile(r"\binto (\w+)"),
    "update": re.compile(r"^update (?:or \w+ )?(\w+)"),
    "delete": re.compile(r"\bfrom (\w+)"),
    "select": re.compile(r"\bfrom (\w+)"),
    "create": re.compile(r"\b((?:table|index|view|trigger) (?:if not exists )?\w+)"),
    "drop": re.compile(r"\b((?:table|index|view|trigger) (?:if exists )?\w+)"),
}
WRITES = frozenset({"insert", "replace", "update", "delete", "create", "drop", "alter"})
COMMIT, ROLLBACK, END_OF_READING = "commit", "rollback", "end of reading"
NO_STATEMENT = "before it returns"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement on one of the stores that an operation has open."""

    store: str
    sql: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """A place in an operation: its number from 0, its name, and the commits before it.

    `follows_commit` tells whether the last thing before it was a commit, `precedes_commit`
    whether the next thing is one.
    """

    index: int
    name: str
    commits: int
    follows_commit: bool = False
    precedes_commit: bool = False

    @property
    def is_beside_commit(self) -> bool:
        """Whether it is just before a commit or just after one."""
        return self.follows_commit or self.precedes_commit


@lru_cache(maxsize=4096)
def shorten(sql: str) -> str:
    """Return a short name of a statement: its first keyword, and what it is about.

    "insert task", "select intent", "set synchronous", "read user_version", "begin deferred".
    """
    text = TEXT.sub("''", COMMENT.sub(" ", sql))
    text = " ".join(text.replace('"', "").lower().split())
    keyword = text.partition(" ")[0]
    if keyword == "pragma":
        name, _, value = text.removeprefix("pragma ").partition("=")
        return f"{'set' if value else 'read'} {name.strip()}"
    if keyword == "begin":
        return "begin deferred" if text in {"begin", "begin deferred"} else "begin"
    if keyword == "end":
        return COMMIT
    target = TARGETS[keyword].search(text) if keyword in TARGETS else None
    return f"{keyword} {target[1]}" if target else keyword


class _Transactions:
    """Which stores have a transaction open, and whether it writes; counts what was committed."""

    def __init__(self) -> None:
        self.writes: dict[str, bool] = {}
        self.commits = 0

    def name(self, statement: Statement) -> str:
        """Return the name of a statement: the end of a transaction that only read is no commit."""
        short = shorten(statement.sql)
        is_reading = self.writes.get(statement.store) is False
        return END_OF_READING if short == COMMIT and is_reading else short

    def pass_by(self, statement: Statement, name: str) -> bool:
        """Note that a statement was carried out, and tell whether it committed something."""
        store, keyword = statement.store, name.partition(" ")[0]
        has_committed = False
        if keyword == "begin":
            self.writes[store] = name == "begin"
        elif keyword in WRITES and store in self.writes:
            self.writes[store] = True
        elif name in {COMMIT, ROLLBACK, END_OF_READING}:
            has_committed = name == COMMIT
            self.writes.pop(store, None)
        else:
            has_committed = keyword in WRITES
        self.commits += has_committed
        return has_committed


def read_tape(statements: Iterable[Statement], *, names_stores: bool) -> tuple[Boundary, ...]:
    """Return the boundaries of an operation whose statements these are: one more than statements.

    A name of its own for each: what is repeated gets a number, "update intent (2)". The name of
    a boundary depends on the statements before it and on the next one alone. A commit counts if
    its transaction could write. With `names_stores`, names say which store a statement is for.
    """
    transactions = _Transactions()
    seen: Counter[tuple[str, str]] = Counter()
    boundaries: list[Boundary] = []
    previous: _Passed | None = None
    for statement in statements:
        short = transactions.name(statement)
        store = statement.store if names_stores else ""
        seen[store, short] += 1
        times = seen[store, short]
        following = _Passed(store, short, short if times == 1 else f"{short} ({times})")
        boundaries.append(
            Boundary(
                index=len(boundaries),
                name=_name(previous, following),
                commits=transactions.commits,
                follows_commit=previous is not None and previous.is_commit,
                precedes_commit=following.short == COMMIT,
            )
        )
        previous = replace(following, is_commit=transactions.pass_by(statement, short))
    last = Boundary(
        index=len(boundaries),
        name=_name(previous, None),
        commits=transactions.commits,
        follows_commit=previous is not None and previous.is_commit,
    )
    return (*boundaries, last)


@dataclass(frozen=True, slots=True)
class _Passed:
    """A statement beside a boundary: its store, if that is named, and its names."""

    store: str
    short: str
    label: str
    is_commit: bool = False

    def with_store(self, side: str) -> str:
        return f"{self.store}: {side} {self.label}" if self.store else f"{side} {self.label}"


def _name(previous: _Passed | None, following: _Passed | None) -> str:
    """Name a boundary by the end of a transaction beside it, or by both of its neighbours."""
    if following is None:
        return NO_STATEMENT if previous is None else previous.with_store("after")
    if previous is None or following.short in {COMMIT, ROLLBACK}:
        return following.with_store("before")
    if previous.is_commit or previous.short in {COMMIT, ROLLBACK}:
        return previous.with_store("after")
    if previous.store == following.store:
        return f"{previous.with_store('between')} and {following.label}"
    return f"between {previous.store} {previous.label} and {following.store} {following.label}"


def merge_orders(orders: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """Return all names once, each after those that precede it in its own order where possible.

    Different outcomes of an operation pass different boundaries; a table shows them in one order.
    """
    merged: list[str] = []
    for order in sorted(orders, key=len, reverse=True):
        place = 0
        for name in order:
            if name in merged:
                place = merged.index(name) + 1
            else:
                merged.insert(place, name)
                place += 1
    return tuple(merged)
