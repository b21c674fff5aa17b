"""The state of everything that a site is built from: if it is that of the last build, there is nothing new."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import msgspec

from tacholog.formats.registry import GROUP
from tacholog.installation import site_dir, templates_dir
from tacholog.site.settings import SiteSettings
from tacholog.site.walk import walk

_PLOTLY, _KEY = "TACHOLOG_PLOTLY", "TACHOLOG_PSEUDONYM_KEY"


def inputs_of(roots: Sequence[Path], settings: SiteSettings) -> str:
    """Return the digest of all inputs of a site: data and program, files by path, size and times."""
    return _digest([program_of(settings), *(line for root in roots for line in (str(root.resolve()), *_below(root)))])


def program_of(settings: SiteSettings) -> str:
    """Return the digest of all that makes a site of data: code, templates, prose, installed packages, and settings."""
    package = Path(__file__).parent.parent
    folders = [package, templates_dir(), site_dir()]
    files = [path for path in (settings.logo, os.environ.get(_PLOTLY)) if path]
    return _digest(
        [
            sys.version,
            *_installed(),
            msgspec.json.encode(settings).decode(),
            *(f"{name}={os.environ.get(name)}" for name in (_PLOTLY, _KEY)),
            *map(_file, files),
            *(line for folder in folders for line in _below(folder)),
        ]
    )


def _digest(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _below(folder: Path) -> Iterator[str]:
    for inner, names, files in walk(os.fspath(folder)):
        names[:] = sorted(name for name in names if name != "__pycache__")
        yield from (_file(f"{inner}/{file}") for file in sorted(files))


def _file(path: str) -> str:
    """Return the state of a file, and of what it leads to if it is a link. Somebody may have set the time of its last modification back."""
    try:
        found = os.lstat(path)  # There are thousands, and to make a `Path` of each takes as long as to ask for it.
        states = [found, os.stat(path)] if stat.S_ISLNK(found.st_mode) else [found]  # noqa: PTH116 - as above
    except OSError:
        return f"{path} cannot be read"
    words = " ".join(f"{one.st_size} {one.st_mtime_ns} {one.st_ctime_ns} {one.st_ino}" for one in states)
    return f"{path} {words}{'' if os.access(path, os.R_OK) else ' cannot be read'}"


def _installed() -> Iterator[str]:
    """Yield the installed packages by name and version, and the files of formats from other packages: somebody may be editing them."""
    folders = (Path(entry) for entry in sys.path if entry)
    yield from sorted(name.name for folder in folders if folder.is_dir() for name in folder.glob("*.dist-info"))
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if not point.module.startswith("tacholog."):
            yield from _code_of(point.module)


def _code_of(module: str) -> Iterator[str]:
    try:
        spec = find_spec(module)
    except ImportError as error:
        yield str(error)
        return
    if spec and spec.origin:
        yield from (_file(os.fspath(path)) for path in sorted(Path(spec.origin).parent.glob("*.py")))
