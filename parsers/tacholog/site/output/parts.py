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
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import msgspec

from tacholog.errors import TachologError, UnreadableInput
from tacholog.render.addresses import address_from, with_addresses
from tacholog.render.html import tag
from tacholog.site.output.log_pages import PageMaker, heading
from tacholog.site.sources import Sources
from tacholog.view.run_digests import digest

_CALL = "tachologPart("
_SCRIPT = re.compile(r'tachologPart\("[^"]+", "([^"]+)"\);\n')
_MOST_BYTES = 2**28  # of the pieces of one script


class Part(msgspec.Struct):
    """A part: its name beside its page, its pieces by the ids that they belong to, and the title of its own page, if it has one."""

    name: str
    pieces: dict[str, str]
    title: str = ""


def part_folder(parts: Path, document: str) -> Path:
    """Return the folder of the parts of a page."""
    return parts / document.replace("/", "%2F")


def forget_parts(parts: Path, document: str) -> None:
    """Delete the parts of a page that is made again, or is gone."""
    shutil.rmtree(part_folder(parts, document), ignore_errors=True)


def add_to_part(parts: Path, document: str, part: Part) -> None:
    """Keep a part, or more pieces of it."""
    path = part_folder(parts, document) / f"{part.name}.json"
    known = msgspec.json.decode(path.read_bytes(), type=Part) if path.is_file() else Part(part.name, {})
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(Part(part.name, known.pieces | part.pieces, part.title or known.title)))


def parts_of(parts: Path, document: str) -> Iterator[Part]:
    """Yield the parts of a page."""
    for path in sorted(part_folder(parts, document).glob("*.json")):
        yield msgspec.json.decode(path.read_bytes(), type=Part)


def part_names(parts: Path, documents: Iterable[str]) -> set[str]:
    """Return the files of all parts, without their endings: scripts and pages."""
    return {_beside(document, part.name) for document in documents for part in parts_of(parts, document)}


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
    for document in documents:
        for part in parts_of(parts, document):
            name = _beside(document, part.name)
            pieces = {place: with_addresses(text, checked(partial(address_from, document), known)) for place, text in part.pieces.items()}
            if not maker.is_current(f"{name}.js", digest([code, pieces])):
                into.write(f"{name}.js", script_of(part.name, pieces))
            if part.title:
                body = _page_body(document, part.title, pieces[""])
                maker.write(name, digest([code, body]), part.title, body, into)


def _page_body(document: str, title: str, content: str) -> str:
    link = tag("a", "The page of the newest release", href=f"{Path(document).name}.html")
    back = tag("p", link, " says how all of this was measured, and on which machines.", class_="tl-note")
    return f"{heading(title)}{back}{content}"


def _beside(document: str, name: str) -> str:
    return f"{document.rpartition('/')[0]}/{name}".lstrip("/")


def checked(target: Callable[[str, str], str], known: frozenset[str]) -> Callable[[str, str], str]:
    """Return a function that refuses links to pages that do not exist."""

    def resolve(kind: str, name: str) -> str:
        if kind == "doc" and name not in known:
            raise TachologError(f"no page {name!r} to link to")
        return target(kind, name)

    return resolve


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
