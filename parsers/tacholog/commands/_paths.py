"""Paths on the command line, and writing to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tacholog.errors import TachologError


class Folder(click.Path):
    """A folder: click's own words for a file in its place are that "Directory 'x.log' is a file"."""

    def __init__(self, *, exists: bool = False) -> None:
        """With ``exists`` it must be there already."""
        super().__init__(path_type=Path)
        self._must_exist = exists

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ANN401 - as click has it
        """Return the path, if it is that of a folder or (unless it must exist) of nothing yet."""
        path = Path(value)
        if path.exists() and not path.is_dir():
            self.fail(f"{value} is a file, and a folder is wanted", param, ctx)
        if self._must_exist and not path.exists():
            self.fail(f"{value}: no such folder", param, ctx)
        return path


def write_output(path: Path, content: bytes) -> None:
    """Write the file that the user asked for, in a folder that is made if need be; what goes wrong is said of that file.

    Raises:
        TachologError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror or error}") from error
