"""Parts of pages that are loaded when somebody asks for them.

A part is a script, because a page from a local disk may load scripts and nothing else. It holds HTML, compressed: text of this kind shrinks to a
tenth. An older release is a page of its own too, for readers without JavaScript.
"""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from tacholog.errors import TachologError, UnreadableInput
from tacholog.render.addresses import address_from, pages_linked, with_addresses
from tacholog.render.html import tag
from tacholog.site.output.log_pages import PageMaker, heading
from tacholog.site.output.memory import is_whole, keep_value, kept_value, stamp_of
from tacholog.site.sources import Sources
from tacholog.view.run_digests import digest

_CALL = "tachologPart("
_SCRIPT = re.compile(r'tachologPart\("[^"]+", "([^"]+)"\);\n')
_MOST_BYTES = 2**28  # of the pieces of one script
_DRAWN_FROM = re.compile(r'<script type="application/json" class="tl-spec">[^<]*</script>')
_FIGURE = re.compile(r'<figure(?= class="tl-figure")')


#: The part of a page, or of another part, that holds its large tables of single runs.
RUNS = "runs"


def part_of(name: str, part: str) -> str:
    """Return the name of a part of a page, or of a part of it. Neither page nor ``part`` has two hyphens in its name, so no two parts share one."""
    return f"{name}--{part}"


class Part(msgspec.Struct):
    """A part: its name beside its page, its pieces by the ids that they belong to, and the title of its own page, if it has one."""

    name: str
    pieces: dict[str, str]
    title: str = ""


def part_folder(parts: Path, document: str) -> Path:
    """Return the folder of the parts of a page."""
    return parts / _folder_name(document)


def _folder_name(document: str) -> str:
    return document.replace("/", "%2F")


def add_to_part(parts: Path, document: str, part: Part) -> None:
    """Keep a part, or more pieces of it."""
    path = part_folder(parts, document) / f"{part.name}.json"
    known = kept_value(path, Part) or Part(part.name, {})
    path.parent.mkdir(parents=True, exist_ok=True)
    keep_value(path, Part(part.name, known.pieces | part.pieces, part.title or known.title))


def note_parts(parts: Path, memory: Path) -> None:
    """Note which parts there are, after all pages were made."""
    keep_value(memory, _files_of(parts))


def _files_of(parts: Path) -> list[str]:
    return sorted(f"{path.parent.name}/{path.name}" for path in parts.glob("*/*.json"))


def forget_damaged(parts: Path, memory: Path) -> None:
    """Delete all parts if one of them is damaged, lost or foreign: without their folder, all pages are made again, and all parts with them."""
    found = _files_of(parts)
    if kept_value(memory, list[str]) != found or not all(is_whole(parts / name) for name in found):
        shutil.rmtree(parts, ignore_errors=True)


def part_names(parts: Path, documents: Iterable[str]) -> set[str]:
    """Return the files of all parts, without their endings: scripts and pages."""
    return {_beside(document, name) for document in _with_parts(parts, documents) for name in names_of_parts(parts, document)}


def _with_parts(parts: Path, documents: Iterable[str]) -> Iterator[str]:
    """Yield the pages that have parts. Most are pages of logs, which have none: to look for a folder of each takes longer than all parts."""
    folders = {path.name for path in parts.glob("*")}
    return (document for document in documents if _folder_name(document) in folders)


def names_of_parts(parts: Path, document: str) -> set[str]:
    """Return the names of the parts of a page."""
    return {path.stem for path in part_folder(parts, document).glob("*.json")}


def write_parts(maker: PageMaker, into: Sources, parts: Path, documents: Iterable[str], known: frozenset[str], code: str) -> None:
    """Write the scripts and pages of all parts.

    Args:
        maker: what writes pages.
        into: the folder of the site.
        parts: where the directives kept the parts.
        documents: the pages that may have parts.
        known: all pages of the site.
        code: the digest of the code.

    Raises:
        TachologError: a link leads to a page that does not exist.
    """
    are_links_good = maker.leads_to(known)  # those of parts that did not change: they were checked when all pages were there that are gone now
    for document in _with_parts(parts, documents):
        for path in sorted(part_folder(parts, document).glob("*.json")):
            name = _beside(document, path.stem)
            # The addresses in a part follow from its place. To read all parts again took a thirtieth of a build.
            key = digest([code, document, stamp_of(path)])
            if are_links_good and maker.keep_with_page(name, key, into):
                continue
            part = kept_value(path, Part)
            if part is None:
                continue
            for text in part.pieces.values():
                check_links(text, known)
            is_current = maker.is_current(f"{name}.js", key)
            if is_current and (not part.title or maker.keep(name, key, into)):
                continue
            pieces = {place: with_addresses(text, partial(address_from, document)) for place, text in part.pieces.items()}
            if not is_current:
                into.write(f"{name}.js", script_of(part.name, pieces))
            if part.title:
                maker.write(name, key, part.title, _page_body(document, part, pieces[""]), into)


def _page_body(document: str, part: Part, content: str) -> str:
    link = tag("a", "The main page of these results", href=f"{Path(document).name}.html")
    back = tag("p", link, " says how all of this was measured, and on which machines.", class_="tl-note")
    if "<h2" not in content:  # the end of a list that stands deep in its page: here its headings follow the title
        content = content.replace("<h4 ", "<h2 ").replace("</h4>", "</h2>")
    # What a script draws a figure from is in the script of the part, compressed. Readers without scripts see the drawing.
    content = _FIGURE.sub(f'<figure data-part="{part.name}.js"', _DRAWN_FROM.sub("", content))
    return f"{heading(part.title)}{back}{content}"


def _beside(document: str, name: str) -> str:
    return f"{document.rpartition('/')[0]}/{name}".lstrip("/")


def check_links(html: str, known: frozenset[str]) -> None:
    """Check that the pages exist that HTML links to.

    Raises:
        TachologError: one does not.
    """
    if missing := pages_linked(html) - known:
        raise TachologError(f"no page {min(missing)!r} to link to")


def script_of(name: str, pieces: dict[str, str]) -> str:
    """Return the script of a part, which gives its pieces to the page that loads it."""
    packed = base64.b64encode(zlib.compress(json.dumps(pieces, ensure_ascii=False).encode(), 9)).decode()
    return f"tachologPart({json.dumps(f'{name}.js')}, {json.dumps(packed)});\n"


def pieces_of(script: str) -> dict[str, str]:
    """Return the pieces in a script of a part; nothing if the script is another.

    Raises:
        UnreadableInput: it is a script of a part, and nobody can read its pieces.
    """
    if not script.startswith(_CALL):
        return {}
    found = _SCRIPT.fullmatch(script)
    if found is None:
        raise UnreadableInput("the script does not end as it was written")
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(base64.b64decode(found[1]), _MOST_BYTES)
        if unpacker.unconsumed_tail:
            raise UnreadableInput(f"the script holds more than {_MOST_BYTES >> 20} MiB")
        return msgspec.json.decode(content, type=dict[str, str])
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise UnreadableInput(f"the script cannot be read: {error}") from error
