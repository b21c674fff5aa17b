"""Parts of pages that are loaded when somebody asks for them.

A part is a script, because a page from a local disk may load scripts and nothing else. It holds HTML, compressed: text of this kind shrinks to a
tenth. An older release is a page of its own too, for readers without JavaScript.
"""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import PurePosixPath

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.render.html import tag

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


def page_of_part(document: str, part: Part, content: str) -> str:
    """Return what stands on the page of a part, below its heading. ``content`` is its piece with the addresses of the page."""
    link = tag("a", "The main page of these results", href=f"{PurePosixPath(document).name}.html")
    back = str(tag("p", link, " says how all of this was measured, and on which machines.", class_="tl-note"))
    if "<h2" not in content:  # the end of a list that stands deep in its page: here its headings follow the title
        content = content.replace("<h4 ", "<h2 ").replace("</h4>", "</h2>")
    # What a script draws a figure from is in the script of the part, compressed. Readers without scripts see the drawing.
    return back + _FIGURE.sub(f'<figure data-part="{part.name}.js"', _DRAWN_FROM.sub("", content))


def beside(document: str, name: str) -> str:
    """Return the name of a file beside a page."""
    return f"{document.rpartition('/')[0]}/{name}".lstrip("/")


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
