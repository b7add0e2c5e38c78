"""Runs the tests that look at what no search does, on a copy of the project with one change in it.

Files that are not ours, storage that fails, the formats of the files, defaults, what an exit
leaves, and each rule by an example: the tests of a side take some seconds together.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.changed_source import ROOT, apply_changes
from conformance.mutants.kills import Kill
from conformance.mutants.mutant import Mutant
from conformance.place import scratch_folder

COPIED = ("conformance", "crash_harness", "impl", "model", "stateful_tests")
MODEL_TESTS = (
    "test_model_programs.py",  # first: where a program has no end, the others have none
    "test_model_reservation_rules.py",
    "test_model_admission_rules.py",
    "test_model_exits.py",
    "test_model_values.py",
)
IMPLEMENTATION_TESTS = (
    "test_store_files.py",
    "test_store_connections.py",
    "test_store_values.py",
    "test_file_formats.py",
)
MOST_SECONDS = 120


def kill_by_tests(mutant: Mutant) -> Kill | None:
    """Return the first test that fails with a change, None if all pass."""
    with scratch_folder() as folder:
        for package in COPIED:
            shutil.copytree(
                ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__")
            )
        for file, text in apply_changes(mutant.changes).items():
            (folder / file).write_text(text, "utf-8")
        return _run_tests(folder, MODEL_TESTS if mutant.is_of_the_model else IMPLEMENTATION_TESTS)


def _run_tests(folder: Path, tests: Sequence[str]) -> Kill | None:
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-n", "0"]
    command += [f"stateful_tests/{test}" for test in tests]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"},
            capture_output=True,
            encoding="utf-8",
            timeout=MOST_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Kill(("tests: no end",), 0)
    if not done.returncode:
        return None
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return Kill((f"tests: {failed[0] if failed else done.stdout[-200:]}",), 0)
