"""The stamp of a built site: written last, so that a site without one is known not to be finished.

It names what the site was made of, what was checked, and every file with its SHA-256. `tacholog report` takes it away before it changes
anything, and `tacholog publish` publishes nothing that does not have one, or is not what it says.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tacholog.errors import UnreadableInput

STAMP = ".tacholog-built.json"
NOT_PAGES = (".buildinfo", ".doctrees", ".tacholog-site", STAMP, "objects.inv")  # what the builder keeps in the site's folder for itself


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """What a finished site says of itself.

    ``inputs`` is the digest of everything that it was made of. ``checks`` are the checks that it passed. ``problems`` is how many runs, logs
    and folders could not be read. ``files`` holds the SHA-256 of each file by its path in the site, ``digest`` that of the list itself.
    """

    schema: int = 1
    inputs: str
    checks: tuple[str, ...]
    problems: int
    digest: str
    files: dict[str, str]


def write_stamp(site: Path, inputs: str, checks: tuple[str, ...], problems: int) -> None:
    """Say of a site that it is finished: the last thing that a build does."""
    files = {name: _sha256(site / name) for name in _files(site)}
    stamp = Stamp(inputs=inputs, checks=checks, problems=problems, digest=_digest(files), files=files)
    part = site / f"{STAMP}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(stamp), indent=1))
    part.replace(site / STAMP)


def remove_stamp(site: Path) -> None:
    """Say of a site that it is not finished: the first thing that a build does."""
    (site / STAMP).unlink(missing_ok=True)


def is_built_of(site: Path, inputs: str) -> bool:
    """Whether the site is finished and was made of these inputs. What somebody has changed in it since it was built is removed."""
    try:
        stamp = _read(site)
    except UnreadableInput:
        return False
    changed = _changed(site, stamp)
    for name in changed:
        (site / name).unlink(missing_ok=True)  # Sphinx would take a page that is newer than its source for its own
    return not changed and stamp.inputs == inputs


def finished(site: Path) -> Stamp:
    """Return the stamp of a finished site whose files are those that were built.

    Raises:
        UnreadableInput: there is no site or no stamp, or a file was added, removed or changed since; the message names it.
    """
    if not (site / "index.html").is_file():
        raise UnreadableInput(f"{site}: no built site (tacholog report builds one)")
    stamp = _read(site)
    if changed := _changed(site, stamp):
        what = "was added" if changed[0] not in stamp.files else "was changed" if os.path.lexists(site / changed[0]) else "is missing"
        raise UnreadableInput(f"{site}: {changed[0]} {what} after the site was built; build it again (tacholog report)")
    return stamp


def _changed(site: Path, stamp: Stamp) -> list[str]:
    there = {name: _sha256(site / name) for name in _files(site)}
    return sorted(name for name in stamp.files.keys() | there.keys() if stamp.files.get(name) != there.get(name))


def _read(site: Path) -> Stamp:
    try:
        stamp = msgspec.json.decode((site / STAMP).read_bytes(), type=Stamp)
    except (OSError, msgspec.DecodeError):
        raise UnreadableInput(f"{site}: the site is not finished: its last build failed or was stopped; build it again (tacholog report)") from None
    if stamp.schema != 1 or stamp.digest != _digest(stamp.files):
        raise UnreadableInput(f"{site / STAMP}: this is not a stamp that this version of Tacholog wrote; build the site again (tacholog report)")
    return stamp


def _digest(files: dict[str, str]) -> str:
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(files.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _files(site: Path) -> Iterator[str]:
    for path in site.rglob("*"):
        name = path.relative_to(site)
        if name.parts[0] not in NOT_PAGES and name.name != f"{STAMP}.part" and not path.is_dir():
            yield name.as_posix()


def _sha256(path: Path) -> str:
    if path.is_symlink() or not path.is_file():
        return "no regular file"  # which no build makes
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
