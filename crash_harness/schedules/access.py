"""What a statement touches beside its own connection, and which two statements can change places.

A schedule is an order of statements of several connections. Two schedules that differ only by
exchanging neighbours that touch nothing in common give the same answers and leave the same state:
they are one class, and one of them is enough. This is the argument, for files in WAL mode:

- what a transaction reads after its first read is its snapshot, which nobody changes;
- what a transaction writes while it holds the write lock is in frames of the log that no reader
  looks at before the commit;
- `begin deferred` takes nothing at all, and the end of a transaction that only read lets nobody
  in that could not get in before;
- a commit without a change, and a rollback, only give the write lock back.

So what others can notice is taking a snapshot, taking the lock, giving it back and publishing.
Statements on different files have nothing in common. The call of an operation and the end of
another one can't change places either, since real time orders operations by these two.

What is not known to be harmless is taken to touch everything (`ANYTHING`). A run checks the
argument as it goes: only a publishing statement may change what an observer reads, and a lock
that is said to be held must turn a real attempt away.

Not here: files in rollback-journal mode, where a reader keeps a writer out. While a store is being
created, `strict` access keeps the end of a reading transaction apart.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache

COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
WRITES = frozenset({"insert", "update", "delete", "replace", "create", "drop", "alter"})
READS = frozenset({"select", "values"})
ENDS = frozenset({"commit", "end", "rollback"})
TAKES_LOCK = frozenset({"immediate", "exclusive"})
PRIVATE_PRAGMAS = frozenset({"busy_timeout", "foreign_keys"})
"""Settings of the connection that look at no file."""
READ_PRAGMAS = frozenset({"application_id", "user_version", "journal_mode", "synchronous"})
HEADER_PRAGMAS = frozenset({"application_id", "user_version"})


class Kind(Enum):
    """What a statement does that another connection to the same file can notice."""

    PRIVATE = auto()
    END_OF_READING = auto()
    SNAPSHOT = auto()
    LOCK = auto()
    RELEASE = auto()
    PUBLISH = auto()
    ANYTHING = auto()


_CONFLICTS: dict[Kind, frozenset[Kind]] = {
    Kind.PRIVATE: frozenset(),
    Kind.END_OF_READING: frozenset({Kind.ANYTHING}),
    Kind.SNAPSHOT: frozenset({Kind.PUBLISH, Kind.ANYTHING}),
    Kind.LOCK: frozenset({Kind.LOCK, Kind.RELEASE, Kind.PUBLISH, Kind.ANYTHING}),
    Kind.RELEASE: frozenset({Kind.LOCK, Kind.ANYTHING}),
    Kind.PUBLISH: frozenset({Kind.SNAPSHOT, Kind.LOCK, Kind.PUBLISH, Kind.ANYTHING}),
    Kind.ANYTHING: frozenset(Kind) - {Kind.PRIVATE},
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The next statement of a lane, as the one who chooses sees it.

    `starts` tells that it is the first of its operation, `may_end` that its operation may be over
    with it: no transaction is open behind it.
    """

    lane: int
    file: str
    kind: Kind
    starts: bool = False
    may_end: bool = False


def are_independent(one: Choice, other: Choice) -> bool:
    """Tell whether two statements of different lanes can change places."""
    if (one.starts and other.may_end) or (one.may_end and other.starts):
        return False
    return one.file != other.file or other.kind not in _CONFLICTS[one.kind]


@lru_cache(maxsize=4096)
def tidy(sql: str) -> str:
    """Return a statement on one line, without comments and needless space."""
    return " ".join(COMMENT.sub(" ", sql).split())


@dataclass(frozen=True, slots=True)
class Words:
    """What of a statement's text says what it does; `value` is what a pragma is set to."""

    text: str
    keyword: str
    second: str
    pragma: str = ""
    value: str = ""

    @property
    def begins_with_lock(self) -> bool:
        """Whether it begins a transaction and takes the write lock."""
        return self.keyword == "begin" and self.second in TAKES_LOCK

    @property
    def writes(self) -> bool:
        """Whether it writes to the file."""
        is_header = self.pragma in HEADER_PRAGMAS and self.value != ""
        return self.keyword in WRITES or is_header

    @property
    def reads(self) -> bool:
        """Whether it reads from the file, and does not write."""
        # Setting `synchronous` reads the schema, if the connection does not have it yet.
        is_read = self.pragma == "synchronous" or (self.pragma in READ_PRAGMAS and not self.value)
        return self.keyword in READS or is_read

    @property
    def switches_journal(self) -> bool:
        """Whether it sets the journal mode, for which SQLite waits for nobody."""
        return self.pragma == "journal_mode" and self.value != ""


@lru_cache(maxsize=4096)
def read_words(sql: str) -> Words:
    """Return the words of a statement."""
    text = tidy(sql)
    words = text.lower().rstrip(";").split()
    keyword = words[0] if words else ""
    second = words[1] if len(words) > 1 else ""
    if keyword != "pragma":
        return Words(text, keyword, second)
    name, _, value = " ".join(words[1:]).partition("=")
    return Words(text, keyword, second, name.strip(), value.strip())


@dataclass(slots=True)
class Standing:
    """How a connection stands towards its file: what its open transaction has taken so far."""

    in_transaction: bool = False
    has_snapshot: bool = False
    has_lock: bool = False
    has_written: bool = False

    def classify(self, words: Words, *, strict: bool) -> Kind:
        """Return what this statement, the next one of the connection, lets others notice."""
        if words.keyword == "begin":
            return Kind.LOCK if words.begins_with_lock else Kind.PRIVATE
        if words.keyword in ENDS:
            if self.has_lock:
                publishes = self.has_written and words.keyword != "rollback"
                return Kind.PUBLISH if publishes else Kind.RELEASE
            return Kind.END_OF_READING if strict else Kind.PRIVATE
        if words.pragma in PRIVATE_PRAGMAS:
            return Kind.PRIVATE
        if words.reads:
            return Kind.PRIVATE if self.has_snapshot else Kind.SNAPSHOT
        if words.writes and self.has_lock:
            return Kind.PRIVATE
        # Outside a transaction, a write takes the lock, publishes and gives the lock back at once.
        return Kind.LOCK if words.writes and self.in_transaction else Kind.ANYTHING

    def ends_with(self, words: Words) -> bool:
        """Tell whether no transaction is open behind this statement."""
        return words.keyword in ENDS or not (self.in_transaction or words.keyword == "begin")

    def pass_by(self, words: Words, *, in_transaction: bool, rows_changed: int) -> None:
        """Note that a statement was carried out."""
        if not in_transaction:
            self.reset()
            return
        self.in_transaction = True
        if words.writes:
            self.has_snapshot = self.has_lock = True
            # With "returning" the rows are counted only when they are fetched.
            self.has_written |= rows_changed != 0 or "returning" in words.text
        elif words.begins_with_lock:
            self.has_snapshot = self.has_lock = True
        elif words.keyword != "begin":
            self.has_snapshot = True

    def reset(self) -> None:
        """Note that no transaction is open."""
        self.in_transaction = self.has_snapshot = self.has_lock = self.has_written = False
