"""A folder of generated files: a file is written only if its content changed, and files that are no longer generated are deleted."""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from tacholog.site.walk import walk
from tacholog.view.own_names import SOURCES, STATIC

KEPT_IN_OUTPUT = (STATIC, SOURCES)
_PAGE_ENDINGS = ("html", "js")
_PART = ".part"  # of a file that is being written


class Sources:
    """A folder of generated files. `tidy` deletes those that were not written since the object was made."""

    def __init__(self, folder: Path, *, is_alone: bool = False) -> None:
        """Keep track of a folder.

        Args:
            folder: may hold the files of the last build.
            is_alone: whether nobody else writes to the folder meanwhile. Then it is listed once, which takes less than to ask for thousands of files.
        """
        self.folder = folder
        self._inside = f"{folder}/"
        self._made: set[str] = set()  # as `walk` names them
        self._listed = _listed(folder) if is_alone else None
        self._folders = {inner[len(self._inside) :] for inner in self._listed.folders} if self._listed else set[str]()

    def write(self, name: str, content: str | bytes) -> None:
        """Write a file if its content differs. Sphinx reads files again by their modification time."""
        path = Path(self._claim(name))
        data = content.encode() if isinstance(content, str) else content
        if not path.is_file() or path.read_bytes() != data:
            part = path.with_name(_PART)
            part.write_bytes(data)
            part.replace(path)  # Of a build that is killed no half of a file may stay: raw logs are known by their names.
            if self._listed:
                self._listed.files.add(os.fspath(path))

    def kept(self, name: str) -> bool:
        """Keep a file as it is, and return whether it is there."""
        path = self._claim(name)
        return path in self._listed.files if self._listed else os.path.isfile(path)  # noqa: PTH113 - as below

    def copy(self, name: str, source: Path) -> None:
        """Copy a file if its size or modification time differs."""
        path = Path(self._claim(name))
        known = path.stat() if path.is_file() else None
        given = source.stat()
        if known is None or (known.st_size, known.st_mtime_ns) != (given.st_size, given.st_mtime_ns):
            shutil.copy2(source, path)

    def copy_tree(self, folder: Path) -> None:
        """Copy every file below ``folder``."""
        for source in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
            self.write(source.relative_to(folder).as_posix(), source.read_bytes())

    def tidy(self) -> None:
        """Delete every file that was not written since this object was made, and every folder that is empty then."""
        there = self._listed or _listed(self.folder)
        for path in map(Path, there.files - self._made):
            if path.is_file():
                path.unlink()
        used = {path.rpartition("/")[0] for path in self._made}
        for folder in reversed(there.folders[1:]):  # what is in a folder comes before it
            if folder not in used:
                with suppress(OSError):  # It is not empty.
                    os.rmdir(folder)  # noqa: PTH106 - as below

    def _claim(self, name: str) -> str:
        """Return the path of a file, whose folder is there. There are thousands, and to make a `Path` of each takes longer than to ask for it."""
        folder = name.rpartition("/")[0]
        if folder not in self._folders:
            if not os.path.isdir(self._inside + folder):  # noqa: PTH112 - as above
                (self.folder / folder).mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        path = self._inside + name
        self._made.add(path)
        return path


class _Listed(NamedTuple):
    """What is in a folder: all files, and the folder itself and all below it, each before those in it."""

    files: set[str]
    folders: list[str]


def _listed(folder: Path) -> _Listed:
    found = _Listed(set(), [])
    for inner, _, files in walk(os.fspath(folder)):
        found.folders.append(inner)
        found.files.update(f"{inner}/{file}" for file in files)
    return found


def delete_orphans(site: Path, documents: Iterable[str], tidied: Collection[str] = ()) -> None:
    """Delete built pages whose source is gone, the scripts of their parts, and folders that are empty. Sphinx keeps them, and they show old numbers.

    Args:
        site: the folder of the site.
        documents: the pages that it has.
        tidied: folders at its top in which `Sources.tidy` left nothing else. Of 10,000 runs, nearly all folders are in them.
    """
    wanted = {*documents, "search", "genindex", "searchindex"}
    left_out = {*KEPT_IN_OUTPUT, *tidied}
    top = os.fspath(site)
    folders = []
    for folder, names, files in walk(top):
        folders.append(folder)
        inside = folder[len(top) :].lstrip("/")  # There are thousands, and to make a `Path` of each takes longer than to look into it.
        names[:] = [name for name in names if inside or (name not in left_out and not name.startswith("."))]
        for file in files:
            name, _, ending = file.rpartition(".")
            document = f"{inside}/{name}" if inside else name
            if ending in _PAGE_ENDINGS and document not in wanted and (inside or not file.startswith(".")):
                Path(folder, file).unlink()
    for folder in reversed(folders):  # what is in a folder comes before it
        with suppress(OSError):  # It is not empty.
            os.rmdir(folder)  # noqa: PTH106 - as above


def forget_trees(trees: Path, documents: Iterable[str]) -> None:
    """Delete what Sphinx keeps of pages whose source is gone: it may hold names that are private by now."""
    wanted = {f"{document}.doctree" for document in documents}
    for path in trees.rglob("*.doctree"):
        if path.relative_to(trees).as_posix() not in wanted:
            path.unlink()
