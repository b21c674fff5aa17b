"""The properties of a machine, read from the machine itself.

If a property cannot be read, it is left out. It is never replaced by a zero or a dash. No property allows outsiders to identify a person, a network
or the machine: there is no host name, no address, no serial number, and no kernel command line. All files are read below ``root``, so a copy of the
``/proc`` and ``/sys`` of another machine can also be read.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tacholog.runs.disturbance import ProcessorTime, processor_time
from tacholog.runs.manifest import Host

ROOT = Path("/")
Properties = dict[str, str]
_CPU = "sys/devices/system/cpu"
# If two machines have equal values of these properties, comparisons treat them as the same host. The governor is not one of these properties, because
# it may change between two runs.
_IDENTITY = (("cpu", "model"), ("cpu", "threads"), ("memory", "size"), ("system", "kernel"), ("system", "distribution"), ("system", "virtualisation"))


def this_host(root: Path = ROOT, printed: Mapping[str, str] | None = None) -> Host:
    """Return the description of this machine, as a host file contains it.

    Args:
        root: the folder that holds ``proc`` and ``sys``.
        printed: for another machine, the output of programs on it (`tacholog.campaign.machines.remote_facts`); ``None`` for this machine.
    """
    programs = printed if printed is not None else _printed_here(root)
    cpu = _cpu(root)
    name = _name(cpu.get("model"), cpu.get("threads"))
    memory, system = _memory(root, programs), _system(root, programs)
    return Host(name=name, source="read by tacholog host", cpu=cpu, memory=memory, network=_network(root), system=system)


def _printed_here(root: Path) -> Properties:
    """Return the properties that only programs and system calls provide."""
    if root != ROOT:
        return {}  # The files are a copy from another machine.
    file_system = os.statvfs("/dev/shm") if Path("/dev/shm").is_dir() else None  # noqa: S108 - the size of shared memory
    properties = {
        "shared_memory_kib": str(file_system.f_blocks * file_system.f_frsize // 1024) if file_system else None,
        "architecture": platform.machine(),
        "libc": os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None,
        "compiler": _first_line("c++", "--version"),
    }
    return _without_missing(properties)


def stated_host(environment: Properties) -> dict[str, Host]:
    """Return the machine that a log describes. Its id is made from the whole description. The result is empty if the log describes no machine.

    The number of processors is only added to the name of the machine. It is not a property, because host files state it together with the numbers of
    sockets and cores, which the log does not state.

    Args:
        environment: the environment that the log states, with the keys of `tacholog.schema.records.ENVIRONMENT`.
    """
    model, threads, size = (environment.get(f"host_{name}") for name in ("cpu_model", "cpus_online", "memory_bytes"))
    if model is None and size is None:
        return {}
    host = Host(
        name=_name(model, threads),
        source="the host line of a log",
        cpu=_without_missing({"model": model}),
        memory=_without_missing({"size": _bytes(int(size)) if size and re.fullmatch("[0-9]{1,18}", size) else None}),
        system=_without_missing({name: environment.get(f"host_{name}") for name in ("kernel", "distribution", "clocksource")}),
    )
    host_lines = "\n".join(f"{name} {text}" for name, text in sorted(environment.items()) if name.startswith("host_"))
    return {"log-" + hashlib.sha256(host_lines.encode()).hexdigest()[:6]: host}


def _name(model: str | None, threads: str | None) -> str:
    return ", ".join([model or "Unnamed CPU", *([f"{threads} thread{'s' if threads != '1' else ''}"] if threads else [])])


def pseudonym(host: Host) -> str:
    """Return a name made from the properties of a machine: ``host-3fa94c``. The same machine always gets the same name."""
    identity = "\n".join(getattr(host, section).get(key, "") for section, key in _IDENTITY)
    return "host-" + hashlib.sha256(identity.encode()).hexdigest()[:6]


def environment(root: Path = ROOT, checkout: Path | None = None, affinity: str | None = None) -> Properties:
    """Return the properties that stay the same during a run, but may differ in another run on the same host.

    Args:
        root: the folder that holds ``proc`` and ``sys``.
        checkout: the repository whose revision is recorded with these properties.
        affinity: the processors on which programs may run, if the folder is from another machine.
    """
    properties = {
        "governor": _distinct(_per_cpu(root, "cpufreq/scaling_governor")),
        "turbo": _turbo(root),
        "idle_states": _idle_states(root),
        "transparent_huge_pages": _transparent_huge_pages(root),
        "cgroup_cpus": _cgroup_cpus(root),
        "tacholog_python": platform.python_version(),
        "harness_affinity": ",".join(str(cpu) for cpu in sorted(os.sched_getaffinity(0))) if root == ROOT else affinity,
    }
    return _without_missing(properties) | (_revision(checkout) if checkout else {})


class Moment(NamedTuple):
    """Properties that change from second to second: load, clock rate, throttling, and the processor time that the kernel has counted so far."""

    properties: Properties
    processor_time: ProcessorTime | None


def moment(root: Path = ROOT) -> Moment:
    """Read the properties that change from second to second. This happens before and after each run."""
    load = (_text(root, "proc/loadavg") or "").split()
    throttled = [int(count) for count in _per_cpu(root, "thermal_throttle/package_throttle_count") if count.isdigit()]
    mhz = [float(text) for text in _cpuinfo(root, "cpu MHz")]
    properties = {
        "mhz": _distinct(f"{value:.0f}" for value in (min(mhz), max(mhz))) if mhz else None,
        "throttled": str(max(throttled)) if throttled else None,
    }
    loads = dict(zip(("load1", "load5", "load15"), load, strict=False))
    return Moment(loads | _without_missing(properties), processor_time(_text(root, "proc/stat") or ""))


def _cpu(root: Path) -> Properties:
    packages, cores, threads = _topology(root)
    properties = {
        "model": next(iter(_cpuinfo(root, "model name")), None),
        "sockets": str(packages) if packages else None,
        "cores": str(cores) if cores else None,
        "threads": str(threads) if threads else None,
        **_caches(root),
        "numa_nodes": str(len(list(root.glob("sys/devices/system/node/node[0-9]*")))) if (root / "sys/devices/system/node").is_dir() else None,
        "microcode": next(iter(_cpuinfo(root, "microcode")), None),
        "governor": _distinct(_per_cpu(root, "cpufreq/scaling_governor")),
        "min_mhz": _mhz(_per_cpu(root, "cpufreq/cpuinfo_min_freq")),
        "max_mhz": _mhz(_per_cpu(root, "cpufreq/cpuinfo_max_freq")),
        "turbo": _turbo(root),
        "idle_driver": _text(root, f"{_CPU}/cpuidle/current_driver"),
        "idle_states": _idle_states(root),
        "isolated": _isolated(root),
    }
    return _without_missing(properties)


def _topology(root: Path) -> tuple[int, int, int]:
    """Return the numbers of sockets, cores and threads that are online; 0 for a number that the kernel does not state."""
    packages, cores = set(), set()
    folders = _cpu_folders(root)
    for folder in folders:
        package, core = _text(folder, "topology/physical_package_id"), _text(folder, "topology/core_id")
        if package is not None and core is not None:
            packages.add(package)
            cores.add((package, core))
    return len(packages), len(cores), len(folders)


def siblings_of(cpu: int, root: Path = ROOT) -> frozenset[int]:
    """Return the hardware threads of the same core, including ``cpu`` itself; an empty set if the kernel does not state them."""
    listed = _text(root, f"{_CPU}/cpu{cpu}/topology/thread_siblings_list") or ""
    ends = [part.split("-") for part in listed.split(",") if part]
    return frozenset(number for first, *last in ends for number in range(int(first), int((last or [first])[0]) + 1))


def _caches(root: Path) -> Properties:
    kinds = {"Data": "d", "Instruction": "i", "Unified": ""}
    sizes = {}
    for cache in sorted(root.glob(f"{_CPU}/cpu0/cache/index[0-9]*")):
        level, kind, size = (_text(cache, name) for name in ("level", "type", "size"))
        if level and kind in kinds and size:
            sizes[f"cache_l{level}{kinds[kind]}"] = _bytes(int(size[:-1]) * {"K": 1024, "M": 1024**2}[size[-1]])
    return sizes


def _turbo(root: Path) -> str | None:
    states = {"intel_pstate/no_turbo": {"0": "on", "1": "off"}, "cpufreq/boost": {"1": "on", "0": "off"}}
    return next((names[text] for file, names in states.items() if (text := _text(root, f"{_CPU}/{file}")) in names), None)


def _idle_states(root: Path) -> str | None:
    """Return the C-states of the first processor, such as ``POLL, C1, C6 (off)``."""
    folders = sorted(root.glob(f"{_CPU}/cpu0/cpuidle/state[0-9]*"), key=lambda folder: int(folder.name.removeprefix("state")))
    names = ((name, _text(folder, "disable") == "1") for folder in folders if (name := _text(folder, "name")))
    return ", ".join(f"{name} (off)" if is_off else name for name, is_off in names) or None


def _isolated(root: Path) -> str | None:
    """Return the processors that the scheduler does not use; ``none`` if it uses all; ``None`` if the kernel does not state them."""
    return _text(root, f"{_CPU}/isolated") or ("none" if (root / _CPU / "isolated").is_file() else None)


def _transparent_huge_pages(root: Path) -> str | None:
    chosen = re.search(r"\[(\w+)\]", _text(root, "sys/kernel/mm/transparent_hugepage/enabled") or "")
    return chosen[1] if chosen else None


def _memory(root: Path, printed: Mapping[str, str]) -> Properties:
    meminfo = dict(re.findall(r"^(\w+):\s+(\d+)", _text(root, "proc/meminfo") or "", re.MULTILINE))
    properties = {
        "size": _bytes(int(meminfo["MemTotal"]) * 1024) if "MemTotal" in meminfo else None,
        "huge_pages": f"{meminfo['HugePages_Total']} of {_bytes(int(meminfo['Hugepagesize']) * 1024)}" if "Hugepagesize" in meminfo else None,
        "transparent_huge_pages": _transparent_huge_pages(root),
        "dev_shm": _shared_memory(root, printed),
    }
    return _without_missing(properties)


def _shared_memory(root: Path, printed: Mapping[str, str]) -> str | None:
    mounted = re.search(r"^\S+ /dev/shm tmpfs (\S+)", _text(root, "proc/mounts") or "", re.MULTILINE)
    if mounted is None:
        return None
    size = re.search(r"\bsize=(\d+)k\b", mounted[1])
    if size:
        return _bytes(int(size[1]) * 1024)
    kib = printed.get("shared_memory_kib", "")
    return _bytes(int(kib) * 1024) if re.fullmatch("[0-9]{1,15}", kib) else None


def _network(root: Path) -> Properties:
    interfaces = {folder.name: _interface(folder) for folder in sorted(root.glob("sys/class/net/*")) if (folder / "device").exists()}
    sysctls = {f"net.core.{name}": _text(root, f"proc/sys/net/core/{name}") for name in ("rmem_max", "wmem_max", "rmem_default", "wmem_default")}
    return _without_missing({**interfaces, "loopback_mtu": _text(root, "sys/class/net/lo/mtu"), **sysctls})


def _interface(folder: Path) -> str | None:
    """Return a description without addresses, such as ``ixgbe, 10000 Mbit/s, full duplex, MTU 9000``."""
    driver = folder / "device" / "driver"
    speed, duplex, mtu = (_text(folder, name) for name in ("speed", "duplex", "mtu"))
    words = [
        driver.resolve().name if driver.exists() else None,
        f"{speed} Mbit/s" if speed and speed.isdigit() else None,  # -1: the driver does not know the speed
        f"{duplex} duplex" if duplex in ("full", "half") else None,
        f"MTU {mtu}" if mtu else None,
    ]
    return ", ".join(word for word in words if word) or None


def _system(root: Path, printed: Mapping[str, str]) -> Properties:
    release = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', _text(root, "etc/os-release") or "", re.MULTILINE))
    properties = {
        "kernel": _text(root, "proc/sys/kernel/osrelease"),
        "distribution": release.get("PRETTY_NAME"),
        "architecture": printed.get("architecture"),
        "virtualisation": _virtualisation(root),
        "cgroup_cpus": _cgroup_cpus(root),
        "mitigations": _mitigations(root),
        "clocksource": _text(root, "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "libc": printed.get("libc"),
        "compiler": printed.get("compiler"),
    }
    return _without_missing(properties)


def _virtualisation(root: Path) -> str | None:
    """Return text such as ``container in a virtual machine (QEMU)``; ``None`` if the kernel states no flags of the CPU."""
    flags = next(iter(_cpuinfo(root, "flags")), None)
    if flags is None:
        return None
    maker = _text(root, "sys/class/dmi/id/sys_vendor") or _text(root, "sys/hypervisor/type")
    around = []
    if any((root / mark).exists() for mark in (".dockerenv", "run/.containerenv")):
        around.append("container")
    if "hypervisor" in flags.split():
        around.append(f"virtual machine ({maker})" if maker else "virtual machine")
    return " in a ".join(around) or "none"


def _mitigations(root: Path) -> str | None:
    files = sorted(root.glob(f"{_CPU}/vulnerabilities/*"))
    if not files:
        return None
    texts = [_text(file.parent, file.name) or "" for file in files]
    # "Mitigation: ...; BHI: Vulnerable" counts as vulnerable, although it is partly mitigated.
    vulnerable = sum("Vulnerable" in text for text in texts)
    mitigated = sum(text.startswith("Mitigation") and "Vulnerable" not in text for text in texts)
    asked = re.search(r"\bmitigations=(\S+)", _text(root, "proc/cmdline") or "")
    return f"{mitigated} mitigated, {vulnerable} vulnerable" + (f" (mitigations={asked[1]})" if asked else "")


def _cgroup_cpus(root: Path) -> str | None:
    """Return the allowed CPU time, in CPUs, or ``unlimited``; ``None`` if no file states it."""
    own_group = re.search(r"^0::/(.*)$", _text(root, "proc/self/cgroup") or "", re.MULTILINE)
    for group in dict.fromkeys([own_group[1] if own_group else "", ""]):
        quota = (_text(root, f"sys/fs/cgroup/{group}/cpu.max") or "").split()
        if len(quota) == 2:  # noqa: PLR2004 - quota and period
            return "unlimited" if quota[0] == "max" else f"{int(quota[0]) / int(quota[1]):g}"
    return None


def _revision(checkout: Path) -> Properties:
    commit = _first_line("git", "-C", str(checkout), "rev-parse", "HEAD")
    if commit is None:
        return {}
    dirty = _first_line("git", "-C", str(checkout), "status", "--porcelain", "--untracked-files=no")
    return {"harness_git": commit, "harness_dirty": "yes" if dirty else "no"}


def _first_line(*command: str) -> str | None:
    program = shutil.which(command[0])
    if program is None:
        return None
    try:
        done = subprocess.run([program, *command[1:]], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return next(iter(done.stdout.splitlines()), None) if done.returncode == 0 else None


def _cpu_folders(root: Path) -> list[Path]:
    folders = sorted(root.glob(f"{_CPU}/cpu[0-9]*"), key=lambda folder: int(folder.name[3:]))
    # cpu0 often has no file "online", because it cannot be switched off.
    return [folder for folder in folders if _text(folder, "online") != "0"]


def _per_cpu(root: Path, file: str) -> Iterator[str]:
    return (text for folder in _cpu_folders(root) if (text := _text(folder, file)) is not None)


def _cpuinfo(root: Path, key: str) -> list[str]:
    return re.findall(rf"^{re.escape(key)}\s*:\s*(.+)$", _text(root, "proc/cpuinfo") or "", re.MULTILINE)


def _distinct(values: Iterable[str]) -> str | None:
    return ", ".join(dict.fromkeys(values)) or None


def _mhz(khz: Iterable[str]) -> str | None:
    return _distinct(f"{int(value) / 1000:.0f}" for value in khz)


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024)):
        if count >= size:
            return f"{round(count / size, 1):g} {unit}"
    return f"{count} B"


def _text(folder: Path, file: str) -> str | None:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return (folder / file).read_text().strip() or None
    return None


def _without_missing(properties: dict[str, str | None]) -> Properties:
    return {name: text for name, text in properties.items() if text is not None}
