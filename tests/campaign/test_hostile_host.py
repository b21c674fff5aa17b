"""A host that sends wrong answers over ssh. A wrong answer gives an error message of one line or an unknown value.

It causes no traceback and no endless wait.

Here, ``ssh`` is a program of the test. It runs the real watchdog in a shell on this machine, and changes one kind of its answers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.waiting import LIMIT_S

from tacholog.campaign.machines.machine import HostEntry, Job
from tacholog.campaign.machines.remote import RemoteMachine
from tacholog.errors import TachologError

_SSH = """#!{python}
import os, re, subprocess, sys
command = sys.argv[-1]
mark = re.search(r"tacholog-[0-9a-f]+", command)[0]
shell = subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE)
seen = 0
for line in shell.stdout:
    text = line.decode()
    if text.startswith(mark + " {kind}"):
        seen += 1
        if seen >= {first}:
            text = {answer!r}.replace("MARK", mark)
    while True:
        os.write(1, text.encode())
        if not {endless} or seen < {first}:
            break
"""


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., RemoteMachine]:
    """Return a function that connects to a host whose answers of one kind are wrong.

    The parameter ``kind`` names this kind, and the parameter ``answer`` is the wrong answer. ``first`` is the number of the first wrong answer of
    this kind, because earlier answers stay correct.
    """

    def connect(kind: str, answer: str, first: int = 1, *, endless: bool = False) -> RemoteMachine:
        ssh = tmp_path / "bin" / "ssh"
        ssh.parent.mkdir()
        ssh.write_text(_SSH.format(python=sys.executable, kind=kind, answer=answer, first=first, endless=endless))
        ssh.chmod(0o755)
        monkeypatch.setenv("PATH", str(ssh.parent), prepend=":")
        return RemoteMachine("lab", HostEntry(ssh="lab"))

    return connect


@pytest.mark.parametrize("number", ["\u00b2", "-5", "9" * 5000, "x", ""])
def test_size_that_is_not_a_number_is_reported_as_an_error_in_one_line(host: Callable[..., RemoteMachine], number: str) -> None:
    with pytest.raises(TachologError, match="host lab: a file in its temporary folder is gone"):
        host("size", f"MARK size {number}\n")


@pytest.mark.parametrize("code", ["\u00b2", "9" * 5000])
def test_exit_code_that_is_not_a_number_counts_as_a_failure(host: Callable[..., RemoteMachine], code: str) -> None:
    with pytest.raises(TachologError, match="host lab: its properties could not be read"):
        host("ended", f"MARK ended 1 {code}\n")


@pytest.mark.parametrize(
    "used",
    [
        "/proc/1/task/1/status:VmHWM: \u00b2 times",
        f"times 0m0s 0m0s {'9' * 400}m0s 0m{'9' * 400}s",
        f"/proc/1/task/1/status:VmHWM: {'9' * 30}",
    ],
)
def test_resources_of_a_process_are_unknown_if_the_host_sends_impossible_numbers(
    host: Callable[..., RemoteMachine], tmp_path: Path, used: str
) -> None:
    machine = host("used", f"MARK used {used}\n")
    try:
        running = machine.start(Job(name="x", argv=("true",), program="/bin/true", folder=tmp_path, log="x.log", errors="x.stderr.txt"))
        assert running.wait(LIMIT_S)
        resources = running.collect().resources
    finally:
        machine.close()
    assert resources is not None
    assert (resources.max_rss_bytes, resources.user_cpu_ns) == (None, None)


def test_remote_check_with_an_invalid_answer_has_an_unknown_result(host: Callable[..., RemoteMachine]) -> None:
    machine = host("checked", "MARK checked 2 \u00b2\n")
    try:
        assert machine.check(["true"]).result(LIMIT_S) is None
    finally:
        machine.close()


def test_host_is_disconnected_if_it_sends_endless_answers_without_a_request(host: Callable[..., RemoteMachine]) -> None:
    with pytest.raises(TachologError, match=r"host lab: (it sent answers without a request|a file in its temporary folder is gone)"):
        host("size", "MARK x\n" * 1000, endless=True)
