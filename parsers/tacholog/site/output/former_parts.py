"""What the last build put aside of a page. Of a page that is made again, most older releases did not change: these are taken over as they are."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec

from tacholog.site.output.memory import is_whole, keep_value, kept_value, stamp_of
from tacholog.site.output.parts import names_of_parts, part_folder

_FORMER = ".former"


class _Item(msgspec.Struct, frozen=True):
    """What stands on a page, the digest of all that it was made of, and the parts that were put aside with it, with the digests of their files."""

    made_of: str
    html: str
    parts: dict[str, str]


def set_aside(parts: Path, document: str) -> None:
    """Take away the parts of a page that is made again, or is gone."""
    folder, former = part_folder(parts, document), part_folder(parts / _FORMER, document)
    if folder.is_dir():
        shutil.rmtree(former, ignore_errors=True)
        former.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(former)


def forget_former(parts: Path) -> None:
    """Delete what was set aside."""
    shutil.rmtree(parts / _FORMER, ignore_errors=True)


def taken_over(parts: Path, document: str, name: str, made_of: str, make: Callable[[], str]) -> str:
    """Return what stands on a page: what the last build made if it was made of the same, with its parts, else what ``make`` makes.

    Args:
        parts: where the parts of all pages are kept.
        document: the page.
        name: what no other place of the page is called.
        made_of: the digest of everything that ``make`` depends on.
        make: puts parts aside, and returns what stands on the page.
    """
    folder = part_folder(parts, document)
    html = _moved(part_folder(parts / _FORMER, document), folder, name, made_of)
    if html is not None:
        return html
    before = names_of_parts(parts, document)
    html = make()
    new = names_of_parts(parts, document) - before
    if new:
        keep_value(folder / f"{name}.item", _Item(made_of, html, {part: stamp_of(folder / f"{part}.json") for part in sorted(new)}))
    return html


def _moved(former: Path, folder: Path, name: str, made_of: str) -> str | None:
    """Move what was made of the same, and return what stands on the page; nothing if there is none, or if anything else changed it since."""
    item = kept_value(former / f"{name}.item", _Item)
    if item is None or item.made_of != made_of:
        return None
    files = {former / f"{part}.json": folder / f"{part}.json" for part in item.parts}
    for (file, target), state in zip(files.items(), item.parts.values(), strict=True):
        if target.exists() or not is_whole(file) or stamp_of(file) != state:
            return None
    folder.mkdir(parents=True, exist_ok=True)
    for file, target in (*files.items(), (former / f"{name}.item", folder / f"{name}.item")):
        file.rename(target)
    return item.html
