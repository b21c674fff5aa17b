"""``run.toml`` and ``hosts/*.toml``: what a run was and on which machine, in files that people can read and write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
import tomli_w

from tacholog.errors import UnreadableInput
from tacholog.records import Conditions, Side, Status

RUN_FILE = "run.toml"
HOSTS_FOLDER = "hosts"

Sha256 = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
Table = TypeVar("Table", "Manifest", "Host")
FileName = Annotated[str, msgspec.Meta(pattern=r"^[^/\x00]+$")]  # A log lies beside its manifest: no path leads out of the folder.


class LogFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """A log of a run: its file name, the SHA-256 of its bytes, and what its content may not show."""

    file: FileName
    sha256: Sha256
    format: str | None = None
    side: Side | None = None


class Command(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """One process of a run: its words, never a shell's. ``{payload_bytes}`` stands for each size in turn."""

    role: str
    argv: tuple[str, ...]


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
    system: str
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
    conditions: Conditions = Conditions()
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
    manifest = _read(path, Manifest)
    if manifest.schema != 1:
        raise UnreadableInput(f"{path}: schema {manifest.schema} is not known; this version reads schema 1")
    return manifest


def read_host(path: Path) -> Host:
    """Read a host file.

    Raises:
        UnreadableInput: it is missing, no TOML, or not of this schema; the message names file and key.
    """
    return _read(path, Host)


def write(path: Path, content: Manifest | Host) -> None:
    """Write a manifest or a host file, whole or not at all: whoever reads it at the same time sees the old or the new one."""
    part = path.with_name(f".{path.name}.part")
    part.write_text(as_toml(content), encoding="utf-8")
    part.replace(path)


def as_toml(content: Manifest | Host) -> str:
    """Return a manifest or a host file as the text of its file."""
    said: dict[str, Any] = msgspec.to_builtins(content)
    if isinstance(content, Manifest):
        said = {"schema": content.schema, **said}  # Written although it is the default: a later version must know what it reads.
    return tomli_w.dumps(said, multiline_strings=True)


def _read(path: Path, kind: type[Table]) -> Table:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=kind)
    except OSError as error:
        raise UnreadableInput(f"{path}: {error.strerror}") from error
    except (msgspec.DecodeError, UnicodeDecodeError, ValueError) as error:
        raise UnreadableInput(f"{path}: {error}") from error
