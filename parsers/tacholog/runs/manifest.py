"""``run.toml`` and ``hosts/*.toml``: what a run was and on which machine, in files that people can read and write."""

from __future__ import annotations

import difflib
import math
import os
import re
import stat
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import tomli_w

from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import read_evidence
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.records import Side, Status

RUN_FILE = "run.toml"
PLAN_FILE = "plan.toml"
HOSTS_FOLDER = "hosts"

_SHA256 = r"^[0-9a-f]{64}\Z"
Sha256 = Annotated[str, msgspec.Meta(pattern=_SHA256)]
Content = TypeVar("Content")
# A log lies beside its manifest: no path leads out of the folder, and a name is one line that reads as it is written.
_FILE_NAME = r"^(?!\.{1,2}\Z)[^/\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+\Z"
FileName = Annotated[str, msgspec.Meta(pattern=_FILE_NAME, max_length=255)]
_NAME = r"\S"
Name = Annotated[str, msgspec.Meta(pattern=_NAME)]  # of a system: it has to be read, and clicked


class LogFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A log of a run: its file name, the SHA-256 of its bytes, and what its content may not show."""

    file: FileName
    sha256: Sha256
    format: str | None = None
    side: Side | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One process of a run: its words, never a shell's. ``{payload_bytes}`` stands for each size in turn.

    Where a document numbers its results and machines, ``result`` and ``machine`` say which the command belongs to. ``each`` holds the values of
    placeholders, a table for each time that the command was run.
    """

    role: str
    argv: tuple[str, ...]
    result: str | None = None
    machine: str | None = None
    each: tuple[dict[str, int], ...] = ()


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The published document that a declared extract was taken from: which lines of which bytes."""

    document: str
    title: str
    publisher: str
    sha256: Sha256
    lines: str
    url: str | None = None
    retrieved: str | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``run.toml``: one measurement. Everything but the system and the logs may be unknown."""

    schema: int = 1
    system: Name
    system_version: str | None = None
    tool: str | None = None
    tool_version: str | None = None
    release: str | None = None
    published: bool = False
    host: str | None = None
    status: Status | None = None
    reason: str | None = None
    start_time: str | None = None
    session: str | None = None
    repetition: int | None = None
    order_index: int | None = None
    campaign: str | None = None
    seed: int | None = None
    notes: tuple[str, ...] = ()
    conditions: StatedConditions = StatedConditions()
    options: dict[str, Any] = {}
    environment: dict[str, str] = {}
    commands: tuple[Command, ...] = ()
    logs: tuple[LogFile, ...]
    source: Source | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``hosts/<id>.toml``: a machine. Facts are text, in the words of whoever states them; a fact that is absent is not stated."""

    name: str
    kind: str | None = None
    source: str
    published: bool = False
    notes: tuple[str, ...] = ()
    cpu: dict[str, str] = {}
    memory: dict[str, str] = {}
    storage: dict[str, str] = {}
    network: dict[str, str] = {}
    system: dict[str, str] = {}


def read_manifest(path: Path) -> Manifest:
    """Read a ``run.toml``.

    Raises:
        UnreadableInput: it is missing, no TOML, or not of this schema; the message names file and key.
    """
    manifest = read_evidence_toml(path, Manifest)
    manifest = msgspec.structs.replace(manifest, options={name: _in_json(value) for name, value in manifest.options.items()})
    if manifest.schema != 1:
        raise UnreadableInput(f"{path}: schema {manifest.schema} is not known; this version reads schema 1")
    names = [log.file for log in manifest.logs]
    if again := [name for name in names if names.count(name) > 1]:
        raise UnreadableInput(f"{path}: the log {again[0]} is listed twice; its numbers would count twice")
    return manifest


def _in_json(value: object) -> object:
    """Return a value of TOML as JSON can hold it, in which options are kept: what JSON has no word for (a date, ``nan``, ``inf``) is text."""
    if isinstance(value, dict):
        return {key: _in_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_in_json(inner) for inner in value]
    known = isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    return value if known else str(value)


def read_host(path: Path) -> Host:
    """Read a host file.

    Raises:
        UnreadableInput: it is missing, no TOML, or not of this schema; the message names file and key.
    """
    return read_evidence_toml(path, Host)


def check_label(release: str) -> None:
    """Refuse a release's label that cannot name a folder and stand in an address."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", release):
        raise UnreadableInput(f"--release {release!r}: letters, digits and . _ + - only, because it becomes a part of addresses")


def write(path: Path, content: Manifest | Host) -> None:
    """Write a manifest or a host file, whole or not at all: whoever reads it at the same time sees the old or the new one."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(as_toml(content), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror}") from error  # The user asked for this file and knows nothing of the part.


def folders_below(root: Path, trouble: Callable[[OSError], object] = lambda _: None, *, regular: bool = True) -> Iterator[tuple[Path, list[str]]]:
    """Every folder below ``root`` (itself included) with the names of its files, sorted; what is hidden is left out, links are not followed.

    ``trouble`` is told of each folder that cannot be listed: what is in it is not known to anybody.
    ``regular`` leaves out named pipes and the like too; without it, whoever opens the files must expect them.
    """
    for folder, names, files in os.walk(root, onerror=trouble):
        names[:] = sorted(name for name in names if not name.startswith("."))
        shown = (file for file in files if not file.startswith("."))
        yield Path(folder), sorted(file for file in shown if not regular or _may_be_read(Path(folder, file)))


def _may_be_read(path: Path) -> bool:
    """Not what would wait for somebody to write into it; a link that leads nowhere is there, and opening it will say so."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError:
        return True


def as_toml(content: Manifest | Host) -> str:
    """Return a manifest or a host file as the text of its file."""
    said: dict[str, Any] = msgspec.to_builtins(content)
    if isinstance(content, Manifest):
        said = {"schema": content.schema, **said}  # Written although it is the default: a later version must know what it reads.
    return tomli_w.dumps(said, multiline_strings=True)


def read_toml(path: Path, kind: type[Content]) -> Content:
    """Read a TOML file that the user names. One that lies in a folder of runs is read by `read_evidence_toml`.

    Raises:
        UnreadableInput: it is missing, no TOML, or holds no such thing; the message names file and key.
    """
    try:
        return _decoded(path, path.read_bytes(), kind)
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error


def read_evidence_toml(path: Path, kind: type[Content]) -> Content:
    """Read a TOML file of a folder of runs: a regular file, no link.

    Raises:
        UnreadableInput: it is missing, no file, no TOML, or holds no such thing; the message names file and key.
    """
    try:
        content = read_evidence(path.parent, path.name)
    except UnreadableInput as error:
        raise UnreadableInput(f"{path}: {str(error).removeprefix('cannot open: ')}") from error
    return _decoded(path, content, kind)


def _decoded(path: Path, content: bytes, kind: type[Content]) -> Content:
    try:
        said = msgspec.toml.decode(content)
        if trouble := _unfit(said):
            raise UnreadableInput(f"{path}: {trouble}")
        return msgspec.convert(said, kind, builtin_types=(datetime, date, time), str_keys=True)
    except RecursionError:
        raise UnreadableInput(f"{path}: {_TOO_DEEP}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UnreadableInput(f"{path}: {in_words(error, kind)}") from error


def _unfit(value: object, depth: int = 0) -> str | None:
    """Say what of a TOML file no table of results can hold; TOML itself promises whole numbers of 64 bits, and no more."""
    if depth > _DEEPEST:
        return _TOO_DEEP
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return f"the whole number {str(value)[:_DIGITS_SHOWN]}... does not fit into 64 bits"
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((trouble for one in inner if (trouble := _unfit(one, depth + 1))), None)


_DEEPEST = 32
_TOO_DEEP = f"tables and lists lie in each other more than {_DEEPEST} deep"
_DIGITS_SHOWN = 24
_PLACE = re.compile(r" - at `\$\.?(?P<keys>[^`]*)`$")
_UNKNOWN = re.compile(r"Object contains unknown field `([^`]*)`")
_CHOICE = re.compile(r"Invalid enum value (?P<value>.*?)(?: - at `.*)?")
_TYPES = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "a table",
    "null": "",
    "datetime": "a date and time",
}


def in_words(error: Exception, kind: type) -> str:
    """What a TOML decoder says of a file that should hold a ``kind``, in the words of whoever writes such files."""
    message = str(error)
    for pattern, words in (
        (f"`str` matching regex {_SHA256!r}", "64 hexadecimal digits, as sha256sum prints them,"),
        (f"`str` matching regex {_FILE_NAME!r}", "the name of a file beside run.toml, without a folder or control characters,"),
        (f"`str` matching regex {_NAME!r}", "a name that is not empty or blank,"),
    ):
        message = message.replace(pattern, words)
    place = _PLACE.search(message)
    if unknown := _UNKNOWN.match(message):
        message = message.replace(unknown[0], f"{unknown[0]}{_nearest(kind, place['keys'] if place else '', unknown[1])}", 1)
    if place and (choice := _CHOICE.fullmatch(message)):
        return f"{place['keys']}: {choice['value']} is none of {', '.join(_choices(kind, place['keys']))}"
    return re.sub(rf"`((?:{'|'.join(_TYPES)})(?: \| \w+)*)`", lambda found: _type_words(found[1]), message)


def _type_words(types: str) -> str:
    return " or ".join(words for name in types.split(" | ") if (words := _TYPES.get(name, name)))


def _nearest(kind: Any, keys: str, word: str) -> str:  # noqa: ANN401 - any annotation
    """The field that an unknown one may have been meant for, or all that there are."""
    struct = _struct(_at(kind, keys))
    known = list(msgspec.structs.fields(struct)) if struct else []
    near = difflib.get_close_matches(word, [field.encode_name for field in known], 1)
    if near:
        return f" (is {near[0]} meant?)"
    return f" (there are {', '.join(field.encode_name for field in known)})" if known else ""


def _choices(kind: Any, keys: str) -> list[str]:  # noqa: ANN401 - any annotation
    """The words that may stand at a place such as ``logs[0].side`` of a struct."""
    return [str(part) for part in _parts(_at(kind, keys)) if isinstance(part, str)]


def _at(kind: Any, keys: str) -> Any:  # noqa: ANN401 - any annotation
    """What a struct holds at a place such as ``logs[0].side``."""
    for key in re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", keys)):
        struct = _struct(kind)
        kind = get_type_hints(struct).get(key) if struct else None
    return kind


def _struct(kind: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - any annotation
    return next((part for part in _parts(kind) if isinstance(part, type) and issubclass(part, msgspec.Struct)), None)


def _parts(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    """The types that an annotation is made of; the words of a Literal."""
    if get_origin(kind) is Literal or not get_args(kind):
        yield from get_args(kind) or (kind,)
        return
    for part in get_args(kind):
        yield from _parts(part)
