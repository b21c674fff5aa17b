"""Do the runs of a campaign. Each run is one process with a deadline, and its log is kept whether the run succeeds or fails."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import msgspec
import tomli_w

from tacholog.campaign.plan import Campaign, Plan, PlannedRun, read_campaign, read_plan, schedule_runs
from tacholog.campaign.tools import find_program, measured_program, sha256, tool_version
from tacholog.errors import TachologError, UnreadableInput
from tacholog.formats.reading import Event, Scan
from tacholog.formats.source import open_log_in
from tacholog.runs import host
from tacholog.runs.manifest import HOSTS_FOLDER, PLAN_FILE, RUN_FILE, Command, LogFile, Manifest, check_label, read_manifest, write
from tacholog.runs.stated import contradictions, stated
from tacholog.schema.records import Record

_ERRORS = "stderr.txt"
_REPEATED = "An earlier try of this run was interrupted; this run was measured again from the start."  # words that publishing does not mask
_GRACE_S = 2.0  # between asking a process to end and killing it


def start(path: Path, output: Path, tools: Mapping[str, Path], release: str | None = None) -> tuple[Path, Plan]:
    """Plan a campaign and write its folder: ``plan.toml`` and this machine's host file.

    Args:
        path: the campaign file.
        output: the folder of all campaigns; this one gets a new folder ``<name>-<time>`` in it.
        tools: files of programs, by the name that commands start with.
        release: the label under which the results will be compared.
    """
    campaign = read_campaign(path)
    seed = campaign.seed if campaign.seed is not None else secrets.randbelow(2**31)
    # The plan is made before the folder: if the plan is wrong, no empty folder stays behind.
    plan = make_plan(campaign, path.stem, schedule_runs(campaign, seed, default_cpus()), tools, release)
    folder, host_id, session = make_campaign_folder(output, path.stem)
    plan = msgspec.structs.replace(plan, seed=seed, session=session, host=host_id)
    write_plan(folder, plan)
    return folder, plan


def make_campaign_folder(output: Path, name: str) -> tuple[Path, str, str]:
    """Create the folder of a campaign, with the host file of this machine. Return the folder, the host's pseudonym and the name of the session."""
    start_time = utc_now()
    this_host = host.this_host()
    pseudonym = host.pseudonym(this_host)
    folder = output / f"{name}-{start_time:%Y%m%dT%H%M%SZ}"
    (folder / HOSTS_FOLDER).mkdir(parents=True)
    write(folder / HOSTS_FOLDER / f"{pseudonym}.toml", this_host)
    return folder, pseudonym, f"{pseudonym}-{start_time:%Y%m%dT%H%M%SZ}"


def make_plan(campaign: Campaign, name: str, runs: tuple[PlannedRun, ...], tools: Mapping[str, Path], release: str | None) -> Plan:
    """Return the plan of these runs. The caller fills in seed, session and host."""
    return Plan(
        campaign=name,
        system=campaign.system,
        tool=campaign.tool,
        log=campaign.log,
        seed=0,
        session="",
        host="",
        format=campaign.format,
        tool_version=tool_version(campaign.version_command, tools),
        programs=_checksums(runs, tools),
        release=release,
        notes=campaign.notes,
        runs=runs,
    )


def write_plan(folder: Path, plan: Plan) -> None:
    """Write ``plan.toml`` into the folder of a campaign."""
    (folder / PLAN_FILE).write_text(tomli_w.dumps(msgspec.to_builtins(plan)), encoding="utf-8")


def resume(folder: Path, tools: Mapping[str, Path]) -> Plan:
    """Read the plan of a campaign that was started.

    Raises:
        TachologError: a program has changed since then, so the campaign would mix runs of two builds.
    """
    plan = read_plan(folder / PLAN_FILE)
    changed = sorted(program for program, checksum in _checksums(plan.runs, tools).items() if plan.programs.get(program) != checksum)
    if changed:
        raise TachologError(f"{folder}: {', '.join(changed)} is not the build that this campaign was started with; start a new campaign")
    return plan


def newest_unfinished(output: Path, name: str) -> Path | None:
    """Return the newest folder under ``output`` of a campaign of that name that still has runs to do; None if there is none."""
    for folder in sorted(output.glob(f"{name}-*"), reverse=True):
        if (folder / PLAN_FILE).is_file() and pending(folder, read_plan(folder / PLAN_FILE)):
            return folder
    return None


def campaign_folders(output: Path) -> list[Path]:
    """Return the folders under ``output`` that hold runs, the newest last. Runs with a label are left out: they were copied to the data folder."""
    found = [folder for folder in output.glob("*") if folder.is_dir() and next(folder.rglob(RUN_FILE), None) is not None and not _labelled(folder)]
    return sorted(found, key=lambda folder: folder.stat().st_mtime)


def _labelled(folder: Path) -> bool:
    """Whether a campaign, or both sides of a comparison, have a release label."""
    plan_files = [place / PLAN_FILE for place in (folder, folder / "old", folder / "new") if (place / PLAN_FILE).is_file()]
    return bool(plan_files) and all(read_plan(path).release is not None for path in plan_files)


def pending(folder: Path, plan: Plan) -> list[PlannedRun]:
    """Return the runs of a campaign that are still to be done, in their order."""
    return [run for run in plan.runs if not (folder / run.folder / RUN_FILE).is_file()]


def measure(folder: Path, plan: Plan, run: PlannedRun, tools: Mapping[str, Path], checkout: Path | None = None) -> Manifest:
    """Do one run: start its process, keep its output as the log, and write ``run.toml`` last, whether the run succeeded or failed."""
    run_folder = folder / run.folder
    was_interrupted = run_folder.exists()
    run_folder.mkdir(parents=True, exist_ok=True)
    environment = host.environment(checkout=checkout) | _with_suffix(host.moment(), "before")
    start_time = utc_now()
    status, reason = _execute(run, run_folder, plan.log, find_program(run.command[0], tools))
    environment |= _with_suffix(host.moment(), "after") | {"program_sha256": plan.programs[measured_program(run.command)]}
    manifest = Manifest(
        system=plan.system,
        system_version=plan.tool_version,
        tool=plan.tool,
        tool_version=plan.tool_version,
        release=plan.release,
        host=plan.host,
        status=status,
        reason=reason,
        start_time=f"{start_time:%Y-%m-%dT%H:%M:%SZ}",
        session=plan.session,
        repetition=run.repetition,
        order_index=run.order_index,
        campaign=plan.campaign,
        seed=plan.seed,
        notes=(
            *plan.notes,
            *([_REPEATED] if was_interrupted else []),
        ),
        conditions=run.conditions,
        options=run.options,
        environment=environment,
        commands=(Command(role="both", argv=run.command),),
        logs=(LogFile(file=plan.log, sha256=sha256(run_folder / plan.log), format=plan.format),),
    )
    write(run_folder / RUN_FILE, manifest)
    return manifest


def failure_reason(folder: Path, plan: Plan, run: PlannedRun) -> str | None:
    """Return why a run that was done has no usable results, such as that it failed or that no format reads its log; None if the run is good."""
    manifest = read_manifest(folder / run.folder / RUN_FILE)
    if manifest.status != "ok":
        return manifest.reason or manifest.status
    try:
        with open_log_in(folder, f"{run.folder}/{plan.log}") as text:
            scan = Scan(text, plan.format)
            records = [event.what if isinstance(event, Event) else event.like for event in scan.batches()]
    except UnreadableInput as error:
        return f"its log cannot be read: {str(error).partition(':')[0]} (tacholog parse says more)"
    if scan.account.status not in ("ok", None):
        return f"its log says {scan.account.status}: {scan.account.reason}"
    in_manifest, in_log = stated(manifest), scan.account.facts.conditions
    found = (contradiction for record in records if isinstance(record, Record) for contradiction in contradictions(record, in_log, in_manifest))
    return next(map(str, found), None)


def copy_to_data(folder: Path, plan: Plan, data: Path, place: Path | None = None) -> Path:
    """Copy the runs and host files of a campaign into the data folder, for publication.

    Runs go to ``data/<tool>/<release>/`` (or ``place``), host files to ``data/hosts/``.

    Raises:
        TachologError: the folder of that release exists already.
    """
    target = place or release_folder(data, plan.tool, plan.release or plan.campaign)
    for run in plan.runs:
        if (folder / run.folder / RUN_FILE).is_file():
            shutil.copytree(folder / run.folder, target / run.folder, symlinks=True)  # the target of a link is not part of the run
    copy_hosts_to_data(folder, data)
    return target


def copy_hosts_to_data(folder: Path, data: Path) -> None:
    """Copy the host files of a campaign to ``data/hosts/``. A file that exists there is kept, because somebody may have added to it."""
    (data / HOSTS_FOLDER).mkdir(parents=True, exist_ok=True)
    for file in sorted((folder / HOSTS_FOLDER).glob("*.toml")):
        if not (data / HOSTS_FOLDER / file.name).exists():
            shutil.copy2(file, data / HOSTS_FOLDER)


def release_folder(data: Path, tool: str, release: str) -> Path:
    """Return the folder in the data folder for the runs of a release.

    Raises:
        TachologError: the folder exists already, or the label cannot name one.
    """
    check_label(release)
    target = data / tool / release
    if target.exists():
        raise TachologError(f"{target} exists already: give the release another name, or remove the folder")
    return target


def _execute(run: PlannedRun, folder: Path, log: str, executable: Path) -> tuple[Literal["ok", "failed", "empty"], str | None]:
    """Run the process in the folder of the run, with its output going into the log. Return how it ended, and the reason if it failed."""
    with (folder / log).open("wb") as out, (folder / _ERRORS).open("wb") as errors:
        try:
            process = subprocess.Popen(
                [run.command[0], *run.command[1:]],
                executable=executable,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env=os.environ | {"LC_ALL": "C"},  # some tools print numbers in the locale of the user
                start_new_session=True,  # a new process group, so that the child processes can be ended too
            )
        except OSError as error:
            return "failed", f"cannot be started: {error.strerror}"
        try:
            code = process.wait(run.deadline_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return "failed", f"stopped by the harness: not done within its deadline of {run.deadline_s:g} s"
        except BaseException:  # Ctrl-C: no process that we started may go on measuring
            _end(process)
            raise
    messages = (folder / _ERRORS).read_text(errors="replace").strip()
    if not messages:
        (folder / _ERRORS).unlink()
    if code:
        reason = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        return "failed", f"{reason}: {messages.splitlines()[-1]}" if messages else reason
    return ("ok", None) if (folder / log).stat().st_size else ("empty", "the program printed nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all its children: first with SIGTERM, then with SIGKILL."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    give_up = time.monotonic() + _GRACE_S
    with contextlib.suppress(ChildProcessError):  # its exit code was collected before the interrupt
        # WNOWAIT keeps the process as a zombie. So the kernel cannot give the number of its group to other processes before the second signal.
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < give_up:
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Not `process.wait`: if Ctrl-C came while `wait` held its lock, a second `wait` would block forever.
        process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


def default_cpus() -> tuple[str, str]:
    """Return the CPUs for publisher and subscriber: the first two that this process may use, or one for both if there is only one."""
    allowed = sorted(os.sched_getaffinity(0))
    return str(allowed[0]), str(allowed[min(1, len(allowed) - 1)])


def _checksums(runs: Iterable[PlannedRun], tools: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of each measured program, by its name in the commands."""
    return {program: sha256(find_program(program, tools)) for program in sorted({measured_program(run.command) for run in runs})}


def _with_suffix(values: Mapping[str, str], suffix: str) -> dict[str, str]:
    return {f"{name}_{suffix}": value for name, value in values.items()}


def utc_now() -> datetime:
    """Return the current time, in UTC."""
    return datetime.now(UTC)
