"""A folder of generated files: a file is written only if its content changed, and files that are no longer generated are deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

KEPT_IN_OUTPUT = ("_static", "_sources")
_PAGE_ENDINGS = ("html", "js")


class Sources:
    """A folder of generated files. `tidy` deletes those that were not written since the object was made."""

    def __init__(self, folder: Path) -> None:
        """``folder`` may hold the files of the last build."""
        self.folder = folder
        self._made: set[str] = set()
        self._folders: set[Path] = set()

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file if its content differs. Sphinx reads files again by their modification time."""
        path = self._claim(name)
        data = content.encode() if isinstance(content, str) else content
        if not path.is_file() or path.read_bytes() != data:
            path.write_bytes(data)

    def kept(self, name: str) -> bool:
        """Keep a file as it is, and return whether it is there."""
        return self._claim(name).is_file()

    def copy(self, name: str, source: Path) -> None:
        """Copy a file if its size or modification time differs."""
        path = self._claim(name)
        known = path.stat() if path.is_file() else None
        given = source.stat()
        if known is None or (known.st_size, known.st_mtime_ns) != (given.st_size, given.st_mtime_ns):
            shutil.copy2(source, path)

    def copy_tree(self, folder: Path) -> None:
        """Copy every file below ``folder``."""
        for source in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            self.write(source.relative_to(folder).as_posix(), source.read_bytes())

    def tidy(self) -> None:
        """Delete every file that was not written since this object was made."""
        for folder, _, files in os.walk(self.folder, topdown=False):
            for path in (Path(folder, file) for file in files if f"{folder}/{file}" not in self._made):
                if path.is_file():
                    path.unlink()
            if Path(folder) != self.folder and not any(Path(folder).iterdir()):
                Path(folder).rmdir()

    def _claim(self, name: str) -> Path:
        path = self.folder / name
        if path.parent not in self._folders:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(path.parent)
        self._made.add(f"{self.folder}/{name}")  # as `os.walk` names it
        return path


def delete_orphans(site: Path, documents: Iterable[str]) -> None:
    """Delete built pages whose source is gone, and the scripts of their parts. Sphinx keeps them, and they would show old numbers."""
    wanted = {*documents, "search", "genindex", "searchindex"}
    for folder, names, files in os.walk(site):
        inside = Path(folder).relative_to(site).as_posix()
        is_top = inside == "."
        names[:] = [name for name in names if not is_top or (name not in KEPT_IN_OUTPUT and not name.startswith("."))]
        for file in files:
            name, _, ending = file.rpartition(".")
            document = name if is_top else f"{inside}/{name}"
            if ending in _PAGE_ENDINGS and document not in wanted and not (is_top and file.startswith(".")):
                Path(folder, file).unlink()
