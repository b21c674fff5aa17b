"""The state of everything that a site is built from. If it is the same as at the last build, there is nothing to do."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import msgspec

from tacholog.formats.registry import GROUP
from tacholog.resources import site_dir, templates_dir
from tacholog.site.settings import SiteSettings

_VARIABLES = ("TACHOLOG_PLOTLY", "TACHOLOG_PSEUDONYM_KEY")


def state_of(roots: Sequence[Path], settings: SiteSettings) -> str:
    """Return a digest of all inputs of a site: files by path, size and modification time, settings, and installed packages."""
    digest = hashlib.sha256(msgspec.json.encode([[str(root.resolve()) for root in roots], settings, sys.version]))
    for text in (*_files(roots, settings), *_installed(), *(f"{name}={os.environ.get(name)}" for name in _VARIABLES)):
        digest.update(f"{text}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _files(roots: Sequence[Path], settings: SiteSettings) -> Iterator[str]:
    code = Path(__file__).parent.parent
    for folder in (*roots, code, templates_dir(), site_dir()):
        yield from _below(folder)
    if settings.logo:
        yield _file(Path(settings.logo))


def _below(folder: Path) -> Iterator[str]:
    for inner, names, files in os.walk(folder):
        names[:] = sorted(name for name in names if name != "__pycache__")
        yield from (_file(Path(inner, file)) for file in sorted(files))


def _file(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return f"{path} cannot be read"
    return f"{path} {found.st_size} {found.st_mtime_ns}{'' if os.access(path, os.R_OK) else ' cannot be read'}"


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
        yield from (_file(path) for path in sorted(Path(spec.origin).parent.glob("*.py")))
