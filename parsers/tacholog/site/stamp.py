"""The stamp of a built site: the list of its files, written last. A site without a stamp is not finished.

The stamp names what the site was built from, the checks that passed, and the SHA-256 of every file. `tacholog report` removes the stamp before it
changes a page, but after it has read the data: if these are refused, the site stays finished. `tacholog publish` refuses a site that has no stamp or
differs from it.

Names at the top of the folder that begin with a dot (``.git``, ``.nojekyll``) are not part of the site. They may belong to the owner of the folder,
so they are never listed, published or deleted.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.store.cache import Cache, open_cache
from tacholog.store.digests import FileDigests, FileStamp, digests_in, read_sha256

STAMP = ".tacholog-built.json"


class Sizes(NamedTuple):
    """The sizes in bytes above which a file or a site is named before it is published."""

    file: int
    site: int


USUAL = Sizes(50_000_000, 500_000_000)


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a finished site.

    ``inputs`` is the digest of everything that it was built from. ``checks`` are the checks that it passed. ``problems`` is the number of runs, logs
    and folders that could not be read, ``altered`` that of logs that are shown, but are not those that their manifests name. ``large`` names what a
    hoster may refuse. ``files`` holds the SHA-256 of each file by its path in the site, ``digest`` the SHA-256 of that list. ``keys`` holds the
    digests of what files were made of (`tacholog.site.former`).
    """

    schema: int = 1
    inputs: str
    checks: tuple[str, ...]
    problems: int
    altered: int = 0
    large: tuple[str, ...] = ()
    digest: str
    files: dict[str, str]
    keys: dict[str, str] = {}


def write_stamp(
    site: Path,
    inputs: str,
    checks: tuple[str, ...],
    problems: int,
    sizes: Sizes = USUAL,
    altered: int = 0,
    keys: Mapping[str, str] | None = None,
) -> None:
    """Declare a site finished: the last step of a build. Links are not listed, because no build makes any."""
    there = {name: file for name, file in _there(site, digests_in(open_cache())).items() if file.sha256 is not None}
    files = {name: str(file.sha256) for name, file in there.items()}
    large = _large({name: file.size_bytes for name, file in there.items()}, sizes)
    digest = _list_digest(files)
    made_of = {name: key for name, key in (keys or {}).items() if name in files}
    _write(site, Stamp(inputs=inputs, checks=checks, problems=problems, altered=altered, large=large, digest=digest, files=files, keys=made_of))


def _large(sizes: Mapping[str, int], limits: Sizes) -> tuple[str, ...]:
    """Return sentences on what is larger than the limits."""
    found = [
        f"{name} has {size / 1e6:.0f} MB; a hoster may refuse files above {limits.file / 1e6:g} MB"
        for name, size in sorted(sizes.items())
        if size > limits.file
    ]
    whole = sum(sizes.values())
    if whole > limits.site:
        found.append(f"the site has {whole / 1e6:.0f} MB, more than {limits.site / 1e6:g} MB (site_mb), and each published version adds to it")
    return tuple(found)


def _write(site: Path, stamp: Stamp) -> None:
    part = site / f"{STAMP}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(stamp), indent=1))
    part.replace(site / STAMP)


def remove_stamp(site: Path) -> None:
    """Declare a site not finished, before its first page is changed: a build that is killed must not look like a whole one."""
    (site / STAMP).unlink(missing_ok=True)


def is_built_of(site: Path, inputs: str) -> bool:
    """Whether the site is finished, was built from these inputs, and has not been changed since."""
    try:
        stamp = read_stamp(site)
    except UnreadableInput:
        return False
    return stamp.inputs == inputs and not changed_since(site, stamp)


def large_of(site: Path) -> tuple[str, ...]:
    """Return what is so large in a built site that a hoster may refuse it, in sentences; nothing if there is no stamp."""
    try:
        return read_stamp(site).large
    except UnreadableInput:
        return ()


def finished(site: Path) -> Stamp:
    """Return the stamp of a finished site whose files are those that were built.

    Raises:
        UnreadableInput: there is no site or no stamp, or a file was added, removed or changed since; the message names it.
    """
    if not (site / "index.html").is_file():
        raise UnreadableInput(f"{site}: no built site (tacholog report builds one)")
    stamp = read_stamp(site)
    if changed := changed_files(site, stamp):
        raise UnreadableInput(
            f"{site}: {changed[0]} {_what_happened(site, changed[0], stamp)} after the site was built; build it again (tacholog report)"
        )
    return stamp


@contextmanager
def former_site_named(site: Path) -> Iterator[None]:
    """If a build is refused, say in its message what is in the folder: the finished site from before, or one that is not finished."""
    try:
        yield
    except UnreadableInput as error:
        if not (site / "index.html").is_file():
            raise
        if not (site / STAMP).is_file():
            raise UnreadableInput(f"{error}. The site in {site} is not finished: its last build failed or was stopped") from error
        raise UnreadableInput(f"{error}. The site in {site} is still the one from before") from error


def check_copy(copy: Path, site: Path, stamp: Stamp) -> None:
    """Check that a copy of a site is what the stamp lists: somebody may have built the site again while it was copied.

    Raises:
        UnreadableInput: a file differs; the message names it.
    """
    if changed := changed_files(copy, stamp):
        raise UnreadableInput(f"{site}: {changed[0]} {_what_happened(copy, changed[0], stamp)} while it was being published; publish it again")


def changed_files(site: Path, stamp: Stamp) -> list[str]:
    """Return the files that were added, removed or changed, in order of their names. Every file is read."""
    return _differing(stamp, _there(site, FileDigests(Cache(None))))


def changed_since(site: Path, stamp: Stamp) -> list[str]:
    """Return the same for a build. A file that nobody has written to since a build read it is not read."""
    return _differing(stamp, _there(site, digests_in(open_cache())))


def _differing(stamp: Stamp, there: Mapping[str, FileStamp]) -> list[str]:
    found = {name: file.sha256 for name, file in there.items()}
    return sorted(name for name in stamp.files.keys() | found.keys() if name not in found or stamp.files.get(name) != found[name] or not found[name])


def is_part_of_site(name: str) -> bool:
    """Whether a name at the top of the folder belongs to the site, not to its builder or owner."""
    return not name.startswith(".")


def _what_happened(site: Path, name: str, stamp: Stamp) -> str:
    return "was added" if name not in stamp.files else "was changed" if os.path.lexists(site / name) else "is missing"


def read_stamp(site: Path) -> Stamp:
    """Return the stamp of a finished site.

    Raises:
        UnreadableInput: there is none, or this version did not write it.
    """
    try:
        stamp, is_whole = _stamp_in(read_evidence(site, STAMP))
    except (UnreadableInput, msgspec.DecodeError):
        raise UnreadableInput(f"{site}: the site is not finished: its last build failed or was stopped; build it again (tacholog report)") from None
    if not is_whole:
        raise UnreadableInput(f"{site / STAMP}: this version of Tacholog did not write this stamp; build the site again (tacholog report)")
    return stamp


@lru_cache(maxsize=1)  # A build asks for the stamp several times.
def _stamp_in(content: bytes) -> tuple[Stamp, bool]:
    """Return a stamp, and whether it is of this version and its list is the one that was written."""
    stamp = msgspec.json.decode(content, type=Stamp)
    return stamp, stamp.schema == 1 and stamp.digest == _list_digest(stamp.files)


def _list_digest(files: dict[str, str]) -> str:
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(files.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _there(site: Path, known: FileDigests) -> dict[str, FileStamp]:
    """Return each file with its SHA-256; without one what is no regular file: a link, or a pipe."""
    names = list(_files(os.fspath(site)))
    files = dict(zip(names, known.read([f"{site}/{name}" for name in names], _sha256_of), strict=True))
    known.flush()
    return files


def _files(site: str, inside: str = "") -> Iterator[str]:
    """Yield the files of a site and all links in it. Links are not followed: they may lead out of the site."""
    try:
        with os.scandir(f"{site}/{inside}") as found:
            entries = [entry for entry in found if inside or is_part_of_site(entry.name)]
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files(site, f"{inside}{entry.name}/")
        else:
            yield f"{inside}{entry.name}"


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; ``None`` for what is no regular file."""
    return _sha256_of(os.fspath(path))


def _sha256_of(path: str) -> str | None:
    return read_sha256(path) if os.path.isfile(path) and not os.path.islink(path) else None  # noqa: PTH113, PTH114 - there are thousands
