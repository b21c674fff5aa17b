"""Find the programs that a campaign runs, their versions and their checksums."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from tacholog.campaign.wrappers import behind_wrappers
from tacholog.errors import TachologError


def find_programs(perftest: Path | None, checkout: Path | None) -> dict[str, Path]:
    """Return the path of perftest, by its name.

    It is the first of these that exists: ``perftest`` (from the command line), ``$TACHOLOG_PERFTEST``, the build in the checkout, the build in the
    current folder. If none exists, the result is empty, and `find_program` looks on the PATH.

    Raises:
        TachologError: a path was given, and it is not an executable file.
    """
    given = perftest or (Path(os.environ["TACHOLOG_PERFTEST"]) if "TACHOLOG_PERFTEST" in os.environ else None)
    if given is not None:
        if not os.access(given, os.X_OK) or given.is_dir():
            raise TachologError(f"{given}: not an executable file")
        return {"perftest": given.resolve()}
    built = [root / "build/bench/release/perftest" for root in (checkout, Path.cwd()) if root]
    return next(({"perftest": path.resolve()} for path in built if os.access(path, os.X_OK)), {})


def find_program(word: str, tools: Mapping[str, Path]) -> Path:
    """Return the program of this name: from ``tools``, or else from the PATH.

    Raises:
        TachologError: there is no such program.
    """
    found = tools.get(word) or shutil.which(word)
    if found is None:
        raise TachologError(f"{word}: no such program; {way_to_get(word)}")
    return Path(found)


def way_to_get(word: str) -> str:
    """Say how to get a program that is missing."""
    if word == "perftest":
        return "build it with `nox -s core`, or give its path with --perftest or in TACHOLOG_PERFTEST"
    return "install it, or put it on the PATH"


def measured_program(command: Sequence[str]) -> str:
    """Return the word of a command that names the measured program: the one behind wrappers such as ``env``, or the first if it is not known."""
    return command[behind_wrappers(command).position]


def tool_version(command: Sequence[str] | None, tools: Mapping[str, Path]) -> str | None:
    """Return the first version number in the output of the command; None if there is none."""
    if command is None:
        return None
    words = [str(find_program(command[0], tools)), *command[1:]]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except subprocess.TimeoutExpired:  # a tool that does not know the option may start to measure
        return None
    found = re.search(r"\d+(?:\.\d+)+\S*", done.stdout)
    return found[0] if found else None


class Listed(NamedTuple):
    """What a program lists: the names that begin its lines, and what it says of others, by their names, in lines that begin with a blank."""

    names: frozenset[str]
    others: Mapping[str, str]


def listed(command: Sequence[str], tools: Mapping[str, Path]) -> Listed:
    """Return what a program lists, such as the transports of a perftest.

    Raises:
        TachologError: the program is missing, or it fails.
    """
    words = [str(find_program(command[0], tools)), *command[1:]]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=20, check=False)
    except subprocess.TimeoutExpired:
        raise TachologError(f"`{' '.join(command)}` does not end, so nobody knows what it lists") from None
    if done.returncode != 0:
        raise TachologError(f"`{' '.join(command)}` ended with exit code {done.returncode}, so nobody knows what it lists")
    lines = [line for line in done.stdout.splitlines() if line.strip()]
    others = {word: line.strip() for line in lines if line[0].isspace() for word in line.split()}
    return Listed(frozenset(line.split()[0] for line in lines if not line[0].isspace()), others)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
