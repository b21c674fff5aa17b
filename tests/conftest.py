"""What all tests share: where the checkout is, perftest if it has been built, runs of hostile texts, and folders that are made once."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from tacholog.runs.manifest import Host, LogFile, Manifest, write

ROOT = Path(__file__).resolve().parent.parent

# A shell's background job ignores Ctrl-C, and so would all programs that the tests start and interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
# Under nohup, a closed terminal is ignored, and would be by all programs too. With a handler that does nothing, the tests themselves still ignore it.
if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:
    signal.signal(signal.SIGHUP, lambda *_: None)


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the cache of the tests apart from the user's."""
    before = os.environ.get("TACHOLOG_CACHE")
    os.environ["TACHOLOG_CACHE"] = str(tmp_path_factory.getbasetemp() / "tacholog-cache")
    yield
    os.environ.pop("TACHOLOG_CACHE")
    if before is not None:
        os.environ["TACHOLOG_CACHE"] = before


@pytest.fixture(scope="session")
def checkout() -> Path:
    """The root of the source tree."""
    return ROOT


@pytest.fixture(scope="session")
def perftest() -> Path:
    """The C++ core that the session built and named in TACHOLOG_PERFTEST; tests that ask for it carry the marker ``core``."""
    named = os.environ.get("TACHOLOG_PERFTEST")
    if not named:
        pytest.skip("TACHOLOG_PERFTEST names no built perftest (nox -s tests builds one and names it; needs a C++ compiler)")
    return Path(named)


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, Callable[[Path], object]], Path]:
    """Return a folder of that name, filled by the function: once for all processes that run tests together. It must not be changed by tests."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own

    def made(name: str, make: Callable[[Path], object]) -> Path:
        folder, finished = shared / name, shared / f"{name}.finished"
        with (shared / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the first process makes it, the others wait here; a process that dies gives it back
            if not finished.exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                make(folder)
                finished.touch()
        return folder

    return made


#: Fixtures that build a site of Tacholog. Tests that use one get the marker ``site``.
SITES = {"site", "sites", "built", "copied", "page"}
#: Files that wait long for others, such as real tools and clusters. A process runs all tests of a file.
LONGEST = {"test_tools.py", "test_work.py", "test_over_ssh_failures.py"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a built site, and begin with those that take longest in one piece, so that they do not run alone at the end."""
    for item in items:
        if SITES & set(getattr(item, "fixturenames", ())):
            item.add_marker("site")
    items.sort(key=lambda item: item.path.name not in LONGEST and "packaging" not in item.keywords)


#: Texts that try to be something else in each place that a page, a template, a directive or a terminal has for them.
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
    """Texts that try to break out."""
    return HOSTILE


@pytest.fixture(scope="session")
def runs_of() -> RunsOf:
    """Write runs and machines that say one of the texts in every field of their schema, and are of a system of that name with two releases."""
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
    """Return a struct that says the text wherever its schema takes one."""
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
