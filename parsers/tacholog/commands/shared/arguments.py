"""Arguments and options that several commands share."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from tacholog import terminal
from tacholog.commands.shared.defaults import defaults
from tacholog.installation import checkout

if TYPE_CHECKING:
    from tacholog.store.pool import Work

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Percentage(click.ParamType):  # type: ignore[type-arg] # not generic in older versions of click
    """A percentage above zero as an argument."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the percentage as a share."""
        try:
            share = float(str(value).strip().removesuffix("%")) / 100
        except ValueError:
            share = math.nan
        if not 0 < share < math.inf:
            self.fail(f"{value!r} is not a percentage above zero, such as 5%", param, ctx)
        return share


class Folder(click.Path):
    """A folder as an argument. Its messages are clearer than those of click, such as "Directory 'x.log' is a file"."""

    def __init__(self, *, exists: bool = False, or_file: bool = False) -> None:
        """Create the argument type. With ``exists``, the folder must already exist. With ``or_file``, it may be a file."""
        super().__init__(path_type=Path)
        self._must_exist, self._may_be_file = exists, or_file

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:  # noqa: ANN401 - the signature is click's
        """Return the path. Refuse a file, and refuse a missing folder if the folder must exist."""
        path = Path(value)
        if path.exists() and not path.is_dir() and not (self._may_be_file and path.is_file()):
            self.fail(f"{value} is a file, not a folder", param, ctx)
        if self._must_exist and not path.exists():
            self.fail(f"{value}: no such folder", param, ctx)
        return path


_RELEASE = re.compile(r"""^release\s*=\s*["']([^"'\n]{1,200})["']\s*(?:#.*)?$""", re.MULTILINE)
_MOST_MANIFESTS = 20_000  # the number of folders that are searched while a user waits for completion


def complete_release(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the releases that begin with the typed text, for completion in a shell. If no release begins with it, the shell offers files."""
    roots = ctx.params.get("roots") or known_roots()
    manifests = islice(chain.from_iterable(Path(root).rglob("run.toml") for root in roots), _MOST_MANIFESTS)
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in manifests if path.is_file())
    releases = {match[1] for text in texts if (match := _RELEASE.search(text))}
    items = [CompletionItem(release) for release in sorted(releases) if release.startswith(incomplete)]
    return items or [CompletionItem(incomplete, type="file")]


def known_roots() -> tuple[Path, ...]:
    """Return the folders that `defaults` names.

    If it names none, return ``data/`` of the checkout, and the campaigns in ``build/runs/``, the newest campaign first.
    """
    from tacholog.campaign.campaign_folder import campaign_folders

    if folders := defaults().folders():
        return folders
    root = checkout() or Path.cwd()
    return tuple(path for path in (root / "data", *reversed(campaign_folders(root / "build" / "runs"))) if path.is_dir())


def home() -> Path:
    """Return the folder that contains ``data`` and ``build``: the checkout if the current folder is in it, otherwise the current folder."""
    root, here = checkout(), Path.cwd()
    return root if root is not None and here.resolve().is_relative_to(root) else here


def reading_options(command: _Command) -> _Command:
    """Add the options for reading logs in several processes or on a cluster."""
    jobs = click.option("--jobs", metavar="N", type=click.IntRange(1), help="Read logs in N processes.  [default: one for each processor]")
    cluster = click.option(
        "--cluster", metavar="ADDRESS", help="Read logs on the workers of a Dask cluster; the address of its scheduler, as in tcp://host:8786."
    )
    return jobs(cluster(command))


def work_of(jobs: int | None = None, cluster: str | None = None) -> Work:
    """Return the settings for reading logs: the processes or the cluster that the options state, and a progress display for terminals."""
    from tacholog.commands.shared.messages import Progress
    from tacholog.store.pool import Work, all_cores

    progress = Progress()
    return Work(jobs or all_cores(), cluster, progress=progress.runs, text_read=progress, warned=lambda text: terminal.line(text, err=True))
