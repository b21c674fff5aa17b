"""The stamp of a built site: the list of its files, which is written last. A site without a stamp is not finished.

The stamp states the digest of the site's inputs, the checks that passed, and the SHA-256 of every file. `tacholog report` removes the stamp before it
changes a page, but after it has read the data: if the data are refused, the site stays finished. `tacholog publish` refuses a site that has no stamp
or differs from it.

Names at the top of the folder that begin with a dot (``.git``, ``.nojekyll``) are not part of the site. They may belong to the owner of the folder,
so they are never listed, published or deleted.

The next build uses the stamp twice. If the digest of all inputs is the same, nothing is new. Otherwise, files whose key is the same are not made
again: the key of a file is the digest of everything from which it is made. A build uses nothing else of the previous build.
"""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.formats.registry import GROUP
from tacholog.installation import site_dir, templates_dir
from tacholog.site.output_folder import MARKER, walk
from tacholog.site.settings import USUAL, SiteSettings, Sizes
from tacholog.store.cache import Cache, key_of, open_cache
from tacholog.store.digests import FileDigests, FileStamp, digests_in, read_sha256

STAMP = ".tacholog-built.json"
_PLOTLY, _KEY = "TACHOLOG_PLOTLY", "TACHOLOG_PSEUDONYM_KEY"


class Stamp(msgspec.Struct, frozen=True, kw_only=True):
    """The recorded facts about a finished site.

    ``inputs`` is the digest of everything from which the site was built. ``checks`` are the checks that it passed. ``problems`` is the number of
    runs, logs and folders that could not be read. ``altered`` is the number of shown logs that differ from the SHA-256 in their manifests. ``large``
    lists the files that a hoster may refuse. ``files`` contains the SHA-256 of each file by its path in the site, and ``digest`` is the SHA-256 of
    that list. ``keys`` contains the key of each file (`tacholog.site.stamp`).
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
    """Write the stamp, which lists the files of a finished site. This is the last step of a build.

    Symbolic links are not listed, because no build makes any.
    """
    there = {name: file for name, file in _digests_of_files(site, digests_in(open_cache())).items() if file.sha256 is not None}
    files = {name: str(file.sha256) for name, file in there.items()}
    large = _warnings_on_sizes({name: file.size_bytes for name, file in there.items()}, sizes)
    digest = _list_digest(files)
    made_of = {name: key for name, key in (keys or {}).items() if name in files}
    _write(site, Stamp(inputs=inputs, checks=checks, problems=problems, altered=altered, large=large, digest=digest, files=files, keys=made_of))


def _warnings_on_sizes(sizes: Mapping[str, int], limits: Sizes) -> tuple[str, ...]:
    sentences = [
        f"{name} has {size / 1e6:.0f} MB; a hoster may refuse files above {limits.file / 1e6:g} MB"
        for name, size in sorted(sizes.items())
        if size > limits.file
    ]
    total_bytes = sum(sizes.values())
    if total_bytes > limits.site:
        sentences.append(
            f"the site has {total_bytes / 1e6:.0f} MB, more than {limits.site / 1e6:g} MB (site_mb), and each published version adds to it"
        )
    return tuple(sentences)


def _write(site: Path, stamp: Stamp) -> None:
    part = site / f"{STAMP}.part"
    part.write_bytes(msgspec.json.format(msgspec.json.encode(stamp), indent=1))
    part.replace(site / STAMP)


def remove_stamp(site: Path) -> None:
    """Declare a site not finished, before its first page is changed, so that the site of a killed build does not look complete."""
    (site / STAMP).unlink(missing_ok=True)


def is_built_of(site: Path, inputs: str) -> bool:
    """Whether the site is finished, was built from these inputs, and has not been changed since."""
    try:
        stamp = read_stamp(site)
    except UnreadableInput:
        return False
    return stamp.inputs == inputs and not changed_since(site, stamp)


def large_of(site: Path) -> tuple[str, ...]:
    """Return sentences on the files of a built site that a hoster may refuse for their size; an empty result if there is no stamp."""
    try:
        return read_stamp(site).large
    except UnreadableInput:
        return ()


def finished(site: Path) -> Stamp:
    """Return the stamp of a finished site, and check that its files are those that were built.

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
    """Add a sentence to the error message if a build is refused.

    It states whether the folder still has the finished site of an earlier build, or an unfinished site.
    """
    try:
        yield
    except UnreadableInput as error:
        if not (site / "index.html").is_file() or not (site / MARKER).is_file():
            raise
        if not (site / STAMP).is_file():
            raise UnreadableInput(f"{error}. The site in {site} is not finished: its last build failed or was stopped") from error
        raise UnreadableInput(f"{error}. The site in {site} is still that of the previous build") from error


def check_copy(copy: Path, site: Path, stamp: Stamp) -> None:
    """Check that a copy of a site agrees with the stamp, because a process may have built the site again while it was copied.

    Raises:
        UnreadableInput: a file differs; the message names it.
    """
    if changed := changed_files(copy, stamp):
        raise UnreadableInput(f"{site}: {changed[0]} {_what_happened(copy, changed[0], stamp)} while it was being published; publish it again")


def changed_files(site: Path, stamp: Stamp) -> list[str]:
    """Return the files that were added, removed or changed, sorted by name. Every file is read."""
    return _differing(stamp, _digests_of_files(site, FileDigests(Cache(None))))


def changed_since(site: Path, stamp: Stamp) -> list[str]:
    """Return the same as `changed_files`, but faster. A file is only read if somebody has written to it after a build read it."""
    return _differing(stamp, _digests_of_files(site, digests_in(open_cache())))


def _differing(stamp: Stamp, there: Mapping[str, FileStamp]) -> list[str]:
    digests = {name: file.sha256 for name, file in there.items()}
    return sorted(
        name for name in stamp.files.keys() | digests.keys() if name not in digests or stamp.files.get(name) != digests[name] or not digests[name]
    )


def is_part_of_site(name: str) -> bool:
    """Whether a name at the top of the folder belongs to the site. The other names belong to the owner of the folder."""
    return not name.startswith(".")


def _what_happened(site: Path, name: str, stamp: Stamp) -> str:
    return "was added" if name not in stamp.files else "was changed" if os.path.lexists(site / name) else "is missing"


def read_stamp(site: Path) -> Stamp:
    """Return the stamp of a finished site.

    Raises:
        UnreadableInput: there is no stamp, or this version of Tacholog did not write it.
    """
    try:
        stamp, is_whole = _stamp_in(read_evidence(site, STAMP))
    except (UnreadableInput, msgspec.DecodeError):
        raise UnreadableInput(f"{site}: the site is not finished: its last build failed or was stopped; build it again (tacholog report)") from None
    if not is_whole:
        raise UnreadableInput(f"{site / STAMP}: this version of Tacholog did not write this stamp; build the site again (tacholog report)")
    return stamp


@lru_cache(maxsize=1)  # Cached, because a build reads the stamp several times.
def _stamp_in(content: bytes) -> tuple[Stamp, bool]:
    """Return a stamp, and whether it is intact and was written by this version."""
    stamp = msgspec.json.decode(content, type=Stamp)
    return stamp, stamp.schema == 1 and stamp.digest == _list_digest(stamp.files)


def _list_digest(files: dict[str, str]) -> str:
    return hashlib.sha256("".join(f"{digest}  {name}\n" for name, digest in sorted(files.items())).encode("utf-8", "surrogateescape")).hexdigest()


def _digests_of_files(site: Path, digests: FileDigests) -> dict[str, FileStamp]:
    """Return the `FileStamp` of each file of the site, by name. For links and pipes, ``sha256`` is ``None``."""
    names = list(_files_and_links(os.fspath(site)))
    files = dict(zip(names, digests.read([f"{site}/{name}" for name in names], _sha256_of), strict=True))
    digests.flush()
    return files


def _files_and_links(site: str, inside: str = "") -> Iterator[str]:
    """Links are not followed, because they may lead out of the site."""
    try:
        with os.scandir(f"{site}/{inside}") as directory:
            entries = [entry for entry in directory if inside or is_part_of_site(entry.name)]
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            yield from _files_and_links(site, f"{inside}{entry.name}/")
        else:
            yield f"{inside}{entry.name}"


def sha256_of(path: Path) -> str | None:
    """Return the SHA-256 of a file; ``None`` if it is not a regular file."""
    return _sha256_of(os.fspath(path))


def _sha256_of(path: str) -> str | None:
    return read_sha256(path) if os.path.isfile(path) and not os.path.islink(path) else None  # noqa: PTH113, PTH114 - there are thousands


def inputs_of(roots: Sequence[Path], settings: SiteSettings) -> str:
    """Return the digest of all inputs of a site: the data and the program.

    The content of the data is not read. A changed file is recognised by its path, its size and its times.
    """
    return _digest([program_of(settings), *(line for root in roots for line in (str(root.resolve()), *_below(root)))])


def program_of(settings: SiteSettings) -> str:
    """Return the digest of everything that turns data into a site: code, templates, prose, installed packages, and settings."""
    package = Path(__file__).parent.parent
    folders = [package, templates_dir(), site_dir()]
    files = [path for path in (settings.logo, os.environ.get(_PLOTLY)) if path]
    return _digest(
        [
            sys.version,
            *_installed_packages(),
            msgspec.json.encode(settings).decode(),
            *(f"{name}={os.environ.get(name)}" for name in (_PLOTLY, _KEY)),
            *map(_file_state, files),
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
        yield from (_file_state(f"{inner}/{file}") for file in sorted(files))


def _file_state(path: str) -> str:
    """Return a text that changes if the file changes. It contains the path, size, times and inode number of the file.

    The modification time alone is not enough, because programs can set the modification time back to an earlier time.
    """
    try:
        status = os.lstat(path)  # `Path` is not used: there are thousands of files, and creating a `Path` takes as long as this call
        states = [status, os.stat(path)] if stat.S_ISLNK(status.st_mode) else [status]  # noqa: PTH116 - as above
    except OSError:
        return f"{path} cannot be read"
    words = " ".join(f"{state.st_size} {state.st_mtime_ns} {state.st_ctime_ns} {state.st_ino}" for state in states)
    return f"{path} {words}{'' if os.access(path, os.R_OK) else ' cannot be read'}"


def _installed_packages() -> Iterator[str]:
    folders = (Path(entry) for entry in sys.path if entry)
    yield from sorted(name.name for folder in folders if folder.is_dir() for name in folder.glob("*.dist-info"))
    # A format from another package may be under development: its files change, but the name of its package does not. So these files are listed too.
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
        yield from (_file_state(os.fspath(path)) for path in sorted(Path(spec.origin).parent.glob("*.py")))


class FormerSite:
    """The site of the previous build, to find out which of its files a new build can keep.

    ``keys`` collects the keys of the files of the new site. ``reused`` collects the names of the files that stay.
    """

    def __init__(self, keys: Mapping[str, str], program: str) -> None:
        """Begin a build.

        Args:
            keys: the keys of the finished files of the previous build, by file name.
            program: the digest of the code that makes pages, and of the settings.
        """
        self._former, self._program = keys, program
        self.keys: dict[str, str] = {}
        self.reused = set[str]()

    def has(self, name: str, *received: object) -> bool:
        """Whether the folder already has this file, made from the same values. If so, the file stays. If not, the caller makes it.

        ``received`` are all values from which the file is made.
        """
        key = key_of(self._program, name, msgspec.json.encode(received, order="deterministic", enc_hook=str)).hex()
        self.keys[name] = key
        if self._former.get(name) != key:
            return False
        self.reused.add(name)
        return True


def former_site(site: Path, program: str) -> FormerSite:
    """Return the former site in a folder. If that site is not finished, none of its files are reused."""
    try:
        stamp = read_stamp(site)
    except UnreadableInput:
        return FormerSite({}, program)
    changed = {*changed_since(site, stamp)} if stamp.keys else set[str]()
    return FormerSite({name: key for name, key in stamp.keys.items() if name not in changed}, program)
