"""Read the properties of a remote host. A script on the host prints files, and Tacholog reads copies of them like files of this machine."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from tests.left_out import leave_out

from tacholog.campaign.machines.remote_facts import FACTS, facts_from
from tacholog.errors import TachologError
from tacholog.runs import host


@pytest.mark.parametrize("shell", [("dash",), ("bash", "--posix"), ("busybox", "sh")], ids=" ".join)
def test_script_for_remote_hosts_reports_the_same_properties_as_tacholog_in_each_shell(shell: tuple[str, ...]) -> None:
    if shutil.which(shell[0]) is None:
        leave_out(f"needs {shell[0]}")

    printed = subprocess.run([*shell, "-c", FACTS, "sh", "all"], capture_output=True, text=True, check=True)

    facts = facts_from(printed.stdout)
    here = {name: text for name, text in host.environment().items() if name != "tacholog_python"}
    assert printed.stderr == ""
    assert facts.describe() == host.this_host()
    assert facts.environment() == here
    assert facts.moment().properties.keys() == host.moment().properties.keys()
    there, at_home = facts.moment().processor_time, host.moment().processor_time
    assert there is not None
    assert at_home is not None
    assert there.processors == at_home.processors


@pytest.mark.parametrize(
    "line",
    [
        *("../outside:x", "/etc/passwd:x", "proc/../../outside:x", "sys//x:x", "home/user/x:x", "proc/a\x00b:x", "sys/...:x"),
        *("is ../outside", "is /tmp/outside", "is home", "driver sys/class/net/e/device/driver ../../outside", "driver ../x name"),
        *("stated ../x y", "stated name", "", "no colon and no word"),
    ],
)
def test_report_of_a_remote_host_is_ignored_if_it_names_a_file_outside_of_the_expected_folder(line: str) -> None:
    facts = facts_from(line)

    assert (dict(facts.files), facts.folders, dict(facts.drivers), dict(facts.answers)) == ({}, frozenset(), {}, {})


def test_host_that_names_one_path_as_file_and_as_folder_is_refused() -> None:
    with pytest.raises(TachologError, match="cannot be written"):
        facts_from("sys/a:text\nsys/a/b:text\n").describe()


def test_host_that_reports_too_many_files_is_refused() -> None:
    with pytest.raises(TachologError, match="more than 20000 files"):
        facts_from("".join(f"sys/file{number}:x\n" for number in range(20001)))


def test_host_reports_only_the_mitigations_from_the_kernel_command_line() -> None:
    printed = subprocess.run(["sh", "-c", FACTS, "sh", "all"], capture_output=True, text=True, check=True).stdout

    assert [line for line in printed.splitlines() if line.startswith("proc/cmdline") and "mitigations=" not in line] == []
