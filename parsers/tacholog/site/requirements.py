"""The requirements of a site: ``requirements.toml`` in the data, kept beside the dataset, where the page and the badges read it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tacholog.compare.requirements.file import FILE, RequirementFile, read_requirements
from tacholog.compare.requirements.judge import Base
from tacholog.compare.sides import of_release, of_runs
from tacholog.dataset.frames import Dataset
from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there, read_small_evidence
from tacholog.site.settings import SiteSettings
from tacholog.site.sources import Sources

DOCUMENT = "requirements"


def keep_requirements(roots: Sequence[Path], folder: Path) -> None:
    """Copy the requirements of the first folder of runs that has some beside the dataset. A file that has not changed keeps its modification time.

    Raises:
        UnreadableInput: the file cannot be used; the message names file, line and key.
    """
    root = next((root for root in roots if is_there(root, FILE)), None)
    kept = folder / FILE
    if root is None:
        kept.unlink(missing_ok=True)
        return
    try:
        content = read_small_evidence(root, FILE)
    except UnreadableInput as error:
        raise UnreadableInput(f"{root / FILE}: {error}") from error
    read_requirements(root / FILE)
    if not kept.is_file() or kept.read_bytes() != content:
        kept.write_bytes(content)


def kept_requirements(folder: Path) -> RequirementFile | None:
    """Return the requirements that are kept beside a dataset; nothing if there are none, or if some release to compare with is not named."""
    path = folder / FILE
    return read_requirements(path) if path.is_file() else None


def releases_of_site(data: Dataset) -> Base:
    """Return how the release is found that a relative requirement compares with. A release that the site does not have is empty."""
    there = {str(name) for name in data.runs["release"].dropna()}
    return lambda name: of_release(data, name) if name in there else of_runs(data, ())


def write_requirements_page(sources: Sources, folder: Path, templates: object, settings: SiteSettings) -> list[str]:
    """Write the page of the requirements, and return its document; nothing if there are none."""
    if kept_requirements(folder) is None:
        return []
    text = templates.get_template(f"{DOCUMENT}.md.jinja").render(site=settings)  # type: ignore[attr-defined]  # jinja2's environment
    sources.write(f"{DOCUMENT}.md", text)
    return [DOCUMENT]
