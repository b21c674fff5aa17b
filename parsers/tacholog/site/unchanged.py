"""The state of everything that a site is built from, in four parts: what is the same as at the last build is not made again."""

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
from tacholog.resources import site_dir, templates_dir
from tacholog.site.settings import SiteSettings
from tacholog.site.walk import walk
from tacholog.view.own_names import STATIC

_PLOTLY, _KEY = "TACHOLOG_PLOTLY", "TACHOLOG_PSEUDONYM_KEY"


class Inputs(msgspec.Struct, frozen=True):
    """Digests of the inputs of a site.

    Attributes:
        code: this program, other formats, and the installed packages.
        data: the folders of runs, what is shown of them, and the code.
        pages: the templates, the prose and the settings.
        styles: the style sheets and scripts, by name.
    """

    code: str
    data: str
    pages: str
    styles: dict[str, str]

    @property
    def text(self) -> str:
        """All of them as text, for a stamp."""
        return msgspec.json.encode(self).decode()


def inputs_in(text: str) -> Inputs | None:
    """Return the inputs that `Inputs.text` wrote; nothing if another version wrote them."""
    try:
        return msgspec.json.decode(text, type=Inputs)
    except msgspec.DecodeError:
        return None


def inputs_of(roots: Sequence[Path], settings: SiteSettings) -> Inputs:
    """Return the state of all inputs of a site: files by path, size and times, settings, and installed packages."""
    code = _digest([sys.version, *_below(Path(__file__).parent.parent), *_installed()])
    shown = [[str(root.resolve()) for root in roots], settings.systems, settings.campaigns_left_out, settings.privacy, settings.limits]
    data = _digest([code, msgspec.json.encode(shown).decode(), *_variable(_KEY), *(line for root in roots for line in _below(root))])
    static = site_dir() / STATIC
    prose = [line for folder in (templates_dir(), site_dir()) for line in _below(folder, but=static)]
    logo = [_file(settings.logo)] if settings.logo else []
    pages = _digest([code, msgspec.json.encode(settings).decode(), *_variable(_PLOTLY), _file(os.environ.get(_PLOTLY, "")), *prose, *logo])
    return Inputs(code, data, pages, {path.relative_to(static).as_posix(): _content(path) for path in sorted(static.rglob("*")) if path.is_file()})


def _digest(lines: Iterable[str]) -> str:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _variable(name: str) -> tuple[str]:
    return (f"{name}={os.environ.get(name)}",)


def _content(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _below(folder: Path, but: Path | None = None) -> Iterator[str]:
    left_out = None if but is None else os.fspath(but)
    for inner, names, files in walk(os.fspath(folder)):
        names[:] = sorted(name for name in names if name != "__pycache__" and f"{inner}/{name}" != left_out)
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
