"""The requirements of a site: ``requirements.toml`` in the data, kept beside the dataset, where the page and the badges read it."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import tomli_w

from tacholog.compare.requirements.file import FILE, RequirementFile, read_requirements
from tacholog.compare.requirements.judge import Base
from tacholog.compare.sides import of_release, of_runs
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there, read_small_evidence
from tacholog.privacy.classes import published_text
from tacholog.privacy.redactor import Redactor
from tacholog.store.frames import Dataset

DOCUMENT = "requirements"
LABELS = "label"
_VOCABULARY = ("metric", "statistic", "unit", "size")  # `read_requirements` refuses all but words of the schema


def find_requirements(roots: Sequence[Path]) -> Path | None:
    """Return the first folder of runs that has a file of requirements; nothing if none has.

    Raises:
        UnreadableInput: the file cannot be used; the message names file, line and key.
    """
    root = next((root for root in roots if is_there(root, FILE)), None)
    if root is not None:
        _content(root)
        read_requirements(root / FILE)
    return root


def _content(root: Path) -> bytes:
    try:
        return read_small_evidence(root, FILE)
    except UnreadableInput as error:
        raise UnreadableInput(f"{root / FILE}: {error}") from error


def keep_requirements(root: Path | None, folder: Path, redactor: Redactor) -> None:
    """Copy the requirements in a folder of runs beside the dataset, redacted as the dataset is. Without such a folder, none are kept.

    A file that has not changed keeps its modification time.
    """
    kept = folder / FILE
    if root is None:
        kept.unlink(missing_ok=True)
        return
    content = _redacted(_content(root), redactor)
    if not kept.is_file() or kept.read_bytes() != content:
        kept.write_bytes(content)


def _redacted(content: bytes, redactor: Redactor) -> bytes:
    """Return a file of requirements whose texts are those of the redacted dataset; the same file if nothing is replaced."""
    tables = tomllib.loads(content.decode("utf-8-sig"))
    shown = {kind: [_redacted_entry(entry, redactor) for entry in entries] for kind, entries in tables.items()}
    return content if shown == tables else tomli_w.dumps(shown).encode()


def _redacted_entry(entry: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in entry.items():
        if key == LABELS:
            found[key] = {redactor.identifier(name): redactor.text(text) for name, text in value.items()}
        elif isinstance(value, str) and key not in _VOCABULARY:
            found[key] = published_text(value, key, "name" if key in ("host", "participant") else "public", redactor)
        else:
            found[key] = value
    return found


def kept_requirements(folder: Path) -> RequirementFile | None:
    """Return the requirements that are kept beside a dataset; nothing if there are none, or if some release to compare with is not named."""
    path = folder / FILE
    return read_requirements(path) if path.is_file() else None


def releases_of_site(data: Dataset) -> Base:
    """Return how the release is found that a relative requirement compares with. A release that the site does not have is empty."""
    there = {str(name) for name in data.runs["release"].dropna()}
    return lambda name: of_release(data, name) if name in there else of_runs(data, ())
