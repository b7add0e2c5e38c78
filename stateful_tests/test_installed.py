"""An installed copy, without any extra but that of the command, works far from the source.

The wheel is built from this tree and unpacked into a new environment, with links to what the extra
`command` needs and to nothing else.
"""

import contextlib
import re
import subprocess
import sys
import venv
import zipfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution, requires
from pathlib import Path

import pytest

from conformance.changed_source import ROOT

MOST_SECONDS = 120
NOT_PYTHON = {
    "crash_harness": {".json"},
    "impl": {".sql"},
    "workbench": {".css", ".html", ".js", ".md", ".svg"},
}
"""The kinds of files beside the modules, by package."""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(folder)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=MOST_SECONDS,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the Python of an environment with the wheel and what its command needs."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    for needed in find_needed():
        tops = {file.parts[0] for file in needed.files or () if file.parts[0] != ".."}
        for top in tops - {"__pycache__"}:
            (packages / top).symlink_to(Path(str(needed.locate_file(top))))
    return folder / "bin" / "python"


def find_needed() -> list[Distribution]:
    """Return the distributions that the extra `command` asks for, and those that they ask for.

    What is not installed here is asked for by other systems.
    """
    asked = [each for each in requires("admit-one") or () if "extra == 'command'" in each]
    found: dict[str, Distribution] = {}
    while asked:
        name = re.split(r"[^\w.-]", asked.pop())[0].lower()
        if name not in found:
            with contextlib.suppress(PackageNotFoundError):
                found[name] = distribution(name)
                asked += [each for each in found[name].requires or () if "extra ==" not in each]
    return list(found.values())


def run_installed(python: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command of the environment in another folder, with nothing to read."""
    return subprocess.run(
        [str(python), "-P", "-m", "workbench.cli", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=MOST_SECONDS,
        check=False,
        cwd=folder,
    )


def test_the_wheel_holds_every_file_of_its_packages(wheel: Path) -> None:
    """Schemas, styles, scripts, templates and results lie beside the modules that read them."""
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())

    for package, endings in NOT_PYTHON.items():
        files = [file for file in (ROOT / package).rglob("*") if file.suffix in endings]
        assert files
        assert {file.relative_to(ROOT).as_posix() for file in files} <= packed
    assert "workbench/lessons/protocols.md" in packed
    assert not any(name.startswith("docs/") for name in packed)


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (("--help",), "(needs apsw, of the extra 'power-loss'"),
        (("lesson",), "identity-first"),
        (("lesson", "identity-first"), "The verdict is fail."),
        (("trace", "slot-released-at-claim"), "the implementation parts from the specification"),
        (("trace", "slot-released-at-claim", "--format", "html"), "<!doctype html>"),
        (("explore", "admission", "TINY"), "verdict: pass"),
        (("explore", "admission", "TINY", "--html", "page.html"), "verdict: pass"),
        (("mutants", "show", "slot-released-at-claim"), "--- a/impl/sqlite/admission_store.py"),
        (("verify", "--only", "exhaustive admission TINY"), "1 of 1 checks passed"),
        (("verify", "--only", "experiment"), "1 of 1 checks passed"),
        (("race", "--contest", "admit-one-tenant"), "1 of 1 contests passed"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_installed_copy_works_in_another_folder(
    python: Path, tmp_path: Path, arguments: tuple[str, ...], shown: str
) -> None:
    """The command and the terminal lessons need no extra, and nothing of the source tree."""
    done = run_installed(python, tmp_path, *arguments)

    assert shown in " ".join(done.stdout.split()), done.stdout + done.stderr
    assert done.returncode == 0
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (("power-loss",), "power-loss"),
        (("race", "--schedules"), "schedules"),
        (("play", "admission"), "play"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else value,
)
def test_what_needs_an_extra_says_which(
    python: Path, tmp_path: Path, arguments: tuple[str, ...], extra: str
) -> None:
    """Without its packages a command is wrong usage, and the message names the extra."""
    done = run_installed(python, tmp_path, *arguments)

    assert done.returncode == 2
    assert f"of the extra '{extra}': pip install 'admit-one[{extra}]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_check_without_its_package_fails_and_says_which(python: Path, tmp_path: Path) -> None:
    """Nothing was shown, so it is no pass; the others run."""
    done = run_installed(
        python, tmp_path, "verify", "--only", "hypothesis admission", "--only", "walk admission"
    )

    assert done.returncode == 1
    assert "the check needs hypothesis, of the extra 'test'" in done.stdout
    assert "1 of 2 checks passed" in done.stdout
