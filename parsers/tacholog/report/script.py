"""The script that runs a measurement again, made from the structured commands of its manifest."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence

from tacholog.manifest import Command, Manifest
from tacholog.report.privacy import PLACEHOLDER

_PLACEHOLDER = "{payload_bytes}"
_ROLES = {"pub": "Publisher", "sub": "Subscriber", "both": "Publisher and subscriber"}


def shell_script(manifest: Manifest, run: str, sizes: Iterable[int | None]) -> str | None:
    """Return a POSIX shell script, or ``None`` if the manifest holds no commands.

    Args:
        manifest: the run's manifest.
        run: its id.
        sizes: payload bytes of its results; each command that asks for a size loops over them.
    """
    if not manifest.commands:
        return None
    wanted = sorted({size for size in sizes if size is not None})
    lines = ["#!/bin/sh", *_comments(manifest, run), "set -eu"]
    several = len({command.role for command in manifest.commands}) > 1
    for command in sorted(manifest.commands, key=lambda command: command.role != "sub"):
        lines += ["", *_section(command, wanted, several=several)]
    return "\n".join(lines) + "\n"


def words_of(argv: Sequence[str]) -> str:
    """Return a command line whose words a shell reads back as exactly these; ``{payload_bytes}`` becomes a variable."""
    return " ".join(_word(word) for word in argv)


def _section(command: Command, sizes: Sequence[int], *, several: bool) -> list[str]:
    role = _ROLES.get(command.role, command.role)
    where = " (in a shell of its own; start the subscriber first)" if several else ""
    head = _comment(f"{role}{where}")
    line = words_of(command.argv)
    if not any(_PLACEHOLDER in word for word in command.argv):
        return [head, line]
    loop = " ".join(str(size) for size in sizes) or "32  # the sizes are not stated"
    return [head, f"for payload_bytes in {loop}; do", f"  {line}", "done"]


def _word(word: str) -> str:
    return '"$payload_bytes"'.join(shlex.quote(part) if part else "" for part in word.split(_PLACEHOLDER)) or "''"


def _comments(manifest: Manifest, run: str) -> list[str]:
    version = f" {manifest.tool_version}" if manifest.tool_version else ""
    found = [f"Measures {run} again: {manifest.system}, {manifest.tool or 'tool not stated'}{version}."]
    if manifest.published:
        found.append("The commands are the publisher's own words; paths are those of their machine.")
    if any(PLACEHOLDER.search(word) for command in manifest.commands for word in command.argv):
        found.append("Put in your own for path-1, address-1 and the like: the site's owner does not show theirs.")
    found += [f"{name}: {value}" for name, value in sorted(manifest.environment.items()) if name in ("cpu_pub", "cpu_sub", "governor")]
    return [_comment(text) for text in found]


def _comment(text: str) -> str:
    # A line end in a manifest's text must not end the comment: what follows would be run.
    return "# " + " ".join("".join(c if c.isprintable() else " " for c in text).split())
