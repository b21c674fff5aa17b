"""Turn publish/subscribe benchmark logs into performance documentation that can be trusted.

The functions of this module are for notebooks and scripts; ``docs/notebook.md`` shows examples. The command line is `tacholog.cli`.

Importing this package is fast: pandas and all other packages are imported when a function needs them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike
    from pathlib import Path

    from tacholog.compare.policy import Policy
    from tacholog.compare.result import Comparison
    from tacholog.formats.reading import Log
    from tacholog.notebook import LoadedRuns
    from tacholog.store.frames import Dataset

__all__ = ["LogFormat", "diff", "list_formats", "load", "read"]


class LogFormat(NamedTuple):
    """A log format that can be read.

    Attributes:
        name: the name of the format, as in ``read(path, format_name=...)``.
        tool: the tool that prints it.
        system: the system that the tool measures, unless a manifest states another system.
        reads: one sentence about the logs that are read.
        dialects: the known variants, each with the versions that print it.
    """

    name: str
    tool: str
    system: str
    reads: str
    dialects: tuple[str, ...]


def read(path: str | PathLike[str], format_name: str | None = None) -> Log:
    """Read one raw log.

    Args:
        path: the log; it may be compressed by gzip, xz or zstd.
        format_name: the name of a format in `list_formats`; ``None``: the format is detected from the content.

    Returns:
        The log. Its ``records`` are the results in the order of their lines. Each result has its numbers in the units of
        `tacholog.schema.metrics.METRICS`: latencies in nanoseconds, rates in bit/s or messages/s, sizes in bytes. Its ``facts`` are the facts that
        the log states about the whole run, and its ``problems`` are the lines that could not be used. A value that the log does not state is
        ``None``.

    Raises:
        tacholog.errors.UnreadableInput: the file cannot be opened, or its format is unknown or ambiguous.
    """
    from pathlib import Path

    from tacholog.formats.reading import read as read_log

    return read_log(Path(path), format_name)


def load(*paths: str | PathLike[str]) -> LoadedRuns:
    """Read runs, raw logs or saved datasets into pandas frames.

    Args:
        paths: folders of runs (``run.toml`` files below them), raw logs, folders of raw logs, or folders that ``Dataset.save`` wrote.

    Returns:
        The dataset. ``results`` has one row for each number; ``runs``, ``logs``, ``problems`` and ``histograms`` are further tables, joined by the
        column ``run``. ``value`` is in the unit that ``unit`` names: latencies in nanoseconds, rates in bit/s or messages/s. Sizes are in bytes. A
        value that is not stated is ``<NA>``. ``docs/conditions.md`` explains every column. The method ``table`` compares one field over another.

    Raises:
        tacholog.errors.UnreadableInput: a path cannot be read, or is named twice.
        tacholog.errors.TachologError: the packages of the extra ``diff`` are not installed.

    Warns:
        UserWarning: for each run or log below a path that could not be read. All other runs are in the dataset.
    """
    from pathlib import Path

    from tacholog.installation import require

    require("diff", "tacholog.load")

    import msgspec

    from tacholog.notebook import LoadedRuns
    from tacholog.store.load import open_paths

    if not paths:
        raise TypeError("load() needs at least one folder or log")
    dataset = open_paths([Path(path) for path in paths])
    _warn_of_losses(dataset)
    return LoadedRuns(*msgspec.structs.astuple(dataset))


def diff(
    old: str | PathLike[str] | Dataset,
    new: str | PathLike[str] | Dataset,
    policy: Policy | None = None,
    data: Sequence[str | PathLike[str]] = (),
) -> Comparison:
    """Compare two sides, as ``tacholog diff`` does.

    Args:
        old: the side to compare with: a release label, a folder of runs, a raw log, a folder of logs, a saved dataset, or a dataset of `load`.
        new: the side that is judged: the same choices as for ``old``.
        policy: the rules for what counts as a change, as ``tacholog.compare.policy.read_policy`` reads them from a file; ``None``: the default
            thresholds.
        data: folders in which release labels are looked up; if empty: ``data/`` and the campaigns of this checkout.

    Returns:
        The report. ``rows`` contains each comparison with its verdict, ``counts`` the number of rows with each verdict. Medians and values are in the
        unit of their row, ``ratio`` is new divided by old, and ``threshold`` is a relative change (0.03: 3 %).

    Raises:
        tacholog.errors.UnreadableInput: a side cannot be found or read.
        tacholog.errors.TachologError: the packages of the extra ``diff`` are not installed.

    Warns:
        UserWarning: for each run or log of a side that could not be read. All other runs are compared.

    Source:
        docs/significance.md: the rule and its evidence.
    """
    from pathlib import Path

    from tacholog.installation import require

    require("diff", "tacholog.diff")

    from tacholog.commands.diff import band_roots
    from tacholog.commands.shared.arguments import known_roots
    from tacholog.compare.bands import find_same_build
    from tacholog.compare.diff.compare import check_across, compare
    from tacholog.compare.policy import Policy as DefaultPolicy
    from tacholog.compare.sides import find_renames, renamed

    chosen = policy or DefaultPolicy()
    check_across(chosen.across)
    roots = tuple(Path(folder) for folder in data) or known_roots()
    names = find_renames(roots)
    sides = [renamed(_read_side(side, roots), names) for side in (old, new)]
    labels = (_label(old, "old"), _label(new, "new"))
    return compare(sides[0], sides[1], chosen, labels, measured=find_same_build(sides, band_roots(roots)), band_roots=band_roots(roots))


def list_formats() -> list[LogFormat]:
    """Return the log formats that can be read, including those of other packages, sorted by name.

    Warns:
        UserWarning: for each format that is installed but cannot be loaded.
    """
    import warnings

    from tacholog.formats.registry import installed

    registry = installed()
    for name, reason in registry.failures.items():
        warnings.warn(f"{name} {reason}", stacklevel=2)
    return [
        LogFormat(
            name=name,
            tool=module.TOOL,
            system=module.SYSTEM,
            reads=(module.__doc__ or "").strip().partition("\n")[0],
            dialects=tuple(f"{dialect.name} ({dialect.versions})" for dialect in module.DIALECTS),
        )
        for name, module in registry.formats.items()
    ]


def _read_side(side: str | PathLike[str] | Dataset, roots: Sequence[Path]) -> Dataset:
    from os import PathLike, fspath

    from tacholog.compare.sides import find

    if not isinstance(side, str | PathLike):
        return side
    dataset = find(fspath(side), roots)
    _warn_of_losses(dataset)
    return dataset


def _label(side: str | PathLike[str] | Dataset, otherwise: str) -> str:
    from os import PathLike, fspath

    return fspath(side) if isinstance(side, str | PathLike) else otherwise


def _warn_of_losses(dataset: Dataset) -> None:
    """Issue a warning about each problem of the data, such as an unreadable log. Otherwise, nobody would notice that a table lacks rows."""
    import warnings

    from tacholog.store.complaints import complaints

    for complaint in complaints(dataset).unread:
        warnings.warn(complaint, stacklevel=4)
