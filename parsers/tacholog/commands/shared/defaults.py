"""Defaults that a project states once in a file, so that users need not type ``--data`` with every command."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.runs.manifest import in_words

FILES = ("tacholog.toml", "pyproject.toml")
_TABLE = "tool.tacholog"
_Name = Annotated[str, msgspec.Meta(min_length=1)]


class Defaults(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of ``tacholog.toml``, or of ``[tool.tacholog]`` in ``pyproject.toml``. Paths are relative to that file.

    Attributes:
        data: the folders of runs.
        site: the ``site.toml``.
        output: the folder for the site.
    """

    data: tuple[_Name, ...] = ()
    site: _Name | None = None
    output: _Name | None = None

    def folders(self) -> tuple[Path, ...]:
        """Return the folders of runs."""
        return tuple(map(Path, self.data))


def defaults() -> Defaults:
    """Return the defaults in ``tacholog.toml`` or ``pyproject.toml`` of the current folder; empty defaults if neither file states any.

    Raises:
        UnreadableInput: a file is not TOML, or has an unknown key; the message names file and key.
    """
    for name in FILES:
        path = Path(name)
        if path.is_file():
            table = _table(path)
            if table is not None:
                return _converted(table, path)
    return Defaults()


def _table(path: Path) -> dict[str, Any] | None:
    """Return the table with the defaults in a file; ``None`` if the file is a ``pyproject.toml`` without this table."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError) as error:
        raise UnreadableInput(f"{path}: {error}") from None
    if path.name != "pyproject.toml":
        return document
    table = document.get("tool", {})
    keys = table.get("tacholog") if isinstance(table, dict) else None
    return keys if isinstance(keys, dict) else None


def _converted(table: dict[str, Any], path: Path) -> Defaults:
    if isinstance(table.get("data"), str):
        table = {**table, "data": [table["data"]]}
    try:
        return msgspec.convert(table, Defaults)
    except msgspec.ValidationError as error:
        where = f" [{_TABLE}]" if path.name == "pyproject.toml" else ""
        raise UnreadableInput(f"{path}{where}: {in_words(error, Defaults)}") from None
