"""Coverage-guided fuzzing of one format: ``fuzz_format.py FORMAT [libFuzzer options] CORPUS...``.

Whatever the bytes are, reading them ends without an exception, and every line is in exactly one class.
"""

from __future__ import annotations

import contextlib
import io
import sys

import atheris

with atheris.instrument_imports(include=["tacholog"]):
    from tacholog.errors import UnreadableInput
    from tacholog.formats.reading import Scan
    from tacholog.formats.registry import formats
    from tacholog.formats.source import LogText

LONGEST = 8192


def lines_of(data: bytes) -> int:
    """How many lines a log that is not compressed has."""
    text = data.removeprefix(b"\xef\xbb\xbf")
    return text.count(b"\n") + bool(text.rsplit(b"\n", 1)[-1])


def read(name: str, data: bytes) -> None:
    """Detect, then read as the format of that name."""
    try:
        text = LogText(io.BytesIO(data))
        for module in formats().values():
            module.detect(text.head)
        scan = Scan(text, name)
        counted = sum(len(event.lines) for event in scan)
    except UnreadableInput:
        return
    compressed = data.startswith((b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd"))
    if counted != scan.account.total or (not compressed and counted != lines_of(data)):
        raise AssertionError(f"{counted} lines in events, {scan.account.total} in the account, {lines_of(data)} in the log")


def main() -> None:
    """Fuzz until libFuzzer's own limits end it; a finding is an uncaught exception and exit code 77."""
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, lambda data: read(name, data))
    with contextlib.redirect_stdout(sys.stderr):
        atheris.Fuzz()


if __name__ == "__main__":
    main()
