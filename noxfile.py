"""What can be run in a checkout: `nox -l` lists it. Sessions only name commands; the logic lives in the package, under test."""

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
# One environment for every session that imports the package: it is half a gigabyte, and nox would make one for each.
SHARED = Path(".nox/shared").absolute()
#: What the tests of pages need from npm; fetched once, so that no test asks the network.
FETCHED = Path("build/fetched").absolute()
ACTIONLINT = "github.com/rhysd/actionlint/cmd/actionlint@v1.7.12"
#: What a release publishes: the distributions in dist/, and notes.md.
RELEASE = Path("build/release").absolute()
#: The same word in Python, C++ and here: how much the tests try.
NIGHTLY = {"TACHOLOG_TESTS": "nightly"}
SECOND_TRY = "A SECOND TRY for the tests that failed above: they measure, and other work on this machine can spoil that"
PARSERS = "parsers"
#: With each sanitizer, the gate compiles and runs only the tests in which it can find the most.
GATE_OF_SANITIZER = {"asan": "memory", "tsan": "thread"}
#: Set by CI, which installs everything: what leaves itself out because something is missing, fails. The same word in Python, C++ and here.
NOTHING_LEFT_OUT = "TACHOLOG_NOTHING_LEFT_OUT"


@nox.session(venv_backend="none")
def core(session: nox.Session) -> None:
    """Build perftest, the C++ core, with our own transports (build/bench/release/perftest)."""
    _need_compiler(session)
    _build(session, "release", "perftest")


@nox.session(venv_backend="none", requires=["core"])
def bench(session: nox.Session) -> None:
    """Measure for about two minutes and keep the logs in build/runs (-- --release X: keep them for publication too)."""
    _install(session, "package")
    session.run(_tool("tacholog"), "bench", "bench/campaigns/quick.toml", "--output", "build/runs", *session.posargs)


@nox.session(venv_backend="none", default=False)
def middleware(session: nox.Session) -> None:
    """Build perftest with each middleware that is installed, and measure them (-- CAMPAIGN [OPTION...]: another campaign)."""
    _need_compiler(session)
    _install(session, "package")
    _build(session, "middleware", "perftest")
    campaign = session.posargs or ["bench/campaigns/middleware-quick.toml"]
    session.run(_tool("tacholog"), "bench", *campaign, "--perftest", _perftest("middleware"), "--output", "build/runs")


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
    """Run the tests of the core and of the package (-- parsers: only those that take no compiler and no long time; or arguments for pytest)."""
    _install(session, "package", "tests")
    but_browser = "--ignore=tests/browser"  # its fixtures need Playwright
    if session.posargs and session.posargs[0] == PARSERS:
        session.log("left out: the C++ core, and what runs it, builds sites or makes environments")
        _pytest(session, but_browser, "-m", "not nightly and not core and not site and not packaging", *_at_once(), *session.posargs[1:])
        return
    if _compiler():
        _build(session, "release")
    else:
        session.warn("left out: the C++ core's tests and those that run perftest, because no C++ compiler was found")
    session.log("left out: the tests in a browser (nox -s browser), and what takes long (nox -s nightly)")
    if session.posargs:
        _pytest(session, but_browser, *session.posargs)
        return
    if _compiler():
        _ctest(session, "release", "--label-exclude", "nightly")
    _pytest(session, but_browser, "-m", "not nightly", *_at_once())


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Check a page of each kind in Chromium, and with the W3C's checker (TACHOLOG_SCREENSHOTS=FOLDER: keep pictures)."""
    _install(session, "package", "browser")
    _fetch(session)
    _browser(session, *(session.posargs or ["tests/browser", "-m", "not nightly"]))


@nox.session(venv_backend="none", default=False)
def fetch(session: nox.Session) -> None:
    """Install and fetch all that the other sessions take from registries, so that they need no network."""
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
    if shutil.which("go"):  # its package in PyPI fetches a program from GitHub
        session.run("go", "run", ACTIONLINT, external=True)
    else:
        session.warn(f"LEFT OUT: {ACTIONLINT}, which needs Go")
    sources = sorted(str(path) for path in Path("bench").rglob("*.[ch]pp"))
    try:
        session.run(_tool("clang-format"), "--dry-run", "--Werror", *sources, log=False)
    except CommandFailed:
        session.error(f"{_tool('clang-format')} -i FILE mends a file that is named above")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types, the tests' and this file's too."""
    _install(session, "package", "types")
    session.run(_tool("mypy"))
    example = "templates/format-package"  # with the settings that come with it, as its future owner would
    session.run(_tool("mypy"), f"--config-file={example}/pyproject.toml", "--cache-dir=build/mypy-example", example)


@nox.session(venv_backend="none", default=False)
def release(session: nox.Session) -> None:
    """Build wheel and sdist in build/release, and check them as a tag does (-- --check [TAG]); only .github/workflows/release.yml publishes."""
    if session.posargs[:1] != ["--check"]:
        session.error("a tag publishes (CONTRIBUTING.md, Releases). To do all but publish: nox -s release -- --check [TAG]")
    _install(session, "release")
    shutil.rmtree(RELEASE, ignore_errors=True)
    notes = session.run(_tool("python"), ".ci/release.py", *session.posargs[1:], silent=True)
    session.run(_tool("python"), "-m", "build", "--outdir", str(RELEASE / "dist"))
    distributions = [str(path) for path in sorted((RELEASE / "dist").iterdir())]
    session.run(_tool("twine"), "check", "--strict", *distributions)
    [wheel] = [path for path in distributions if path.endswith(".whl")]
    session.run(_tool("check-wheel-contents"), wheel)
    for path in distributions:  # as users install them
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
        session.warn("LEFT OUT: the container images, because neither docker nor podman answers")
    session.log(f"all that a tag publishes is in {RELEASE}")


@nox.session(venv_backend="none", default=False)
def sanitizers(session: nox.Session) -> None:
    """Run tests of the core that handle foreign bytes and shared memory under the address sanitizer, those of threads under the thread sanitizer."""
    for preset in session.posargs or GATE_OF_SANITIZER:
        _build(session, preset, f"{GATE_OF_SANITIZER[preset]}_tests")
        _ctest(session, preset, "--label-regex", GATE_OF_SANITIZER[preset])


@nox.session(venv_backend="none", default=False)
def fuzz(session: nox.Session) -> None:
    """Feed hostile bytes to every format and wire decoder, ten minutes each (-- SECONDS [NAME...]).

    Names are those of formats and decoders; formats, core and mutations name all of a kind. histories edits runs between builds of their site,
    and compares it with one that is built from nothing.
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
    """Run what takes too long, or has too much chance in it, for each change: hours (-- PART...; see NIGHTLY_PARTS).

    Each part runs, also after one that failed. A failure names its seed where there is one.
    """
    if unknown := sorted(set(session.posargs) - set(NIGHTLY_PARTS)):
        session.error(f"no such part: {', '.join(unknown)}; there are {', '.join(NIGHTLY_PARTS)}")
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
    """All tests of the core under the address and undefined-behaviour sanitizers, and those with several threads under the thread sanitizer."""
    failed = []
    for preset in GATE_OF_SANITIZER:
        _build(session, preset)
        try:
            _ctest(session, preset, "--label-exclude", "long|memory|thread", env=NIGHTLY)  # bench_tests has what the gate runs, too
        except CommandFailed:
            failed.append(preset)
    if failed:
        raise CommandFailed(f"tests failed under {', '.join(failed)}")


def _nightly_python(session: nox.Session) -> None:
    """All tests of the package: all examples, seeds, environments and tools."""
    _build(session, "middleware")
    _pytest(session, "--ignore=tests/browser", *_at_once(), env={**NIGHTLY, "TACHOLOG_PERFTEST": _perftest("middleware")})


def _nightly_offline(session: nox.Session) -> None:
    """The gate's tests of the package without a network but loopback."""
    _build(session, "release")
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    _pytest(session, "--ignore=tests/browser", "-m", "not nightly", *_at_once(), before=alone)


def _nightly_browser(session: nox.Session) -> None:
    """Every page of the whole site, in both themes and on a phone."""
    _fetch(session)
    _browser(session, "tests/browser", env=NIGHTLY)


def _nightly_fuzz(session: nox.Session) -> None:
    """A minute of each fuzzer, from what the nights before found; random mutations; ten minutes of random histories of a site."""
    session.run(sys.executable, "-m", "nox", "-s", "fuzz", "--", "60", "formats", "core", "mutations", external=True)
    session.run(_tool("python"), "-m", "tests.fuzz.histories", "600")


def _nightly_readme(session: nox.Session) -> None:
    """README's two commands in a new clone, in this order, twice."""
    session.run("bash", "tests/fresh.sh", external=True)


def _nightly_release(session: nox.Session) -> None:
    """All that a tag does, but to publish."""
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
    """Print measured performance beside its goals, as ratios from one run (-- [--rounds N] [--seconds S] [SECTION...])."""
    _install(session, "package")
    _build(session, "release", "perf_programs")
    session.run(_tool("python"), "tests/perf/run.py", *session.posargs)


def _need_compiler(session: nox.Session) -> None:
    if not _compiler():
        session.error("no C++ compiler found: install g++ (11 or newer) or clang (14 or newer), or name one in CXX")


def _compiler() -> str | None:
    return next(filter(None, (shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++"))), None)


def _left_out(session: nox.Session, what: str) -> None:
    """Say what is left out; in CI, where everything is installed, that is an error."""
    if os.environ.get(NOTHING_LEFT_OUT):
        session.error(f"left out, although {NOTHING_LEFT_OUT} is set: {what}")
    session.warn(f"LEFT OUT: {what}")


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
    require_all = "ON" if os.environ.get(NOTHING_LEFT_OUT) else "OFF"
    session.run(_tool("cmake"), "-S", "bench", "--preset", preset, f"-DTACHOLOG_REQUIRE_ALL={require_all}", env=path)
    session.run(_tool("cmake"), "--build", f"build/bench/{preset}", "--target", target, "--parallel", str(os.cpu_count() or 2), env=path)


def _perftest(preset: str) -> str:
    return str(Path(f"build/bench/{preset}/perftest").absolute())


def _ctest(session: nox.Session, preset: str, *words: str, env: dict[str, str] | None = None) -> None:
    """Run tests of the core. Without GoogleTest there are none, and the build has said so; in CI the build has failed then."""
    without = "error" if os.environ.get(NOTHING_LEFT_OUT) else "ignore"
    many = str(2 * (os.cpu_count() or 1))  # most tests wait more than they work
    options = ["--output-on-failure", f"--no-tests={without}", "--parallel", many, *words]
    session.run(_tool("ctest"), "--test-dir", f"build/bench/{preset}", *options, env=env)


def _pytest(session: nox.Session, *args: str, env: dict[str, str] | None = None, before: Sequence[str] = ()) -> None:
    named = {"TACHOLOG_PERFTEST": _perftest("release")} if Path(_perftest("release")).is_file() else {}
    threads = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # more of them wait for each other by spinning
    session.run(*before, _tool("pytest"), *args, env={**threads, **named, **(env or {})}, external=bool(before))


def _at_once() -> list[str]:
    """Several processes, a file of tests to each; one more than processors, because many tests wait for programs that they started."""
    return [f"--numprocesses={1 + (os.cpu_count() or 1)}", "--dist=loadfile", "--no-loadscope-reorder"]


def _fetch(session: nox.Session) -> None:
    """Fetch from npm what the tests of pages need, so that none of them asks the network."""
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
    """Put the package ("package") and dependency groups into the shared environment, what is missing in one call, once for each pyproject.toml.

    Once, because an installer takes seconds to find that nothing is to be done. uv, where it stands beside nox, takes a tenth of pip's time.
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
