"""A built site among its older versions: the newest at the root, each for good at ``versions/<label>/``, and no old address without a page."""

from __future__ import annotations

import html
import json
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from tacholog.errors import TachologError, UnreadableInput
from tacholog.manifest import check_label
from tacholog.report.claim import MARKER, refuse_foreign
from tacholog.report.numerals import natural

VERSIONS = "versions"
_NOTES = "versions.json"
_KEPT_AT_ROOT = {VERSIONS, ".git", ".nojekyll", "CNAME"}
_BUILDERS_OWN = (".buildinfo", MARKER, ".doctrees", "objects.inv")
_PATIENCE_S = 600


def publish(site: Path, target: Path, label: str, *, replace: bool = False) -> Path:
    """Put a built site into a folder of published versions. Returns the version's folder.

    Args:
        site: the built site.
        target: the folder, as it was after the last time; or an empty one.
        label: the release; its pages stay at ``versions/<label>/``.
        replace: whether a release that was published already may be published anew.

    Raises:
        UnreadableInput: there is no site, or the label cannot be a folder's name, or it is taken, or the folder holds something else.
    """
    if not (site / "index.html").is_file():
        raise UnreadableInput(f"{site}: no built site (tacholog report builds one)")
    check_label(label)
    version = target / VERSIONS / label
    if version.exists() and not replace:
        raise UnreadableInput(f"{version}: this release was published already; published pages stay as they are (--replace to publish it anew)")
    if site.resolve() in (target.resolve(), *target.resolve().parents):
        raise UnreadableInput(f"--output {target} lies inside the site {site}")
    refuse_foreign(target, _KEPT_AT_ROOT - {VERSIONS}, ours=(target / VERSIONS / _NOTES).is_file())
    fresh = target / VERSIONS / f".{label}.part"
    shutil.rmtree(fresh, ignore_errors=True)
    shutil.copytree(site, fresh, ignore=shutil.ignore_patterns(*_BUILDERS_OWN))
    shutil.rmtree(version, ignore_errors=True)
    fresh.rename(version)
    _note_date(target, label)
    _renew_root(version, target)
    (target / ".nojekyll").touch()  # GitHub would leave out every folder whose name starts with an underscore
    return version


def published(target: Path) -> dict[str, str]:
    """Return the labels of the published versions with the day of publication, the last published first."""
    noted = target / VERSIONS / _NOTES
    dates: dict[str, str] = json.loads(noted.read_text(encoding="utf-8")) if noted.is_file() else {}
    labels = [path.name for path in (target / VERSIONS).iterdir() if path.is_dir() and not path.name.startswith(".")]
    return {label: dates.get(label, "") for label in sorted(labels, key=lambda label: (dates.get(label, ""), natural(label)), reverse=True)}


def _note_date(target: Path, label: str) -> None:
    # Files lose their age on their way through git.
    dates = published(target) | {label: f"{datetime.now(UTC):%Y-%m-%d}"}
    (target / VERSIONS / _NOTES).write_text(json.dumps(dates, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def _renew_root(version: Path, target: Path) -> None:
    """Make the root a copy of the newest version; addresses that it no longer has lead to the version that had them."""
    for old in target.iterdir():
        if old.name not in _KEPT_AT_ROOT:
            shutil.rmtree(old) if old.is_dir() else old.unlink()
    shutil.copytree(version, target, dirs_exist_ok=True)
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
        if path.is_file() and (path.suffix == ".html" or path.relative_to(version).parts[0] in ("raw", "data")):
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


def publish_branch(site: Path, branch: str, label: str, *, replace: bool = False, push: bool = False) -> None:
    """Publish onto a branch of the repository that the current folder is in; the working tree is not touched.

    Raises:
        TachologError: git failed, or `publish` did.
    """
    from ghp_import import GhpError, ghp_import

    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "pages")
        target.mkdir()
        _restore(branch, target)
        publish(site, target, label, replace=replace)
        try:
            ghp_import(str(target), branch=branch, mesg=f"Publish {label}", nojekyll=True, push=push, remote="origin")
        except (GhpError, subprocess.CalledProcessError) as error:
            raise TachologError(f"branch {branch}: {error}") from error


def _restore(branch: str, target: Path) -> None:
    """Put what the branch holds now into a folder: of two, origin's is the one that readers see."""
    for name in (f"refs/remotes/origin/{branch}", f"refs/heads/{branch}"):
        if subprocess.run(["git", "rev-parse", "--verify", "--quiet", name], capture_output=True, check=False).returncode == 0:
            archive = target.with_suffix(".zip")  # before Python 3.11.4 a tar file is unpacked with no care
            subprocess.run(["git", "archive", "--output", str(archive), name], check=True, timeout=_PATIENCE_S)
            with zipfile.ZipFile(archive) as content:
                content.extractall(target)
            return
