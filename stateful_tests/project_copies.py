"""Copies of the project, with a planted mistake or without, in which its command is run."""

import shutil
import subprocess
import sys
from pathlib import Path

from conformance.changed_source import ROOT, Change, apply_changes
from conformance.mutants.catalogue import find_mutant

PACKAGES = ("model", "impl", "conformance", "crash_harness", "stateful_tests", "workbench")
MOST_SECONDS = 240
STORE = "impl/sqlite/admission_store.py"
CANCEL = "    def cancel_unstarted(self, request_id: str) -> CancelOutcome:\n"


def copy_project(folder: Path) -> Path:
    """Copy all that `verify` needs into a folder."""
    for package in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__", "test_*.py")
        shutil.copytree(ROOT / package, folder / package, ignore=ignored)
    return folder


def plant(mutant: str, folder: Path) -> Path:
    """Copy the project into a folder, with a planted mistake."""
    copy_project(folder)
    for file, text in apply_changes(find_mutant(mutant).changes).items():
        (folder / file).write_text(text, "utf-8")
    return folder


def plant_line(folder: Path, line: str) -> Path:
    """Copy the project, with a line at the head of `cancel_unstarted`."""
    copy_project(folder)
    change = Change(STORE, CANCEL, f"{CANCEL}        {line}\n")
    for file, text in apply_changes([change]).items():
        (folder / file).write_text(text, "utf-8")
    return folder


def run_verify(folder: Path, *checks: str) -> subprocess.CompletedProcess[str]:
    """Run some checks in a copy of the project."""
    only = [word for check in checks for word in ("--only", check)]
    return run_command(folder, "verify", *only, "--json", "found.json")


def run_command(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a copy of the project."""
    return subprocess.run(
        [sys.executable, "-m", "workbench.cli", *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=MOST_SECONDS,
        check=False,
        cwd=folder,
    )


def run_program(program: str, folder: Path) -> str:
    """Run a program of this project in another folder, and return what it prints."""
    return subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{program}"],
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=True,
        cwd=folder,
    ).stdout
