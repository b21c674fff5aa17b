"""Which version of the code something was made with: a part of every key of the cache, so that changed code never meets old results."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import sys
from pathlib import Path

import tacholog.formats
from tacholog.formats.registry import format_named, formats, is_ours, package_of, readers_of_any_log

_FORMATS = "tacholog.formats"
#: What turns the logs of a run into numbers of a part, whatever their format is. The modules that all formats share, and those of the format itself,
#: belong to it besides.
_READERS = (
    f"{_FORMATS}.kit",
    *("tacholog.schema", "tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.runs.problems", "tacholog.runs.stated"),
    *("tacholog.runs.clocks", "tacholog.runs.host", "tacholog.runs.labels", "tacholog.runs.moments"),
    *(f"tacholog.store.{name}" for name in ("assembly", "clocks", "column_builder", "columns", "distributions", "engine", "logs", "parts")),
    "tacholog.store.quality",
)


#: The files that digests were made of, with their states then.
_READ_FILES: dict[Path, tuple[int, ...]] = {}


@functools.cache
def code_digest(*names: str) -> str:
    """Return the SHA-256 of the sources of these modules and packages, in hexadecimal."""
    found = hashlib.sha256(f"Python {sys.version_info[:2]}".encode())
    for name in names:
        for path in _files(name):
            _READ_FILES[path] = _state(path)
            found.update(f"{name}/{path.name}\0{path.stat().st_size}\0".encode())
            found.update(path.read_bytes())
    return found.hexdigest()


def is_code_changed() -> bool:
    """Whether somebody has edited code since its digest was made. Processes that started since then may have read logs with the new code."""
    return any(_state(path) != state for path, state in _READ_FILES.items())


def _state(path: Path) -> tuple[int, ...]:
    try:
        found = path.stat()
    except OSError:
        return ()
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


def _files(name: str) -> list[Path]:
    """Return the files that a module consists of; of a package all below it."""
    spec = importlib.util.find_spec(name)
    if spec is None:
        return []
    if spec.submodule_search_locations:
        return sorted(path for folder in spec.submodule_search_locations for path in Path(folder).rglob("*.py"))
    return [Path(spec.origin)] if spec.origin and Path(spec.origin).is_file() else []


@functools.cache
def reader_digest(format_name: str) -> str:
    """Return the version of all that reads a log of this format.

    Raises:
        UnreadableInput: there is no such format.
    """
    module = format_named(format_name)
    name: str = vars(module)["__name__"]
    own = name if is_ours(module) else name.partition(".")[0]  # A package from outside may keep what its format needs anywhere.
    others = sorted({reader.__module__ for reader in readers_of_any_log()})
    code = code_digest(*_READERS, *_shared_modules(), own, *others)
    return hashlib.sha256(f"{format_name} {package_of(format_name)} {code}".encode()).hexdigest()


@functools.cache
def _shared_modules() -> list[str]:
    """Return the modules beside those of the formats, which read logs of all formats."""
    own = {vars(module)["__name__"] for module in formats().values()}
    names = (f"{_FORMATS}.{path.stem}" for path in Path(tacholog.formats.__file__).parent.glob("*.py"))
    return sorted(name for name in names if name not in own)


@functools.cache
def detection_digest() -> str:
    """Return the version of all that finds the format of a log: every format has a say."""
    return hashlib.sha256(" ".join(reader_digest(name) for name in formats()).encode()).hexdigest()


@functools.cache
def manifest_digest() -> str:
    """Return the version of what reads manifests."""
    return code_digest("tacholog.runs.disturbance", "tacholog.runs.manifest", "tacholog.schema")
