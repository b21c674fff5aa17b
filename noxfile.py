"""What can be run in a checkout: `nox -l` lists it. Sessions only name commands; the logic lives in the package, under test."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.11.12"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
# One environment for every session that imports the package: it is half a gigabyte, and nox would make one for each.
SHARED = Path(".nox/shared").absolute()
SECOND_TRY = "A SECOND TRY for the tests that failed above: they measure, and other work on this machine can spoil that"
PARSERS = "parsers"
PERFTEST = Path("build/bench/release/perftest")


@nox.session(venv_backend="none")
def core(session: nox.Session) -> None:
    """Build perftest, the C++ core (build/bench/release/perftest)."""
    if not _compiler():
        session.error("no C++ compiler found: install g++ (11 or newer) or clang (14 or newer), or name one in CXX")
    _build(session, "release")


@nox.session(venv_backend="none", requires=["core"])
def bench(session: nox.Session) -> None:
    """Measure for about two minutes and keep the logs in build/runs (-- --release X: keep them for publication too)."""
    _install(session, "package")
    session.run(_tool("tacholog"), "bench", "bench/campaigns/quick.toml", "--output", "build/runs", *session.posargs)


@nox.session(venv_backend="none")
def report(session: nox.Session) -> None:
    """Build the site from data/ and the newest runs (build/site/index.html); needs no compiler."""
    _install(session, "package")
    session.run(_tool("tacholog"), "report")  # no posargs: in `nox -s bench report -- X` they are the campaign's


@nox.session(venv_backend="none", default=False)
def publish(session: nox.Session) -> None:
    """Build the site and publish it beside its older versions (-- --release LABEL --output DIR, or --branch gh-pages --push)."""
    _install(session, "package")
    if not session.posargs:
        session.error("say what and where: nox -s publish -- --release LABEL --output DIR (or --branch gh-pages --push)")
    session.run(_tool("tacholog"), "report")
    session.run(_tool("tacholog"), "publish", *session.posargs)


@nox.session(venv_backend="none", default=False)
def diff(session: nox.Session) -> None:
    """Compare two releases, folders of runs or raw logs (-- OLD NEW; -- --help)."""
    _install(session, "package")
    _end_with(session, _tool("tacholog"), "diff", *(session.posargs or ["--help"]))


@nox.session(venv_backend="none", default=False)
def ab(session: nox.Session) -> None:
    """Run two builds or git revisions in interleaved pairs and compare them (-- OLD NEW [CAMPAIGN]; -- --help)."""
    _install(session, "package", "core")
    _end_with(session, _tool("tacholog"), "ab", *(session.posargs or ["--help"]))


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Run all tests but the browser's (-- parsers: only those that take no compiler and no long time; or arguments for pytest)."""
    _install(session, "package", "tests")
    but_browser = "--ignore=tests/browser"  # its fixtures need Playwright
    if session.posargs and session.posargs[0] == PARSERS:
        session.log("left out: the C++ core, and what runs it, builds sites or makes environments")
        quick = "not core and not measures and not site and not packaging"
        _pytest(session, but_browser, "-m", quick, *_at_once(), *session.posargs[1:])
        return
    if _compiler():
        _build(session, "release")
    else:
        session.warn("left out: the C++ core's tests and those that run perftest, because no C++ compiler was found")
    session.log("left out: the tests in a browser (nox -s browser), because they need Chromium")
    if session.posargs:
        _pytest(session, but_browser, *session.posargs)
        return
    if _compiler():
        _ctest(session, "release", "ignore", "long")  # without GoogleTest there are none, and the build has said so
    _pytest(session, but_browser, "-m", "not measures", *_at_once())
    _pytest_twice(session, but_browser, "-m", "measures")


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Check every page of a whole site in Chromium, and with the W3C's checker where there is Java (TACHOLOG_SCREENSHOTS=1: keep pictures)."""
    chromium = _chromium(session)
    _install(session, "package", "browser")
    at_once = f"--numprocesses={os.cpu_count() or 1}"
    _pytest(session, "tests/browser", at_once, "--dist=worksteal", *session.posargs, env={"TACHOLOG_CHROMIUM": chromium})


@nox.session(venv_backend="none", default=False)
def images(session: nox.Session) -> None:
    """Make the screenshots of the README again (docs/images)."""
    chromium = _chromium(session)
    _install(session, "package", "browser")
    session.run(_tool("python"), "docs/images/make.py", env={"TACHOLOG_CHROMIUM": chromium})


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and spelling."""
    session.install(*nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("codespell")
    sources = sorted(str(path) for path in Path("bench").rglob("*.[ch]pp"))
    try:
        session.run("clang-format", "--dry-run", "--Werror", *sources, log=False)
    except CommandFailed:
        session.error(f"{session.bin}/clang-format -i FILE mends a file that is named above")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types, the tests' and this file's too."""
    _install(session, "package", "types")
    session.run(_tool("mypy"))
    example = "templates/format-package"  # with the settings that come with it, as its future owner would
    session.run(_tool("mypy"), f"--config-file={example}/pyproject.toml", "--cache-dir=build/mypy-example", example)


@nox.session(venv_backend="none", default=False)
def sanitizers(session: nox.Session) -> None:
    """Run the C++ tests under the address and undefined-behaviour sanitizers, and those with several threads under the thread sanitizer."""
    for preset in session.posargs or ("asan", "tsan"):
        _build(session, preset)
        _ctest(session, preset, "error", "long|one-thread" if preset == "tsan" else "long")


@nox.session(venv_backend="none", default=False)
def long(session: nox.Session) -> None:
    """Deliver a million messages, and gigabytes, over networks that lose, double and reorder: two minutes and more."""
    _build(session, "release")
    session.run(*_ctest_words("release", "error"), "--label-regex", "long", "--parallel", str(os.cpu_count() or 1))


@nox.session(venv_backend="none", default=False)
def fuzz(session: nox.Session) -> None:
    """Feed hostile bytes to every format and wire decoder, ten minutes each (-- SECONDS [NAME...], or check [NAME...] for the same few inputs as CI).

    Names are those of formats and decoders; formats, core and mutations name all of a kind. histories edits runs between builds of their site,
    and compares it with one that is built from nothing.
    """
    _install(session, "package", "fuzz", "tests")
    if _libfuzzer():
        _build(session, "fuzz", "fuzzers")
    else:
        session.warn("LEFT OUT: the fuzzers of the core's wire decoders, because there is no clang with libFuzzer (Debian: clang libclang-rt-14-dev)")
    seconds, *names = session.posargs or ["600"]
    others = {"mutations", "histories"}
    if not names or set(names) - others:
        session.run(_tool("python"), "tests/fuzz/run.py", seconds, *(name for name in names if name not in others))
    # Both by chance, so not in CI, where luck would decide whose change is red. The tests run a few histories, always the same.
    if "mutations" in names or (not names and seconds != "check"):
        session.run(_tool("pytest"), "-q", "tests/formats/test_every_format.py", env={"TACHOLOG_RANDOM": "10"})
    if "histories" in names or (not names and seconds != "check"):
        session.run(_tool("python"), "-m", "tests.fuzz.histories", seconds)


@nox.session(venv_backend="none", default=False, requires=["core"])
def perf(session: nox.Session) -> None:
    """Print measured performance beside its goals, as ratios from one run (-- [--rounds N] [--seconds S] [SECTION...])."""
    _install(session, "package")
    _build(session, "release", "perf_programs")
    session.run(_tool("python"), "tests/perf/run.py", *session.posargs)


def _chromium(session: nox.Session) -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        session.error("no Chromium found: install it (Debian: apt-get install chromium)")
    return found


def _compiler() -> str | None:
    return next(filter(None, (shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++"))), None)


def _libfuzzer() -> bool:
    """Whether clang++ is there, and its runtime for fuzzing, which Debian has in a package of its own."""
    clang = shutil.which("clang++")
    if clang is None:
        return False
    folder = subprocess.run([clang, "-print-resource-dir"], capture_output=True, check=True, text=True).stdout.strip()
    return any(Path(folder).glob("lib/*/libclang_rt.fuzzer*"))


def _build(session: nox.Session, preset: str, target: str = "all") -> None:
    """Configure and build the core with the cmake and ninja wheels."""
    _install(session, "core")
    path = {"PATH": f"{SHARED / 'bin'}{os.pathsep}{os.environ['PATH']}"}  # so that cmake finds ninja
    session.run(_tool("cmake"), "-S", "bench", "--preset", preset, env=path)
    session.run(_tool("cmake"), "--build", f"build/bench/{preset}", "--target", target, "--parallel", str(os.cpu_count() or 2), env=path)


def _ctest_words(preset: str, without_tests: str) -> list[str]:
    return [_tool("ctest"), "--test-dir", f"build/bench/{preset}", "--output-on-failure", f"--no-tests={without_tests}"]


def _ctest(session: nox.Session, preset: str, without_tests: str, left_out: str) -> None:
    """Run the core's tests but those with one of these labels.

    Only the tests that measure get a second try, one by one, because other work on the machine can spoil what they measure. What a
    sanitizer found is red at once there too: a race that shows once in two runs is a race.
    """
    words = _ctest_words(preset, without_tests)
    many = str(4 * (os.cpu_count() or 1))  # most tests wait more than they work
    session.run(*words, "--label-exclude", f"{left_out}|measures", "--parallel", many)
    measuring = [*words, "--label-regex", "measures"]
    try:
        session.run(*measuring, "--parallel", str(2 * (os.cpu_count() or 1)))
    except CommandFailed:
        report = Path("build/bench", preset, "Testing/Temporary/LastTest.log").read_text("utf-8", errors="replace")
        if re.search("Sanitizer|runtime error:", report):
            raise
        session.warn(SECOND_TRY)
        session.run(*measuring, "--rerun-failed")


def _pytest(session: nox.Session, *args: str, env: dict[str, str] | None = None) -> None:
    named = {"TACHOLOG_PERFTEST": str(PERFTEST.absolute())} if PERFTEST.is_file() else {}
    session.run(_tool("pytest"), *args, env={**named, **(env or {})})


def _pytest_twice(session: nox.Session, *args: str) -> None:
    """Run tests that measure, and those that failed once more."""
    try:
        _pytest(session, *args)
    except CommandFailed:
        session.warn(SECOND_TRY)
        _pytest(session, *args, "--last-failed", "--last-failed-no-failures=none")


def _at_once() -> list[str]:
    """Several processes, a file of tests to each; one more than processors, because many tests wait for programs that they started."""
    return [f"--numprocesses={1 + (os.cpu_count() or 1)}", "--dist=loadfile", "--no-loadscope-reorder"]


def _end_with(session: nox.Session, *words: str) -> None:
    """Run a command whose exit code says something, and end nox with it: a session that fails would make 1 of 2, 3, 4 and 5.

    An interrupted command ends by itself, after it has written down what it did; nox would give it half a second.
    """
    session.log(" ".join(words))
    with subprocess.Popen(words) as process:
        while process.poll() is None:
            with contextlib.suppress(KeyboardInterrupt):
                process.wait()
    if process.returncode:
        sys.exit(process.returncode)


def _tool(name: str) -> str:
    return str(SHARED / "bin" / name)


def _install(session: nox.Session, *parts: str) -> None:
    """Put the package ("package") and dependency groups into the shared environment, each once for a given pyproject.toml.

    Once, because pip takes seconds to find that nothing is to be done. Without bytecode, which halves the time; Python compiles what it imports.
    """
    if not (SHARED / "bin" / "python").exists():
        session.run(sys.executable, "-m", "venv", "--clear", str(SHARED))
    state = hashlib.sha256(Path("pyproject.toml").read_bytes()).hexdigest()
    for part in parts:
        stamp = SHARED / f"{part}.installed"
        if stamp.exists() and stamp.read_text() == state:
            continue
        wanted = ["--editable", ".[site]"] if part == "package" else nox.project.dependency_groups(PYPROJECT, part)
        session.run(_tool("python"), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *wanted)
        stamp.write_text(state)
