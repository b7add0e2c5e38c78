"""One verdict of several."""

from collections.abc import Sequence

from model.checking.explore import Verdict


def conclude(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the one verdict: a failure outweighs all, and undetermined never passes."""
    for verdict in (Verdict.FAIL, Verdict.UNDETERMINED):
        if verdict in verdicts:
            return verdict
    return Verdict.PASS if verdicts else Verdict.UNDETERMINED
