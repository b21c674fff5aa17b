"""The names of run folders and of the logs in them, made of the fields of a run.

The folder of a run is ``PART/PART/.../NN``: a part for each field that sets runs apart, and the number of the repetition. The same fields always give
the same parts. `tacholog.runs.importing.grouping` adds a short hash where different fields give the same parts.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Sequence

from tacholog.runs.importing.fields import LABEL, OF_REPETITION, OPTION, Values
from tacholog.runs.manifest import HOSTS_FOLDER
from tacholog.slugs import slug

# Fields that are part of the name even if no path states them. All others are if a path states them. Host and session are not: a name of a folder
# becomes an address on a site, and these two are private there.
_ALWAYS = ("release", "campaign", "system", "system_version")
_UNSAFE = re.compile(r"[^A-Za-z0-9._+=@-]+")
_RESERVED = (HOSTS_FOLDER, "same-build")  # Folders of this name hold something else.
_LONGEST = 60


def variant_folder(values: Values, of_path: Sequence[str], tool: str) -> str:
    """Return the folder of all repetitions of a run.

    Args:
        values: the run's fields.
        of_path: the fields that the path states, in their order.
        tool: the name of the tool, for runs without any field.
    """
    first = [name for name in _ALWAYS if name in values and name not in of_path]
    last = [name for name in values if name.startswith(LABEL) and name not in of_path]
    names = [name for name in (*first, *of_path, *last) if name not in OF_REPETITION]
    return "/".join(_part(name, str(values[name])) for name in names) or slug(tool)


def with_hash(folder: str, key: str) -> str:
    """Return the folder of a variant whose plain name belongs to another one."""
    return f"{folder}-{short_hash(key)}"


def short_hash(text: str) -> str:
    """Return six hexadecimal digits that stand for a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def repetition_folder(number: int) -> str:
    """Return the name of the folder of one repetition."""
    return f"{number:02d}"


def _part(name: str, value: str) -> str:
    """Return the part of a folder's name that stands for a field. Values that cannot be shown as they are get a short hash.

    A number alone says nothing, and could be the number of a repetition, so the name of its field stands before it. Sessions and options are private
    on a site, where the name of a folder becomes an address.
    """
    if name == "session" or name.startswith(OPTION):
        return f"{name.partition('.')[0]}-{short_hash(f'{name}={value}')}"
    if re.fullmatch(r"[0-9.]+|true|false", value, re.IGNORECASE):
        return f"{name.rpartition('.')[2]}-{value}"
    plain = _UNSAFE.sub("-", value).strip("-._")[:_LONGEST]
    return plain if plain == value and value not in _RESERVED else f"{plain}-{short_hash(value)}".lstrip("-")


def log_names(logs: Sequence[tuple[str, str | None]]) -> list[str]:
    """Return the names of the logs of a run, in the run's folder.

    A log keeps its name. Logs of the same name, from different folders, get what sets them apart as a prefix.

    Args:
        logs: the path of each log, and what sets it apart, such as ``pub0``.
    """
    names = [path.rpartition("/")[2] for path, _ in logs]
    for way in range(2):
        count = Counter(names)
        names = [
            name if count[name] == 1 else f"{apart or 'log'}-{name}" if way == 0 else f"{short_hash(path)}-{name}"
            for name, (path, apart) in zip(names, logs, strict=True)
        ]
    return names
