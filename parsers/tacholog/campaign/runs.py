"""Doing the runs of a campaign: one process each, ended in time, and kept however it came out."""

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
_GRACE_S = 2.0  # between asking a process to end and killing it


def start(path: Path, output: Path, tools: Mapping[str, Path], release: str | None = None) -> tuple[Path, Plan]:
    """Plan a campaign and write its folder: ``plan.toml`` and this machine's host file.

    Args:
        path: the campaign file.
        output: where campaigns are kept; this one gets a folder ``<name>-<time>`` in it.
        tools: programs by the name that commands begin with.
        release: the label under which the results will be compared.
    """
    campaign = read_campaign(path)
    seed = campaign.seed if campaign.seed is not None else secrets.randbelow(2**31)
    # Before the folder is made: whatever is wrong with the plan, no empty one stays behind.
    planned = make_plan(campaign, path.stem, schedule_runs(campaign, seed, default_cpus()), tools, release)
    folder, here, session = make_campaign_folder(output, path.stem)
    planned = msgspec.structs.replace(planned, seed=seed, session=session, host=here)
    write_plan(folder, planned)
    return folder, planned


def make_campaign_folder(output: Path, name: str) -> tuple[Path, str, str]:
    """Make the folder of a campaign, with this machine's host file; return it, the host's pseudonym and the name of the session."""
    began = utc_now()
    here = host.this_host()
    pseudonym = host.pseudonym(here)
    folder = output / f"{name}-{began:%Y%m%dT%H%M%SZ}"
    (folder / HOSTS_FOLDER).mkdir(parents=True)
    write(folder / HOSTS_FOLDER / f"{pseudonym}.toml", here)
    return folder, pseudonym, f"{pseudonym}-{began:%Y%m%dT%H%M%SZ}"


def make_plan(campaign: Campaign, name: str, runs: tuple[PlannedRun, ...], tools: Mapping[str, Path], release: str | None) -> Plan:
    """Return the plan of these runs; seed, session and host are still to be filled in."""
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
        programs=_builds(runs, tools),
        release=release,
        notes=campaign.notes,
        runs=runs,
    )


def write_plan(folder: Path, planned: Plan) -> None:
    """Write ``plan.toml`` into the folder of a campaign."""
    (folder / PLAN_FILE).write_text(tomli_w.dumps(msgspec.to_builtins(planned)), encoding="utf-8")


def resume(folder: Path, tools: Mapping[str, Path]) -> Plan:
    """Read the plan of a campaign that was begun.

    Raises:
        TachologError: the program is not the one it was begun with: its runs would be of two builds.
    """
    planned = read_plan(folder / PLAN_FILE)
    changed = sorted(word for word, build in _builds(planned.runs, tools).items() if planned.programs.get(word) != build)
    if changed:
        raise TachologError(f"{folder}: {', '.join(changed)} is not the build that this campaign was begun with; begin a new campaign")
    return planned


def newest_unfinished(output: Path, name: str) -> Path | None:
    """The newest folder under ``output`` of a campaign of that name that has runs left to do."""
    for folder in sorted(output.glob(f"{name}-*"), reverse=True):
        if (folder / PLAN_FILE).is_file() and pending(folder, read_plan(folder / PLAN_FILE)):
            return folder
    return None


def campaign_folders(output: Path) -> list[Path]:
    """The folders under ``output`` that hold runs, the newest last; not those whose runs have a label, and so were copied to be published."""
    found = [folder for folder in output.glob("*") if folder.is_dir() and next(folder.rglob(RUN_FILE), None) is not None and not _labelled(folder)]
    return sorted(found, key=lambda folder: folder.stat().st_mtime)


def _labelled(folder: Path) -> bool:
    """Whether a campaign, or both sides of a comparison, have a label."""
    plans = [place / PLAN_FILE for place in (folder, folder / "old", folder / "new") if (place / PLAN_FILE).is_file()]
    return bool(plans) and all(read_plan(plan).release is not None for plan in plans)


def pending(folder: Path, planned: Plan) -> list[PlannedRun]:
    """The runs of a campaign that are still to be done, in their order."""
    return [run for run in planned.runs if not (folder / run.folder / RUN_FILE).is_file()]


def measure(folder: Path, planned: Plan, run: PlannedRun, tools: Mapping[str, Path], checkout: Path | None = None) -> Manifest:
    """Do one run: start its process, keep what it prints, and write ``run.toml`` last, whether it went well or not."""
    place = folder / run.folder
    again = place.exists()
    place.mkdir(parents=True, exist_ok=True)
    environment = host.environment(checkout=checkout) | _named(host.moment(), "before")
    began = utc_now()
    status, reason = _execute(run, place, planned.log, find_program(run.command[0], tools))
    environment |= _named(host.moment(), "after") | {"program_sha256": planned.programs[measured_program(run.command, tools)]}
    manifest = Manifest(
        system=planned.system,
        system_version=planned.tool_version,
        tool=planned.tool,
        tool_version=planned.tool_version,
        release=planned.release,
        host=planned.host,
        status=status,
        reason=reason,
        start_time=f"{began:%Y-%m-%dT%H:%M:%SZ}",
        session=planned.session,
        repetition=run.repetition,
        order_index=run.order_index,
        campaign=planned.campaign,
        seed=planned.seed,
        notes=(*planned.notes, *(["An earlier try of this run was interrupted; this is the whole second one."] if again else [])),
        conditions=run.conditions,
        options=run.options,
        environment=environment,
        commands=(Command(role="both", argv=run.command),),
        logs=(LogFile(file=planned.log, sha256=sha256(place / planned.log), format=planned.format),),
    )
    write(place / RUN_FILE, manifest)
    return manifest


def failure_reason(folder: Path, planned: Plan, run: PlannedRun) -> str | None:
    """Say why a run that was done gives no figures: it failed, or no format reads its log to the end; ``None`` if all is well."""
    manifest = read_manifest(folder / run.folder / RUN_FILE)
    if manifest.status != "ok":
        return manifest.reason or manifest.status
    try:
        with open_log_in(folder, f"{run.folder}/{planned.log}") as text:
            scan = Scan(text, planned.format)
            records = [event.what if isinstance(event, Event) else event.like for event in scan.batches()]
    except UnreadableInput as error:
        return f"its log cannot be read: {str(error).partition(':')[0]} (tacholog parse says more)"
    if scan.account.status not in ("ok", None):
        return f"its log says {scan.account.status}: {scan.account.reason}"
    kept = stated(manifest)
    wrong = (one for record in records if isinstance(record, Record) for one in contradictions(record, scan.account.facts.conditions, kept))
    return next(map(str, wrong), None)


def copy_to_data(folder: Path, planned: Plan, data: Path, place: Path | None = None) -> Path:
    """Copy a campaign's runs and host files to where they are published from: ``data/<tool>/<release>/`` (or ``place``) and ``data/hosts/``.

    Raises:
        TachologError: results of that release are there already.
    """
    target = place or release_folder(data, planned.tool, planned.release or planned.campaign)
    for run in planned.runs:
        if (folder / run.folder / RUN_FILE).is_file():
            shutil.copytree(folder / run.folder, target / run.folder, symlinks=True)  # what a link leads to is none of the run's evidence
    copy_hosts_to_data(folder, data)
    return target


def copy_hosts_to_data(folder: Path, data: Path) -> None:
    """Copy a campaign's host files to ``data/hosts/``; what somebody added to one by hand stays."""
    (data / HOSTS_FOLDER).mkdir(parents=True, exist_ok=True)
    for file in sorted((folder / HOSTS_FOLDER).glob("*.toml")):
        if not (data / HOSTS_FOLDER / file.name).exists():
            shutil.copy2(file, data / HOSTS_FOLDER)


def release_folder(data: Path, tool: str, release: str) -> Path:
    """Return the folder for a release's runs, which must not exist yet."""
    check_label(release)
    target = data / tool / release
    if target.exists():
        raise TachologError(f"{target} has results already: give the release another name, or remove the folder")
    return target


def _execute(run: PlannedRun, place: Path, log: str, executable: Path) -> tuple[Literal["ok", "failed", "empty"], str | None]:
    """Run the process in its folder, its output straight into the log; say how it ended, and why if not well."""
    with (place / log).open("wb") as out, (place / _ERRORS).open("wb") as errors:
        try:
            process = subprocess.Popen(
                [run.command[0], *run.command[1:]],
                executable=executable,
                cwd=place,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=errors,
                env=os.environ | {"LC_ALL": "C"},  # tools that print numbers in the user's locale exist
                start_new_session=True,  # a process group of its own, so that all of it can be ended
            )
        except OSError as error:
            return "failed", f"cannot be started: {error.strerror}"
        try:
            code = process.wait(run.deadline_s)
        except subprocess.TimeoutExpired:
            _end(process)
            return "failed", f"stopped by the harness: not done within its deadline of {run.deadline_s:g} s"
        except BaseException:  # Ctrl-C: nothing of ours may go on measuring
            _end(process)
            raise
    said = (place / _ERRORS).read_text(errors="replace").strip()
    if not said:
        (place / _ERRORS).unlink()
    if code:
        how = f"exit code {code}" if code > 0 else f"killed by {signal.Signals(-code).name}"
        return "failed", f"{how}: {said.splitlines()[-1]}" if said else how
    return ("ok", None) if (place / log).stat().st_size else ("empty", "the program printed nothing")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all it has started: first politely, then for certain."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    give_up = time.monotonic() + _GRACE_S
    with contextlib.suppress(ChildProcessError):  # it was collected before the interrupt came
        # WNOWAIT leaves the process a zombie, which keeps its group's number from being given to somebody else before the second signal.
        while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None and time.monotonic() < give_up:
            time.sleep(0.02)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        # Not `process.wait`: Ctrl-C may have come just after that had taken its lock, for which it would then wait for ever.
        process.returncode = os.waitstatus_to_exitcode(os.waitpid(process.pid, 0)[1])


def default_cpus() -> tuple[str, str]:
    """The CPUs for publisher and subscriber: the first two that this process may use, or the only one for both."""
    allowed = sorted(os.sched_getaffinity(0))
    return str(allowed[0]), str(allowed[min(1, len(allowed) - 1)])


def _builds(runs: Iterable[PlannedRun], tools: Mapping[str, Path]) -> dict[str, str]:
    return {word: sha256(find_program(word, tools)) for word in sorted({measured_program(run.command, tools) for run in runs})}


def _named(facts: Mapping[str, str], when: str) -> dict[str, str]:
    return {f"{name}_{when}": value for name, value in facts.items()}


def utc_now() -> datetime:
    """The time, in UTC."""
    return datetime.now(UTC)
