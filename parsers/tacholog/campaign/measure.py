"""Do one run of a campaign: its processes, its logs, the state of its machines, and its ``run.toml``."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from tacholog.campaign.execution import Outcome, ProcessStep, run_steps
from tacholog.campaign.machines.clocks import ClockReports, clock_entry
from tacholog.campaign.machines.links import HostLink, read_link
from tacholog.campaign.machines.local import LocalMachine
from tacholog.campaign.machines.machine import Ended, Machine
from tacholog.campaign.machines.places import machine_name, opened, program_key
from tacholog.campaign.plan import Plan, PlannedRun
from tacholog.campaign.processes import RESOURCES_FILE, Process, is_floor, main_process
from tacholog.campaign.resources_log import UsedResources, read_logged_test, resources_log
from tacholog.campaign.tools import measured_program, sha256
from tacholog.campaign.wrappers import behind_wrappers
from tacholog.errors import TachologError
from tacholog.runs.clocks import CLOCK_FILE
from tacholog.runs.disturbance import ProcessorTime, as_environment, disturbance
from tacholog.runs.manifest import FLOOR, RUN_FILE, Command, LogFile, Manifest, Readiness, write
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.records import Side

_ERRORS = "stderr.txt"  # of a run that is one command
_REPEATED = "An earlier try was interrupted or above its limits; this run was measured again from the start."  # words that publishing does not mask
_WATCHED_S = 0.2  # so long nothing of a campaign with limits runs before each run, so that the load of others can be seen
_SIDES: Mapping[str, Side] = {"pub": "publisher", "publisher": "publisher", "sub": "subscriber", "subscriber": "subscriber", "both": "both"}


class _Done(NamedTuple):
    """What became of a run, and the state of its machines before and after."""

    outcome: Outcome
    environment: Mapping[str, str]
    link_bit_per_s: float | None = None
    has_several_clocks: bool = False


def measure(folder: Path, plan: Plan, run: PlannedRun, tools: Mapping[str, Path], checkout: Path | None = None) -> Manifest:
    """Do one run: start its processes, keep their output as logs, and write ``run.toml`` last, whether the run succeeded or failed."""
    run_folder = folder / run.folder
    was_interrupted = run_folder.exists()
    run_folder.mkdir(parents=True, exist_ok=True)
    start_time = utc_now()
    processes = run.processes or (Process(name="", role="both", command=run.command or (), log=plan.log),)
    for file in (RESOURCES_FILE, CLOCK_FILE, *(file for process in processes for file in (process.log_file, process.errors_file))):
        (run_folder / file).unlink(missing_ok=True)  # of a try that was interrupted
    try:
        outcome, environment, link_bit_per_s, has_several_clocks = _run(processes, run_folder, plan, run, tools, checkout)
    except TachologError as error:
        if not run.processes:
            raise
        outcome, environment, link_bit_per_s, has_several_clocks = _Done(Outcome("failed", str(error), {}), {})
    if not run.processes:
        environment = {**environment, "program_sha256": plan.programs[measured_program(processes[0].command)]}
    tool, version = ("perftest", plan.versions.get(FLOOR)) if is_floor(run.processes) else (plan.tool, plan.tool_version)
    manifest = Manifest(
        system=plan.system,
        system_version=version,
        tool=tool,
        tool_version=version,
        release=plan.release,
        host=host_of_run(plan, run),
        status=outcome.status,
        reason=outcome.reason,
        start_time=f"{start_time:%Y-%m-%dT%H:%M:%SZ}",
        session=plan.session,
        repetition=run.repetition,
        order_index=run.order_index,
        campaign=plan.campaign,
        seed=plan.seed,
        notes=(*plan.notes, *([_REPEATED] if was_interrupted else []), *_doubts(processes)),
        labels=run.labels,
        clocks="several" if has_several_clocks else None,
        conditions=_with_link(run.conditions, link_bit_per_s),
        options=run.options,
        environment=dict(environment),
        limits=plan.limits,
        commands=tuple(_command(process, plan, run, outcome.ended.get(process.name)) for process in processes),
        logs=(*_logs(processes, run_folder, plan, run), *_clock_log(run_folder)),
    )
    manifest = _with_resources(manifest, processes, outcome, run_folder)
    write(run_folder / RUN_FILE, manifest)
    return manifest


def _doubts(processes: tuple[Process, ...]) -> list[str]:
    """Return a sentence for each command whose measured program is not known."""
    found = ((process.name, process.command[0], behind_wrappers(process.command).doubt) for process in processes)
    return [
        f"The measured program{f' of {name}' if name else ''} is not known, because {doubt}. The recorded SHA-256 is that of {word}."
        for name, word, doubt in found
        if doubt
    ]


def host_of_run(plan: Plan, run: PlannedRun) -> str:
    """Return the id of the machine that a run is measured on."""
    return _host_id(plan, main_process(run.processes)) if run.processes else plan.host


def _host_id(plan: Plan, process: Process) -> str:
    return plan.host_ids[process.host] if process.host else plan.host


def _run(processes: tuple[Process, ...], folder: Path, plan: Plan, run: PlannedRun, tools: Mapping[str, Path], checkout: Path | None) -> _Done:
    names = [machine_name(process) for process in (main_process(processes), *processes)]
    with opened(names, plan.hosts, tools, checkout) as machines:
        environment = {key: text for prefix, machine in _distinct(machines) for key, text in _prefixed(prefix, machine.environment()).items()}
        link = read_link(machines, plan.hosts) if run.processes else HostLink({}, None)
        clocks = ClockReports(machines)
        watched = _watched(machines, "before") if plan.limits else {}
        before, begin = _moments(machines)
        clocks.take("before")
        steps = [_step(process, machines, is_only=not run.processes) for process in processes]
        outcome = run_steps(steps, folder, run.deadline_s)
        after, end = _moments(machines)
        environment |= {**link.environment, **_named(before, "before"), **_named(after, "after"), **watched}
        environment |= _taken_by_others(machines, (begin, end), _used(steps, outcome), "during")
        if plan.limits and run.order_index == max(planned.order_index for planned in plan.runs):
            environment |= _watched(machines, "after")
        clocks.take("after")
        clocks.write(folder)
    for step in steps:
        errors = folder / step.errors
        if errors.is_file() and not errors.read_bytes().strip():
            errors.unlink()
    return _Done(outcome, environment, link.bit_per_s, clocks.are_needed)


def _with_link(conditions: StatedConditions, link_bit_per_s: float | None) -> StatedConditions:
    """Return the conditions of a run, with the speed of the link if only the kernel states it."""
    return conditions if conditions.link_bit_per_s is not None else msgspec.structs.replace(conditions, link_bit_per_s=link_bit_per_s)


def _clock_log(folder: Path) -> list[LogFile]:
    return [clock_entry(sha256(folder / CLOCK_FILE))] if (folder / CLOCK_FILE).is_file() else []


def _step(process: Process, machines: Mapping[str, Machine], *, is_only: bool) -> ProcessStep:
    machine = machines[machine_name(process)]
    return ProcessStep(process, machine, machine.find(process.command[0]), process.log_file, _ERRORS if is_only else process.errors_file)


def _distinct(machines: Mapping[str, Machine]) -> list[tuple[str, Machine]]:
    """Return each machine once, with the prefix of its keys in the environment: none for the first, which is the host of the run."""
    found: dict[str, tuple[str, Machine]] = {}
    for name, machine in machines.items():
        found.setdefault(machine.boot_id or f"unknown {name}", (f"{name or 'harness'}." if found else "", machine))
    return list(found.values())


def _prefixed(prefix: str, values: Mapping[str, str]) -> dict[str, str]:
    return {f"{prefix}{name}": value for name, value in values.items()}


def _named(values: Mapping[str, str], moment: str) -> dict[str, str]:
    return {f"{name}_{moment}": value for name, value in values.items()}


class _Reading(NamedTuple):
    """What the processors of each machine have done so far, by its prefix, and what the harness and its children used, in seconds."""

    machines: Mapping[str, ProcessorTime | None]
    harness_s: float


def _moments(machines: Mapping[str, Machine]) -> tuple[dict[str, str], _Reading]:
    """Return what changes from second to second on each machine."""
    found = {prefix: machine.moment() for prefix, machine in _distinct(machines)}
    properties = {key: text for prefix, moment in found.items() for key, text in _prefixed(prefix, moment.properties).items()}
    return properties, _Reading({prefix: moment.processor_time for prefix, moment in found.items()}, sum(os.times()[:4]))


def _watched(machines: Mapping[str, Machine], moment: str) -> dict[str, str]:
    """Return what others take of each machine while nothing of the campaign runs."""
    begin = _moments(machines)[1]
    time.sleep(_WATCHED_S)
    return _taken_by_others(machines, (begin, _moments(machines)[1]), {}, moment)


def _taken_by_others(
    machines: Mapping[str, Machine], readings: tuple[_Reading, _Reading], used_s: Mapping[str, float | None], moment: str
) -> dict[str, str]:
    """Return what others took of each machine between two readings.

    Args:
        machines: by their names.
        readings: the two readings.
        used_s: the processor time of the run's processes, by the name of the machine; ``None`` if it is not known.
        moment: ``before``, ``during`` or ``after`` the run.
    """
    early, late = readings
    found: dict[str, str] = {}
    for prefix, machine in _distinct(machines):
        own = [used_s.get(name, 0.0) for name, other in machines.items() if (other.boot_id or name) == (machine.boot_id or name)]
        own_s = None if None in own else sum(used or 0 for used in own)
        if own_s is not None and isinstance(machine, LocalMachine):
            own_s = max(own_s, late.harness_s - early.harness_s)  # the harness has waited for the run's processes: they are its children
        begin, end = early.machines[prefix], late.machines[prefix]
        if begin and end:
            found |= _prefixed(prefix, as_environment(disturbance(begin, end, own_s), moment))
    return found


def _used(steps: Sequence[ProcessStep], outcome: Outcome) -> dict[str, float | None]:
    """Return the processor time of the processes of each machine, by its name; ``None`` if it is not known of one of them."""
    used: dict[str, float | None] = {}
    for step in steps:
        end = outcome.ended.get(step.process.name)
        resources = end.resources if end else None
        so_far, name = used.get(machine_name(step.process), 0.0), machine_name(step.process)
        if resources is None or resources.user_cpu_ns is None or resources.system_cpu_ns is None or so_far is None:
            used[name] = None
        else:
            used[name] = so_far + (resources.user_cpu_ns + resources.system_cpu_ns) / 1e9
    return used


def _command(process: Process, plan: Plan, run: PlannedRun, ended: Ended | None) -> Command:
    program = behind_wrappers(process.command)
    behind = process.command[program.position] if program.position else None
    if not run.processes:
        return Command(role=process.role, argv=process.command, program=behind)
    key = program_key(process, process.command[program.position], plan.hosts)
    host = _host_id(plan, process)
    return Command(
        role=process.role,
        argv=process.command,
        name=process.name,
        host=host if host != host_of_run(plan, run) else None,
        program=behind,
        program_sha256=plan.programs.get(key),
        program_version=plan.versions.get(key),
        exit_status=ended.exit_status if ended else None,
        log=process.log_file if ended else None,
        prefix=plan.hosts[process.host].prefix if process.host else (),
        ready=_ready(process),
        ends=process.ends,
    )


def _ready(process: Process) -> Readiness | None:
    ready = process.ready
    if ready is None:
        return None
    return Readiness(output=ready.output, port=ready.port if isinstance(ready.port, int) else None, seconds=ready.seconds)


def _logs(processes: tuple[Process, ...], folder: Path, plan: Plan, run: PlannedRun) -> list[LogFile]:
    """Return the logs of all processes that were started."""
    if not run.processes:
        return [LogFile(file=plan.log, sha256=sha256(folder / plan.log), format=plan.format)]
    logs = []
    for process in processes:
        if (folder / process.log_file).is_file():
            logs.append(_log(process, folder, process.log_file, plan, results=process.results))
        if (folder / process.errors_file).is_file():
            logs.append(_log(process, folder, process.errors_file, plan, results=False))
    return logs


def _log(process: Process, folder: Path, file: str, plan: Plan, *, results: bool) -> LogFile:
    return LogFile(
        file=file,
        sha256=sha256(folder / file),
        format=(process.format or plan.format) if results else None,
        side=_SIDES.get(process.role) if results else None,
        process=process.name,
        results=results,
    )


def _with_resources(manifest: Manifest, processes: Sequence[Process], outcome: Outcome, folder: Path) -> Manifest:
    """Write the log of what the processes used, and return the manifest with it.

    A run that is one command gets none if its own log says it already, as that of perftest does: the same would be shown twice.
    """
    logged = read_logged_test(folder, manifest)
    ended = ((process, outcome.ended.get(process.name)) for process in processes)
    used = [
        UsedResources(process.name or PurePath(process.command[0]).name, _SIDES.get(process.role), end.resources)
        for process, end in ended
        if end and end.resources
    ]
    if not used or (logged.has_resources and not processes[0].name):
        return manifest
    (folder / RESOURCES_FILE).write_text(resources_log(used, logged), encoding="utf-8")
    entry = LogFile(file=RESOURCES_FILE, sha256=sha256(folder / RESOURCES_FILE))
    return msgspec.structs.replace(manifest, logs=(*manifest.logs, entry))


def utc_now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)
