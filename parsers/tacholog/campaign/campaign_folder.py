"""The folder of a campaign: start or resume the campaign, list its pending and failed runs, and copy it to the data folder."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import NamedTuple

import msgspec
import tomli_w

from tacholog.campaign.campaign_file import RESOURCES_FILE, Campaign, errors_file, path_in_errors, read_campaign
from tacholog.campaign.execution import quoted_line
from tacholog.campaign.floor import with_floor
from tacholog.campaign.hosts import describe_hosts, find_campaign_programs
from tacholog.campaign.machines.machine import HostEntry
from tacholog.campaign.measure import utc_now
from tacholog.campaign.plan import Plan, PlannedRun, read_plan, schedule_runs
from tacholog.campaign.programs import find_program, list_names, measured_program, sha256, tool_version
from tacholog.errors import TachologError, UnreadableInput
from tacholog.folders import locked
from tacholog.formats.reading import Event, Scan
from tacholog.formats.registry import formats, name_without_unit
from tacholog.formats.source import open_log_in
from tacholog.runs.conditions import contradictions, stated_conditions
from tacholog.runs.disturbance import exceeded, is_busy
from tacholog.runs.host import ROOT, siblings_of
from tacholog.runs.machines import contradictory_properties
from tacholog.runs.manifest import FLOOR, HOSTS_FOLDER, PLAN_FILE, RUN_FILE, LogFile, Manifest, check_release_name, read_host, read_manifest, write
from tacholog.runs.questions import QUESTIONS_FILE, QuestionFile
from tacholog.schema.records import Record, number_in


def start(path: Path, output: Path, tools: Mapping[str, Path], release: str | None = None, *, shares_release: bool = False) -> tuple[Path, Plan]:
    """Plan a campaign and write its folder: ``plan.toml`` and the host files.

    Args:
        path: the campaign file.
        output: the folder of all campaigns. The campaign gets a new subfolder ``<name>-<time>``.
        tools: the path of each program, by its name in commands (their first word).
        release: the label under which the results will be compared.
        shares_release: whether other campaigns of the same tool are started together with this campaign, for the same release.
    """
    campaign = with_floor(read_campaign(path), tools)
    seed = campaign.seed if campaign.seed is not None else secrets.randbelow(2**31)
    # The plan is made before the folder is created, so that an error in the plan does not leave an empty folder.
    with path_in_errors(path):
        runs = schedule_runs(campaign, seed, default_cpus(), listed_names(campaign, tools))
    plan = make_plan(campaign, path.stem, runs, tools, release)
    folder, identity = make_campaign_folder(output, path.stem, plan.hosts, tools)
    plan = msgspec.structs.replace(plan, seed=seed, session=identity.session, host=identity.host, host_ids=identity.host_ids)
    plan = msgspec.structs.replace(plan, shares_release=shares_release)
    write_plan(folder, plan)
    if campaign.questions:
        content = msgspec.to_builtins(QuestionFile(questions=campaign.questions))
        (folder / QUESTIONS_FILE).write_text(tomli_w.dumps(content), encoding="utf-8")
    return folder, plan


def listed_names(campaign: Campaign, tools: Mapping[str, Path]) -> frozenset[str] | None:
    """Return the names that the program of ``only_if_listed`` lists; ``None`` if the campaign has no ``only_if_listed``."""
    return list_names(campaign.only_if_listed.by, tools).names if campaign.only_if_listed else None


class SessionIdentity(NamedTuple):
    """The id of this machine, the name of the session, and the ids of the campaign's hosts by their names."""

    host: str
    session: str
    host_ids: dict[str, str]


def make_campaign_folder(output: Path, name: str, hosts: Mapping[str, HostEntry], tools: Mapping[str, Path]) -> tuple[Path, SessionIdentity]:
    """Create the folder of a campaign, with a host file for each of its machines.

    Raises:
        TachologError: a host of the campaign cannot be reached.
    """
    start_time = utc_now()
    described, ids = describe_hosts(hosts, tools)
    here = next(iter(described))
    folder = output / f"{name}-{start_time:%Y%m%dT%H%M%SZ}"
    (folder / HOSTS_FOLDER).mkdir(parents=True)
    for host_id, machine in described.items():
        write(folder / HOSTS_FOLDER / f"{host_id}.toml", machine)
    return folder, SessionIdentity(here, f"{here}-{start_time:%Y%m%dT%H%M%SZ}", ids)


def make_plan(campaign: Campaign, name: str, runs: tuple[PlannedRun, ...], tools: Mapping[str, Path], release: str | None) -> Plan:
    """Return the plan of these runs. Its seed, its session and its hosts are not set yet: the caller sets them.

    Raises:
        TachologError: a program is missing, or a host cannot be reached.
    """
    programs = find_campaign_programs(runs, campaign.hosts, tools, campaign.version_command, campaign.system_version_command)
    return Plan(
        campaign=name,
        system=campaign.system,
        tool=campaign.tool,
        log=campaign.log,
        seed=0,
        session="",
        host="",
        format=campaign.format,
        tool_version=_tool_version(campaign, runs, tools, programs.versions),
        system_version=programs.system_version,
        programs=_checksums(runs, tools) | programs.checksums,
        versions=dict(programs.versions),
        hosts=campaign.hosts,
        release=release,
        notes=campaign.notes,
        limits=campaign.limits,
        runs=runs,
    )


def _tool_version(campaign: Campaign, runs: Sequence[PlannedRun], tools: Mapping[str, Path], versions: Mapping[str, str]) -> str | None:
    """Return the version of the tool. If the hosts have different versions, it is the first of them."""
    if campaign.tool_version is not None:
        return campaign.tool_version
    if any(run.command for run in runs):
        return tool_version(campaign.version_command, tools)
    return next((version for program, version in versions.items() if program != FLOOR), None)


def write_plan(folder: Path, plan: Plan) -> None:
    """Write ``plan.toml`` into the folder of a campaign."""
    (folder / PLAN_FILE).write_text(tomli_w.dumps(msgspec.to_builtins(plan)), encoding="utf-8")


def resume(folder: Path, tools: Mapping[str, Path]) -> Plan:
    """Read the plan of a started campaign.

    Raises:
        TachologError: a program has changed since the start, so the campaign would mix runs of two builds.
    """
    plan = read_plan(folder / PLAN_FILE)
    checksums = _checksums(plan.runs, tools) | find_campaign_programs(plan.runs, plan.hosts, tools).checksums
    changed = sorted(program for program, checksum in checksums.items() if plan.programs.get(program) != checksum)
    if changed:
        raise TachologError(f"{folder}: {', '.join(changed)} is not the build that this campaign was started with; start a new campaign")
    return plan


def only_one_harness(folder: Path) -> AbstractContextManager[None]:
    """Lock the folder of a campaign while its runs are measured.

    Raises:
        TachologError: another harness already measures this campaign. Both would start the same runs and disturb each other.
    """
    return locked(folder, "this campaign is being measured already, by another process")


def newest_unfinished(output: Path, name: str) -> Path | None:
    """Return the newest folder of this campaign that has pending runs; ``None`` if there is none. ``output`` is the folder of all campaigns."""
    for folder in sorted(output.glob(f"{name}-*"), reverse=True):
        if (folder / PLAN_FILE).is_file() and pending_runs(folder, read_plan(folder / PLAN_FILE)):
            return folder
    return None


def campaign_folders(output: Path) -> list[Path]:
    """Return the folders with runs under ``output``, the newest last. Folders with a release label are left out, because the data folder has them."""
    folders = [folder for folder in output.glob("*") if folder.is_dir() and next(folder.rglob(RUN_FILE), None) is not None and not _has_label(folder)]
    return sorted(folders, key=lambda folder: folder.stat().st_mtime)


def _has_label(folder: Path) -> bool:
    plan_files = [side / PLAN_FILE for side in (folder, folder / "old", folder / "new") if (side / PLAN_FILE).is_file()]
    return bool(plan_files) and all(read_plan(path).release is not None for path in plan_files)


def pending_runs(folder: Path, plan: Plan) -> list[PlannedRun]:
    """Return the pending runs of a campaign, in their order. Runs that were disturbed too much are done again."""
    again = disturbed_runs(folder, plan)
    return [run for run in plan.runs if run.folder in again or not (folder / run.folder / RUN_FILE).is_file()]


def disturbed_runs(folder: Path, plan: Plan) -> dict[str, list[str]]:
    """Return the runs during which the load of other programs exceeded the limits of the campaign, each with the exceeded limits."""
    if plan.limits is None:
        return {}
    done = {run.folder: folder / run.folder / RUN_FILE for run in plan.runs}
    reasons_of = {name: [*exceeded(read_manifest(file).environment, plan.limits)] for name, file in done.items() if file.is_file()}
    return {name: reasons for name, reasons in reasons_of.items() if reasons}


def busy_runs(folder: Path, plan: Plan) -> int:
    """Return how many runs get the mark *The machine was busy*, because other programs used the machine when the run began."""
    manifests = [read_manifest(file) for run in plan.runs if (file := folder / run.folder / RUN_FILE).is_file()]
    processors = {file.stem: number_in(read_host(file).cpu, "threads") for file in (folder / HOSTS_FOLDER).glob("*.toml")}
    return sum(
        is_busy(number_in(facts, "other_load_before"), number_in(facts, "load1_before"), processors.get(manifest.host or ""))
        for manifest in manifests
        for facts in [manifest.environment]
    )


def failure_reason(folder: Path, run: PlannedRun) -> str | None:
    """Return why a run has no usable results: for example, it failed, or no format reads its log. Return ``None`` if the run has results."""
    manifest = read_manifest(folder / run.folder / RUN_FILE)
    if manifest.status != "ok":
        empty = [process for process in run.processes if process.results and _is_empty(folder / run.folder / process.log_file)]
        hint = _advice_on_results(run, empty[0].log_file) if manifest.status == "empty" and empty else ""
        return f"{manifest.reason or manifest.status}{hint}"
    logs = [entry for entry in manifest.logs if entry.results and entry.file != RESOURCES_FILE]
    return next((reason for entry in logs if (reason := _log_failure(folder / run.folder, entry, manifest, run))), None)


def _is_empty(log: Path) -> bool:
    return log.is_file() and not log.stat().st_size


def _advice_on_results(run: PlannedRun, log: str) -> str:
    """Return advice for a log without results. It is empty if no other log of the run can have results."""
    if sum(process.results for process in run.processes) <= 1:
        return ""
    return f"; if {log} should have no results, add results = false to its process"


def _log_failure(folder: Path, entry: LogFile, manifest: Manifest, run: PlannedRun) -> str | None:
    """Return why a log has no usable results; ``None`` if it has results."""
    name = f"{entry.process}: " if entry.process else ""
    try:
        with open_log_in(folder, entry.file) as text:
            scan = Scan(text, entry.format)
            records = [event.what if isinstance(event, Event) else event.like for event in scan.batches()]
    except UnreadableInput as error:
        if entry.format is not None and name_without_unit(entry.format) not in formats():
            return f"{name}its log cannot be read: {error}"
        return f"{name}its log cannot be read: {str(error).partition(':')[0]} (tacholog parse shows more){_advice_on_results(run, entry.file)}"
    if scan.account.status == "empty":
        quoted = quoted_line(folder, [errors_file(entry.file), entry.file] if entry.process else [entry.file])
        return "; ".join(filter(None, (f"{name}{entry.file} holds no results{_advice_on_results(run, entry.file)}", quoted)))
    if scan.account.status not in ("ok", None):
        return f"{name}its log says {scan.account.status}: {scan.account.reason}"
    in_manifest, in_log = stated_conditions(manifest), scan.account.facts.conditions
    all_contradictions = (
        contradiction for record in records if isinstance(record, Record) for contradiction in contradictions(record, in_log, in_manifest)
    )
    return next((f"{name}{contradiction}" for contradiction in all_contradictions), None)


def copy_to_data(folder: Path, plan: Plan, data: Path, target: Path | None = None) -> Path:
    """Copy the runs and host files of a campaign into the data folder, for publication.

    Runs are copied to ``data/<tool>/<release>/`` (or ``target``), and host files to ``data/hosts/``. If several campaigns share the release, the runs
    of each campaign are copied to ``data/<tool>/<release>/<campaign>/``.

    Raises:
        TachologError: the folder of the release already exists.
    """
    if target is None and plan.shares_release:
        target = release_folder(data, plan.tool, str(plan.release), plan.campaign)
    target = target or release_folder(data, plan.tool, plan.release or plan.campaign)
    for run in plan.runs:
        if (folder / run.folder / RUN_FILE).is_file():
            # Links are copied as links, because their targets are not part of the run.
            shutil.copytree(folder / run.folder, target / run.folder, symlinks=True)
    copy_hosts_to_data(folder, data, target)
    return target


def copy_hosts_to_data(folder: Path, data: Path, target: Path) -> None:
    """Copy the host files of a campaign to ``data/hosts/``. An existing file is kept, because a user may have extended it.

    If the existing file describes another machine, the file of the campaign is copied to ``target``, the folder of its runs.
    """
    for file in sorted((folder / HOSTS_FOLDER).glob("*.toml")):
        existing = data / HOSTS_FOLDER / file.name
        if existing.exists() and not contradictory_properties(read_host(existing), read_host(file)):
            continue
        hosts = (target if existing.exists() else data) / HOSTS_FOLDER
        hosts.mkdir(parents=True, exist_ok=True)
        shutil.copy2(file, hosts)


def release_folder(data: Path, tool: str, release: str, campaign: str | None = None) -> Path:
    """Return the folder for the runs of a release, within the data folder. If ``campaign`` is stated, return the subfolder for this campaign.

    Raises:
        TachologError: the folder already exists, or the label cannot be the name of a folder.
    """
    check_release_name(release)
    target = data / tool / release / (campaign or "")
    if target.exists():
        raise TachologError(f"{target} exists already: give the release another name, or remove the folder")
    return target


def default_cpus(allowed: Collection[int] | None = None, root: Path = ROOT) -> tuple[str, str]:
    """Return the CPUs for publisher and subscriber: the first CPU that this process may use, and the next CPU of another core.

    If there is no other core, the subscriber gets the next CPU of the same core. A single CPU is used for both.

    Args:
        allowed: the CPUs that may be used; by default, the CPUs of this process.
        root: the folder that contains ``sys``.
    """
    first, *others = sorted(allowed or os.sched_getaffinity(0))
    siblings = siblings_of(first, root)
    other_cores = [cpu for cpu in others if cpu not in siblings]
    return str(first), str([*other_cores, *others, first][0])


def _checksums(runs: Sequence[PlannedRun], tools: Mapping[str, Path]) -> dict[str, str]:
    measured = {measured_program(run.command) for run in runs if run.command}
    return {program: sha256(find_program(program, tools)) for program in sorted(measured)}
