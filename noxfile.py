"""The nox sessions of a checkout; `nox -l` lists them. A session only names commands. The logic is in the package, which has tests."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import nox
from nox.command import CommandFailed

nox.needs_version = ">=2025.11.12"
nox.options.sessions = ["lint", "types", "tests"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
# One environment for every session that imports the package. It takes half a gigabyte, and nox would make one for each session.
SHARED = Path(".nox/shared").absolute()
#: What the tests of pages need from npm. It is fetched once, so that tests need no network.
FETCHED = Path("build/fetched").absolute()
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
#: What a release publishes: the distributions in dist/, and notes.md.
RELEASE = Path("build/release").absolute()
#: Makes the tests try more cases. Python, C++ and this file use the same variable.
NIGHTLY = {"TACHOLOG_TESTS": "nightly"}
SECOND_TRY = "A SECOND TRY for the tests that failed above: they measure, so other work on this machine can make them fail"
PARSERS = "parsers"
#: The tests that the gate compiles and runs with each sanitizer: those in which it can find the most errors.
GATE_OF_SANITIZER = {"asan": "memory", "tsan": "thread"}
#: CI sets this variable, because it installs everything. A test that would be left out, because something is missing, then fails.
#: Python, C++ and this file use the same variable.
NOTHING_LEFT_OUT = "TACHOLOG_NOTHING_LEFT_OUT"


@nox.session(venv_backend="none")
def core(session: nox.Session) -> None:
    """Build perftest, the C++ core, with our own transports (build/bench/release/perftest)."""
    _need_compiler(session)
    _build(session, "release", "perftest")


@nox.session(venv_backend="none", requires=["core"])
def bench(session: nox.Session) -> None:
    """Measure for about two minutes, and keep the logs in build/runs (-- --release X: also copy the logs of this release for publication)."""
    _install(session, "package")
    session.run(_tool("tacholog"), "bench", "bench/campaigns/quick.toml", "--output", "build/runs", *session.posargs)


@nox.session(venv_backend="none", default=False)
def middleware(session: nox.Session) -> None:
    """Build perftest with all installed middleware, and measure with each of them (-- CAMPAIGN [OPTION...]: run another campaign)."""
    _need_compiler(session)
    _install(session, "package")
    _build(session, "middleware", "perftest")
    campaign = session.posargs or ["bench/campaigns/middleware-quick.toml"]
    session.run(_tool("tacholog"), "bench", *campaign, "--perftest", _perftest("middleware"), "--output", "build/runs")


@nox.session(venv_backend="none")
def report(session: nox.Session) -> None:
    """Build the site from data/ and the newest runs (build/site/index.html); needs no compiler."""
    _install(session, "package")
    session.run(_tool("tacholog"), "report")  # without posargs: in `nox -s bench report -- X`, X is for bench


@nox.session(venv_backend="none", default=False)
def publish(session: nox.Session) -> None:
    """Build the site and publish it beside its older versions (-- --release LABEL --output DIR, or --branch gh-pages --push)."""
    _install(session, "package")
    if not session.posargs:
        session.error("state the label and the target: nox -s publish -- --release LABEL --output DIR (or --branch gh-pages --push)")
    session.run(_tool("tacholog"), "report")
    session.run(_tool("tacholog"), "publish", *session.posargs)


@nox.session(venv_backend="none", default=False)
def docs(session: nox.Session) -> None:
    """Build the documentation, with a search and a reference made from the code (build/docs/index.html)."""
    _install(session, "package")
    session.run(_tool("sphinx-build"), "--fail-on-warning", "--keep-going", "--quiet", "--fresh-env", "-d", "build/docs-trees", "docs", "build/docs")


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
    """Run the tests of the core and of the package (-- parsers: run only fast tests that need no compiler; -- ARGUMENTS: pass them to pytest)."""
    _install(session, "package", "tests")
    but_browser = "--ignore=tests/browser"  # the fixtures of these tests need Playwright
    if session.posargs and session.posargs[0] == PARSERS:
        session.log("left out: the tests of the C++ core, and tests that run it, build sites or make environments")
        _pytest(session, but_browser, "-m", "not nightly and not core and not site and not packaging", *_at_once(), *session.posargs[1:])
        return
    if _compiler():
        _build(session, "release")
    else:
        session.warn("left out: the C++ core's tests and those that run perftest, because no C++ compiler was found")
    session.log("left out: the tests in a browser (nox -s browser), and tests that take long (nox -s nightly)")
    if session.posargs:
        _pytest(session, but_browser, *session.posargs)
        return
    if _compiler():
        _ctest(session, "release", "--label-exclude", "nightly")
    _pytest(session, but_browser, "-m", "not nightly", *_at_once())


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Check a page of each kind in Chromium, and with the HTML checker of the W3C (TACHOLOG_SCREENSHOTS=FOLDER: keep screenshots)."""
    _install(session, "package", "browser")
    _fetch(session)
    _browser(session, *(session.posargs or ["tests/browser", "-m", "not nightly"]))


@nox.session(venv_backend="none", default=False)
def fetch(session: nox.Session) -> None:
    """Install and fetch everything that the other sessions need from registries, so that they run without a network."""
    _install(session, "package", "core", "tests", "types", "lint", "browser")
    _fetch(session)


@nox.session(venv_backend="none", default=False)
def images(session: nox.Session) -> None:
    """Make the screenshots of the README again (docs/images)."""
    chromium = _chromium(session)
    _install(session, "package", "browser")
    session.run(_tool("python"), "docs/images/make.py", env={"TACHOLOG_CHROMIUM": chromium})


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check style, format and spelling, and the workflows of CI."""
    _install(session, "lint")
    session.run(_tool("ruff"), "check")
    session.run(_tool("ruff"), "format", "--check")
    session.run(_tool("codespell"))
    session.run(_tool("zizmor"), "--offline", "--quiet", ".github", "action.yml")
    if shutil.which("go"):  # the PyPI package of actionlint would download a program from GitHub
        session.run("go", "run", ACTIONLINT, external=True)
    else:
        session.warn(f"LEFT OUT: {ACTIONLINT}, which needs Go")
    sources = sorted(str(path) for path in Path("bench").rglob("*.[ch]pp"))
    try:
        session.run(_tool("clang-format"), "--dry-run", "--Werror", *sources, log=False)
    except CommandFailed:
        session.error(f"{_tool('clang-format')} -i FILE corrects a file that is named above")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check the types in the package, in the tests and in this file."""
    _install(session, "package", "types")
    session.run(_tool("mypy"))
    example = "templates/format-package"  # checked with its own settings, because users copy this folder
    session.run(_tool("mypy"), f"--config-file={example}/pyproject.toml", "--cache-dir=build/mypy-example", example)


@nox.session(venv_backend="none", default=False)
def release(session: nox.Session) -> None:
    """Build and check everything that a release publishes (-- --check [TAG]); only .github/workflows/release.yml publishes it."""
    if session.posargs[:1] != ["--check"]:
        session.error("only a pushed tag publishes (CONTRIBUTING.md, Releases). To do everything except publishing: nox -s release -- --check [TAG]")
    _install(session, "release")
    shutil.rmtree(RELEASE, ignore_errors=True)
    notes = session.run(_tool("python"), ".ci/release.py", *session.posargs[1:], silent=True)
    session.run(_tool("python"), "-m", "build", "--outdir", str(RELEASE / "dist"))
    distributions = [str(path) for path in sorted((RELEASE / "dist").iterdir())]
    session.run(_tool("twine"), "check", "--strict", *distributions)
    [wheel] = [path for path in distributions if path.endswith(".whl")]
    session.run(_tool("check-wheel-contents"), wheel)
    for path in distributions:  # in a new environment, as users install them
        fresh = RELEASE.parent / "release-environment"
        session.run(sys.executable, "-m", "venv", "--clear", str(fresh), external=True)
        session.run(str(fresh / "bin/pip"), "install", "--quiet", "--disable-pip-version-check", path, external=True)
        version = session.run(str(fresh / "bin/tacholog"), "--version", silent=True, external=True)
        if PYPROJECT["project"]["version"] not in str(version).split():
            session.error(f"{path} states another version: {version}")
        session.run(str(fresh / "bin/tacholog"), "parse", "--strict", "docs/example/data/latency-udp/perftest.log", silent=True, external=True)
    (RELEASE / "notes.md").write_text(str(notes), encoding="utf-8")
    engines = [name for name in ("docker", "podman") if shutil.which(name)]
    if engine := next((name for name in engines if subprocess.run([name, "info"], capture_output=True, check=False).returncode == 0), None):
        for target in ("tacholog", "perftest"):
            session.run(engine, "build", "--file", "Containerfile", "--target", target, "--tag", f"{target}:checked", ".", external=True)
    else:
        session.warn("LEFT OUT: the container images, because neither docker nor podman works")
    session.log(f"everything that a tag publishes is in {RELEASE}")


@nox.session(venv_backend="none", default=False)
def sanitizers(session: nox.Session) -> None:
    """Run two groups of the core's tests: foreign bytes and shared memory (address sanitizer), and threads (thread sanitizer)."""
    for preset in session.posargs or GATE_OF_SANITIZER:
        _build(session, preset, f"{GATE_OF_SANITIZER[preset]}_tests")
        _ctest(session, preset, "--label-regex", GATE_OF_SANITIZER[preset])


@nox.session(venv_backend="none", default=False)
def fuzz(session: nox.Session) -> None:
    """Feed hostile bytes to every format and wire decoder, for ten minutes each, or as long as stated: -- SECONDS [NAME...].

    NAME is a format, a decoder, or a group: formats, core, mutations, histories. The group "histories" changes the runs of a site,
    builds the site again, and compares it with a site that is built from scratch.
    """
    _install(session, "package", "fuzz", "tests")
    if _libfuzzer():
        _build(session, "fuzz", "fuzzers")
    else:
        _left_out(session, "the fuzzers of the core's wire decoders: there is no clang with libFuzzer (Debian: clang libclang-rt-14-dev)")
    seconds, *names = session.posargs or ["600"]
    others = {"mutations", "histories"}
    if not names or set(names) - others:
        session.run(_tool("python"), "tests/fuzz/run.py", seconds, *(name for name in names if name not in others))
    if not names or "mutations" in names:
        session.run(_tool("pytest"), "-q", "tests/formats/test_every_format.py", env={"TACHOLOG_RANDOM": "10", **NIGHTLY})
    if not names or "histories" in names:
        session.run(_tool("python"), "-m", "tests.fuzz.histories", seconds)


@nox.session(venv_backend="none", default=False)
def nightly(session: nox.Session) -> None:
    """Run the tests that are too slow or too random to run for each change; takes hours (-- PART...; see NIGHTLY_PARTS).

    If a part fails, the next parts still run. The message of a failure contains the random seed, if there is one.
    """
    if unknown := sorted(set(session.posargs) - set(NIGHTLY_PARTS)):
        session.error(f"there is no part {', '.join(unknown)}; the parts are {', '.join(NIGHTLY_PARTS)}")
    _install(session, "package", "core", "tests", "browser", "fuzz")
    failed = []
    for name in session.posargs or NIGHTLY_PARTS:
        session.log(f"part {name}: {NIGHTLY_PARTS[name].__doc__}")
        began = time.monotonic()
        try:
            NIGHTLY_PARTS[name](session)
        except CommandFailed:
            failed.append(name)
        session.log(f"part {name} {'FAILED' if name in failed else 'passed'} after {time.monotonic() - began:.0f} s")
    if failed:
        session.error(f"failed: {', '.join(failed)} (nox -s nightly -- {' '.join(failed)})")


def _nightly_core(session: nox.Session) -> None:
    """All tests of the core, with all middleware, at full length."""
    _build(session, "middleware")
    _ctest(session, "middleware", "--label-exclude", "measures", env=NIGHTLY)
    words = ["--label-regex", "measures"]
    try:
        _ctest(session, "middleware", *words, env=NIGHTLY)
    except CommandFailed:
        session.warn(SECOND_TRY)
        _ctest(session, "middleware", *words, "--rerun-failed", env=NIGHTLY)


def _nightly_sanitizers(session: nox.Session) -> None:
    """All tests of the core under the address and undefined-behaviour sanitizers. Tests with several threads run under the thread sanitizer."""
    failed = []
    for preset in GATE_OF_SANITIZER:
        _build(session, preset)
        try:
            _ctest(session, preset, "--label-exclude", "long|memory|thread", env=NIGHTLY)  # bench_tests also contains the tests of the gate
        except CommandFailed:
            failed.append(preset)
    if failed:
        raise CommandFailed(f"tests failed under {', '.join(failed)}")


def _nightly_python(session: nox.Session) -> None:
    """Run all tests of the package except the browser tests, with all examples, seeds, environments and tools."""
    _build(session, "middleware")
    _pytest(session, "--ignore=tests/browser", *_at_once(), env={**NIGHTLY, "TACHOLOG_PERFTEST": _perftest("middleware")})


def _nightly_offline(session: nox.Session) -> None:
    """The tests of the package that run for each change, here without any network except loopback."""
    _build(session, "release")
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    _pytest(session, "--ignore=tests/browser", "-m", "not nightly", *_at_once(), before=alone)


def _nightly_browser(session: nox.Session) -> None:
    """Run the browser tests on every page of the whole site, in both themes and on a phone."""
    _fetch(session)
    _browser(session, "tests/browser", env=NIGHTLY)


def _nightly_fuzz(session: nox.Session) -> None:
    """All fuzzers, one minute each; then random mutations, and ten minutes of random changes to the runs of a site.

    Each fuzzer begins with the inputs of earlier nights.
    """
    session.run(sys.executable, "-m", "nox", "-s", "fuzz", "--", "60", "formats", "core", "mutations", external=True)
    session.run(_tool("python"), "-m", "tests.fuzz.histories", "600")


def _nightly_readme(session: nox.Session) -> None:
    """Run the two commands of the README in a new clone, in the order of the README. Then run both commands again."""
    session.run("bash", "tests/fresh.sh", external=True)


def _nightly_release(session: nox.Session) -> None:
    """All steps of a release, except publishing."""
    session.run(sys.executable, "-m", "nox", "-s", "release", "--", "--check", external=True)


NIGHTLY_PARTS = {
    "core": _nightly_core,
    "sanitizers": _nightly_sanitizers,
    "python": _nightly_python,
    "offline": _nightly_offline,
    "browser": _nightly_browser,
    "fuzz": _nightly_fuzz,
    "readme": _nightly_readme,
    "release": _nightly_release,
}


@nox.session(venv_backend="none", default=False, requires=["core"])
def perf(session: nox.Session) -> None:
    """Print the measured performance next to its goals, as ratios from one run (-- [--rounds N] [--seconds S] [SECTION...])."""
    _install(session, "package")
    _build(session, "release", "perf_programs")
    session.run(_tool("python"), "tests/perf/run.py", *session.posargs)


def _need_compiler(session: nox.Session) -> None:
    if not _compiler():
        session.error("no C++ compiler found: install g++ (11 or newer) or clang (14 or newer), or name one in CXX")


def _compiler() -> str | None:
    return next(filter(None, (shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++"))), None)


def _left_out(session: nox.Session, what: str) -> None:
    """Warn that something is left out. In CI, where everything is installed, end the session with an error instead."""
    if os.environ.get(NOTHING_LEFT_OUT):
        session.error(f"left out, although {NOTHING_LEFT_OUT} is set: {what}")
    session.warn(f"LEFT OUT: {what}")


def _libfuzzer() -> bool:
    """Whether clang++ and its fuzzing runtime are installed. In Debian, the runtime is a separate package."""
    clang = shutil.which("clang++")
    if clang is None:
        return False
    folder = subprocess.run([clang, "-print-resource-dir"], capture_output=True, check=True, text=True).stdout.strip()
    return any(Path(folder).glob("lib/*/libclang_rt.fuzzer*"))


def _build(session: nox.Session, preset: str, target: str = "all") -> None:
    """Configure and build the core with the cmake and ninja wheels."""
    _install(session, "core")
    path = {"PATH": f"{SHARED / 'bin'}{os.pathsep}{os.environ['PATH']}"}  # so that cmake finds this ninja
    require_all = "ON" if os.environ.get(NOTHING_LEFT_OUT) else "OFF"
    session.run(_tool("cmake"), "-S", "bench", "--preset", preset, f"-DTACHOLOG_REQUIRE_ALL={require_all}", env=path)
    session.run(_tool("cmake"), "--build", f"build/bench/{preset}", "--target", target, "--parallel", str(os.cpu_count() or 2), env=path)


def _perftest(preset: str) -> str:
    return str(Path(f"build/bench/{preset}/perftest").absolute())


def _ctest(session: nox.Session, preset: str, *words: str, env: dict[str, str] | None = None) -> None:
    """Run tests of the core. If GoogleTest is missing, no tests exist. This is an error only in CI."""
    without = "error" if os.environ.get(NOTHING_LEFT_OUT) else "ignore"
    many = str(2 * (os.cpu_count() or 1))  # most tests spend most of their time waiting
    options = ["--output-on-failure", f"--no-tests={without}", "--parallel", many, *words]
    session.run(_tool("ctest"), "--test-dir", f"build/bench/{preset}", *options, env=env)


def _pytest(session: nox.Session, *args: str, env: dict[str, str] | None = None, before: Sequence[str] = ()) -> None:
    named = {"TACHOLOG_PERFTEST": _perftest("release")} if Path(_perftest("release")).is_file() else {}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # several threads would wait for each other in busy loops
    session.run(*before, _tool("pytest"), *args, env={**threads, **named, **(env or {})}, external=bool(before))


def _at_once() -> list[str]:
    """Return the options with which pytest uses several processes. All tests of a file run in the same process.

    The number of processes is the number of processors plus one, because many tests only wait.
    """
    return [f"--numprocesses={1 + (os.cpu_count() or 1)}", "--dist=loadfile", "--no-loadscope-reorder"]


def _fetch(session: nox.Session) -> None:
    """Fetch from npm what the tests of pages need, so that the tests need no network."""
    session.run(_tool("python"), "-m", "tests.browser.fetch", env={"TACHOLOG_FETCHED": str(FETCHED)})


def _browser(session: nox.Session, *args: str, env: dict[str, str] | None = None) -> None:
    at_once = f"--numprocesses={os.cpu_count() or 1}"
    named = {"TACHOLOG_CHROMIUM": _chromium(session), "TACHOLOG_FETCHED": str(FETCHED)}
    _pytest(session, at_once, "--dist=worksteal", *args, env={**named, **(env or {})})


def _chromium(session: nox.Session) -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        session.error("no Chromium found: install it (Debian: apt-get install chromium)")
    return found


def _end_with(session: nox.Session, *words: str) -> None:
    """Run a command, and end nox with the exit code of the command.

    Without this function, nox ends with 1 if a session fails, but these commands also use the codes 2 to 5. After Ctrl-C, this function waits until
    the command has recorded what it did. Otherwise nox would kill the command after half a second.
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
    """Install the package ("package") and dependency groups into the shared environment.

    Parts that are installed for this pyproject.toml are skipped, because an installer takes seconds to find that nothing is missing. If uv is
    installed next to nox, it is used, because it takes a tenth of pip's time.
    """
    if not (SHARED / "bin" / "python").exists():
        session.run(sys.executable, "-m", "venv", "--clear", str(SHARED))
    state = hashlib.sha256(Path("pyproject.toml").read_bytes()).hexdigest()
    stamps = {part: SHARED / f"{part}.installed" for part in parts}
    missing = [part for part, stamp in stamps.items() if not stamp.exists() or stamp.read_text() != state]
    if not missing:
        return
    wanted: list[str] = []
    for part in missing:
        wanted += ["--editable", ".[site]"] if part == "package" else nox.project.dependency_groups(PYPROJECT, part)
    uv = shutil.which("uv", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    if uv:
        session.run(uv, "pip", "install", "--quiet", "--python", _tool("python"), *wanted, external=True)
    else:
        session.run(_tool("python"), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *wanted)
    for part in missing:
        stamps[part].write_text(state)
