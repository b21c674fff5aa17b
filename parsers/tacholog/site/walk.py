"""Go through the folders of a site or of runs. There are thousands."""

from __future__ import annotations

import os
from collections.abc import Iterator


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
