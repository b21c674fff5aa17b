"""What a campaign will do, before anything of it is started or written: its variants, its programs, and what comparisons will lack."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.campaign.campaign_file import Campaign, fill
from tacholog.campaign.campaign_folder import default_cpus
from tacholog.campaign.gaps import Foresight, foresee, variant_of
from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.plan import Plan, PlannedRun, left_out, schedule_runs
from tacholog.campaign.programs import Listed, MeasuredProgram, behind_wrappers, listed, sha256

_OWN_LIST = ("perftest", "--list-transports")


class FoundProgram(NamedTuple):
    """A program that the commands of a campaign measure.

    Attributes:
        name: its word in the commands.
        host: the name of the host that it is on; None for this machine.
        path: its file; None if it was not found, or if it is on a host that is reached over ssh.
        checksum: the SHA-256 of the file.
        measured: the wrappers before it, and why it is not known, if so.
    """

    name: str
    host: str | None
    path: Path | None
    checksum: str | None
    measured: MeasuredProgram


class UnusedOption(NamedTuple):
    """An option that no command of a block has, neither as a placeholder nor as a word: the run may use another value than is recorded."""

    block: str
    name: str
    value: str


class Variant(NamedTuple):
    """The runs of a campaign that differ only in their repetition."""

    name: str
    runs: int
    expected_s: float


class Preview(NamedTuple):
    """What a campaign will do.

    Attributes:
        campaign: as the file states it.
        plan: its runs. A random order is only an example, unless the campaign states a seed.
        variants: in the order of the file.
        programs: each measured program on each host.
        foresight: what comparisons of the results will lack.
        left_out: what variants need and the program of ``only_if_listed`` does not list, with what it says of it; empty: it says nothing.
        lists: the command that says at the start which variants are run, if it is not asked before.
        unused: options that no command has.
    """

    campaign: Campaign
    plan: Plan
    variants: tuple[Variant, ...]
    programs: tuple[FoundProgram, ...]
    foresight: Foresight
    left_out: Mapping[str, str] = {}
    lists: str | None = None
    unused: tuple[UnusedOption, ...] = ()


def preview(campaign: Campaign, name: str, tools: Mapping[str, Path]) -> Preview:
    """Return what a campaign will do. Nothing of the campaign is started: it may be a stranger's.

    Args:
        campaign: as the file states it.
        name: the name of the campaign.
        tools: files of programs, by the name that commands start with.

    Raises:
        UnreadableInput: the campaign cannot be planned, because a placeholder has no value, for example.
    """
    found = _listed(campaign, tools)
    plan = Plan(
        campaign=name,
        system=campaign.system,
        tool=campaign.tool,
        log=campaign.log,
        seed=campaign.seed or 0,
        session="",
        host="",
        format=campaign.format,
        tool_version=unasked(campaign).tool_version,
        hosts=campaign.hosts,
        runs=schedule_runs(campaign, campaign.seed or 0, default_cpus(), found.names if found else None),
        limits=campaign.limits,
    )
    lists = shlex.join(campaign.only_if_listed.by) if campaign.only_if_listed and not found else None
    left_out_names, unused = what_is_left_out(campaign, found), tuple(_unused(campaign))
    return Preview(campaign, plan, _variants(plan.runs), _programs(plan, tools), foresee(plan), left_out_names, lists, unused)


def unasked(campaign: Campaign) -> Campaign:
    """Return a campaign whose plan runs none of its commands: their answers are not known yet. perftest, which is ours, is asked for its list."""
    version = campaign.tool_version or (f"what `{shlex.join(campaign.version_command)}` prints at the start" if campaign.version_command else None)
    own_list = campaign.only_if_listed if campaign.only_if_listed and campaign.only_if_listed.by == _OWN_LIST else None
    return msgspec.structs.replace(campaign, tool_version=version, version_command=None, only_if_listed=own_list)


def _unused(campaign: Campaign) -> Iterator[UnusedOption]:
    for block in campaign.runs:
        words = [word for command in (block.command or (), *(process.command for process in block.processes)) for word in command]
        for name in block.options:
            text = fill(f"{{{name}}}", block.options)
            # A command may also have the value itself, as in "--time=10".
            if not any(f"{{{name}}}" in word or text in (word, word.partition("=")[2]) for word in words):
                yield UnusedOption(block.name, name, text)


def _listed(campaign: Campaign, tools: Mapping[str, Path]) -> Listed | None:
    """Return what perftest lists; ``None`` if it is not asked, or missing. Any other program is the campaign's, and is asked at the start only."""
    if campaign.only_if_listed is None or campaign.only_if_listed.by != _OWN_LIST or _OWN_LIST[0] not in tools:
        return None
    return listed(campaign.only_if_listed.by, tools)


def what_is_left_out(campaign: Campaign, found: Listed | None) -> dict[str, str]:
    """Return the names that variants need and that are not listed, and what the program says of them; empty texts: nothing.

    What it says of a library, such as zeromq, it says of each transport of that library: zeromq-tcp.
    """
    if found is None:
        return {}
    return {name: found.others.get(name) or found.others.get(name.partition("-")[0], "") for name in left_out(campaign, found.names)}


def _variants(runs: Sequence[PlannedRun]) -> tuple[Variant, ...]:
    found: dict[str, list[float]] = {}
    for run in runs:
        found.setdefault(variant_of(run), []).append(run.expected_s)
    return tuple(Variant(name, len(seconds), seconds[0]) for name, seconds in sorted(found.items()))


def _programs(plan: Plan, tools: Mapping[str, Path]) -> tuple[FoundProgram, ...]:
    commands = {(process.host, process.command) for run in plan.runs for process in run.processes}
    commands |= {(None, run.command) for run in plan.runs if run.command}
    found: dict[tuple[str, str, tuple[str, ...]], FoundProgram] = {}
    for host, command in sorted(commands, key=str):
        program = _found(host, command, plan.hosts, tools)
        found.setdefault((program.host or "", program.name, program.measured.wrappers), program)
    return tuple(found[key] for key in sorted(found))


def _found(host: str | None, command: Sequence[str], hosts: Mapping[str, HostEntry], tools: Mapping[str, Path]) -> FoundProgram:
    program = behind_wrappers(command)
    word = command[program.position]
    if host is not None and hosts[host].ssh is not None:
        return FoundProgram(word, host, None, None, program)
    path = tools.get(word) or shutil.which(word)
    return FoundProgram(word, None, Path(path) if path else None, sha256(Path(path)) if path else None, program)
