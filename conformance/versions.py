"""Two versions side by side: loads the packages `model` and `impl` of another revision or folder.

The modules of the other version are its own, `model.machine` included, and so are its classes:
values of two versions are compared by what they say (`plain`), never by class.
"""

import importlib
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any

from conformance.implementation import MODULES, Implementation
from conformance.run_end import begin_scratch_name
from conformance.subject import ENDINGS

PACKAGES = ("model", "impl")


class VersionError(Exception):
    """There is no such version, or it can't be compared with this one."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version in a folder that holds the packages `model` and `impl`."""

    label: str
    root: Path


@contextmanager
def open_version(name: str, repository: Path) -> Iterator[Version]:
    """Yield a version: a folder as it is, or the packages of a git revision in a folder.

    `VersionError` if there is neither.
    """
    if Path(name).is_dir():
        if not all(Path(name, package).is_dir() for package in PACKAGES):
            raise VersionError(f"{name} holds no copy of this project")
        yield Version(name, Path(name).resolve())
        return
    with tempfile.TemporaryDirectory(prefix=f"{begin_scratch_name()}version-") as folder:
        _extract_revision(name, repository, Path(folder))
        yield Version(name, Path(folder))


def _extract_revision(revision: str, repository: Path, folder: Path) -> None:
    """Write the packages of a git revision into a folder."""
    if revision.startswith("-"):
        raise VersionError(f"{revision!r} is neither a folder nor a git revision")
    command = ["git", "-C", str(repository), "archive", "--format=tar", revision, *PACKAGES]
    try:
        archive = subprocess.run(command, capture_output=True, check=True).stdout
    except FileNotFoundError as error:
        raise VersionError("git is needed to compare with a revision, and was not found") from error
    except subprocess.CalledProcessError as error:
        reason = error.stderr.decode(errors="replace").strip()
        raise VersionError(
            f"{revision!r} is neither a folder nor a git revision: {reason}"
        ) from error
    with tarfile.open(fileobj=BytesIO(archive)) as files:
        files.extractall(folder, filter="data")


def load_modules(version: Version, names: Iterable[str]) -> dict[str, ModuleType]:
    """Return modules of a version by name; the modules of this process stay as they are.

    `VersionError` if one is missing or can't be imported.
    """

    def is_ours(name: str) -> bool:
        return name.partition(".")[0] in PACKAGES

    kept = {name: module for name, module in sys.modules.items() if is_ours(name)}
    for name in kept:
        del sys.modules[name]
    sys.path.insert(0, str(version.root))
    importlib.invalidate_caches()
    try:
        modules = {name: importlib.import_module(name) for name in names}
    except (Exception, *ENDINGS) as error:
        said = f"{type(error).__name__}: {error}"
        raise VersionError(f"{version.label}: {said}") from error
    finally:
        sys.path.remove(str(version.root))
        for name in [name for name in sys.modules if is_ours(name)]:
            del sys.modules[name]
        sys.modules.update(kept)
    for name, module in modules.items():
        if not Path(module.__file__ or "").is_relative_to(version.root):
            raise VersionError(f"{version.label} has no module {name}")
    return modules


def load_specification(version: Version) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Return the machines and the scopes of a version, by name."""
    scopes = load_modules(version, ["model.scopes"])["model.scopes"]
    try:
        return scopes.MACHINES, scopes.SCOPES
    except AttributeError as error:
        raise VersionError(f"{version.label}: {error}") from error


def load_version_of_implementation(version: Version) -> Implementation:
    """Return the SQLite implementation of a version."""
    names = [f"impl.sqlite.{name}" for name in MODULES]
    modules = load_modules(version, names)
    return Implementation(**{name.rpartition(".")[2]: modules[name] for name in names})


def plain(value: Any) -> Any:
    """Return what a state, an action or an outcome says, without the classes of its version."""
    if isinstance(value, Enum):
        return str(value)
    if is_dataclass(value) and not isinstance(value, type):
        own = tuple((each.name, plain(getattr(value, each.name))) for each in fields(value))
        return type(value).__name__, own
    if isinstance(value, tuple):
        return tuple(plain(each) for each in value)
    if isinstance(value, frozenset):
        return frozenset(plain(each) for each in value)
    return value
