"""Manifests (``run.toml``) describe runs, and host files (``hosts/*.toml``) describe machines. People can read and write these files."""

from __future__ import annotations

import difflib
import math
import os
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, get_args, get_origin, get_type_hints

import msgspec
import tomli
import tomli_w

from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import read_small_evidence
from tacholog.formats.source import UTF8_MARK, UTF16_REFUSED, utf16_of, would_wait
from tacholog.runs.disturbance import Limits
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.records import Side, Status
from tacholog.visible import is_blank, one_form

RUN_FILE = "run.toml"
PLAN_FILE = "plan.toml"
HOSTS_FOLDER = "hosts"
SAME_BUILD_FOLDER = "same-build"  # comparisons of a build with itself, one CSV file for each host
RENAMES_FILE = "renames.toml"  # This file and the next file are in the folder that contains the folders of runs.
REQUIREMENTS_FILE = "requirements.toml"
#: The name of perftest in control runs (`tacholog.campaign.floor`), as their system and in their commands. The other runs of a campaign may measure
#: another build of perftest.
FLOOR = "perftest-floor"

_SHA256 = r"^[0-9a-f]{64}\Z"
Sha256 = Annotated[str, msgspec.Meta(pattern=_SHA256)]
Content = TypeVar("Content")
# A log is next to its manifest. So its name must not lead to another folder, and must not contain characters that change how it is displayed.
_FILE_NAME = r"^(?!\.{1,2}\Z)[^/\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]+\Z"
FileName = Annotated[str, msgspec.Meta(pattern=_FILE_NAME, max_length=255)]
_NAME = r"\S"
Name = Annotated[str, msgspec.Meta(pattern=_NAME)]  # People read and click the name of a system, so it must not be blank.
_LABEL = r"^[A-Za-z][A-Za-z0-9_-]*\Z"
LabelName = Annotated[str, msgspec.Meta(pattern=_LABEL, max_length=64)]
LabelValue = Annotated[str, msgspec.Meta(pattern=_NAME, max_length=200)]


class LogFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A log of a run.

    Attributes:
        file: its file name in the folder of the manifest.
        sha256: the SHA-256 of its bytes.
        format: its format, if the content does not show it.
        side: the side that wrote it, if the content does not show it.
        participant: the publisher or subscriber that wrote it, if there are several and the content does not show it.
        process: the name of the process that wrote it, as in ``commands``.
        results: false for a log without results, such as the output of a server that only reports that it listens.
        path: its path at the time of the import, relative to the imported folder.
    """

    file: FileName
    sha256: Sha256
    format: str | None = None
    side: Side | None = None
    participant: str | None = None
    process: str | None = None
    results: bool = True
    path: str | None = None


class Readiness(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What showed that a process was ready, so that the next process was started. Exactly one attribute is set.

    Attributes:
        output: the process had printed this text.
        port: a process listened on this port, TCP or UDP.
        seconds: this time had passed since its start.
    """

    output: str | None = None
    port: int | None = None
    seconds: float | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One process of a run.

    Attributes:
        role: the role of the process, such as ``publisher``.
        argv: the program and its arguments; no shell is involved. ``{payload_bytes}`` stands for each size in turn.
        result: the number that the document gives to the result of this command; absent if the document gives no numbers to results.
        machine: the machine on which the command ran, if the document names several machines.
        each: the values of the placeholders, one table for each execution of the command.
        name: the name of the process in its campaign.
        host: the id of the host on which the process ran, if it is not the host of the run.
        program: the measured program in ``argv``, if other programs such as ``env`` or ``taskset`` stand before it.
        program_sha256: the SHA-256 of the measured program.
        program_version: the version of the measured program.
        exit_status: 0 to 255; a negative number is the signal that ended it.
        log: the log with the output of the process.
        prefix: words before the command that start it elsewhere, for example in a container.
        ready: the condition on which the next process was started; ``None``: immediately.
        ends: ``stopped`` if the harness stopped the process after all other processes had ended.
    """

    role: str
    argv: tuple[str, ...]
    result: str | None = None
    machine: str | None = None
    each: tuple[dict[str, int], ...] = ()
    name: str | None = None
    host: str | None = None
    program: str | None = None
    program_sha256: Sha256 | None = None
    program_version: str | None = None
    exit_status: int | None = None
    log: FileName | None = None
    prefix: tuple[str, ...] = ()
    ready: Readiness | None = None
    ends: Literal["itself", "stopped"] = "itself"


class Source(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The published document from which a log was taken.

    Attributes:
        document: the file name of the document.
        title: its title.
        publisher: who published it.
        sha256: the SHA-256 of its bytes.
        lines: the lines of the log in the document, such as ``35-52``.
        url: its address.
        retrieved: the day on which it was fetched.
    """

    document: str
    title: str
    publisher: str
    sha256: Sha256
    lines: str
    url: str | None = None
    retrieved: str | None = None


class Manifest(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``run.toml``: one measurement. Only the system and the logs are required.

    Attributes:
        schema: the version of this structure.
        system: what was measured, by name.
        system_version: the version of the system.
        tool: the tool that measured.
        tool_version: the version of the tool.
        release: the name under which runs are published and compared.
        published: true for figures that somebody else published.
        host: the id of the machine: ``hosts/ID.toml`` describes it.
        status: how the run ended.
        reason: why it ended so.
        start_time: when the run began: a day, or a day and a time, of ISO 8601.
        session: the name of the session: runs that were made in one go on one machine.
        repetition: the number of the repetition.
        order_index: the position of the run in the order of its campaign.
        campaign: the name of the campaign.
        seed: the number from which the campaign drew the order of its runs.
        notes: remarks for readers of the site.
        labels: words of your own that distinguish runs.
        clocks: ``several`` if the processes ran on machines with separate clocks; if it is missing, they shared a clock, or nobody states it.
        conditions: how it was measured: the table of conditions.
        options: options of the tool that are not conditions.
        environment: facts about the machine and the run that the campaign recorded.
        limits: how much other programs may disturb the run, as stated by its campaign; ``environment`` states how much they did.
        commands: the processes of the run, in the order of their starts.
        logs: the logs of the run.
        source: the document from which the log was taken, if the figures were published.
    """

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
    labels: dict[LabelName, LabelValue] = {}
    clocks: Literal["several"] | None = None
    conditions: StatedConditions = StatedConditions()
    options: dict[str, Any] = {}
    environment: dict[str, str] = {}
    limits: Limits | None = None
    commands: tuple[Command, ...] = ()
    logs: tuple[LogFile, ...]
    source: Source | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """``hosts/<id>.toml``: a machine. Each property is a text, as a person or a program wrote it. Any property may be missing.

    Attributes:
        name: the name of the machine.
        kind: what kind of machine it is, such as a virtual machine.
        source: who stated the properties.
        published: true if a published document describes the machine.
        notes: remarks for readers of the site.
        cpu: properties of the processors.
        memory: properties of the memory.
        storage: properties of the disks.
        network: properties of the network.
        system: properties of the operating system.
    """

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
        UnreadableInput: the file is missing, is not TOML, or does not follow this schema; the message names file and key.
    """
    return manifest_of(path, evidence_bytes(path.parent, path.name))


def manifest_of(path: Path, content: bytes) -> Manifest:
    """Decode the bytes of a ``run.toml``.

    Raises:
        UnreadableInput: the bytes are not TOML, or do not follow this schema; the message names file and key.
    """
    manifest = _decoded(path, content, Manifest)
    manifest = msgspec.structs.replace(
        manifest,
        options={name: _in_json(value) for name, value in manifest.options.items()},
        labels={name: one_form(value) for name, value in manifest.labels.items()},
        **{name: one_form(text) for name in _NAMES if (text := getattr(manifest, name))},
    )
    if manifest.schema != 1:
        raise UnreadableInput(f"{path}: schema {manifest.schema} is not known; this version reads schema 1")
    if unseen := next((field for field, text in _names_in(manifest) if text and is_blank(text)), None):
        raise UnreadableInput(f"{path}: {unseen} is blank: it has no visible character")
    if infinite := next((name for name, value in msgspec.structs.asdict(manifest.conditions).items() if value == math.inf), None):
        raise UnreadableInput(f"{path}: conditions.{infinite} is infinite: JSON cannot represent it")
    names = [log.file for log in manifest.logs]
    if again := [name for name in names if names.count(name) > 1]:
        raise UnreadableInput(f"{path}: the log {again[0]} is listed twice; its numbers would count twice")
    return manifest


# These names are converted to one normal form of Unicode. The name of the host is not converted, because it must be equal to the name of a file.
_NAMES = ("system", "release", "tool", "session", "campaign")


def _names_in(manifest: Manifest) -> Iterator[tuple[str, str | None]]:
    """Yield the field and the name, for each name that pages and comparisons use."""
    yield from ((field, getattr(manifest, field)) for field in (*_NAMES, "host"))
    yield from ((f"labels.{name}", value) for name, value in manifest.labels.items())
    yield from ((f"logs[{index}].{field}", getattr(log, field)) for index, log in enumerate(manifest.logs) for field in ("file", "participant"))


def _in_json(value: object) -> object:
    """Return a value that JSON can represent. A date, ``nan`` or ``inf`` becomes a text."""
    if isinstance(value, dict):
        return {key: _in_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_in_json(inner) for inner in value]
    is_json = isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value))
    return value if is_json else str(value)


def read_host(path: Path) -> Host:
    """Read a host file.

    Raises:
        UnreadableInput: the file is missing, is not TOML, or does not follow this schema; the message names file and key.
    """
    return read_evidence_toml(path, Host)


def check_release_name(release: str) -> None:
    """Raise an error if the name of a release cannot be the name of a folder and a part of a URL."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._+-]*", release):
        raise UnreadableInput(f"--release {release!r}: letters, digits and . _ + - only, because it becomes a part of addresses")


def write(path: Path, content: Manifest | Host) -> None:
    """Write a manifest or a host file, completely or not at all. A process that reads the file at the same time gets the old or the new file."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(as_toml(content), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise TachologError(f"{path}: {error.strerror}") from error  # The message names the requested file, not the temporary file.


def folders_below(root: Path, trouble: Callable[[OSError], object] = lambda _: None, *, regular: bool = True) -> Iterator[tuple[Path, list[str]]]:
    """Yield every folder below ``root``, and ``root`` itself, with the sorted names of its files. Omit hidden entries, and follow no links.

    Args:
        root: the folder to begin with.
        trouble: a function that is called for each folder that cannot be listed.
        regular: whether named pipes, sockets and devices are left out. If it is false, the names include them, and the caller must not open them
            without a check.
    """
    for listed in listed_below(root, trouble):
        names = listed.files if regular or not listed.others else listed.names()
        yield Path(listed.folder), names


class ListedFolder(NamedTuple):
    """A folder, with two sorted lists of names: its files, and its named pipes, sockets and devices. Hidden entries are in neither list."""

    folder: str
    files: list[str]
    others: list[str]

    def names(self) -> list[str]:
        """Return the names in both lists as one sorted list."""
        return sorted((*self.files, *self.others))


def listed_below(root: Path, trouble: Callable[[OSError], object]) -> Iterator[ListedFolder]:
    """Yield every folder below ``root`` as `folders_below` does, with regular files and other entries in separate lists.

    Args:
        root: the folder to begin with.
        trouble: a function that is called for each folder that cannot be listed.
    """
    waiting = [os.fspath(root)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listed:
                entries = [entry for entry in listed if not entry.name.startswith(".")]
        except OSError as error:
            trouble(error)
            continue
        entries.sort(key=_NAME_OF)
        files: list[str] = []
        others: list[str] = []
        folders: list[os.DirEntry[str]] = []
        for entry in entries:
            if entry.is_file(follow_symlinks=False):  # the usual case
                files.append(entry.name)
            elif _is_folder(entry):
                folders.append(entry)
            else:
                (files if _may_be_read(entry) else others).append(entry.name)
        yield ListedFolder(folder, files, others)
        waiting.extend(entry.path for entry in reversed(folders) if not entry.is_symlink())


_NAME_OF = attrgetter("name")


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _may_be_read(entry: os.DirEntry[str]) -> bool:
    """Whether opening the file cannot block. True for a broken link, so that opening it reports the error."""
    try:
        if entry.is_file():  # the answer is usually known from the listing of the folder, so this needs no system call
            return True
        entry.stat()
    except OSError:
        return True
    return False


def as_toml(content: Manifest | Host) -> str:
    """Return a manifest or a host file as the text of its file."""
    fields: dict[str, Any] = msgspec.to_builtins(content)
    if isinstance(content, Manifest):
        fields = {"schema": content.schema, **fields}  # also written if it is the default: a later version must know the schema
    return tomli_w.dumps(fields, multiline_strings=True)


def read_toml(path: Path, kind: type[Content]) -> Content:
    """Read a TOML file at a path that the user states. Use `read_evidence_toml` for files in a folder of runs.

    Raises:
        UnreadableInput: the file is missing, is no regular file or no TOML, or does not have this structure; the message names file and key.
    """
    if str(path) != os.devnull and (wrong := would_wait(path)):
        raise UnreadableInput(f"{path}: {wrong}")
    try:
        return _decoded(path, path.read_bytes(), kind)
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error


def read_evidence_toml(path: Path, kind: type[Content]) -> Content:
    """Read a TOML file in a folder of runs. It must be a regular file and no link.

    Raises:
        UnreadableInput: the file is missing, is no regular file or no TOML, or does not have this structure; the message names file and key.
    """
    return _decoded(path, evidence_bytes(path.parent, path.name), kind)


def evidence_bytes(folder: Path, name: str) -> bytes:
    """Return the bytes of a TOML file in a folder of runs. It must be a regular file and no link.

    Raises:
        UnreadableInput: the file is missing, is no regular file, or is far too large.
    """
    try:
        return read_small_evidence(folder, name)
    except UnreadableInput as error:
        raise UnreadableInput(f"{folder / name}: {str(error).removeprefix('cannot open: ')}") from error


def _decoded(path: Path, content: bytes, kind: type[Content]) -> Content:
    if encoding := utf16_of(content):
        raise UnreadableInput(f"{path}: {UTF16_REFUSED.format(encoding)}")
    content = content.removeprefix(UTF8_MARK)
    # The dots are counted first, because the regular expression is much slower, and a folder may have thousands of manifests.
    crowded = content.count(b".") >= _DEEPEST and any(line.count(b".") >= _DEEPEST for line in content.split(b"\n"))
    if crowded and (long := _LONG_KEY.search(content)):
        line = content.count(b"\n", 0, long.end()) + 1
        raise UnreadableInput(f"{path}:{line}: {_TOO_DEEP}")
    try:
        tables = tomli.loads(content.decode())
        if trouble := _unfit(tables):
            raise UnreadableInput(f"{path}: {trouble}")
        return msgspec.convert(tables, kind, builtin_types=(datetime, date, time), str_keys=True)
    except RecursionError:
        raise UnreadableInput(f"{path}: {_TOO_DEEP}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UnreadableInput(f"{path}: {in_words(error, kind)}") from error


def _unfit(value: object, depth: int = 0) -> str | None:
    """Return the reason if a value is nested too deeply, or if an integer needs more than 64 bits; otherwise ``None``."""
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return f"the whole number {str(value)[:_DIGITS_SHOWN]}... {_TOO_LARGE}" if value.bit_length() < _MOST_BITS else f"a whole number {_TOO_LARGE}"
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    if inner and depth >= _DEEPEST:
        return _TOO_DEEP
    for item in inner:
        # Most values are texts. They need no check, so they are skipped first.
        if not isinstance(item, str) and (trouble := _unfit(item, depth + 1)):
            return trouble
    return None


_DEEPEST = 32
_TOO_DEEP = f"tables and lists are nested more than {_DEEPEST} deep"
# Matches a key with too many parts, such as ``a.b.c``. The decoder stores each part of a key with all parts before it, so a key of 60 kB would take 4
# GB of memory.
_KEY_PART = rb"""(?:[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|'[^'\n]*')[ \t]*"""
_LONG_KEY = re.compile(rb"(?:^|[\[{,])[ \t]*" + _KEY_PART + rb"(?:\.[ \t]*" + _KEY_PART + rb"){%d}" % _DEEPEST, re.MULTILINE)
_DIGITS_SHOWN = 24
_MOST_BITS = 10_000  # Python refuses to convert longer integers to or from decimal digits.
_TOO_LARGE = "does not fit into 64 bits"
_TOO_MANY_DIGITS = "Exceeds the limit"
_LOCATION = re.compile(r" - at `\$\.?(?P<keys>[^`]*)`$")
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
    "date": "a date without quotes, such as 2027-03-31",
}


def in_words(error: Exception, kind: type) -> str:
    """Return the error message of a TOML decoder in words that the author of the file understands.

    Args:
        error: the exception of the decoder.
        kind: the struct that the file should hold.
    """
    message = str(error)
    if type(error) is ValueError and message.startswith(_TOO_MANY_DIGITS):
        return f"a whole number {_TOO_LARGE}"
    for pattern, words in (
        ("Invalid value (at", "Invalid value, perhaps a text without quotes (at"),
        (f"`str` matching regex {_SHA256!r}", "64 hexadecimal digits, as sha256sum prints them,"),
        (f"`str` matching regex {_FILE_NAME!r}", "the name of a file beside run.toml, without a folder or control characters,"),
        (f"`str` matching regex {_NAME!r}", "a name that is not empty or blank,"),
        (f"`str` matching regex {_LABEL!r}", "the name of a label (a letter, then letters, digits, _ and -),"),
    ):
        message = message.replace(pattern, words)
    location = _LOCATION.search(message)
    if unknown := _UNKNOWN.match(message):
        message = message.replace(unknown[0], f"{unknown[0]}{_nearest(kind, location['keys'] if location else '', unknown[1])}", 1)
    if location and (choice := _CHOICE.fullmatch(message)):
        return f"{location['keys']}: {choice['value']} is not one of {', '.join(_choices(kind, location['keys']))}"
    return re.sub(rf"`((?:{'|'.join(_TYPES)})(?: \| \w+)*)`", lambda match: _type_words(match[1]), message)


def _type_words(types: str) -> str:
    return " or ".join(words for name in types.split(" | ") if (words := _TYPES.get(name, name)))


def _nearest(kind: Any, keys: str, word: str) -> str:  # noqa: ANN401 - any annotation
    """Return a hint: the field that the author probably meant, or else all fields."""
    struct = _struct(_annotation_at(kind, keys))
    fields = list(msgspec.structs.fields(struct)) if struct else []
    near = difflib.get_close_matches(word, [field.encode_name for field in fields], 1)
    if near:
        return f" (is {near[0]} meant?)"
    return f" (there are {', '.join(field.encode_name for field in fields)})" if fields else ""


def _choices(kind: Any, keys: str) -> list[str]:  # noqa: ANN401 - any annotation
    return [str(part) for part in _parts(_annotation_at(kind, keys)) if isinstance(part, str)]


def _annotation_at(kind: Any, keys: str) -> Any:  # noqa: ANN401 - any annotation
    """Return the annotation of the field at ``keys``, such as ``logs[0].side``."""
    for key in re.findall(r"\w+", re.sub(r"\[[^]]*\]", "", keys)):
        struct = _struct(kind)
        kind = get_type_hints(struct).get(key) if struct else None
    return kind


def _struct(kind: Any) -> type[msgspec.Struct] | None:  # noqa: ANN401 - any annotation
    return next((part for part in _parts(kind) if isinstance(part, type) and issubclass(part, msgspec.Struct)), None)


def _parts(kind: Any) -> Iterator[Any]:  # noqa: ANN401 - any annotation
    """Yield each type in an annotation, and each word of a ``Literal``."""
    if get_origin(kind) is Literal or not get_args(kind):
        yield from get_args(kind) or (kind,)
        return
    for part in get_args(kind):
        yield from _parts(part)
