"""The two sides of a comparison: what ``OLD`` and ``NEW`` of `tacholog ab` stand for.

Each is, in this order: a program's file; a folder that a program was installed in; a command template (more than one word); a git revision of the
checkout, which is then built; a program on the PATH.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.campaign.plan import Block, Campaign
from tacholog.campaign.tools import find_program, measured_program
from tacholog.errors import TachologError

ARGUMENTS = "{arguments}"
_INSTALLED = ("bin", "", "build/bench/release")  # where below a folder a program is looked for


class Build(NamedTuple):
    """One side: what it is called, the programs by the words that commands begin with, the commit it was built from, its command template."""

    name: str
    tools: Mapping[str, Path]
    revision: str | None = None
    template: tuple[str, ...] = ()


def find_build(
    name: str, campaign: Campaign, tools: Mapping[str, Path], checkout: Path | None, work: Path, say: Callable[[str], object] = lambda _: None
) -> Build:
    """Find or make one side.

    Args:
        name: what the user calls it.
        campaign: what will be run; the first words of its commands are the programs that a side has to have.
        tools: programs that are known already, for templates.
        checkout: the repository whose revisions can be built.
        work: the folder for builds of revisions.
        say: is told of a build before it begins, because it takes minutes.

    Raises:
        TachologError: the name is nothing of all that, or the revision cannot be built.
    """
    words = sorted({block.command[0] for block in campaign.runs})
    path = Path(name)
    if path.is_file() and os.access(path, os.X_OK):
        return Build(path.name, dict.fromkeys(_the_one(words, name), path.resolve()))
    if path.is_dir():
        return Build(path.resolve().name, {word: _installed(path, word) for word in words})
    if len(shlex.split(name)) > 1:
        return _from_template(name, campaign, tools)
    if checkout and (commit := _commit(name, checkout)):
        return Build(name, {"perftest": build_revision(commit, checkout, work, say)}, revision=commit)
    if known := tools.get(name) or shutil.which(name):
        return Build(name, dict.fromkeys(_the_one(words, name), Path(known)))
    raise TachologError(f"{name}: no program, no folder with one, no command template (of several words) and no git revision of that name")


def _from_template(name: str, campaign: Campaign, tools: Mapping[str, Path]) -> Build:
    template = shlex.split(name)
    if ARGUMENTS not in template and any(len(block.command) > 1 for block in campaign.runs):
        raise TachologError(
            f"{name}: no word of this template is {ARGUMENTS}, so that nothing of what the campaign varies would reach the tool; "
            f'put it where the arguments of {campaign.runs[0].command[0]} belong, as in "{template[0]} {ARGUMENTS}"'
        )
    word = measured_program(template, tools)
    if (place := template.index(word)) and ("/" in word or word in tools):  # what runs it looks in the run's folder and on the PATH
        template[place] = str(find_program(word, tools).absolute())
    return Build(name, {**tools, template[0]: find_program(template[0], tools).absolute()}, template=tuple(template))


def _the_one(words: Sequence[str], name: str) -> Sequence[str]:
    if len(words) > 1:
        raise TachologError(f"{name}: one program cannot stand for {' and '.join(words)}; give a folder that holds them all")
    return words


def _installed(folder: Path, word: str) -> Path:
    places = [folder / below / word for below in _INSTALLED]
    found = next((place.resolve() for place in places if os.access(place, os.X_OK) and place.is_file()), None)
    if found is None:
        raise TachologError(f"{folder}: no program {word} in it ({', '.join(str(place.relative_to(folder)) for place in places)})")
    return found


def with_template(campaign: Campaign, build: Build, pairs: int) -> Campaign:
    """Return the campaign of one side: as many repetitions as pairs, and its commands made by the side's template, if it has one.

    ``{arguments}`` in the template stands for the words of the campaign's command behind the program's; where there are none, a template needs none.
    """
    blocks = tuple(msgspec.structs.replace(block, command=_command(block, build.template)) for block in campaign.runs)
    return msgspec.structs.replace(campaign, repetitions=pairs, runs=blocks, version_command=_version_command(campaign, build.template))


def _command(block: Block, template: Sequence[str]) -> tuple[str, ...]:
    if not template:
        return block.command
    return tuple(word for part in template for word in (block.command[1:] if part == ARGUMENTS else (part,)))


def _version_command(campaign: Campaign, template: Sequence[str]) -> tuple[str, ...] | None:
    """The command that prints the version, of the template's own program where the campaign asks the program that it runs.

    It is the template up to its ``{arguments}``: the first word alone may be that of ``env`` or ``taskset``.
    """
    asked = campaign.version_command
    if not asked or not template or asked[0] not in {block.command[0] for block in campaign.runs}:
        return asked
    return (*itertools.takewhile(lambda word: word != ARGUMENTS, template), *asked[1:])


def build_revision(commit: str, checkout: Path, work: Path, say: Callable[[str], object]) -> Path:
    """Build perftest as of a commit, in a worktree that is taken away again, and return it; once built, it is kept.

    Raises:
        TachologError: it does not build; the message names the log.
    """
    place = work / commit[:12]
    program = place / "perftest"
    if program.is_file():
        return program.resolve()
    source, out, log = place / "source", place / "build", place / "build.log"
    say(f"building revision {commit[:12]}, which takes a minute or two and is done once: {log}")
    place.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(checkout)]
    steps = (
        [*git, "worktree", "prune"],
        [*git, "worktree", "add", "--force", "--detach", str(source.resolve()), commit],
        ["cmake", "-S", str(source / "bench"), "-B", str(out), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"],
        ["cmake", "--build", str(out), "--target", "perftest", "--parallel", str(os.cpu_count() or 2)],
    )
    try:
        with log.open("wb") as said:
            for step in steps:
                _do(step, said.fileno(), log)
        shutil.copy2(next(path for path in (out / "perftest", *sorted(out.rglob("perftest"))) if path.is_file()), program)
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", str(source.resolve())], capture_output=True, check=False)
    return program.resolve()


def _do(step: Sequence[str], said: int, log: Path) -> None:
    """Do one step of a build, with the cmake and ninja wheels that lie beside this Python where the system has none."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which(step[0], path=path)
    if program is None:
        raise TachologError(f"{step[0]}: no such program, and a revision cannot be built without it (pip install cmake ninja, or use nox -s ab)")
    done = subprocess.run([program, *step[1:]], stdout=said, stderr=said, env=os.environ | {"PATH": path}, check=False)
    if done.returncode:
        raise TachologError(f"{' '.join(step[:2])} failed with exit code {done.returncode}; {log} says why")


def _commit(name: str, checkout: Path) -> str | None:
    """The commit that a revision stands for; None if there is none of that name."""
    command = ["git", "-C", str(checkout), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
