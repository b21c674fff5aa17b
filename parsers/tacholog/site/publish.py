"""A built site among its older versions: the newest at the root, each for good at ``versions/<label>/``, and no old address without a page."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tacholog.errors import TachologError, UnreadableInput
from tacholog.runs.manifest import check_label
from tacholog.site.output_folder import refuse_foreign
from tacholog.site.stamp import Stamp, check_copy, finished, is_part_of_site
from tacholog.site.switch import locked, replaced
from tacholog.view.numerals import natural

VERSIONS = "versions"
_NOTES = "versions.json"
_OWNERS = (".git", "CNAME")  # what belongs to whoever owns the folder, and moves over from version to version
_ALLOWED = (*_OWNERS, ".nojekyll", ".tacholog-publish.lock", ".tacholog-publish.new")
_PATIENCE_S = 600


def publish(site: Path, target: Path, label: str, *, replace: bool = False, incomplete: bool = False) -> Path:
    """Put a built site into a folder of published versions, all of it or nothing. Returns the version's folder.

    The new content is written aside, and takes the folder's place in one step at the end: readers see the old version or the new one.

    Args:
        site: the built site.
        target: the folder, as it was after the last time; or an empty one.
        label: the release; its pages stay at ``versions/<label>/``.
        replace: whether a release that was published already may be published anew.
        incomplete: whether a site may be published for which some runs, logs or folders could not be read.

    Raises:
        UnreadableInput: there is no finished site, or the label cannot be a folder's name, or it is taken, or the folder holds something else,
            or another process publishes into it.
        TachologError: something could not be written; the folder is as it was.
    """
    stamp = _publishable(site, label, incomplete=incomplete)
    if site.resolve() in (target.resolve(), *target.resolve().parents):
        raise UnreadableInput(f"--output {target} lies inside the site {site}")
    with replaced(target, _OWNERS) as fresh:
        refuse_foreign(target, _ALLOWED, ours=(target / VERSIONS / _NOTES).is_file())
        version = target / VERSIONS / label
        if version.exists() and not replace:
            raise UnreadableInput(f"{version}: this release was published already; published pages stay as they are (--replace to publish it anew)")
        dates = published(target) | {label: f"{datetime.now(UTC):%Y-%m-%d}"}
        for other in dates.keys() - {label}:
            shutil.copytree(target / VERSIONS / other, fresh / VERSIONS / other, copy_function=_linked, symlinks=True)
        shutil.copytree(site, fresh / VERSIONS / label, ignore=_not_published(site), symlinks=True)
        check_copy(fresh / VERSIONS / label, site, stamp)
        _write(fresh / VERSIONS / _NOTES, json.dumps(dates, indent=1, sort_keys=True) + "\n")
        _fill_root(fresh / VERSIONS / label, fresh)
        (fresh / ".nojekyll").touch()  # GitHub would leave out every folder whose name starts with an underscore
    return version


def _publishable(site: Path, label: str, *, incomplete: bool) -> Stamp:
    """Return the stamp of a site that may be published under this label."""
    check_label(label)
    stamp = finished(site)
    if stamp.problems and not incomplete:
        some = f"{stamp.problems} runs, logs or folders" if stamp.problems > 1 else "a run, log or folder"
        raise UnreadableInput(f"{site}: {some} could not be read (tacholog report says why); --incomplete publishes the rest")
    return stamp


def published(target: Path) -> dict[str, str]:
    """Return the labels of the published versions with the day of publication, the last published first."""
    noted = target / VERSIONS / _NOTES
    dates: dict[str, str] = json.loads(noted.read_text(encoding="utf-8")) if noted.is_file() else {}
    folders = (target / VERSIONS).iterdir() if (target / VERSIONS).is_dir() else ()
    labels = [path.name for path in folders if path.is_dir() and not path.name.startswith(".")]
    return {label: dates.get(label, "") for label in sorted(labels, key=lambda label: (dates.get(label, ""), natural(label)), reverse=True)}


def _not_published(site: Path) -> Callable[[str, list[str]], set[str]]:
    """Return what ``copytree`` leaves out: the names at the top of the folder that are not part of the site."""
    return lambda folder, names: {name for name in names if not is_part_of_site(name)} if Path(folder) == site else set()


def _linked(source: str, target: str) -> None:
    """Let an old version's file be in the new folder too. It never changes, so that a second name for it is enough; where there are none, copy it."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _fill_root(version: Path, target: Path) -> None:
    """Make the root a copy of the newest version; addresses that it no longer has lead to the version that had them."""
    shutil.copytree(version, target, dirs_exist_ok=True, symlinks=True)
    labels = published(target)
    for label in labels:
        for page in _pages(target / VERSIONS / label):
            if not (target / page).exists():
                _keep_address(page, label, target)
    _write(target / VERSIONS / "index.html", _index(labels))


def _keep_address(page: Path, label: str, target: Path) -> None:
    """Let an address that the newest version does not have lead to an older one; a raw log or a table is there itself."""
    if page.suffix == ".html":
        _write(target / page, _moved(f"{'../' * (len(page.parts) - 1)}{VERSIONS}/{label}/{page.as_posix()}", label))
    else:
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(target / VERSIONS / label / page, target / page)


def _pages(version: Path) -> Iterator[Path]:
    """Yield what others may have linked to: pages, raw logs and tables."""
    for path in sorted(version.rglob("*")):
        if path.is_file() and not path.is_symlink() and (path.suffix == ".html" or path.relative_to(version).parts[0] in ("raw", "data")):
            yield path.relative_to(version)


def _moved(address: str, label: str) -> str:
    shown = html.escape(address)
    link = f'<a href="{shown}">It is kept as it was in {html.escape(label)}.</a>'
    return _page("Moved", f"<p>This is no longer part of the newest version. {link}</p>", shown)


def _index(labels: Mapping[str, str]) -> str:
    rows = "".join(f'<li><a href="{label}/index.html">{label}</a>, published {day}</li>' for label, day in labels.items())
    intro = '<p><a href="../index.html">The newest</a>, and all that were published, as they were:</p>'
    return _page("Versions", f"<h1>Versions</h1>{intro}<ul>{rows}</ul>")


def _page(title: str, body: str, address: str = "") -> str:
    lead = f'<meta http-equiv="refresh" content="0; url={address}">' if address else ""
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">'
    style = "<style>body{font:1.05rem/1.6 system-ui,sans-serif;max-width:44rem;margin:4rem auto;padding:0 1rem}</style>"
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}{lead}<title>{title}</title>{style}</head><body><main>{body}</main></body></html>\n'


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def publish_branch(site: Path, branch: str, label: str, *, replace: bool = False, incomplete: bool = False, push: bool = False) -> None:
    """Publish onto a branch of the repository that the current folder is in; the working tree is not touched.

    Raises:
        TachologError: it cannot be the name of a branch, git failed, or `publish` did.
    """
    from ghp_import import GhpError, ghp_import

    git_folder = _git_folder_for(branch)
    with locked(git_folder / "tacholog-publish.lock", f"branch {branch}"), tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "pages")
        target.mkdir()
        _restore(branch, target)
        publish(site, target, label, replace=replace, incomplete=incomplete)
        try:
            ghp_import(str(target), branch=branch, mesg=f"Publish {label}", nojekyll=True, push=push, remote="origin")
        except (GhpError, subprocess.CalledProcessError) as error:
            raise TachologError(f"branch {branch}: {error}") from error


def _git_folder_for(branch: str) -> Path:
    """Return the folder that git keeps the repository in, after it has been seen that a branch may have this name.

    Raises:
        UnreadableInput: it may not, or the current folder is in no repository.
    """
    short = not branch.startswith(("-", "refs/", "heads/", "remotes/", "tags/")) and branch not in ("HEAD", "@")
    # The whole name: `git check-ref-format --branch` would take @{-1} for the branch that was checked out before.
    if not short or subprocess.run(["git", "check-ref-format", f"refs/heads/{branch}"], capture_output=True, check=False).returncode:
        raise UnreadableInput(f"--branch {branch!r}: not a name for a branch (gh-pages is one)")
    found = subprocess.run(["git", "rev-parse", "--git-common-dir"], capture_output=True, text=True, check=False)
    if found.returncode:
        raise UnreadableInput(f"--branch {branch}: {Path.cwd()} is not in a git repository")
    return Path(found.stdout.strip()).resolve()


def _restore(branch: str, target: Path) -> None:
    """Put what the branch holds now into a folder: of two, origin's is the one that readers see."""
    for name in (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"):
        if subprocess.run(["git", "rev-parse", "--verify", "--quiet", name], capture_output=True, check=False).returncode == 0:
            archive = target.with_suffix(".zip")  # before Python 3.11.4 a tar file is unpacked with no care
            subprocess.run(["git", "archive", "--output", str(archive), name], check=True, timeout=_PATIENCE_S)
            with zipfile.ZipFile(archive) as content:
                content.extractall(target)
            return
