"""Wrong usage, each in a sentence: exit code 2, before any work is done where that can be known."""

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

PYDANTIC = "Value error, "


class PlainGroup(TyperGroup):
    """The commands; of a value that is none of the allowed ones it says no more than that."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(PYDANTIC)
            raise


def say_reason(error: OSError) -> str:
    """Return why a file can't be read or written: "permission denied"."""
    return (error.strerror or str(error)).lower()


@contextlib.contextmanager
def refuse_unwritable(path: Path) -> Iterator[None]:
    """Turn an error of the file system into wrong usage."""
    try:
        yield
    except OSError as error:
        raise typer.BadParameter(f"can't write {path}: {say_reason(error)}") from error


def require_file(path: Path | None) -> Path | None:
    """Refuse a file that can't be written, as an option's callback.

    What stands in it stays, and none is left behind.
    """
    if path is None:
        return None
    with refuse_unwritable(path):
        if path.is_dir():
            raise _make_error(errno.EISDIR)
        is_new = not os.path.lexists(path)
        if is_new or path.is_file():  # to open a pipe would end it for its reader
            path.open("ab").close()
        if is_new:
            path.unlink()
    return path


def require_folder(path: Path | None) -> Path | None:
    """Refuse a folder that can't be made or written into, as an option's callback."""
    if path is None:
        return None
    with refuse_unwritable(path):
        nearest = next(each for each in (path, *path.absolute().parents) if each.exists())
        if not nearest.is_dir():
            raise _make_error(errno.ENOTDIR)
        tempfile.TemporaryFile(dir=nearest).close()
    return path


def _make_error(number: int) -> OSError:
    return OSError(number, os.strerror(number))
