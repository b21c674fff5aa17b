"""The folder of a site: refuse to overwrite folders that Tacholog did not create, and move a new site into one that it did create."""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tacholog.errors import TachologError, UnreadableInput
from tacholog.folders import locked

MARKER = ".tacholog-site"
FIRST_PAGE = "index.html"
_PART = ".tacholog-part"
_MARKER_TEXT = "Made by tacholog report, which replaces what is in this folder.\n"


def claim(site: Path, roots: Sequence[Path]) -> None:
    """Mark a folder as the output of `tacholog report`.

    Raises:
        UnreadableInput: the folder holds other files, or the data.
    """
    for root in roots:
        if site.resolve() in (root.resolve(), *root.resolve().parents):
            raise UnreadableInput(f"{site}: the data ({root}) is in this folder; a site needs a folder of its own")
    refuse_foreign(site, (), ours=(site / MARKER).is_file())
    site.mkdir(parents=True, exist_ok=True)
    if not (site / MARKER).is_file():
        (site / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")


def refuse_foreign(folder: Path, allowed: Iterable[str], *, ours: bool) -> None:
    """Refuse a folder that holds files of somebody else.

    Raises:
        UnreadableInput: the folder is not ``ours`` and holds other names than the ``allowed`` ones.
    """
    if ours or not folder.exists():
        return
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in set(allowed))
    if foreign:
        raise UnreadableInput(f"{folder}: Tacholog did not create everything in it ({foreign[0]}): name a new or an empty folder")


@contextmanager
def only_one_build(work: Path) -> Iterator[None]:
    """Hold the working folder of a site while the site is built.

    Raises:
        TachologError: another process builds the same site now. Each would delete what the other one has written.
    """
    work.mkdir(mode=0o755, parents=True, exist_ok=True)
    with locked(work, "another process builds this site now; wait until it has ended"):
        yield


def not_there(*paths: Path) -> list[Path]:
    """Return the paths and the folders above them that do not exist yet. The deepest come first."""
    missing = {path for wanted in paths for path in (wanted, *wanted.parents) if not path.exists()}
    return sorted(missing, key=lambda path: len(path.parts), reverse=True)


@contextmanager
def nothing_left_of_refused(site: Path, made: Iterable[Path]) -> Iterator[None]:
    """Remove what a build has made if it is refused before it writes a page, for example because there is no run.

    Args:
        site: the folder of the site.
        made: files and folders that this build makes before it reads anything; what is in a folder before the folder. A folder that somebody else has
            put something into stays.
    """
    try:
        yield
    except TachologError:
        if {path.name for path in site.iterdir()} <= {MARKER}:
            for path in made:
                with suppress(OSError):
                    path.rmdir() if path.is_dir() else path.unlink()
        raise


def take_over(made: Path, site: Path, reused: Collection[str] = ()) -> None:
    """Make a site equal to one that was made in another folder. A file that did not change is not touched; what belongs to no site stays.

    New files come first, the first page after all others, and old files go last: a reader of a site that was stopped in between finds every page.

    Args:
        made: the site as it is to be. Its files are moved.
        site: the site that readers see.
        reused: files of it that stay. They were not made again.
    """
    names = sorted(_below(made), key=lambda name: (name == FIRST_PAGE, name))
    for name in names:
        _clear_way(site, name)
        if not ((site / name).is_file() and filecmp.cmp(made / name, site / name, shallow=False)):
            _bring(made / name, site / name, site / _PART)
    for name in {*_below(site)}.difference(names, reused):
        (site / name).unlink(missing_ok=True)
        _remove_empty(site, name)


def _clear_way(site: Path, name: str) -> None:
    """Remove whatever stands in the way of a file: files and links in place of its folders, and a folder or a link in its own place."""
    for folder in [*Path(name).parents][-2::-1]:
        if (site / folder).is_symlink() or (site / folder).is_file():
            (site / folder).unlink()
    (site / name).parent.mkdir(parents=True, exist_ok=True)
    if (site / name).is_symlink():
        (site / name).unlink()
    elif (site / name).is_dir():
        shutil.rmtree(site / name)


def _bring(source: Path, target: Path, part: Path) -> None:
    """Replace a file in one step. From another disk, it is copied to a file beside the site's first."""
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        try:
            shutil.copyfile(source, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def _remove_empty(site: Path, name: str) -> None:
    for folder in [*Path(name).parents][:-1]:
        with suppress(OSError):  # It is not empty.
            (site / folder).rmdir()


def _below(site: Path) -> Iterator[str]:
    """Yield the files of a site, and the links in it."""
    for folder, names, files in walk(os.fspath(site)):
        inside = folder[len(os.fspath(site)) :].lstrip("/")
        names_of_site = [name for name in files if inside or not name.startswith(".")]  # Names such as .git are not part of a site.
        names[:] = [name for name in names if inside or not name.startswith(".")]
        links = [name for name in names if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - as in `walk`
        yield from (f"{inside}/{name}".lstrip("/") for name in (*names_of_site, *links))


def walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder with the names of the folders and of the other files in it, as `os.walk` does. Names that the caller removes are left out.

    `os.walk` asks the system about each folder once more, whether it is a link, although its entry says so: a third of its time.
    """
    to_do = [top]
    while to_do:
        folder = to_do.pop()
        names: list[str] = []
        links: set[str] = set()
        files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        names.append(entry.name)
                    elif entry.is_symlink() and os.path.isdir(entry.path):  # noqa: PTH112 - to make a `Path` takes longer
                        names.append(entry.name)
                        links.add(entry.name)  # They are not followed: they may lead out of the folder, or back.
                    else:
                        files.append(entry.name)
        except OSError:
            continue
        yield folder, names, files
        to_do += [f"{folder}/{name}" for name in reversed(names) if name not in links]
