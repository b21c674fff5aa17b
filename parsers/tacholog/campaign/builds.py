"""Find or build the programs of both sides of a comparison: ``tacholog ab OLD NEW``.

``OLD`` and ``NEW`` may each be one of the following. The first kind that fits is used:

1. the file of a program;
2. a folder in which a program is installed;
3. a command template, which has more than one word;
4. a git revision of the checkout, which is then built;
5. a program on the PATH.
"""

from __future__ import annotations

import itertools
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from tacholog.campaign.campaign_file import Campaign, RunBlock, main_process
from tacholog.campaign.programs import behind_wrappers, find_program
from tacholog.errors import TachologError

ARGUMENTS = "{arguments}"
_SUBFOLDERS = ("bin", "", "build/bench/release")  # the folders that are searched for a program, in this order


class Build(NamedTuple):
    """One side of a comparison. ``tools`` maps the program names in commands to files; ``revision`` is the commit that was built.

    ``campaign`` is the campaign file of this side, if each side has a separate campaign file.
    """

    name: str
    tools: Mapping[str, Path]
    revision: str | None = None
    template: tuple[str, ...] = ()
    campaign: Path | None = None


def find_build(
    name: str, campaign: Campaign, tools: Mapping[str, Path], checkout: Path | None, work: Path, announce: Callable[[str], object] = lambda _: None
) -> Build:
    """Find or build one side.

    Args:
        name: the argument ``OLD`` or ``NEW``.
        campaign: the campaign to run. Each side must have all programs that its commands start.
        tools: programs that have already been found, for templates.
        checkout: the repository whose revisions can be built.
        work: the folder for builds of revisions.
        announce: called with a message before a build starts (it takes minutes), and if a template changes several processes.

    Raises:
        TachologError: the name is not one of the five kinds (see the module), or the revision cannot be built.
    """
    needed = sorted({command[0] for command in _commands(campaign)})
    path = Path(name)
    if path.is_file() and os.access(path, os.X_OK):
        return Build(path.name, dict.fromkeys(_single_program(needed, name), path.resolve()))
    if path.is_dir():
        return Build(path.resolve().name, {program: _program_in(path, program) for program in needed})
    if len(shlex.split(name)) > 1:
        return _from_template(name, campaign, tools, announce)
    if checkout and (commit := _commit(name, checkout)):
        return Build(name, {"perftest": build_revision(commit, checkout, work, announce)}, revision=commit)
    if program := tools.get(name) or shutil.which(name):
        return Build(name, dict.fromkeys(_single_program(needed, name), Path(program)))
    raise TachologError(f"{name}: this is not a program, a folder with a program, a command template (of several words) or a git revision")


def _commands(campaign: Campaign) -> list[tuple[str, ...]]:
    return [command for block in campaign.runs for command in (block.command, *(process.command for process in block.processes)) if command]


def _from_template(name: str, campaign: Campaign, tools: Mapping[str, Path], announce: Callable[[str], object]) -> Build:
    template = shlex.split(name)
    replaced = [command for command in _commands(campaign) if command[0] == _replaced_program(campaign, template)]
    if ARGUMENTS not in template and any(len(command) > 1 for command in replaced):
        raise TachologError(
            f"{name}: this template has no {ARGUMENTS}, so the tool would not get the options of the campaign; "
            f'put {ARGUMENTS} where the arguments of {replaced[0][0]} belong, as in "{template[0]} {ARGUMENTS}"'
        )
    several = any(sum(process.command in replaced for process in block.processes) > 1 for block in campaign.runs)
    if several and len(template) > len(("TOOL", ARGUMENTS)):
        alone = "to change only one of them, compare two campaigns, as in tacholog ab old.toml new.toml"
        announce(f"{name}: this changes each process that runs {replaced[0][0]}; {alone}")
    position = behind_wrappers(template).position
    program = template[position]
    if program == ARGUMENTS:
        raise TachologError(f"{name}: this template names no program before {ARGUMENTS}, only {' and '.join(behind_wrappers(template).wrappers)}")
    # A wrapper, such as `env`, searches for the program in the folder of the run and on the PATH. A program in any other folder needs an absolute
    # path.
    if position and ("/" in program or program in tools):
        template[position] = str(find_program(program, tools).absolute())
    return Build(name, {**tools, template[0]: find_program(template[0], tools).absolute()}, template=tuple(template))


def _replaced_program(campaign: Campaign, template: Sequence[str]) -> str:
    """Return the program that a template replaces. If the template names no program of the campaign, it is the program of the main process."""
    named = {PurePath(word).name for word in template}
    measuring = [block.command or main_process(block.processes).command for block in campaign.runs]
    return next((command[0] for command in (*measuring, *_commands(campaign)) if PurePath(command[0]).name in named), measuring[0][0])


def _single_program(needed: Sequence[str], name: str) -> Sequence[str]:
    if PurePath(name).name in needed:
        return [PurePath(name).name]
    if len(needed) > 1:
        raise TachologError(f"{name}: the campaign needs several programs ({', '.join(needed)}); give a folder that contains all of them")
    return needed


def _program_in(folder: Path, program: str) -> Path:
    candidates = [folder / subfolder / program for subfolder in _SUBFOLDERS]
    file = next((path.resolve() for path in candidates if os.access(path, os.X_OK) and path.is_file()), None)
    if file is None:
        raise TachologError(f"{folder}: no program {program} here (looked for {', '.join(str(path.relative_to(folder)) for path in candidates)})")
    return file


def apply_template(campaign: Campaign, build: Build, pairs: int) -> Campaign:
    """Return the campaign of one side, with ``pairs`` repetitions. If the side has a template, it replaces the commands of the campaign.

    ``{arguments}`` in the template stands for the arguments of the campaign's command, without the program. If the commands have no arguments, the
    template needs no ``{arguments}``.
    """
    if not build.template:
        return msgspec.structs.replace(campaign, repetitions=pairs)
    program = _replaced_program(campaign, build.template)
    blocks = tuple(_apply_template(block, program, build.template) for block in campaign.runs)
    version_command = _version_command(campaign, program, build.template)
    return msgspec.structs.replace(campaign, repetitions=pairs, runs=blocks, version_command=version_command)


def _apply_template(block: RunBlock, program: str, template: Sequence[str]) -> RunBlock:
    if block.command:
        return msgspec.structs.replace(block, command=_filled_template(block.command, template))
    processes = tuple(
        msgspec.structs.replace(process, command=_filled_template(process.command, template)) if process.command[0] == program else process
        for process in block.processes
    )
    return msgspec.structs.replace(block, processes=processes)


def _filled_template(command: Sequence[str], template: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for part in template for word in (command[1:] if part == ARGUMENTS else (part,)))


def _version_command(campaign: Campaign, program: str, template: Sequence[str]) -> tuple[str, ...] | None:
    command = campaign.version_command
    replaced = {block.command[0] for block in campaign.runs if block.command} | {program}
    if not command or command[0] not in replaced:
        return command
    # All words before the arguments are needed, because the first word may be a wrapper such as `env` or `taskset`.
    return (*itertools.takewhile(lambda word: word != ARGUMENTS, template), *command[1:])


def build_revision(commit: str, checkout: Path, work: Path, announce: Callable[[str], object]) -> Path:
    """Build perftest of a commit in a temporary git worktree, and return its path. An existing build is reused.

    Raises:
        TachologError: the build fails; the message names its log.
    """
    folder = work / commit[:12]
    program = folder / "perftest"
    if program.is_file():
        return program.resolve()
    source, out, log = folder / "source", folder / "build", folder / "build.log"
    announce(f"building revision {commit[:12]}, once; this takes a minute or two: {log}")
    folder.mkdir(parents=True, exist_ok=True)
    git = ["git", "-C", str(checkout)]
    steps = (
        [*git, "worktree", "prune"],
        [*git, "worktree", "add", "--force", "--detach", str(source.resolve()), commit],
        ["cmake", "-S", str(source / "bench"), "-B", str(out), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF"],
        ["cmake", "--build", str(out), "--target", "perftest", "--parallel", str(os.cpu_count() or 2)],
    )
    try:
        with log.open("wb") as output:
            for step in steps:
                _run_step(step, output.fileno(), log)
        shutil.copy2(next(path for path in (out / "perftest", *sorted(out.rglob("perftest"))) if path.is_file()), program)
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", str(source.resolve())], capture_output=True, check=False)
    return program.resolve()


def _run_step(step: Sequence[str], output: int, log: Path) -> None:
    # `pip install cmake ninja` puts both programs next to this Python.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = shutil.which(step[0], path=path)
    if program is None:
        raise TachologError(f"{step[0]}: no such program; it is needed to build a revision (pip install cmake ninja, or use nox -s ab)")
    done = subprocess.run([program, *step[1:]], stdout=output, stderr=output, env=os.environ | {"PATH": path}, check=False)
    if done.returncode:
        raise TachologError(f"{' '.join(step[:2])} failed with exit code {done.returncode}; see {log}")


def _commit(name: str, checkout: Path) -> str | None:
    """Return the commit of a git revision; None if there is no such revision."""
    command = ["git", "-C", str(checkout), "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except OSError:
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None
