"""The folder of a site: refuse to overwrite folders that Tacholog did not create, and move a new site into a folder that it created."""

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
        UnreadableInput: the folder contains files that Tacholog did not create, or the data of the site.
    """
    for root in roots:
        if site.resolve() in (root.resolve(), *root.resolve().parents):
            raise UnreadableInput(f"{site}: the data ({root}) is in this folder; a site needs a folder of its own")
    refuse_foreign(site, (), ours=(site / MARKER).is_file())
    site.mkdir(parents=True, exist_ok=True)
    if not (site / MARKER).is_file():
        (site / MARKER).write_text(_MARKER_TEXT, encoding="utf-8")


def refuse_foreign(folder: Path, allowed: Iterable[str], *, ours: bool) -> None:
    """Refuse a folder that contains files of another origin.

    Raises:
        UnreadableInput: the folder is not ``ours``, and contains names that are not ``allowed``.
    """
    if ours or not folder.exists():
        return
    foreign = sorted(path.name for path in folder.iterdir() if path.name not in set(allowed))
    if foreign:
        raise UnreadableInput(f"{folder}: Tacholog did not create everything in it ({foreign[0]}): name a new or an empty folder")


@contextmanager
def only_one_build(work: Path) -> Iterator[None]:
    """Lock the working folder of a site while the site is built.

    Raises:
        TachologError: another process is building the same site. Each process would delete the files of the other.
    """
    work.mkdir(mode=0o755, parents=True, exist_ok=True)
    with locked(work, "another process is building this site; wait until it has finished"):
        yield


def not_there(*paths: Path) -> list[Path]:
    """Return the paths that do not exist yet, among these paths and all their parent folders. The deepest path is first."""
    missing = {path for wanted in paths for path in (wanted, *wanted.parents) if not path.exists()}
    return sorted(missing, key=lambda path: len(path.parts), reverse=True)


@contextmanager
def nothing_left_of_refused(site: Path, made: Iterable[Path]) -> Iterator[None]:
    """Remove what a refused build has created. If the folder of the site contains pages, nothing is removed.

    A build is refused, for example, if there is no run.

    Args:
        site: the folder of the site.
        made: the files and folders that this build creates before it reads the data. The content of a folder comes before the folder. A folder stays
            if it contains other files.
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
    """Replace the files of a site by those of a new site, which is in another folder.

    An equal file is not written again. Files that are not part of a site stay.

    First, the new files are moved; the first page of the site is the last of them. Then the old files are deleted. In this order, readers find every
    page, even after an interruption.

    Args:
        made: the folder of the new site. Its files are moved.
        site: the folder of the site that readers see.
        reused: files in ``site`` that stay, because they were not made again.
    """
    names = sorted(_files_and_links(made), key=lambda name: (name == FIRST_PAGE, name))
    for name in names:
        _clear_way(site, name)
        if not ((site / name).is_file() and filecmp.cmp(made / name, site / name, shallow=False)):
            _replace_in_one_step(made / name, site / name, site / _PART)
    for name in {*_files_and_links(site)}.difference(names, reused):
        (site / name).unlink(missing_ok=True)
        _remove_empty(site, name)


def _clear_way(site: Path, name: str) -> None:
    for folder in [*Path(name).parents][-2::-1]:
        if (site / folder).is_symlink() or (site / folder).is_file():
            (site / folder).unlink()
    (site / name).parent.mkdir(parents=True, exist_ok=True)
    if (site / name).is_symlink():
        (site / name).unlink()
    elif (site / name).is_dir():
        shutil.rmtree(site / name)


def _replace_in_one_step(source: Path, target: Path, part: Path) -> None:
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # The file is on another disk, so it is first copied to the disk of the site.
        try:
            shutil.copyfile(source, part)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)


def _remove_empty(site: Path, name: str) -> None:
    for folder in [*Path(name).parents][:-1]:
        with suppress(OSError):  # A folder that is not empty stays.
            (site / folder).rmdir()


def _files_and_links(site: Path) -> Iterator[str]:
    for folder, names, files in walk(os.fspath(site)):
        inside = folder[len(os.fspath(site)) :].lstrip("/")
        names_of_site = [name for name in files if inside or not name.startswith(".")]  # Names such as .git are not part of a site.
        names[:] = [name for name in names if inside or not name.startswith(".")]
        links = [name for name in names if os.path.islink(f"{folder}/{name}")]  # noqa: PTH114 - as in `walk`
        yield from (f"{inside}/{name}".lstrip("/") for name in (*names_of_site, *links))


def walk(top: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder with the names of the folders in it and the names of the files in it, as `os.walk` does.

    If the caller removes a folder's name, this folder is skipped.

    `os.walk` takes longer, because it asks the system whether each folder is a link. The entry of the folder already states this.
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
                        links.add(entry.name)  # Links are not followed, because they may lead out of the folder or back into it.
                    else:
                        files.append(entry.name)
        except OSError:
            continue
        yield folder, names, files
        to_do += [f"{folder}/{name}" for name in reversed(names) if name not in links]
