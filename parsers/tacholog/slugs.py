"""File names, page names and anchors that are made from a text, such as the name of a system or the path of a run.

The same text always gives the same name, so that links stay valid. Characters that a URL cannot contain are replaced. A short hash of the whole text
is then appended, so that different texts still have different names.

Different paths never get the same name. But two titles get the same name if they differ only in capitals, or only in blanks and hyphens. Therefore
pages add numbers to such names.
"""

from __future__ import annotations

import hashlib
import re

_UNSAFE_IN_SLUG = re.compile(r"[^a-z0-9._]+")
_UNSAFE_IN_PATH = re.compile(r"[^A-Za-z0-9._-]+")
_HASHED = re.compile(r"/[^/]*-[0-9a-f]{6}\Z")
_END_OF_FILE = re.compile(r"\.(?=(?:html|txt|hlog)\Z)", re.IGNORECASE)
_MAX_LENGTH = 100  # the longest part of a path, in characters; file systems allow 255 bytes


def slug(text: str) -> str:
    """Return a file or anchor name for a title: lower case, blanks as ``-``.

    If this changes other characters, or if the title is long, a short hash is appended.
    """
    plain = _UNSAFE_IN_SLUG.sub("-", text.lower()).strip("-._")
    return plain if 0 < len(plain) <= _MAX_LENGTH and plain == text.lower().replace(" ", "-") else _with_hash(plain, text)


def path_slug(path: str) -> str:
    """Return a document name for a path inside the data. Different paths get different names.

    A document never has the same file name as a folder of another document.
    """
    *folders, name = path.split("/")
    parts = [_UNSAFE_IN_PATH.sub("-", part).lstrip("._-")[:_MAX_LENGTH] for part in (*(_END_OF_FILE.sub("-", folder) for folder in folders), name)]
    plain = "/".join(part or "-" for part in parts)
    # A path like ``a/b-0123ab`` looks as if it already had a hash. This path gets a hash too, so that no other path can get the same name.
    return plain if plain == path and not _HASHED.search(plain) else _with_hash(plain, path)


def _with_hash(plain: str, text: str) -> str:
    mark = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    folder, sep, name = plain.rpartition("/")
    return f"{folder}{sep}{name[:_MAX_LENGTH].rstrip('-')}-{mark}" if plain else mark  # Only names of parts may contain two hyphens in a row.
