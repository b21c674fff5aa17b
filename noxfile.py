"""What can be run in a checkout: `nox -l` lists it. Sessions only name commands; the logic lives in the package, under test."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path

import nox

nox.needs_version = ">=2025.11.12"
nox.options.reuse_venv = "yes"
nox.options.sessions = ["lint", "types", "tests"]

PYPROJECT = nox.project.load_toml("pyproject.toml")
# One environment for every session that imports the package: it is half a gigabyte, and nox would make one for each.
SHARED = Path(".nox/shared").absolute()


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
    session.run(_tool("tacholog"), "diff", *(session.posargs or ["--help"]))


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Run all tests but the browser's, the C++ core's too where there is a compiler."""
    _install(session, "package", "tests")
    if _compiler():
        _build(session, "release")
        _ctest(session, "release", without_tests="ignore")  # without GoogleTest there are none, and the build has said so
    else:
        session.warn("left out: the C++ core's tests and those that run perftest, because no C++ compiler was found")
    session.log("left out: the tests in a browser (nox -s browser), because they need Chromium")
    session.run(_tool("pytest"), "-m", "not browser", *session.posargs)


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Open the built pages in Chromium and check them."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        session.error("no Chromium found: install it (Debian: apt-get install chromium)")
    _install(session, "package", "browser")
    session.run(_tool("pytest"), "-m", "browser", *session.posargs, env={"TACHOLOG_CHROMIUM": chromium})


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, format and spelling."""
    session.install(*nox.project.dependency_groups(PYPROJECT, "lint"))
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("codespell")
    sources = sorted(str(path) for path in Path("bench").rglob("*.[ch]pp"))
    session.run("clang-format", "--dry-run", "--Werror", *sources)


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types, the tests' and this file's too."""
    _install(session, "package", "types")
    session.run(_tool("mypy"))


@nox.session(venv_backend="none", default=False)
def sanitizers(session: nox.Session) -> None:
    """Run the C++ tests under the address and undefined-behaviour sanitizers."""
    _build(session, "asan")
    _ctest(session, "asan", without_tests="error")


@nox.session(venv_backend="none", default=False)
def fuzz(session: nox.Session) -> None:
    """Feed every format hostile bytes, guided by coverage, for ten minutes each (-- SECONDS [FORMAT...])."""
    _install(session, "package", "fuzz")
    session.run(_tool("python"), "tests/fuzz/run.py", *(session.posargs or ["600"]))


def _compiler() -> str | None:
    return next(filter(None, (shutil.which(name) for name in (os.environ.get("CXX", "c++"), "g++", "clang++"))), None)


def _build(session: nox.Session, preset: str) -> None:
    """Configure and build the core with the cmake and ninja wheels."""
    _install(session, "core")
    path = {"PATH": f"{SHARED / 'bin'}{os.pathsep}{os.environ['PATH']}"}  # so that cmake finds ninja
    session.run(_tool("cmake"), "-S", "bench", "--preset", preset, env=path)
    session.run(_tool("cmake"), "--build", f"build/bench/{preset}", "--parallel", str(os.cpu_count() or 2), env=path)


def _ctest(session: nox.Session, preset: str, without_tests: str) -> None:
    session.run(_tool("ctest"), "--test-dir", f"build/bench/{preset}", "--output-on-failure", f"--no-tests={without_tests}")


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
        wanted = ["--editable", "."] if part == "package" else nox.project.dependency_groups(PYPROJECT, part)
        session.run(_tool("python"), "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *wanted)
        stamp.write_text(state)
