"""The properties of a machine, read from copies of kernel files."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.command import run_tacholog_text

from tacholog.runs import host
from tacholog.runs.manifest import Host, read_host, write

CPU = "sys/devices/system/cpu"
# A virtual machine with two CPUs, as its kernel (6.18) prints it. Long lines are cut.
CLOUD = {
    "proc/cpuinfo": "".join(
        f"processor\t: {number}\nmodel name\t: Intel(R) Xeon(R) Processor\nmicrocode\t: 0x1\ncpu MHz\t\t: 2700.000\nflags\t\t: fpu hypervisor\n\n"
        for number in (0, 1)
    ),
    "proc/meminfo": "MemTotal:       24684096 kB\nHugePages_Total:       0\nHugepagesize:       2048 kB\n",
    "proc/loadavg": "0.15 0.11 0.10 2/84 7546\n",
    "proc/mounts": "tmpfs /dev/shm tmpfs rw,relatime,size=24684096k 0 0\n",
    "proc/cmdline": "mitigations=auto,no_guest_host console=ttyS0 secret_port=2024\n",
    "proc/sys/kernel/osrelease": "6.18.44-fc-v595\n",
    "proc/sys/kernel/hostname": "build-17.example.org\n",
    "proc/sys/net/core/rmem_max": "4194304\n",
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n',
    "etc/hostname": "build-17\n",
    f"{CPU}/cpu0/topology/physical_package_id": "0\n",
    f"{CPU}/cpu0/topology/core_id": "0\n",
    f"{CPU}/cpu1/topology/physical_package_id": "0\n",
    f"{CPU}/cpu1/topology/core_id": "1\n",
    f"{CPU}/vulnerabilities/spectre_v1": "Mitigation: usercopy/swapgs barriers and __user pointer sanitization\n",
    f"{CPU}/vulnerabilities/spectre_v2": "Mitigation: Enhanced / Automatic IBRS; IBPB: conditional; BHI: Vulnerable\n",
    f"{CPU}/vulnerabilities/meltdown": "Not affected\n",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
    "sys/class/net/lo/mtu": "65536\n",
    "sys/class/net/eth0/mtu": "1400\n",
    "sys/class/net/eth0/speed": "-1\n",
    "sys/class/net/eth0/address": "02:fc:00:00:00:05\n",
    "sys/class/net/eth0/device/vendor": "0x1af4\n",
}
# Additional files of a workstation: two threads per core, a variable clock rate, a network card with a known speed, and a CPU limit.
BARE_METAL = CLOUD | {
    "proc/cpuinfo": "processor\t: 0\nmodel name\t: Intel(R) Xeon(R) Silver 4110 CPU @ 2.10GHz\ncpu MHz\t\t: 800.012\nflags\t\t: fpu vme\n",
    "proc/self/cgroup": "0::/user.slice/bench\n",
    "sys/fs/cgroup/user.slice/bench/cpu.max": "150000 100000\n",
    f"{CPU}/cpu0/cpufreq/scaling_governor": "performance\n",
    f"{CPU}/cpu0/cpufreq/cpuinfo_min_freq": "800000\n",
    f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "3000000\n",
    f"{CPU}/cpu1/topology/core_id": "0\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{CPU}/isolated": "1\n",
    f"{CPU}/cpuidle/current_driver": "intel_idle\n",
    f"{CPU}/cpu0/cpuidle/state0/name": "POLL\n",
    f"{CPU}/cpu0/cpuidle/state0/disable": "0\n",
    f"{CPU}/cpu0/cpuidle/state1/name": "C1\n",
    f"{CPU}/cpu0/cpuidle/state10/name": "C10\n",
    f"{CPU}/cpu0/cpuidle/state10/disable": "1\n",
    f"{CPU}/cpu0/cpuidle/state2/name": "C1E\n",
    f"{CPU}/cpu0/cache/index0/level": "1\n",
    f"{CPU}/cpu0/cache/index0/type": "Data\n",
    f"{CPU}/cpu0/cache/index0/size": "32K\n",
    f"{CPU}/cpu0/cache/index3/level": "3\n",
    f"{CPU}/cpu0/cache/index3/type": "Unified\n",
    f"{CPU}/cpu0/cache/index3/size": "11264K\n",
    f"{CPU}/cpu0/thermal_throttle/package_throttle_count": "3\n",
    "sys/devices/system/node/node0/cpulist": "0-1\n",
    "sys/class/net/eth0/speed": "10000\n",
    "sys/class/net/eth0/duplex": "full\n",
    "sys/class/net/eth0/mtu": "9000\n",
}


def machine(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def test_virtual_machine_is_described_as_virtual(tmp_path: Path) -> None:
    facts = host.this_host(machine(tmp_path, CLOUD))

    assert facts.name == "Intel(R) Xeon(R) Processor, 2 threads"
    assert facts.source == "read by tacholog host"
    assert facts.cpu == {"model": "Intel(R) Xeon(R) Processor", "sockets": "1", "cores": "2", "threads": "2", "microcode": "0x1"}
    assert facts.memory == {"size": "23.5 GiB", "huge_pages": "0 of 2 MiB", "transparent_huge_pages": "madvise", "dev_shm": "23.5 GiB"}
    assert facts.network == {"eth0": "MTU 1400", "loopback_mtu": "65536", "net.core.rmem_max": "4194304"}
    assert facts.system == {
        "kernel": "6.18.44-fc-v595",
        "distribution": "Debian GNU/Linux 12 (bookworm)",
        "virtualisation": "virtual machine",
        "mitigations": "1 mitigated, 1 vulnerable (mitigations=auto,no_guest_host)",
        "clocksource": "tsc",
    }


def test_workstation_is_described_with_the_properties_that_its_kernel_states(tmp_path: Path) -> None:
    facts = host.this_host(machine(tmp_path, BARE_METAL))

    assert facts.cpu["cores"] == "1"
    assert facts.cpu["threads"] == "2"
    assert (facts.cpu["cache_l1d"], facts.cpu["cache_l3"]) == ("32 KiB", "11 MiB")
    assert (facts.cpu["governor"], facts.cpu["min_mhz"], facts.cpu["max_mhz"], facts.cpu["turbo"]) == ("performance", "800", "3000", "off")
    assert facts.cpu["numa_nodes"] == "1"
    assert facts.network["eth0"] == "10000 Mbit/s, full duplex, MTU 9000"
    assert facts.system["virtualisation"] == "none"
    assert facts.system["cgroup_cpus"] == "1.5"


def test_idle_states_and_isolated_processors_are_described(tmp_path: Path) -> None:
    facts = host.this_host(machine(tmp_path, BARE_METAL))

    assert (facts.cpu["isolated"], facts.cpu["idle_driver"]) == ("1", "intel_idle")
    assert facts.cpu["idle_states"] == "POLL, C1, C1E, C10 (off)"
    changing = host.environment(tmp_path)
    assert (changing["idle_states"], changing["transparent_huge_pages"]) == ("POLL, C1, C1E, C10 (off)", "madvise")


def test_isolated_processors_are_none_if_their_list_is_empty_and_unknown_without_a_list(tmp_path: Path) -> None:
    assert host.this_host(machine(tmp_path / "none", CLOUD | {f"{CPU}/isolated": "\n"})).cpu["isolated"] == "none"
    assert "isolated" not in host.this_host(machine(tmp_path / "silent", CLOUD)).cpu


def test_container_in_a_virtual_machine_is_described_as_container_and_as_virtual_machine(tmp_path: Path) -> None:
    facts = host.this_host(machine(tmp_path, CLOUD | {".dockerenv": "", "sys/class/dmi/id/sys_vendor": "QEMU\n"}))

    assert facts.system["virtualisation"] == "container in a virtual machine (QEMU)"


def test_description_of_a_host_omits_properties_that_cannot_be_read(tmp_path: Path) -> None:
    facts = host.this_host(tmp_path)

    assert facts == Host(name="Unnamed CPU", source="read by tacholog host")


def test_existing_host_file_is_overwritten_only_with_the_option_replace(tmp_path: Path) -> None:
    file = tmp_path / "data/hosts/lab7.toml"

    first = run_tacholog_text("host", "--output", file)
    file.write_text(file.read_text() + 'notes = ["the rack by the window"]\n')
    second = run_tacholog_text("host", "--output", file)
    kept = file.read_text()
    third = run_tacholog_text("host", "--output", file, "--replace")

    assert (first.returncode, second.returncode, third.returncode) == (0, 2, 0)
    assert f"{file}: this host file exists already" in second.stderr
    assert "the rack by the window" in kept
    assert "the rack by the window" not in file.read_text()


def test_description_of_a_host_contains_no_names_and_no_addresses(tmp_path: Path) -> None:
    facts = repr(host.this_host(machine(tmp_path, CLOUD)))

    assert [secret for secret in ("build-17", "02:fc", "2024", "console") if secret in facts] == []


def test_cpu_that_is_switched_off_is_not_counted(tmp_path: Path) -> None:
    facts = host.this_host(machine(tmp_path, CLOUD | {f"{CPU}/cpu1/online": "0\n"}))

    assert facts.cpu["threads"] == "1"


def test_pseudonym_depends_only_on_the_machine(tmp_path: Path) -> None:
    one = host.this_host(machine(tmp_path / "one", CLOUD))
    same = host.this_host(machine(tmp_path / "same", CLOUD | {"proc/loadavg": "9.99 9.99 9.99 9/99 9999\n"}))
    other = host.this_host(machine(tmp_path / "other", BARE_METAL))

    assert host.pseudonym(one) == host.pseudonym(same) != host.pseudonym(other)
    assert host.pseudonym(one).startswith("host-")


def test_state_of_the_machine_includes_its_load_clock_rate_and_throttling(tmp_path: Path) -> None:
    assert host.moment(machine(tmp_path, BARE_METAL)).properties == {
        "load1": "0.15",
        "load5": "0.11",
        "load15": "0.10",
        "mhz": "800",
        "throttled": "3",
    }


def test_environment_states_the_commit_of_the_harness_and_whether_it_was_modified(tmp_path: Path) -> None:
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.org", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.org"}
    for command in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, env=os.environ | identity, check=True)

    clean = host.environment(machine(tmp_path, {}), checkout=tmp_path)

    assert len(clean["harness_git"]) == 40
    assert clean["harness_dirty"] == "no"
    (tmp_path / "new").write_text("")
    subprocess.run(["git", "add", "new"], cwd=tmp_path, check=True)
    assert host.environment(tmp_path, checkout=tmp_path)["harness_dirty"] == "yes"


def test_properties_of_this_machine_are_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    facts = host.this_host()

    write(tmp_path / "here.toml", facts)

    assert read_host(tmp_path / "here.toml") == facts
    assert facts.system["kernel"] == os.uname().release
