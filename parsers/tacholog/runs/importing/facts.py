"""Facts in files next to the logs, such as ``experiment_config.json`` or ``params.yaml`` in the folder of each run.

If a key is the name of a field, its value is the value of this field. Any other key becomes a label if its value differs between runs. If its value
is the same in all runs, it becomes an option: as a label, it would only make the names of rows longer.
"""

from __future__ import annotations

import json
import posixpath
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there, read_small_evidence
from tacholog.runs.importing.fields import CONDITION, LABEL, OPTION, TEXTS, typed
from tacholog.schema.conditions import STATED_CONDITIONS

_FOLDER = "{folder}"
_UNSAFE = re.compile(r"[^A-Za-z0-9_-]+")
_MOST_KEYS = 500
_DEEPEST = 8


class SidecarFacts:
    """The facts of the logs of a folder, read from the files next to the logs."""

    def __init__(self, root: Path, template: str) -> None:
        """Store the location of the files of facts.

        Args:
            root: the folder with the logs.
            template: the path of the file, such as ``{folder}/experiment_config.json``. ``{folder}`` stands for the folder of the log.

        Raises:
            UnreadableInput: the template names no file, or a file that is not JSON, TOML or YAML.
        """
        if not template.endswith((".json", ".toml", ".yaml", ".yml")):
            raise UnreadableInput(f"--facts {template}: facts are in a file of JSON, TOML or YAML, as in '{_FOLDER}/experiment_config.json'")
        self._root, self._template = root, template
        self._contents: dict[str, dict[str, Any]] = {}
        self._differing: set[str] = set()
        self.missing: set[str] = set()

    def read(self, paths: Iterable[str]) -> None:
        """Read the files of facts of these logs. Each file is read once.

        Raises:
            UnreadableInput: a file cannot be read; the message names it.
        """
        for name in sorted({self._file_of(path) for path in paths}):
            if is_there(self._root, name):
                self._contents[name] = dict(_flat(_decoded(self._root, name)))
            else:
                self.missing.add(name)
        keys = {key for content in self._contents.values() for key in content}
        self._differing = {key for key in keys if len({repr(content.get(key)) for content in self._contents.values()}) > 1}

    def are_in(self, path: str) -> bool:
        """Whether a file in the folder is a file of facts."""
        return path in self._contents

    def of_log(self, path: str) -> dict[str, Any]:
        """Return the fields that belong to a log, from its file of facts. The keys are the full names of the fields.

        Raises:
            ValueError: a field cannot hold its value; the message says what it can hold.
        """
        name = self._file_of(path)
        try:
            return {field: typed(field, str(value)) for key, value in self._contents.get(name, {}).items() if (field := self._field(key))}
        except ValueError as error:
            raise ValueError(f"in {name}, {error}") from None

    def _file_of(self, path: str) -> str:
        name = posixpath.normpath(self._template.replace(_FOLDER, posixpath.dirname(path) or "."))
        if name.startswith(("../", "/")):
            raise UnreadableInput(f"--facts {self._template}: {name} is not in {self._root}")
        return name

    def _field(self, key: str) -> str | None:
        """Return the full name of the field; ``None`` if no field can have the name ``key``."""
        if key in STATED_CONDITIONS:
            return CONDITION + key
        if key in TEXTS:
            return key
        word = _UNSAFE.sub("-", key).strip("-_")[:64]
        if not word[:1].isalpha():
            return None
        return (LABEL if key in self._differing else OPTION) + word


def _decoded(root: Path, name: str) -> object:
    try:
        content = read_small_evidence(root, name)
    except UnreadableInput as error:
        raise UnreadableInput(f"{root / name}: {error}") from error
    try:
        text = content.decode("utf-8-sig")
        if name.endswith(".json"):
            return json.loads(text)
        if name.endswith(".toml"):
            return tomllib.loads(text)
        try:
            import yaml
        except ImportError:
            raise UnreadableInput(f"{root / name}: reading YAML takes the package PyYAML: pip install pyyaml") from None
        return yaml.safe_load(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(f"{root / name}: {str(error).splitlines()[0] if str(error) else 'cannot be read'}") from None


def _flat(content: object, prefix: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """Yield each single value with its key. Nested keys are joined by a hyphen.

    Lists are left out, because a list is not a condition of a single run.
    """
    if not isinstance(content, Mapping) or depth > _DEEPEST:
        return
    for count, (key, value) in enumerate(content.items()):
        if count >= _MOST_KEYS:
            return
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}-", depth + 1)
        elif isinstance(value, str | int | float) and str(value).strip():
            yield f"{prefix}{key}", str(value).lower() if isinstance(value, bool) else value
