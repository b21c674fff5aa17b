"""A preview of a campaign: its variants, its programs, and the conditions that nothing will state. No run is started, and nothing is written."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from tacholog.campaign.campaign_file import Campaign, fill
from tacholog.campaign.campaign_folder import default_cpus
from tacholog.campaign.gaps import ExpectedGaps, expected_gaps
from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.plan import Plan, PlannedRun, left_out, schedule_runs
from tacholog.campaign.programs import ListedNames, MeasuredProgram, behind_wrappers, list_names, sha256

_OWN_LIST = ("perftest", "--list-transports")


class ProgramOnHost(NamedTuple):
    """A program that the commands of a campaign measure.

    Attributes:
        name: its name in the commands.
        host: the name of its host, if the host is reached over ssh; ``None`` for this machine.
        path: its file; ``None`` if the file was not found, or if its host is reached over ssh.
        checksum: the SHA-256 of the file.
        measured: where the program is in its command. If this is unknown, ``measured.doubt`` states the reason.
    """

    name: str
    host: str | None
    path: Path | None
    checksum: str | None
    measured: MeasuredProgram


class UnusedOption(NamedTuple):
    """An option that no command of its block contains, neither as a placeholder nor as a word.

    So the run may use another value than the recorded value.
    """

    block: str
    name: str
    value: str


class Variant(NamedTuple):
    """The runs of a campaign that differ only in their repetition."""

    name: str
    runs: int
    expected_s: float


class Preview(NamedTuple):
    """A preview of a campaign.

    Attributes:
        campaign: the content of the campaign file.
        plan: the runs. Their random order is only an example, unless the campaign states a seed.
        variants: the variants, sorted by name.
        programs: each measured program on each host.
        gaps: the conditions that comparisons of the results will need, and that nothing will state.
        left_out: the result of `names_left_out`: the names that variants need, but that the program of ``only_if_listed`` does not list.
        lists: the command of ``only_if_listed`` if the command is not run before the campaign starts. ``None`` if the preview has run the command,
            or if the campaign has no ``only_if_listed``.
        unused: options that no command contains.
    """

    campaign: Campaign
    plan: Plan
    variants: tuple[Variant, ...]
    programs: tuple[ProgramOnHost, ...]
    gaps: ExpectedGaps
    left_out: Mapping[str, str] = {}
    lists: str | None = None
    unused: tuple[UnusedOption, ...] = ()


def preview(campaign: Campaign, name: str, tools: Mapping[str, Path]) -> Preview:
    """Return the preview of a campaign. Its commands are not run, because the file may come from a stranger.

    Args:
        campaign: the content of the campaign file.
        name: the name of the campaign.
        tools: the path of each program, by its name in commands (their first word).

    Raises:
        UnreadableInput: the campaign cannot be planned, for example because a placeholder has no value.
    """
    listed = _listed_by_perftest(campaign, tools)
    plan = Plan(
        campaign=name,
        system=campaign.system,
        tool=campaign.tool,
        log=campaign.log,
        seed=campaign.seed or 0,
        session="",
        host="",
        format=campaign.format,
        tool_version=without_commands(campaign).tool_version,
        system_version=_printed_by(campaign.system_version_command),
        hosts=campaign.hosts,
        runs=schedule_runs(campaign, campaign.seed or 0, default_cpus(), listed.names if listed else None),
        limits=campaign.limits,
    )
    lists = shlex.join(campaign.only_if_listed.by) if campaign.only_if_listed and not listed else None
    left_out_names, unused = names_left_out(campaign, listed), tuple(_unused(campaign))
    return Preview(campaign, plan, _variants(plan.runs), _programs(plan, tools), expected_gaps(plan), left_out_names, lists, unused)


def without_commands(campaign: Campaign) -> Campaign:
    """Return the campaign without its commands that print a version or a list. The command that lists the transports of our own perftest is kept."""
    version = campaign.tool_version or _printed_by(campaign.version_command)
    own_list = campaign.only_if_listed if campaign.only_if_listed and campaign.only_if_listed.by == _OWN_LIST else None
    return msgspec.structs.replace(campaign, tool_version=version, version_command=None, system_version_command=None, only_if_listed=own_list)


def _printed_by(command: Sequence[str] | None) -> str | None:
    return f"what `{shlex.join(command)}` prints at the start" if command else None


def _unused(campaign: Campaign) -> Iterator[UnusedOption]:
    for block in campaign.runs:
        words = [word for command in (block.command or (), *(process.command for process in block.processes)) for word in command]
        for name in block.options:
            text = fill(f"{{{name}}}", block.options)
            # A command may also contain the value itself, as in "--time=10".
            if not any(f"{{{name}}}" in word or text in (word, word.partition("=")[2]) for word in words):
                yield UnusedOption(block.name, name, text)


def _listed_by_perftest(campaign: Campaign, tools: Mapping[str, Path]) -> ListedNames | None:
    if campaign.only_if_listed is None or campaign.only_if_listed.by != _OWN_LIST or _OWN_LIST[0] not in tools:
        return None
    return list_names(campaign.only_if_listed.by, tools)


def names_left_out(campaign: Campaign, listed: ListedNames | None) -> dict[str, str]:
    """Return the names that variants need and that the program does not list.

    The value of each name is a line of the program's output that mentions the name. The value is empty if no line mentions the name.
    For a transport, such as zeromq-tcp, the line may also mention only its library, such as zeromq.
    """
    if listed is None:
        return {}
    return {name: listed.others.get(name) or listed.others.get(name.partition("-")[0], "") for name in left_out(campaign, listed.names)}


def _variants(runs: Sequence[PlannedRun]) -> tuple[Variant, ...]:
    durations_s: dict[str, list[float]] = {}
    for run in runs:
        durations_s.setdefault(run.variant, []).append(run.expected_s)
    return tuple(Variant(name, len(seconds), seconds[0]) for name, seconds in sorted(durations_s.items()))


def _programs(plan: Plan, tools: Mapping[str, Path]) -> tuple[ProgramOnHost, ...]:
    commands = {(process.host, process.command) for run in plan.runs for process in run.processes}
    commands |= {(None, run.command) for run in plan.runs if run.command}
    programs: dict[tuple[str, str, tuple[str, ...]], ProgramOnHost] = {}
    for host, command in sorted(commands, key=str):
        program = _find(host, command, plan.hosts, tools)
        programs.setdefault((program.host or "", program.name, program.measured.wrappers), program)
    return tuple(programs[key] for key in sorted(programs))


def _find(host: str | None, command: Sequence[str], hosts: Mapping[str, HostEntry], tools: Mapping[str, Path]) -> ProgramOnHost:
    program = behind_wrappers(command)
    word = command[program.position]
    if host is not None and hosts[host].ssh is not None:
        return ProgramOnHost(word, host, None, None, program)
    path = tools.get(word) or shutil.which(word)
    return ProgramOnHost(word, None, Path(path) if path else None, sha256(Path(path)) if path else None, program)
