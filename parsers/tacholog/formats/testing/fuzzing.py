"""Coverage-guided fuzzing of a format with atheris and libFuzzer."""

from __future__ import annotations

import contextlib
import importlib
import io
import sys

UTF8_MARK = b"\xef\xbb\xbf"
_COMPRESSED = (b"\x1f\x8b", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")


def lines_in(log: bytes) -> int:
    """Return the number of lines of a log that is not compressed."""
    text = log.removeprefix(UTF8_MARK)
    return text.count(b"\n") + bool(text.rsplit(b"\n", 1)[-1])


def read_anything(name: str, log: bytes) -> None:
    """Try all formats on these bytes, then read them in the named format.

    Raises:
        AssertionError: a line is in no class or in two classes.
        FormatFailure: the format raised an exception, or yielded an object that is not a finding.
    """
    # Imported here, because `fuzz` loads these modules again to instrument them.
    from tacholog.errors import UnreadableInput
    from tacholog.formats.reading import FormatFailure, Scan
    from tacholog.formats.registry import formats
    from tacholog.formats.source import LogText

    try:
        text = LogText(io.BytesIO(log))
        for module in formats().values():
            module.detect(text.head)
        scan = Scan(text, name)
        counted = sum(len(event.lines) for event in scan)
    except FormatFailure:
        raise
    except UnreadableInput:
        return  # For example, UTF-16: the reader refuses it before any format is tried.
    if counted != scan.account.total or (not log.startswith(_COMPRESSED) and counted != lines_in(log)):
        raise AssertionError(f"{counted} lines in events, {scan.account.total} in the account, {lines_in(log)} in the log")


def fuzz(name: str) -> None:
    """Fuzz a format until the limits of libFuzzer end it. The arguments of the program are options of libFuzzer, and folders of seeds.

    If an error is found, the program ends with an uncaught exception and exit code 77.

    Raises:
        ImportError: atheris is not installed.
    """
    try:
        import atheris
    except ImportError as error:
        raise ImportError("tacholog.formats.testing.fuzz needs atheris: pip install atheris") from error
    from tacholog.formats.registry import format_named

    # atheris instruments only modules that are imported here, so modules that were loaded before must be loaded again.
    packages = {"tacholog", getattr(format_named(name), "__name__", "tacholog").partition(".")[0]}
    for module in [module for module in sys.modules if module.partition(".")[0] in packages]:
        del sys.modules[module]
    with atheris.instrument_imports(include=sorted(packages)):
        instrumented = importlib.import_module(__name__)
        importlib.import_module("tacholog.formats.registry").formats()
    atheris.Setup(sys.argv, lambda log: instrumented.read_anything(name, log))
    with contextlib.redirect_stdout(sys.stderr):
        atheris.Fuzz()
