"""The SQLite implementation as a value: its modules, so that a changed copy can stand in for it."""

import importlib
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True, slots=True)
class Implementation:
    """The modules of one version of `impl.sqlite`."""

    admission: ModuleType
    connection: ModuleType
    errors: ModuleType
    receiver: ModuleType
    reservation: ModuleType
    vocabulary: ModuleType


MODULES = tuple(Implementation.__dataclass_fields__)


def load_implementation() -> Implementation:
    """Return the implementation as it is in the tree."""
    return Implementation(
        **{name: importlib.import_module(f"impl.sqlite.{name}") for name in MODULES}
    )
