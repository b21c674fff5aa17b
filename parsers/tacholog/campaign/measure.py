"""Do one run of a campaign: start its processes, keep their logs and the state of the machines, and write its ``run.toml``.

The resources that the processes used are written into the log ``resources.log``. `tacholog.formats.resources` reads this log.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import NamedTuple

import msgspec

from tacholog.campaign.campaign_file import RESOURCES_FILE, Process, main_process
from tacholog.campaign.execution import Outcome, ProcessStep, run_steps
from tacholog.campaign.floor import is_floor
from tacholog.campaign.hosts import machine_name, open_machines, program_key
from tacholog.campaign.machines import Machine
from tacholog.campaign.machines.machine import ProcessEnd, Resources
from tacholog.campaign.machines.state import (
    ClockReports,
    HostLink,
    load_of_others,
    load_while_idle,
    read_environment,
    read_link,
    read_moment,
)
from tacholog.campaign.plan import Plan, PlannedRun
from tacholog.campaign.programs import behind_wrappers, measured_program, sha256
from tacholog.campaign.sustain import RATE
from tacholog.errors import TachologError, UnreadableInput
from tacholog.formats.reading import Event, Scan
from tacholog.formats.source import open_log_in
from tacholog.runs.clocks import CLOCK_FILE, CLOCK_FORMAT
from tacholog.runs.conditions import stated_conditions
from tacholog.runs.manifest import FLOOR, RUN_FILE, Command, LogFile, Manifest, Readiness, read_manifest, write
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.records import Record, Side, Test

_ERRORS = "stderr.txt"  # the file for the standard error, if a run is one command
_REPEATED = "Measured again from the start: the first try was interrupted, or others used too much of the machine."  # only public words
_SIDES: Mapping[str, Side] = {"pub": "publisher", "publisher": "publisher", "sub": "subscriber", "subscriber": "subscriber", "both": "both"}
#: The name of the option that records the rate found by a search.
RATE_OPTION = "rate_per_s"
HEAD = "process resources log=resources/1"


class _MeasuredRun(NamedTuple):
    outcome: Outcome
    environment: Mapping[str, str]
    link_bit_per_s: float | None = None
    has_several_clocks: bool = False


def measure(folder: Path, plan: Plan, run: PlannedRun, tools: Mapping[str, Path], checkout: Path | None = None) -> Manifest:
    """Do one run: start its processes, keep their output as logs, and write ``run.toml`` as the last step, even if the run failed."""
    run = with_rate(folder, run)
    run_folder = folder / run.folder
    was_interrupted = run_folder.exists()
    run_folder.mkdir(parents=True, exist_ok=True)
    start_time = utc_now()
    processes = run.processes or (Process(name="", role="both", command=run.command or (), log=plan.log),)
    for file in (RESOURCES_FILE, CLOCK_FILE, *(file for process in processes for file in (process.log_file, process.errors_file))):
        (run_folder / file).unlink(missing_ok=True)  # the file may be left from an interrupted attempt
    try:
        if run.sustained and RATE_OPTION not in run.options:
            (run_folder / plan.log).touch()
            reason = f"{run.sustained.run} found no rate for messages of {run.options.get('sizes_bytes')} bytes"
            measured = _MeasuredRun(Outcome("failed", reason, {}), {})
        else:
            measured = _run(processes, run_folder, plan, run, tools, checkout)
    except TachologError as error:
        if not run.processes:
            raise
        measured = _MeasuredRun(Outcome("failed", str(error), {}), {})
    outcome, environment, link_bit_per_s, has_several_clocks = measured
    if not run.processes:
        environment = {**environment, "program_sha256": plan.programs[measured_program(processes[0].command)]}
    tool, version = ("perftest", plan.versions.get(FLOOR)) if is_floor(run.processes) else (plan.tool, plan.tool_version)
    manifest = Manifest(
        system=plan.system,
        system_version=version if is_floor(run.processes) else plan.system_version or version,
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
        notes=(*plan.notes, *([_REPEATED] if was_interrupted else []), *_warnings_of_unknown_programs(processes)),
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


def with_rate(folder: Path, run: PlannedRun) -> PlannedRun:
    """Return the run with its rate, if its rate depends on a search. If the search found no rate, return the run unchanged.

    All repetitions get the rate that the first repetition of the search found.
    """
    if run.sustained is None:
        return run
    first = folder / PurePath(run.folder).parent / "01" / RUN_FILE
    rate = read_manifest(first).options.get(RATE_OPTION) if first.is_file() else None
    if rate is None and (highest := _sustained_rate(folder / run.sustained.run / "01", run.options.get("sizes_bytes"))):
        digit = 10 ** max(0, math.floor(math.log10(run.sustained.share * highest)) - 1)
        rate = int(run.sustained.share * highest // digit * digit)
    if rate is None:
        return run
    command = tuple(word.replace(RATE, str(rate)) for word in run.command or ())
    conditions = msgspec.structs.replace(run.conditions, load_share=run.sustained.share)
    return msgspec.structs.replace(run, command=command, options={**run.options, RATE_OPTION: rate}, conditions=conditions)


def _sustained_rate(folder: Path, payload_bytes: object) -> float | None:
    """Return the rate that the search found for a size; ``None`` if even the lowest rate missed the goal."""
    for entry in read_manifest(folder / RUN_FILE).logs if (folder / RUN_FILE).is_file() else ():
        with open_log_in(folder, entry.file) as text:
            records = [event.what for event in Scan(text, entry.format).batches() if isinstance(event, Event)]
        for record in records:
            if isinstance(record, Record) and record.test == "sustain" and record.payload_bytes == payload_bytes:
                for number in record.numbers:
                    if (number.metric, number.statistic) == ("sustained_rate", "lower-bound") and number.bound != "<":
                        return number.value
    return None


def _warnings_of_unknown_programs(processes: tuple[Process, ...]) -> list[str]:
    doubts = ((process.name, process.command[0], behind_wrappers(process.command).doubt) for process in processes)
    return [
        f"The measured program{f' of {name}' if name else ''} is not known, because {doubt}. The recorded SHA-256 is that of {word}."
        for name, word, doubt in doubts
        if doubt
    ]


def host_of_run(plan: Plan, run: PlannedRun) -> str:
    """Return the id of the machine on which a run is measured."""
    return _host_id(plan, main_process(run.processes)) if run.processes else plan.host


def _host_id(plan: Plan, process: Process) -> str:
    return plan.host_ids[process.host] if process.host else plan.host


def _run(processes: tuple[Process, ...], folder: Path, plan: Plan, run: PlannedRun, tools: Mapping[str, Path], checkout: Path | None) -> _MeasuredRun:
    names = [machine_name(process) for process in (main_process(processes), *processes)]
    with open_machines(names, plan.hosts, tools, checkout) as machines:
        environment = read_environment(machines)
        link = read_link(machines, plan.hosts) if run.processes else HostLink({})
        clocks = ClockReports(machines)
        idle = load_while_idle(machines, "before") if plan.limits else {}
        before, begin = read_moment(machines, "before")
        clocks.take("before")
        steps = [_step(process, machines, is_only=not run.processes) for process in processes]
        outcome = run_steps(steps, folder, run.deadline_s)
        after, end = read_moment(machines, "after")
        environment |= {**link.environment, **before, **after, **idle}
        environment |= load_of_others(machines, (begin, end), _processor_times(steps, outcome), "during")
        if plan.limits and run.order_index == max(planned.order_index for planned in plan.runs):
            environment |= load_while_idle(machines, "after")
        clocks.take("after")
        clocks.write(folder)
    for step in steps:
        errors = folder / step.errors
        if errors.is_file() and not errors.read_bytes().strip():
            errors.unlink()
    return _MeasuredRun(outcome, environment, link.bit_per_s, clocks.are_needed)


def _with_link(conditions: StatedConditions, link_bit_per_s: float | None) -> StatedConditions:
    return conditions if conditions.link_bit_per_s is not None else msgspec.structs.replace(conditions, link_bit_per_s=link_bit_per_s)


def _clock_log(folder: Path) -> list[LogFile]:
    file = folder / CLOCK_FILE
    return [LogFile(file=CLOCK_FILE, sha256=sha256(file), format=CLOCK_FORMAT, results=False)] if file.is_file() else []


def _step(process: Process, machines: Mapping[str, Machine], *, is_only: bool) -> ProcessStep:
    machine = machines[machine_name(process)]
    return ProcessStep(process, machine, machine.find(process.command[0]), process.log_file, _ERRORS if is_only else process.errors_file)


def _processor_times(steps: Sequence[ProcessStep], outcome: Outcome) -> dict[str, float | None]:
    """Return the processor times in seconds, by machine. A time is ``None`` if the time of any process of the machine is unknown."""
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


def _command(process: Process, plan: Plan, run: PlannedRun, ended: ProcessEnd | None) -> Command:
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
    """Write ``resources.log``, and return the manifest with this log.

    If a run is one command whose log states its resources, no ``resources.log`` is written, because pages would show them twice.
    """
    logged = read_logged_test(folder, manifest)
    ended = ((process, outcome.ended.get(process.name)) for process in processes)
    used = [
        ProcessResources(process.name or PurePath(process.command[0]).name, _SIDES.get(process.role), end.resources)
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


class LoggedTest(NamedTuple):
    """The test that the logs of a run state.

    Attributes:
        test: the test of the first result; ``None`` without results.
        payload_bytes: the size, if all results have the same size.
        has_resources: whether the logs themselves state the resources of the processes.
    """

    test: Test | None
    payload_bytes: int | None
    has_resources: bool


class ProcessResources(NamedTuple):
    """A process and the resources that it used."""

    name: str
    side: Side | None
    resources: Resources


def read_logged_test(folder: Path, manifest: Manifest) -> LoggedTest:
    """Read the test and the message size from the logs of a run.

    Unreadable logs are skipped. If no log states a size, the size is taken from the manifest.
    """
    tests: list[Test] = []
    sizes: set[int | None] = set()
    has_resources = False
    for entry in manifest.logs:
        if not entry.results:
            continue
        try:
            with open_log_in(folder, entry.file) as text:
                for event in Scan(text, entry.format).batches():
                    record = event.what if isinstance(event, Event) else event.like
                    if not isinstance(record, Record):
                        continue
                    if record.scope == "resources":
                        has_resources = True
                    else:
                        tests.append(record.test)
                        sizes.add(record.payload_bytes)
        except UnreadableInput:
            continue
    size = sizes.pop() if len(sizes) == 1 else None
    return LoggedTest(tests[0] if tests else None, size or (None if sizes else stated_conditions(manifest).payload_bytes), has_resources)


def resources_log(users: Sequence[ProcessResources], logged: LoggedTest) -> str:
    """Return the text of ``resources.log``."""
    lines = [HEAD, *(f"used {_pairs(_fields(user, logged))} ." for user in users), f"end processes={len(users)}"]
    return "\n".join(lines) + "\n"


def _fields(user: ProcessResources, logged: LoggedTest) -> Mapping[str, object]:
    used = user.resources
    by_shell = used.cpu_resolution_ns is not None
    above = "_above" if by_shell else ""
    peak = "peak_memory_above_bytes" if by_shell else "peak_memory_below_bytes" if used.max_rss_is_bound else "peak_memory_bytes"
    return {
        "process": user.name,
        "side": user.side,
        "test": logged.test,
        "payload_bytes": logged.payload_bytes,
        "duration_ns": used.duration_ns,
        "cpu_resolution_ns": used.cpu_resolution_ns,
        "user_ns": used.user_cpu_ns,
        "system_ns": used.system_cpu_ns,
        f"voluntary_switches{above}": used.voluntary,
        f"involuntary_switches{above}": used.involuntary,
        peak: used.max_rss_bytes,
    }


def _pairs(fields: Mapping[str, object]) -> str:
    return " ".join(f"{name}={value}" for name, value in fields.items() if value is not None)
