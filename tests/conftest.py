"""Fixtures of all tests: a home and a folder for each test, the built perftest, runs with hostile texts, and folders that are made once."""

from __future__ import annotations

import hashlib
import itertools
import os
import shlex
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import hypothesis.configuration
import msgspec
import pytest
from hypothesis import HealthCheck, settings
from msgspec import inspect
from tests import outside
from tests.built import PERFTEST
from tests.depth import NIGHTLY, tries
from tests.left_out import leave_out

from tacholog.folders import HAS_LOCKS
from tacholog.runs.manifest import Host, LogFile, Manifest, write

collect_ignore = ["saved"]  # Files that older versions wrote. They contain tests, but only `packaging/test_scaffold.py` runs these tests.

ROOT = Path(__file__).resolve().parent.parent
MOST_NAMED = 10

# A background job of a shell ignores Ctrl-C, and so would all programs that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Under nohup, SIGHUP is ignored, and all started programs would inherit this. With an empty handler, only the tests ignore it.
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


# The profile does not depend on the variable CI. In the gate, the inputs are the same each time. In the nightly tests, the inputs are new, and
# Hypothesis prints how to reproduce a failure. There is no deadline.
settings.register_profile("gate", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("nightly", settings.get_profile("gate"), derandomize=False, print_blob=True)
settings.load_profile(tries("gate", "nightly"))

#: Variables that control the tests. All other variables of Tacholog belong to the user, and are hidden from tests.
HOW_TO_TEST = {
    *("TACHOLOG_TESTS", "TACHOLOG_RANDOM", "TACHOLOG_NOTHING_LEFT_OUT"),
    *("TACHOLOG_CHROMIUM", "TACHOLOG_FETCHED", "TACHOLOG_SCREENSHOTS", "TACHOLOG_LATE_MS"),
}
_XDG = {"XDG_CACHE_HOME": ".cache", "XDG_CONFIG_HOME": ".config", "XDG_DATA_HOME": ".local/share", "XDG_STATE_HOME": ".local/state"}
_NUMBERS = itertools.count()


def _live_in(home: Path) -> None:
    os.environ.update({"HOME": str(home), **{name: f"{home}/{place}" for name, place in _XDG.items()}})


@pytest.fixture(scope="session", autouse=True)
def _place_of_the_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Use a separate home and folder, so that no test uses the user's settings, the user's caches or the checkout."""
    place = tmp_path_factory.mktemp("places", numbered=False)
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("TACHOLOG_") and name not in HOW_TO_TEST]:
            patch.delenv(name)
        for name in ("HOME", *_XDG):
            patch.setenv(name, "")
        patch.setenv("TACHOLOG_PLOTLY", "full")  # Otherwise, a small bundle of Plotly is downloaded for each new home.
        _live_in(place)
        patch.chdir(place)
        yield place


@pytest.fixture(autouse=True)
def _own_place(request: pytest.FixtureRequest, _place_of_the_session: Path) -> Iterator[None]:
    """Give each test a home with a separate cache. The working folder is its ``tmp_path`` if the test uses one, else its home."""
    home = _place_of_the_session / str(next(_NUMBERS))
    home.mkdir()
    _live_in(home)
    os.chdir(request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else home)
    yield
    os.chdir(_place_of_the_session)
    _live_in(_place_of_the_session)
    try:
        home.rmdir()
    except OSError:
        shutil.rmtree(home, ignore_errors=True)


_BEFORE = pytest.StashKey[tuple[set[str], set[str]]]()
_APPEARED = pytest.StashKey[tuple[set[str], set[str]]]()


def pytest_configure(config: pytest.Config) -> None:
    """Record the files in the checkout. Before that, set the folder of Hypothesis, which would otherwise be in the checkout."""
    hypothesis.configuration.set_hypothesis_home_dir(config.rootpath / "build/pytest/hypothesis")
    if not hasattr(config, "workerinput"):
        config.stash[_BEFORE] = (outside.files(), outside.names_at_home())


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fail if a file appeared outside of the folders of the tests."""
    if before := session.config.stash.get(_BEFORE, None):
        appeared = outside.files() - before[0]
        session.config.stash[_APPEARED] = (appeared, outside.names_at_home() - before[1])
        if appeared and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    """Print the names of files that appeared in forbidden folders, and the command that runs a failed test alone."""
    yield
    for title, paths in zip(
        ("failed: files appeared outside of the tests' folders", "appeared in the user's home, by a test or by another program"),
        config.stash.get(_APPEARED, ()),
        strict=False,
    ):
        if paths:
            terminalreporter.section(title)
        for path in sorted(paths)[:MOST_NAMED]:
            terminalreporter.write_line(path)
    failed = dict.fromkeys(report.nodeid for kind in ("failed", "error") for report in terminalreporter.stats.get(kind, ()))
    if failed:
        terminalreporter.section("to run a test that failed alone")
    for name in [*failed][:MOST_NAMED]:
        nox_session = "browser" if name.startswith("tests/browser/") else "tests"
        terminalreporter.write_line(f"{'TACHOLOG_TESTS=nightly ' if NIGHTLY else ''}nox -s {nox_session} -- {shlex.quote(name)}")


@pytest.fixture(scope="session")
def checkout() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def perftest() -> Path:
    """Return the path of the perftest that TACHOLOG_PERFTEST names. Tests that use this program have the marker ``core``."""
    if PERFTEST is None:
        leave_out("TACHOLOG_PERFTEST names no built perftest (nox -s tests builds one and names it; needs a C++ compiler)")
    return PERFTEST


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return a function that makes a folder with a given name, and returns the folder.

    The returned function takes a name and a second function, which fills the new folder. The second function is called only once for all test
    processes. Tests must not change the folder.
    """
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, finished = shared / name, shared / f"{name}.finished"
        with (shared / f"{name}.lock").open("w") as lock:
            if HAS_LOCKS:
                import fcntl

                fcntl.flock(lock, fcntl.LOCK_EX)  # One process makes the folder, and the others wait. The lock of a dead process is released.
            if not finished.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                finished.touch()
        return folder

    return made


#: Fixtures that build a site. Tests that use one get the marker ``site``.
SITES = {"site", "sites", "built", "copied", "page"}
#: Files with long waits for real tools and clusters. A single process runs all tests of a file.
LONGEST = {"test_tools.py", "test_work.py", "test_over_ssh_failures.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a built site. Run the longest files first, so that they do not run alone at the end."""
    for item in items:
        if SITES & set(getattr(item, "fixturenames", ())):
            item.add_marker("site")
    items.sort(key=lambda item: item.path.name not in LONGEST and "packaging" not in item.keywords)


#: Texts that try to break out of each context in pages, templates, directives and terminals.
HOSTILE = (
    "S\n```\n<script>document.title='PWNED'</script>\n",
    "\"><img src=x onerror=\"document.title='PWNED'\"> ' ]]> --> {{ 7*7 }} {% raw %} \u202e \x1b]0;PWNED\x07 \x00 \x9b31m %41 &lt; &#60; \U0001f600",
    "[x](javascript:document.title='PWNED') ![y](z) <http://evil.test> `code` **b** # | --- {ref}`x` $m$ :::{note}\n~~~ https://evil.test _e_ \\",
    '  - 1. it\'s "y": #2\n:system: other\n---\n% comment\n(target)=\n    ' + "x" * 300,
    "</script></style></title><svg onload=document.title='PWNED'> href=\"doc:index root:x {toctree} ${7*7} @import",
)
_FILE_NAME = "a`<b onclick=x>\"'&#{{ 7 }}[x](y).log"
RunsOf = Callable[[Path, Sequence[str]], Path]


@pytest.fixture(scope="session")
def hostile() -> tuple[str, ...]:
    """These texts contain markup, escapes and commands, which no output may execute."""
    return HOSTILE


@pytest.fixture(scope="session")
def runs_of() -> RunsOf:
    """A function that writes a run and host files for each given text, with the text in each text field."""
    return _write_runs


def _write_runs(root: Path, texts: Sequence[str]) -> Path:
    log = (ROOT / "docs/example/data/latency-udp/perftest.log").read_bytes()
    for number, text in enumerate(texts):
        host = f"{number} {text.replace('/', '_').replace(chr(0), '')[:60]}"
        lines = log + f"{' '.join(text.split(chr(10)))}\n".encode()
        for name in ("1", "2", "failed"):
            folder = root / f"{number}-{name}"
            folder.mkdir(parents=True)
            (folder / _FILE_NAME).write_bytes(lines)
            logs = (LogFile(file=_FILE_NAME, sha256=hashlib.sha256(lines).hexdigest()),)
            status = "failed" if name == "failed" else "ok"
            said = {"schema": 1, "system": text, "release": f"{text} {name}", "host": host, "published": True, "status": status, "logs": logs}
            write(folder / "run.toml", msgspec.structs.replace(_filled(Manifest, text), **said))
        (root / "hosts").mkdir(exist_ok=True)
        write(root / "hosts" / f"{host}.toml", msgspec.structs.replace(_filled(Host, text), published=True))
    return root


def _filled(kind: type[Any], text: str) -> Any:  # noqa: ANN401 - of that kind
    return msgspec.convert(_value(inspect.type_info(kind), text), kind)


def _value(kind: inspect.Type, text: str) -> Any:  # noqa: ANN401 - whatever the schema asks for
    said: Any = text
    match kind:
        case inspect.StructType(fields=fields):
            said = {field.encode_name: _value(field.type, text) for field in fields}
        case inspect.Metadata(type=inner):
            said = _value(inner, text)
        case inspect.UnionType(types=types):
            said = next(_value(one, text) for one in types if not isinstance(one, inspect.NoneType))
        case inspect.DictType(key_type=key, value_type=value):
            said = {_value(key, text): _value(value, text)}
        case inspect.VarTupleType(item_type=item):
            said = [_value(item, text)]
        case inspect.LiteralType(values=values):
            said = values[0]
        case inspect.StrType(pattern=pattern) if pattern and "{64}" in pattern:
            said = "0" * 64
        case inspect.StrType(pattern=pattern) if pattern and "/" in pattern:
            said = "a.log"
        case inspect.StrType(pattern=pattern) if pattern and "A-Z" in pattern:
            said = "label"
        case inspect.StrType(max_length=longest) if longest:
            said = text[:longest]
        case inspect.BoolType():
            said = True
        case inspect.IntType() | inspect.FloatType():
            said = 1
    return said
