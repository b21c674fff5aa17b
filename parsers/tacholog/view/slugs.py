"""Names of files, pages and anchors, made from titles and paths that may hold anything."""

from __future__ import annotations

import hashlib
import re

_UNSAFE_IN_SLUG = re.compile(r"[^a-z0-9._]+")
_UNSAFE_IN_PATH = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST = 100  # bytes of a name that becomes a part of an address; file systems end at 255


def slug(text: str) -> str:
    """Return a file or anchor name for a title: lower case, blanks as ``-``. A title that loses more than that, or is long, carries a short hash."""
    plain = _UNSAFE_IN_SLUG.sub("-", text.lower()).strip("-._")
    return plain if 0 < len(plain) <= _LONGEST and plain == text.lower().replace(" ", "-") else _hashed(plain, text)


def path_slug(path: str) -> str:
    """Return a document name for a path inside the data; names differ wherever paths differ."""
    parts = [_UNSAFE_IN_PATH.sub("-", part).lstrip("._-")[:_LONGEST] for part in path.split("/")]
    plain = "/".join(part or "-" for part in parts)
    return plain if plain == path else _hashed(plain, path)


def _hashed(plain: str, text: str) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    folder, sep, name = plain.rpartition("/")
    return f"{folder}{sep}{name[:_LONGEST]}-{mark}" if plain else mark
