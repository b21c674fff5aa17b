"""Compiled templates, kept from one build to the next: to compile them took a quarter of a second for the theme, and a twentieth for our own.

Compiled templates are code. They lie beside Sphinx's own cache, which Python unpickles: who can write there can run code without them too.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket

_PREFIX, _ENDING = "tacholog-", ".cache"
_MAKER_CHARACTERS = 16


class CompiledTemplates(BytecodeCache):
    """A folder of compiled templates. What is damaged there is not used: Python may crash on it, or do something else than the template says."""

    def __init__(self, folder: Path, made_by: str) -> None:
        """Delete what was compiled by other code.

        Args:
            folder: where they are. It is made.
            made_by: a digest of all that compiles the templates. Jinja2 itself compares their text, and the version of Python.
        """
        self._of_maker = str(folder / f"{_PREFIX}{made_by[:_MAKER_CHARACTERS]}-")
        folder.mkdir(parents=True, exist_ok=True)
        for file in folder.glob(f"{_PREFIX}*{_ENDING}"):
            if not str(file).startswith(self._of_maker):
                file.unlink(missing_ok=True)

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take a template from the folder, if it is there and whole."""
        try:
            digest, _, compiled = self._file(bucket).read_bytes().partition(b"\n")
        except OSError:
            return
        if digest == _digest(compiled):
            bucket.bytecode_from_string(compiled)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template that was compiled."""
        compiled = bucket.bytecode_to_string()
        with suppress(OSError):  # It is compiled again then.
            self._file(bucket).write_bytes(_digest(compiled) + b"\n" + compiled)

    def _file(self, bucket: Bucket) -> Path:
        return Path(f"{self._of_maker}{bucket.key}{_ENDING}")


def _digest(compiled: bytes) -> bytes:
    return hashlib.sha256(compiled).hexdigest().encode()
