"""Templates, compiled. A build of one run more fills in the same templates as the last build, and compiling takes longer than filling in."""

from __future__ import annotations

import hashlib
from pathlib import Path

from jinja2 import BytecodeCache
from jinja2.bccache import Bucket


class CompiledTemplates(BytecodeCache):
    """What the last build compiled, in a file for each template.

    Jinja believes what it finds there if the source of the template is the same. So each file begins with a digest of its content and of the code,
    which the environment of the templates belongs to: what is damaged, or was made by another version, is compiled again.
    """

    def __init__(self, folder: Path, code: str) -> None:
        """``folder`` is for these files only, ``code`` the digest of the code and of all packages."""
        self._folder, self._code = folder, code

    def load_bytecode(self, bucket: Bucket) -> None:
        """Load a template, if it is there and may be believed."""
        try:
            digest, _, content = self._file(bucket).read_bytes().partition(b"\n")
        except OSError:
            return
        if digest == self._digest(content):
            bucket.bytecode_from_string(content)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep a template for the next build."""
        content = bucket.bytecode_to_string()
        self._folder.mkdir(parents=True, exist_ok=True)
        self._file(bucket).write_bytes(self._digest(content) + b"\n" + content)

    def _file(self, bucket: Bucket) -> Path:
        return self._folder / f"{bucket.key}.compiled"

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(self._code.encode() + b"\n" + content).hexdigest().encode()
