"""The errors of the implementation: a call that raises one of them has changed nothing.

A refusal (`global_full`, `stale`, ...) is never an exception; it is a value that an action returns.
An error of the storage (`sqlite3.OperationalError`, ...) is never wrapped in one of these classes:
it passes through unchanged, and what it leaves behind is for the caller to find out.
"""


class AdmitOneError(Exception):
    """Base of every error that a protocol defines."""


class InvalidInput(AdmitOneError):
    """An argument is outside its type or bound; the store was not touched (A16)."""


class StoreMissing(AdmitOneError):
    """There is no store at the path: no file, or a file without a schema (A1)."""


class SchemaMismatch(AdmitOneError):
    """The file holds something else: no database, another program's, another kind or version."""


class LimitsMismatch(AdmitOneError):
    """The admission store exists and was created with other limits (A1)."""


class LedgerMismatch(AdmitOneError):
    """The sender ledger exists and was created under another name (section B)."""


class ClockRegression(AdmitOneError):
    """The tick given is smaller than the stored clock (A9)."""


class UnknownIntent(AdmitOneError):
    """The ledger holds no intent with this id."""


class PermitUsed(AdmitOneError):
    """The permit has been sent once already, whatever became of that (B4)."""


class GenerationExhausted(AdmitOneError):
    """The record that the rule picks has no generation left (A16)."""
