"""Check that an updated site equals a site built from nothing after any change, and that a second build changes no file.

``python -m tests.fuzz.histories SECONDS [SEED]`` runs histories until the time is over. With ``check`` instead of a number, it runs the histories of
the tests (``tests/report/test_histories.py``). A history is a small folder of runs, with random edits between builds (``edits.py``). After each
build, the two sites, their findings and the outputs are compared.

All events of a history follow from the seed. After a difference, the edits are printed, and all files stay in ``build/fuzz/histories/SEED``.
``python -m tests.fuzz.histories 0 SEED`` runs this history again.
"""

from __future__ import annotations

import random
import secrets
import shutil
import sys
import time
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
from tests.command import CLOCK_AHEAD_S, run_tacholog_text
from tests.fuzz.edits import Root, added, edit, host_written

from tacholog.site.stamp import STAMP
from tacholog.store.cache import VARIABLE

FOLDER = Path(__file__).parent.parent.parent / "build/fuzz/histories"
CHECK = "check"
BUILDS = 8
#: The seeds of the tests. The first seed edits a host file and the path of a run. The second edits conditions and a log, but not its
#: size and time. The third edits the pseudonym key, manifests and the settings of privacy. The fourth edits a setting and all paths.
CHECKED = (57, 161, 184, 323)
CHECKED_BUILDS = 4
AGAIN = 0.3  # The share of builds that are repeated.
NOT_COMPARED = (STAMP, ".buildinfo.bak")  # The stamp contains digests of paths. `Side.report` compares only the findings in it.
DEPENDS_ON_CACHE = (" from the cache", "still the one")  # Lines that state only how much work was done.


class Outcome(NamedTuple):
    """The result of a command: its exit code, its printed lines, and the files that it wrote."""

    exit_code: int
    lines: list[str]
    files: dict[str, bytes]


class History(NamedTuple):
    """The result of a history: descriptions of its edits and builds, the number of compared sites, and the differences after the last build."""

    events: list[str]
    compared: int
    differences: list[str]


class Side(NamedTuple):
    """One of the two compared sides, with separate files: ``warm`` keeps its caches between the builds, ``cold`` has none."""

    folder: Path

    @property
    def cache(self) -> Path:
        return self.folder / "cache"

    @property
    def site(self) -> Path:
        return self.folder / "site"

    @property
    def work(self) -> Path:
        return self.folder / ".site-build"

    def run(self, root: Root, *words: str | Path, writes: Path, ahead_s: int = 0) -> Outcome:
        """Run a command with a clock that is ``ahead_s`` seconds ahead, and return the outcome.

        With the right clock, the command would always read new files again, and never use the cache for them.
        """
        variables = {VARIABLE: str(self.cache), "TACHOLOG_PLOTLY": "full", CLOCK_AHEAD_S: str(ahead_s)} | root.key
        done = run_tacholog_text(*words, cwd=root.folder, environment=variables)
        printed = (done.stdout + done.stderr).replace(str(self.folder), "SIDE")
        lines = [line for line in printed.splitlines() if not any(part in line for part in DEPENDS_ON_CACHE)]
        return Outcome(done.returncode, lines, _content(writes))

    def report(self, root: Root, ahead_s: int) -> Outcome:
        outcome = self.run(root, "report", root.data, "--site", root.site_toml(), "--output", self.site, writes=self.site, ahead_s=ahead_s)
        stamp = self.site / STAMP
        if stamp.is_file():
            found = msgspec.json.decode(stamp.read_bytes(), type=dict[str, object])
            outcome.files[STAMP] = repr([found.get(key) for key in ("checks", "problems", "altered", "large")]).encode()
        return outcome

    def changed_by_a_second_build(self, root: Root) -> list[str]:
        before = _written(self.site)
        (self.site / STAMP).unlink()  # If the stamp were kept, the site would not be built again.
        self.report(root, 0)
        return [f"written again: {name}" for name, time_ns in _written(self.site).items() if before.get(name) != time_ns]


def run_history(seed: int, builds: int, folder: Path) -> History:
    """Run a history in an empty folder, to its end or to the first difference."""
    root = Root(folder, _dice(seed, "start"))
    warm, cold = Side(folder / "warm"), Side(folder / "cold")
    events, compared = [*(added(root) for _ in range(root.dice.randint(1, 4))), host_written(root)], 0
    for number in range(builds):
        root.dice = _dice(seed, number)  # A new generator for each build, because the number of drawn values depends on the number of files.
        if number:
            events += filter(None, [edit(root) for _ in range(root.dice.choice([1, 1, 1, 1, 2, 3]))])
            if root.dice.random() < 0.15:
                events.append(_damage(warm, root.dice))
        for path in (cold.cache, cold.site, cold.work):
            shutil.rmtree(path, ignore_errors=True)
        outcomes = warm.report(root, root.dice.choice([0, 60, 60, 60])), cold.report(root, 0)
        events.append(f"report {number}: exit code {outcomes[1].exit_code}")
        is_built = STAMP in outcomes[1].files
        differences = _differences(*outcomes, is_refused=not is_built)
        compared += is_built
        if is_built and not differences and root.dice.random() < AGAIN:
            differences += warm.changed_by_a_second_build(root)
        if differences:
            return History(events, compared, differences)
    return History(events, compared, [])


def _differences(warm: Outcome, cold: Outcome, *, is_refused: bool = False) -> list[str]:
    """Return the differences between the results of a build on the warm side and on the cold side.

    If no site could be built, compare only the exit codes, because the warm side also reports that it still has the former site.
    """
    found = [f"an internal error: {line}" for line in (*warm.lines, *cold.lines) if line.startswith("Traceback")]
    if warm.exit_code != cold.exit_code:
        found.append(f"exit code {warm.exit_code}, from nothing {cold.exit_code}")
    if is_refused:
        return found
    if warm.lines != cold.lines:
        found.append(f"printed {warm.lines}, from nothing {cold.lines}")
    names = warm.files.keys() | cold.files.keys()
    return found + [f"differs: {name}" for name in sorted(names) if warm.files.get(name) != cold.files.get(name)]


def _written(folder: Path) -> dict[str, int]:
    return {path.relative_to(folder).as_posix(): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file() and path.name != STAMP}


def _content(folder: Path) -> dict[str, bytes]:
    """Return the content of each file in a folder, by the path of the file.

    Subfolders are included with an empty content, because their names can be names of systems.
    """
    found = (path for path in folder.rglob("*") if path.name not in NOT_COMPARED)
    return {path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else b"" for path in found}


def _damage(side: Side, dice: random.Random) -> str:
    """Damage a random file that the next build may use, and return a description of the damage.

    Files of the site are not deleted. One of these files marks the site as Tacholog's, and the next build refuses a folder without this file.
    """
    folder = dice.choice([side.cache, side.site, side.work])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        return f"nothing to damage in {folder.name}"
    path, how = dice.choice(files), dice.choice(["cut", "changed"] if folder == side.site else ["cut", "changed", "deleted"])
    content = bytearray(path.read_bytes())
    if how == "deleted":
        path.unlink()
    elif how == "cut" or not content:
        path.write_bytes(content[: len(content) // 2])
    else:
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        path.write_bytes(content)
    return f"{how}: {path.relative_to(side.folder).as_posix()}"


def _dice(seed: int, when: object) -> random.Random:
    return random.Random(f"{seed} {when}")  # noqa: S311 - not for secrets


def _tell(seed: int, builds: int) -> bool:
    """Return whether no difference was found."""
    folder = FOLDER / str(seed)
    shutil.rmtree(folder, ignore_errors=True)
    history = run_history(seed, builds, folder)
    click.echo(f"history {seed}: {history.compared} sites of {builds} builds compared, {len(history.differences)} differences")
    if history.differences:
        click.echo("\n".join(["what happened:", *history.events, "the differences:", *history.differences, f"the files are in {folder}"]))
    else:
        shutil.rmtree(folder)
    return not history.differences


@click.command(help=__doc__)
@click.argument("period", metavar="SECONDS|check")
@click.argument("seed", type=int, required=False)
def main(period: str, seed: int | None) -> None:
    """Run histories, and exit with 1 if a history had a difference."""
    if period == CHECK:
        are_equal = [_tell(seed, CHECKED_BUILDS) for seed in CHECKED]
        sys.exit(not all(are_equal))
    end = time.monotonic() + float(period)
    seed = secrets.randbelow(10**6) if seed is None else seed
    is_equal = _tell(seed, BUILDS)
    while is_equal and time.monotonic() < end:
        seed += 1
        is_equal = _tell(seed, BUILDS)
    sys.exit(not is_equal)


if __name__ == "__main__":
    main()
