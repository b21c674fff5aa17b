"""A folder of generated files: a file is written only if its content changed, and files that are no longer generated are deleted."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

KEPT_IN_OUTPUT = ("_static", "_sources")


class Sources:
    """A folder of generated files. `tidy` deletes those that were not written since the object was made."""

    def __init__(self, folder: Path) -> None:
        """``folder`` may hold the files of the last build."""
        self.folder = folder
        self._made: set[Path] = set()

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
        for path in sorted(self.folder.rglob("*"), reverse=True):
            if path.is_file() and path not in self._made:
                path.unlink()
            elif path.is_dir() and not any(path.iterdir()):
                path.rmdir()

    def _claim(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        self._made.add(path)
        return path


def delete_orphans(site: Path, documents: Iterable[str]) -> None:
    """Delete built pages whose source is gone, and the scripts of their parts. Sphinx keeps them, and they would show old numbers."""
    wanted = {*documents, "search", "genindex", "searchindex"}
    for file in (path for ending in ("html", "js") for path in site.rglob(f"*.{ending}")):
        name = file.relative_to(site)
        if name.with_suffix("").as_posix() not in wanted and name.parts[0] not in KEPT_IN_OUTPUT and not name.parts[0].startswith("."):
            file.unlink()
