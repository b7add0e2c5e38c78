"""Loads a changed copy of `impl.sqlite` or of `model` in memory, beside the real one.

A change is text: what stands in one file, and what is to stand there instead. The copy consists of
modules of its own, so its classes are not those of the real package; `sys.modules` and the tree
stay as they are. Files that a module reads beside itself (the schemas) are changed with it.

Not here: which changes there are (`conformance.mutants`), and what they show.

Reading hint: `apply_changes`, then `load_modules`. The copies find one another through an
`__import__` of their own, which they get with their builtins.
"""

import builtins
import importlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final

from conformance.implementation import MODULES, Implementation
from conformance.subject import ENDINGS
from model.machine import Machine, Scope

ROOT: Final = Path(__file__).resolve().parents[1]
"""The folder in which the packages lie; a change names its file from here."""

IMPLEMENTATION: Final = "impl.sqlite"
MODEL: Final = "model"
SHARED: Final = ("model.machine", "model.checking")
"""Never copied: the shapes of a model and its judges, which know it through these alone."""


class ChangeError(Exception):
    """Base: a change that can't be made."""


class ChangeDoesNotApply(ChangeError):
    """The text to be changed does not stand in its file exactly once."""


class ChangeDoesNotLoad(ChangeError):
    """The changed file can't be compiled or imported."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one place: `old` stands in the file exactly once, and `new` takes its place.

    `file` is a path from the folder of the packages, "impl/sqlite/admission_store.py".
    """

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Specification:
    """A version of `model`: its machines and scopes by name."""

    machines: Mapping[str, Machine[Any, Any, Any]]
    scopes: Mapping[str, Mapping[str, Scope]]


def read_source(file: str) -> str:
    """Return the text of a file as it is in the tree."""
    return (ROOT / file).read_text("utf-8")


def apply_changes(changes: Iterable[Change]) -> dict[str, str]:
    """Return the changed text of each file that the changes name.

    `ChangeDoesNotApply` if a text to be changed does not stand in the file exactly once, stays the
    same, or overlaps with another. A text that is put in is not looked at, so that one can move.
    """
    places: dict[str, list[tuple[int, Change]]] = {}
    for change in changes:
        if not (ROOT / change.file).is_file():
            raise ChangeDoesNotApply(f"there is no file {change.file}")
        text = read_source(change.file)
        times = text.count(change.old) if change.old else 0
        if times != 1:
            raise ChangeDoesNotApply(f"{change.file} has {times} times: {change.old!r}")
        if change.old == change.new:
            raise ChangeDoesNotApply(f"{change.file} would stay as it is: {change.old!r}")
        places.setdefault(change.file, []).append((text.index(change.old), change))
    return {file: _replace(read_source(file), found) for file, found in places.items()}


def _replace(text: str, places: list[tuple[int, Change]]) -> str:
    """Return a text with changes at these places."""
    pieces = []
    end = 0
    for start, change in sorted(places, key=lambda place: place[0]):
        if start < end:
            raise ChangeDoesNotApply(f"{change.file}: two changes meet in {change.old!r}")
        pieces += [text[end:start], change.new]
        end = start + len(change.old)
    return "".join([*pieces, text[end:]])


def load_changed_implementation(changes: Iterable[Change]) -> Implementation:
    """Return the implementation with these changes, for the engines that take a version of it."""
    names = [f"{IMPLEMENTATION}.{name}" for name in MODULES]
    modules = load_modules(names, apply_changes(changes), package=IMPLEMENTATION)
    return Implementation(**{name.rpartition(".")[2]: modules[name] for name in names})


def load_changed_specification(changes: Iterable[Change]) -> Specification:
    """Return the model with these changes: machines whose steps and properties belong together."""
    texts = apply_changes(changes)
    scopes = load_modules(["model.scopes"], texts, package=MODEL)["model.scopes"]
    return Specification(scopes.MACHINES, scopes.SCOPES)


def load_modules(
    names: Iterable[str], texts: Mapping[str, str], *, package: str
) -> dict[str, ModuleType]:
    """Return modules of a package by name, made anew with the changed texts of their files.

    Every module of the package that they import is made anew too, but those in `SHARED`.
    `ChangeDoesNotLoad` if that fails, or if a changed file was not read at all.
    """
    family = _Family(package, texts)
    try:
        modules = {name: family.load(name) for name in names}
    except (Exception, *ENDINGS) as error:
        raise ChangeDoesNotLoad(f"{type(error).__name__}: {error}") from error
    unread = {file for file in texts if file.endswith(".py")} - family.files
    if unread:
        raise ChangeDoesNotLoad(f"nothing that was loaded imports {', '.join(sorted(unread))}")
    return modules


@lru_cache(maxsize=256)
def _compile(text: str, file: str) -> CodeType:
    return compile(text, str(ROOT / file), "exec", dont_inherit=True)


class _Family:
    """The modules of one changed copy of a package, which import one another."""

    def __init__(self, package: str, texts: Mapping[str, str]) -> None:
        self.package = package
        self.texts = texts
        self.files: set[str] = set()
        self._modules: dict[str, ModuleType] = {}
        self._builtins = {**vars(builtins), "__import__": self._import}
        self._pathlib = ModuleType("pathlib")
        vars(self._pathlib).update(vars(importlib.import_module("pathlib")))
        vars(self._pathlib)["Path"] = _path_class(texts)

    def owns(self, name: str) -> bool:
        """Tell whether a module belongs to the copy."""
        is_inside = name == self.package or name.startswith(f"{self.package}.")
        is_shared = any(name == each or name.startswith(f"{each}.") for each in SHARED)
        return is_inside and not is_shared

    def load(self, name: str) -> ModuleType:
        """Return a module of the copy, made at the first request."""
        if name in self._modules:
            return self._modules[name]
        folder = ROOT.joinpath(*name.split("."))
        is_package = folder.is_dir()
        path = folder / "__init__.py" if is_package else folder.with_suffix(".py")
        file = path.relative_to(ROOT).as_posix()
        self.files.add(file)
        module = ModuleType(name)
        vars(module)["__builtins__"] = self._builtins
        module.__file__ = str(path)
        module.__package__ = name if is_package else name.rpartition(".")[0]
        self._modules[name] = module  # before it runs, as the import system does
        text = self.texts[file] if file in self.texts else read_source(file)
        exec(_compile(text, file), vars(module))  # noqa: S102 - our own source, with a change
        return module

    def _import(
        self,
        name: str,
        globals: Mapping[str, object] | None = None,  # noqa: A002 - the names of `__import__`
        locals: Mapping[str, object] | None = None,  # noqa: A002 - the same
        fromlist: tuple[str, ...] = (),
        level: int = 0,
    ) -> ModuleType:
        if name == "pathlib":
            return self._pathlib
        if level == 0 and not self.owns(name):
            return builtins.__import__(name, globals, locals, fromlist, level)
        if level or not fromlist:
            raise ImportError(f"a module of {self.package} is imported by `from {name} import`")
        module = self.load(name)
        for each in fromlist:
            if not hasattr(module, each):
                setattr(module, each, self.load(f"{name}.{each}"))
        return module


def _path_class(texts: Mapping[str, str]) -> type[Path]:
    """Return a `Path` that reads the changed text of a file where there is one."""
    changed = {str(ROOT / file): text for file, text in texts.items()}

    class ChangedPath(type(Path())):  # type: ignore[misc]  # its metaclass picks this system's own
        def read_text(self, *arguments: Any, **options: Any) -> str:
            text = changed.get(str(self))
            return super().read_text(*arguments, **options) if text is None else text

    return ChangedPath
