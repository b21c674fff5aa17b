"""Paths on the command line, and writing to them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tacholog.errors import TachologError


class Folder(click.Path):
    """A folder. The message of click for a file in its place would be "Directory 'x.log' is a file"."""

    def __init__(self, *, exists: bool = False) -> None:
        """With ``exists``, the folder must exist."""
        super().__init__(path_type=Path)
        self._must_exist = exists

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ANN401 - as click has it
        """Return the path of a folder, which need not exist unless it must."""
        path = Path(value)
        if path.exists() and not path.is_dir():
            self.fail(f"{value} is a file, not a folder", param, ctx)
        if self._must_exist and not path.exists():
            self.fail(f"{value}: no such folder", param, ctx)
        return path


def write_output(path: Path, content: bytes) -> None:
    """Write the file that the user asked for, and make its folder if needed.

    Raises:
        TachologError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror or error}") from error
