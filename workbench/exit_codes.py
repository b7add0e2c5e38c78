"""What the command's exit code says: 0 pass, 1 fail, 3 undetermined; 2 is wrong usage.

Wrong usage is `typer.BadParameter`, which ends the program with 2 by itself.
"""

from collections.abc import Mapping

from model.checking.explore import Verdict

EXIT_CODES: Mapping[Verdict, int] = {
    Verdict.PASS: 0,
    Verdict.FAIL: 1,
    Verdict.UNDETERMINED: 3,
}
