"""Why a small change of the code may survive the searches of `make mutation`, place by place.

A reason names what else would see the change, or why there is nothing to see. A pattern is matched
against the lines that a change takes away and puts in, so that it stands for one place and one kind
of change, and for nothing that is written later elsewhere.
"""

import re
from dataclasses import dataclass

from conformance.mutants.mutant import Mutant


@dataclass(frozen=True, slots=True)
class Reason:
    """Changes that are explained: those of a file whose edit matches.

    `file` and `edit` are regular expressions; an edit has a line `-old` and a line `+new`.
    """

    file: str
    edit: str
    why: str

    def explains(self, mutant: Mutant) -> bool:
        """Tell whether this is the reason why the mutant may survive."""
        is_here = re.fullmatch(self.file, mutant.file) is not None
        return is_here and re.search(self.edit, mutant.edit, re.MULTILINE) is not None


REASONS = (
    Reason(
        r"impl/sqlite/(admission_store|reservation|receiver)\.py",
        r"^-SCHEMA: Final = Schema\(.*user_version=\d+\)$",
        "a search opens only files that it has made; `test_file_formats` holds the numbers",
    ),
    Reason(
        r"impl/sqlite/admission_store\.py|model/admission_vocabulary\.py",
        r"^-    (global|tenant|item)_(slots|bytes): int = \d+$",
        "a search brings its own limits; the frozen scenarios hold the defaults",
    ),
)


def explain(mutant: Mutant) -> str | None:
    """Return why a change may survive, None if nobody has said."""
    return next((reason.why for reason in REASONS if reason.explains(mutant)), None)
