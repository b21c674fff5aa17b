"""Reading logs in several processes or on a cluster gives the same result as in one process. A lost process affects only the logs that it read."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from tests.left_out import leave_out
from tests.small_runs import FIRST, LINE, add_run, tables
from tests.waiting import LIMIT_S, until

from tacholog.errors import TachologError
from tacholog.store.cache import Cache
from tacholog.store.load import load
from tacholog.store.pool import Cluster, PoolLost, Processes, Work


def runs(root: Path, count: int) -> None:
    for number in range(count):
        add_run(root / f"{number:04d}", FIRST + number)


POISONED = """
import os, time
from tacholog.formats.kit import Detected
SYSTEM, TOOL, DIALECTS, DEFINITIONS = "x", "x", (), {}
def detect(head): return Detected("poison" in head, "a line with 'poison'")
def parse(lines):
    for line in lines:
        if "hang" in line.text: time.sleep(3600)
        if "die" in line.text: os.kill(os.getpid(), 9)
        if "print" in line.text: print("what a format prints")
        yield from ()
"""
READ = """
import json
from pathlib import Path
from tacholog.store.cache import Cache
from tacholog.store.load import load
from tacholog.store.pool import Work
if __name__ == "__main__":
    found = load([Path("data")], work=Work(2, cache=Cache(Path("cache"))))
    values = found.results[found.results["metric"] == "messages_received"]
    print(json.dumps([values["value"].tolist(), found.problems[["run", "log", "reason"]].to_numpy().tolist()]))
"""


@pytest.fixture
def poisoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A format of a stranger hangs, or ends the process in which it runs."""
    folder = tmp_path / "installed"
    (folder / "poisoned_format-1.0.dist-info").mkdir(parents=True)
    (folder / "poisoned_format.py").write_text(POISONED)
    (folder / "poisoned_format-1.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: poisoned-format\nVersion: 1.0\n")
    (folder / "poisoned_format-1.0.dist-info" / "entry_points.txt").write_text("[tacholog.formats]\npoisoned = poisoned_format\n")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]))


def read_in_processes(folder: Path) -> tuple[list[float], list[list[str]], str]:
    """Return the numbers and the problems of the runs in a folder, and the text on standard error."""
    (folder / "read.py").write_text(READ)
    done = subprocess.run([sys.executable, "read.py"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    values, problems = json.loads(done.stdout)
    return values, problems, done.stderr


@pytest.mark.usefixtures("poisoned")
def test_logs_that_kill_their_reader_affect_only_themselves(tmp_path: Path) -> None:
    runs(tmp_path / "data", 300)
    add_run(tmp_path / "data/0007", "poison: die\n")
    add_run(tmp_path / "data/0250x", 1, "poison: die too\n", "poison: print\n")

    values, problems, printed = read_in_processes(tmp_path)

    assert len(values) == 300
    assert problems[0] == ["0007", "sub.log", "the process that read it ended (SIGKILL)"]
    assert ["0250x", "sub1.log", "the process that read it ended (SIGKILL)"] in problems
    assert [(run, log) for run, log, _ in problems] == [("0007", "sub.log"), ("0250x", "sub1.log"), ("0250x", "sub2.log")]
    assert "what a format prints" in printed


def test_logs_are_read_in_this_process_if_no_other_process_can_be_started(tmp_path: Path) -> None:
    runs(tmp_path / "data", 300)
    # A new process first imports the program. In this test, the import ends the new process.
    unguarded = READ.replace('if __name__ == "__main__":', "if __name__ == '__main__' or sys.exit():").replace("import json", "import json, sys")
    (tmp_path / "read.py").write_text(unguarded.replace("Work(2,", "Work(2, warned=lambda text: print(text, file=sys.stderr),"))

    done = subprocess.run([sys.executable, "read.py"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[0] == [FIRST + number for number in range(300)]
    assert "some logs are read in this process, where a log that hangs stops everything" in done.stderr


class Impatient:
    """Reads in this process, and times out for runs with a log that hangs."""

    processes, is_remote = 2, False

    def submit(self, task: Any, _timeout_s: float) -> Future[Any]:  # noqa: ANN401 - a task of any kind
        answer: Future[Any] = Future()
        if all((Path(run.folder) / "sub.log").read_text() != "poison: hang\n" or 0 in run.lost for run in task.args[0]):
            answer.set_result(task())
        else:
            answer.set_exception(TimeoutError())
        return answer

    def close(self) -> None:
        pass


def test_log_that_hangs_affects_only_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.store.pool.Processes", lambda _count, _warned: Impatient())
    runs(tmp_path / "data", 300)
    add_run(tmp_path / "data/0007", "poison: hang\n")
    add_run(tmp_path / "data/0008", "poison: hang\n", 7)

    found = load([tmp_path / "data"], work=Work(2, cache=Cache(tmp_path / "cache")))

    assert found.problems[["run", "log", "reason"]].to_numpy().tolist() == [
        [name, "sub.log", "reading it took too long: it was not done after 300 s"] for name in ("0007", "0008")
    ]
    assert len(found.results[found.results["metric"] == "messages_received"]) == 299


def test_task_that_takes_too_long_is_ended() -> None:
    pool = Processes(1)

    with pytest.raises(TimeoutError):
        pool.submit(signal.pause, 0.1).result()
    assert pool.submit(partial(sum, (1, 2)), LIMIT_S).result() == 3
    pool.close()


def test_task_of_a_killed_process_raises_an_error_and_the_next_task_is_done() -> None:
    pool = Processes(1)
    killed = pool.submit(partial(signal.raise_signal, signal.SIGKILL), LIMIT_S)

    with pytest.raises(Exception, match="Abnormal termination"):
        killed.result()
    assert pool.submit(partial(sum, (1, 2)), LIMIT_S).result() == 3
    pool.close()


def test_several_processes_give_the_same_tables_as_one_process_and_put_each_run_into_the_cache(tmp_path: Path) -> None:
    runs(tmp_path / "data", 400)
    work, again = Work(2, cache=Cache(tmp_path / "several")), Work(1, cache=Cache(tmp_path / "several"))

    alone = tables(load([tmp_path / "data"], work=Work(1, cache=Cache(tmp_path / "one"))))

    assert tables(load([tmp_path / "data"], work=work)) == alone
    assert (work.tally.read, work.tally.cached) == (400, 0)
    assert tables(load([tmp_path / "data"], work=again)) == alone
    assert (again.tally.read, again.tally.cached) == (0, 400)


def test_tables_of_a_large_log_do_not_depend_on_processes_or_on_the_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.store.pool._WORTH_PROCESSES", (1, 1))
    sizes = [(number, FIRST * number) for number in range(1, 20_001)]
    lines = [LINE.replace("   32", f"{size:5d}").replace("664.2", f"{2594706 * size * 8 / 1e6:.1f}").format(received) for size, received in sizes]
    add_run(tmp_path / "data/run", "".join(lines))
    add_run(tmp_path / "data/small", 1)

    here = load([tmp_path / "data"], work=Work(1, cache=Cache(tmp_path / "cache")))
    again, elsewhere = Work(1, cache=Cache(tmp_path / "cache")), Work(2, cache=Cache(tmp_path / "other"))

    results = here.results[here.results["metric"] == "messages_received"]
    assert list(zip(results["payload_bytes"], results["value"], strict=True)) == [*sizes, (32, 1)]
    assert tables(load([tmp_path / "data"], work=again)) == tables(here)
    assert (again.tally.read, again.tally.cached) == (0, 2)
    assert tables(load([tmp_path / "data"], work=elsewhere)) == tables(here)


def test_single_run_is_read_without_further_processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacholog.store.pool._WORTH_PROCESSES", (1, 1))
    monkeypatch.setattr("tacholog.store.pool.Processes", lambda *_: pytest.fail("a process was started"))
    add_run(tmp_path / "data/run", FIRST)

    found = load([tmp_path / "data"], work=Work(2, cache=Cache(tmp_path / "cache")))

    assert (found.results["metric"] == "messages_received").sum() == 1


class Running(NamedTuple):
    """A scheduler with two workers."""

    scheduler: subprocess.Popen[bytes]
    address: str
    workers: list[subprocess.Popen[bytes]]


def needs_dask() -> None:
    if find_spec("distributed") is None:
        leave_out("the package distributed is not installed")


@contextmanager
def cluster(folder: Path, patch: pytest.MonkeyPatch, connect_s: int = LIMIT_S) -> Iterator[Running]:
    """Start a cluster, and yield it when the scheduler and two workers are registered."""
    patch.setattr("tacholog.store.pool._CONNECT_S", connect_s)
    distributed: Any = import_module("distributed")
    file = folder / "scheduler.json"
    quiet = {**os.environ, "DASK_DISTRIBUTED__LOGGING__DISTRIBUTED": "critical"}

    def start(*words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-m", *words, "--scheduler-file", str(file)], env=quiet, cwd=folder, stderr=subprocess.DEVNULL)

    processes = [start("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--no-jupyter")]
    try:
        until(lambda: processes[0].poll() is not None or (file.exists() and file.read_text().endswith("}")), "the scheduler wrote its address")
        assert processes[0].poll() is None
        address = json.loads(file.read_text())["address"]
        own = ("--local-directory", str(folder))
        processes += [start("distributed.cli.dask_worker", "--no-nanny", "--nthreads", "1", "--no-dashboard", *own) for _ in range(2)]
        with distributed.Client(address, timeout=LIMIT_S, set_as_default=False) as client:
            client.wait_for_workers(2, timeout=LIMIT_S)
        yield Running(processes[0], address, processes[1:])
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()


@contextmanager
def without_workers(folder: Path, monkeypatch: pytest.MonkeyPatch, said: list[str]) -> Iterator[Cluster]:
    """Yield a connection to a cluster whose workers ended after the connection was made."""
    with cluster(folder, monkeypatch) as running:
        pool = Cluster(running.address, said.append)
        for worker in running.workers:
            worker.kill()
            worker.wait()
        yield pool
        pool.close()


@pytest.fixture
def soon_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock advances by 20 seconds each time it is read."""
    monkeypatch.setattr("tacholog.store.pool._LOOK_S", 0.1)
    monkeypatch.setattr("tacholog.store.pool.time", SimpleNamespace(monotonic=count(0, 20).__next__))


def test_cluster_gives_the_result_of_one_process_even_if_a_worker_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    runs(tmp_path / "data", 2500)
    of_cluster = Cache(tmp_path / "cluster")
    alone = tables(load([tmp_path / "data"], work=Work(1, cache=Cache(tmp_path / "one"))))
    killed: list[int] = []

    with cluster(tmp_path, monkeypatch) as running:

        def kill_one(done: int, total: int) -> None:
            if not killed and done < total:
                running.workers[0].kill()
                killed.append(done)

        work = Work(1, running.address, cache=of_cluster, progress=kill_one)
        found = tables(load([tmp_path / "data"], work=work))

    assert len(killed) == 1
    assert work.tally.read == 2500
    assert found == alone
    again = Work(1, cache=of_cluster)
    assert tables(load([tmp_path / "data"], work=again)) == alone
    assert (again.tally.read, again.tally.cached) == (0, 2500)


@pytest.mark.nightly
@pytest.mark.usefixtures("soon_given_up")
# ``connect_s``: how long the client tries to reach a lost scheduler.
@pytest.mark.parametrize(("lost", "connect_s"), [("all workers", LIMIT_S), ("the scheduler", LIMIT_S)])
def test_logs_that_a_lost_cluster_did_not_read_are_read_in_this_process(
    tmp_path: Path, lost: str, connect_s: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    needs_dask()
    runs(tmp_path / "data", 1500)
    alone = tables(load([tmp_path / "data"], work=Work(1, cache=Cache(tmp_path / "one"))))
    said: list[str] = []

    with cluster(tmp_path, monkeypatch, connect_s) as running:

        def kill(_done: int, _total: int) -> None:
            for process in running.workers if lost == "all workers" else [running.scheduler]:
                process.kill()

        found = tables(load([tmp_path / "data"], work=Work(1, running.address, cache=Cache(tmp_path / "cluster"), progress=kill, warned=said.append)))

    assert found == alone
    assert len(said) < 2  # There may be no message, because the workers may have finished before they were killed.
    assert all(text.startswith("--cluster tcp://") and text.endswith("; the remaining logs are read on this machine") for text in said)


@pytest.mark.nightly
@pytest.mark.usefixtures("soon_given_up")
def test_task_sent_while_the_cluster_is_given_up_gets_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    said: list[str] = []
    with without_workers(tmp_path, monkeypatch, said) as pool:
        send = pool._client.submit  # noqa: SLF001

        def send_slowly(*task: Any, **options: Any) -> Any:  # noqa: ANN401 - as Dask has it
            sent = send(*task, **options)
            until(lambda: said, "the cluster is given up")
            return sent

        monkeypatch.setattr(pool._client, "submit", send_slowly)  # noqa: SLF001
        with pytest.raises(PoolLost):
            pool.submit(os.getpid, LIMIT_S).result(LIMIT_S)


@pytest.mark.nightly
@pytest.mark.usefixtures("soon_given_up")
def test_error_is_raised_if_all_workers_are_killed_before_the_answer_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    with cluster(tmp_path, monkeypatch) as running:
        pool = Cluster(running.address)
        answered = pool._answer  # noqa: SLF001

        def lose_workers(*futures: Any) -> None:  # noqa: ANN401 - the future of the caller, and that of Dask
            for worker in running.workers:
                worker.kill()
                worker.wait()
            answered(*futures)

        monkeypatch.setattr(pool, "_answer", lose_workers)
        with pytest.raises(PoolLost):
            pool.submit(os.getpid, LIMIT_S).result(LIMIT_S)
        pool.close()


@pytest.mark.nightly
@pytest.mark.usefixtures("soon_given_up")
def test_cluster_without_workers_is_given_up_with_a_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    said: list[str] = []
    with without_workers(tmp_path, monkeypatch, said) as pool:
        for _ in range(2):
            with pytest.raises(PoolLost):
                pool.submit(partial(sum, (1, 2)), LIMIT_S).result()

    assert [text.partition(": ")[2] for text in said] == ["the cluster had no workers for 30 seconds; the remaining logs are read on this machine"]


def test_message_states_the_address_at_which_no_scheduler_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    needs_dask()
    monkeypatch.setattr("tacholog.store.pool._CONNECT_S", 1)
    runs(tmp_path / "data", 1)

    with pytest.raises(TachologError, match=r"^--cluster tcp://127.0.0.1:9: no scheduler"):
        load([tmp_path / "data"], work=Work(1, "tcp://127.0.0.1:9", cache=Cache(None)))
