"""The dataset of a Sphinx build, opened once, and which page shows which part of it. A changed run costs only the pages that show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from sphinx.errors import ExtensionError
from sphinx.util.logging import getLogger

from tacholog.errors import TachologError
from tacholog.runs.labels import has_labels
from tacholog.site.offered import offered_log
from tacholog.site.output.diffs import files_beside
from tacholog.site.shown import State, opened, state_of
from tacholog.view.numerals import NOT_STATED
from tacholog.view.portions import Portion, portions
from tacholog.view.run_digests import digest, run_digests
from tacholog.view.views import Selection, View, transport_of

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config
    from sphinx.environment import BuildEnvironment

_LOG = getLogger(__name__)


class RunState(msgspec.Struct, frozen=True):
    """The state of a run: a digest of its data and of the files that are offered for its logs, and the values that selections match."""

    digest: str
    found_by: tuple[tuple[str, str | None], ...]
    labels: str | None
    transports: frozenset[str]
    tests: frozenset[str]

    def is_in(self, selection: Selection) -> bool:
        """Whether a selection shows any part of the run."""
        if any((wanted := getattr(selection, name)) is not None and wanted != (given or NOT_STATED) for name, given in self.found_by):
            return False
        return has_labels(self.labels, selection.labels) and selection.transport in (None, *self.transports) and selection.test in (None, *self.tests)


class ShownData(msgspec.Struct):
    """What Sphinx's environment keeps between builds: the state of the runs, and what each page showed of them.

    ``now`` is the state of the dataset at the start of this build. It saves each of a thousand directives a look at the file system.
    """

    hosts: str = ""
    runs: dict[str, RunState] = {}
    pages: dict[str, set[Selection]] = {}
    now: State = ()


def setup(app: Sphinx) -> None:
    """Register the events that keep track of what pages show."""
    app.connect("config-inited", prepare_data)
    app.connect("env-get-outdated", _outdated)
    app.connect("env-purge-doc", lambda _app, env, page: _shown(env).pages.pop(page, None))
    app.connect("env-merge-info", lambda _app, env, pages, other: _merge(_shown(env), _shown(other), pages))


def prepare_data(app: Sphinx, config: Config) -> None:
    """Read the runs that ``tacholog_data`` names into a dataset beside Sphinx's cache.

    Raises:
        ExtensionError: there are no runs, or the file that ``tacholog_site`` names cannot be used.
    """
    if not config.tacholog_data:
        return
    from tacholog.site.prepare import prepare
    from tacholog.site.settings import SiteSettings, read_settings
    from tacholog.store.complaints import saved_complaints

    work = Path(app.doctreedir, "tacholog")
    try:
        settings = read_settings(Path(app.confdir, config.tacholog_site)) if config.tacholog_site else SiteSettings()
        prepare([Path(app.confdir, config.tacholog_data)], work, settings)
        for lost in saved_complaints(work).unread:
            _LOG.warning("tacholog_data: %s", lost, type="tacholog", subtype="unread")
    except TachologError as error:
        raise ExtensionError(f"tacholog_data: {error}") from error
    config.tacholog_dataset = str((work / "dataset").resolve())


def view(env: BuildEnvironment, selection: Selection) -> View:
    """Return the selected part of the dataset, and remember that the current page shows it.

    Raises:
        TachologError: no dataset is configured, or the folder holds none.
    """
    folder = _folder(env)
    if folder is None:
        raise TachologError("no data set: in conf.py, set tacholog_data to a folder of runs or tacholog_dataset to a saved dataset")
    _shown(env).pages.setdefault(env.docname, set()).add(selection)
    return opened(folder, _shown(env).now or state_of(folder)).only(selection)


def digests_of_runs(env: BuildEnvironment) -> Mapping[str, str]:
    """Return the digest of each run of the dataset. `view` has checked that there is one."""
    folder = dataset_folder(env)
    return run_digests(opened(folder, _shown(env).now or state_of(folder)))


def first_portion(env: BuildEnvironment, selection: Selection) -> Portion:
    """Return what a page that shows a selection shows of it at once.

    Raises:
        TachologError: as `view`.
    """
    return portions(view(env, selection))[0]


def dataset_folder(env: BuildEnvironment) -> Path:
    """Return the folder of the dataset. `view` has checked that there is one."""
    folder = _folder(env)
    if folder is None:
        raise TachologError("no data set")
    return folder


def _folder(env: BuildEnvironment) -> Path | None:
    configured: str | None = env.config.tacholog_dataset
    return Path(env.srcdir, configured) if configured else None


def _shown(env: BuildEnvironment) -> ShownData:
    if not hasattr(env, "tacholog_shown"):
        env.tacholog_shown = ShownData()  # type: ignore[attr-defined]  # Sphinx's way for extensions to keep something
    shown: ShownData = env.tacholog_shown  # type: ignore[attr-defined]
    return shown


def _merge(into: ShownData, other: ShownData, pages: Iterable[str]) -> None:
    into.pages.update((page, other.pages[page]) for page in pages if page in other.pages)


def _outdated(_app: Sphinx, env: BuildEnvironment, _added: set[str], _changed: set[str], _removed: set[str]) -> list[str]:
    """Return the pages that show a new, removed or changed run; all pages if a machine, a calibration, the renames or an unread file changed."""
    shown, folder = _shown(env), _folder(env)
    shown.now = state_of(folder) if folder else ()
    if not shown.now or folder is None:
        return []
    everything = opened(folder, shown.now)  # Also if it is as it was: the files that are offered for its logs may be others.
    runs, hosts = (
        _run_states(everything),
        digest([everything.hosts, everything.unread, files_beside(folder)]),
    )
    before, same_hosts = shown.runs, hosts == shown.hosts
    shown.runs, shown.hosts = runs, hosts
    names = {name for name in before.keys() | runs.keys() if before.get(name) != runs.get(name)}
    changed = [run for name in names for run in (before.get(name), runs.get(name)) if run]
    return [
        page for page, selections in shown.pages.items() if not same_hosts or any(run.is_in(selection) for selection in selections for run in changed)
    ]


def _run_states(everything: View) -> dict[str, RunState]:
    digests = run_digests(everything)
    states = {}
    for name, run in everything.runs.items():
        kinds = everything.kinds.get(name) or {(transport_of(run), None)}
        states[name] = RunState(
            # A redacted log changes with each name that any run tells, and the data of its own run then stay as they were.
            digest=digest([digests[name], [offered_log(run, log) for log in everything.logs_of.get(name, ())]]),
            found_by=tuple((field, getattr(run, field)) for field in ("system", "host", "run", "release")),
            labels=run.labels,
            transports=frozenset(transport or NOT_STATED for transport, _ in kinds),
            tests=frozenset(test for _, test in kinds if test is not None),
        )
    return states
