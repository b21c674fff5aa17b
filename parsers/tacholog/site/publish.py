"""Publish a built site together with its older versions.

The newest version is at the root. Each version stays at ``versions/<label>/``. If the newest version no longer has an address, the address leads to
the version that had it. Raw logs are at the root only: they are named by their content, and the pages of all versions link to them there. A raw log
is removed if no version links to it any more. A file that was published before and has not changed is not written again.

The new content is written next to the folder and swapped with it at the end, in one step. If publishing is interrupted before that step, for example
by a full disk, the folder is unchanged, and the next attempt starts again. If two processes publish into one folder, the second one is refused.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import re
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import msgspec

from tacholog.errors import TachologError, UnreadableInput
from tacholog.evidence import is_there, read_small_evidence
from tacholog.folders import lock_file
from tacholog.render.html import NOTHING, Html, join, tag
from tacholog.runs.manifest import RUN_FILE, check_release_name
from tacholog.site.output_folder import refuse_foreign
from tacholog.site.stamp import Stamp, check_copy, finished, sha256_of
from tacholog.view.numerals import by_version
from tacholog.view.page_index import DATA, RAW, VERSIONS

_NOTES = "versions.json"
_INDEX = "index.html"
_OWNERS = (".git", "CNAME")  # these names belong to the owner of the folder and are not changed
_ALLOWED = (*_OWNERS, ".nojekyll", ".tacholog-publish.lock", ".tacholog-publish.new")
_GIT_TIMEOUT_S = 600
_RAW_LOG = re.compile(r"raw/([0-9a-f]{2})/\1[0-9a-f]{62}\.gz")  # the names that `tacholog.render.tables.logs.raw_log_name` returns
_RAW_LINK = re.compile(r'(href=")((?:\.\./)*raw/[0-9a-f]{2}/[0-9a-f]{64}\.gz")')
_NAMED_RAW_LOG = re.compile(_RAW_LOG.pattern.encode())
_STYLE = Html("body{font:1.05rem/1.6 system-ui,sans-serif;max-width:44rem;margin:4rem auto;padding:0 1rem}")
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EBUSY, errno.EXDEV)


def publish(site: Path, target: Path, label: str, *, replace: bool = False, incomplete: bool = False) -> Path:
    """Publish a built site into a folder of versions, and return the folder of this version.

    The new content is written elsewhere and replaces the folder in one step at the end. Readers see either the old content or the new one.

    Args:
        site: the built site.
        target: the folder of published versions, or an empty one.
        label: the release. Its pages stay at ``versions/<label>/``.
        replace: whether a release that is already published may be published again.
        incomplete: whether to accept a site for which some runs, logs or folders could not be read.

    Raises:
        UnreadableInput: the site cannot be published. The reason is one of these: The site is not finished, or changed while it was copied. The
            label is used already, or cannot be the name of a folder. The folder ``target`` contains other files, links in place of its folders, or a
            damaged list of versions. Another process is publishing into the folder.
        TachologError: something could not be written. The folder is unchanged.
    """
    stamp = _stamp_to_publish(site, label, incomplete=incomplete)
    if site.resolve() in (target.resolve(), *target.resolve().parents):
        raise UnreadableInput(f"--output {target} lies inside the site {site}")
    with replaced(target, _OWNERS) as fresh:
        refuse_foreign(target, _ALLOWED, ours=(target / VERSIONS / _NOTES).is_file())
        _refuse_links(target)
        version = target / VERSIONS / label
        if os.path.lexists(version) and (version.is_symlink() or not version.is_dir()):
            raise UnreadableInput(f"{version}: this is not a version but {'a link' if version.is_symlink() else 'a file'}; take another label")
        if version.is_dir() and not replace:
            raise UnreadableInput(
                f"{version}: this release was published already, and published pages are not changed (use --replace to publish it again)"
            )
        dates = published(target) | {label: f"{datetime.now(UTC):%Y-%m-%d}"}
        _copy_site(site, stamp, target, fresh)
        check_copy(fresh, site, stamp)
        _keep_version(fresh, list(stamp.files), fresh / VERSIONS / label)
        for other in dates.keys() - {label}:
            shutil.copytree(target / VERSIONS / other, fresh / VERSIONS / other, copy_function=_link_or_copy, symlinks=True)
        _keep_links(target / VERSIONS, fresh / VERSIONS)
        _keep_raw_logs(target, fresh)
        _write(fresh / VERSIONS / _NOTES, json.dumps(dates, indent=1, sort_keys=True) + "\n")
        _keep_addresses(fresh)
        (fresh / ".nojekyll").touch()  # GitHub would omit every folder whose name starts with an underscore
    return version


def _stamp_to_publish(site: Path, label: str, *, incomplete: bool) -> Stamp:
    check_release_name(label)
    if label in (_INDEX, _NOTES):
        problem = f"{VERSIONS}/{label} is a file of the site itself"
        raise UnreadableInput(f"--release {label!r}: {problem}; take another label, of letters, digits and . _ + -")
    stamp = finished(site)
    if (stamp.problems or stamp.altered) and not incomplete:
        raise UnreadableInput(f"{site}: {_incomplete_words(stamp)}")
    # The list of versions is left out, because the list of an unpublished site is empty. Publishing writes a new list.
    return msgspec.structs.replace(stamp, files={name: digest for name, digest in stamp.files.items() if name != f"{VERSIONS}/{_INDEX}"})


def _incomplete_words(stamp: Stamp) -> str:
    some = f"{stamp.problems} runs, logs or folders" if stamp.problems > 1 else "a run, log or folder"
    gaps = [f"{some} could not be read"] if stamp.problems else []
    if not stamp.altered:
        return f"{gaps[0]} (tacholog report states why); --incomplete publishes the rest"
    logs = f"{stamp.altered} logs are not those" if stamp.altered > 1 else "a log is not the one"
    gaps.append(f"{logs} that {RUN_FILE} names, by the SHA-256")
    numbers = f"the numbers of {'these logs' if stamp.altered > 1 else 'this log'} too, each with a mark"
    return f"{' and '.join(gaps)} (tacholog report states why); --incomplete publishes the site as it is, {numbers}"


def published(target: Path) -> dict[str, str]:
    """Return the labels of the published versions with their dates, the newest first. Links are left out, because they may lead to any folder.

    Raises:
        UnreadableInput: the list of the dates is damaged.
    """
    noted = target / VERSIONS / _NOTES
    try:
        name = f"{VERSIONS}/{_NOTES}"
        dates = msgspec.json.decode(read_small_evidence(target, name), type=dict[str, str]) if is_there(target, name) else {}
    except (UnreadableInput, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UnreadableInput(
            f"{noted}: this is no list of versions with their dates ({error}); restore it, or write {{}} into it to keep the versions without dates"
        ) from error
    folders = (target / VERSIONS).iterdir() if (target / VERSIONS).is_dir() else ()
    labels = [path.name for path in folders if path.is_dir() and not path.is_symlink() and not path.name.startswith(".")]
    return {label: dates.get(label, "") for label in sorted(labels, key=lambda label: (dates.get(label, ""), by_version(label)), reverse=True)}


def _copy_site(site: Path, stamp: Stamp, before: Path, fresh: Path) -> None:
    for name, digest in stamp.files.items():
        (fresh / name).parent.mkdir(parents=True, exist_ok=True)
        if sha256_of(before / name) == digest:
            _link_or_copy(before / name, fresh / name)
        else:
            shutil.copyfile(site / name, fresh / name, follow_symlinks=False)


def _keep_version(root: Path, names: Sequence[str], version: Path) -> None:
    """Put the files of the published site into the folder of a version, too.

    The raw logs are left out, because the pages of the version link to the raw logs at the root.
    """
    for name in names:
        if _RAW_LOG.fullmatch(name):
            continue
        (version / name).parent.mkdir(parents=True, exist_ok=True)
        text = (root / name).read_text(encoding="utf-8") if name.endswith(".html") else ""
        if text and (relinked := _RAW_LINK.sub(r"\1../../\2", text)) != text:
            _write(version / name, relinked)
        else:
            _link_or_copy(root / name, version / name)
    _write(version / VERSIONS / _INDEX, _page("Versions", tag("p", tag("a", "All versions", href=f"../../{_INDEX}")), f"../../{_INDEX}"))


def _refuse_links(target: Path) -> None:
    """Links are refused, because they may lead to private files."""
    for path in (target / VERSIONS, target / VERSIONS / _NOTES, target / RAW, *(target / RAW).glob("??")):
        if path.is_symlink():
            raise UnreadableInput(f"{path}: this is a link, and links are not followed; replace it by its target")


def _keep_links(before: Path, fresh: Path) -> None:
    """Copy links next to the versions, such as ``latest``. The files to which they lead are not copied."""
    for path in before.iterdir() if before.is_dir() else ():
        if path.is_symlink() and not os.path.lexists(fresh / path.name):
            _link_or_copy(path, fresh / path.name)


def _keep_raw_logs(before: Path, fresh: Path) -> None:
    """Keep the raw logs to which pages of older versions link. Other raw logs belong to a replaced version, and may contain private text."""
    for name in sorted(_raw_logs_linked_from(fresh / VERSIONS)):
        if not (fresh / name).exists() and (before / name).is_file() and not (before / name).is_symlink():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            _link_or_copy(before / name, fresh / name)


def _raw_logs_linked_from(versions: Path) -> set[str]:
    named: set[str] = set()
    for page in versions.rglob("*.html"):
        if page.is_file() and not page.is_symlink():
            named.update(match[0].decode() for match in _NAMED_RAW_LOG.finditer(page.read_bytes()))
    return named


def _link_or_copy(source: str | Path, target: str | Path) -> None:
    """A hard link is enough, because a published file never changes. Not every file system has hard links."""
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:
        shutil.copy2(source, target, follow_symlinks=False)


def _keep_addresses(target: Path) -> None:
    """Keep each address that only older versions have. The address then leads to the newest of these versions."""
    labels = published(target)
    for label in labels:
        for page in _linkable_files(target / VERSIONS / label):
            if not (target / page).exists():
                _keep_address(page, label, target)
    _write(target / VERSIONS / _INDEX, _index(labels))


def _keep_address(page: Path, label: str, target: Path) -> None:
    if page.suffix == ".html":
        _write(target / page, _redirect(f"{'../' * (len(page.parts) - 1)}{VERSIONS}/{label}/{page.as_posix()}", label))
    else:
        (target / page).parent.mkdir(parents=True, exist_ok=True)
        _link_or_copy(target / VERSIONS / label / page, target / page)


def _linkable_files(version: Path) -> Iterator[Path]:
    for path in sorted(version.rglob("*")):
        if path.is_file() and not path.is_symlink() and (path.suffix == ".html" or path.relative_to(version).parts[0] in (RAW, DATA)):
            yield path.relative_to(version)


def _redirect(address: str, label: str) -> str:
    link = tag("a", f"It is kept as it was in {label}.", href=quote(address))
    # The script tacholog.js reads `#kept`.
    return _page("Moved", tag("p", "This is no longer part of the newest version. ", link), f"{quote(address)}#kept")


def _index(labels: Mapping[str, str]) -> str:
    rows = (tag("li", tag("a", label, href=f"{quote(label)}/index.html"), f", published {day}" if day else "") for label, day in labels.items())
    intro = tag("p", tag("a", "The newest", href="../index.html"), ", and all that were published, as they were:")
    return _page("Versions", join([tag("h1", "Versions"), intro, tag("ul", *rows)]))


def _page(title: str, body: Html, address: str = "") -> str:
    lead = tag("meta", http_equiv="refresh", content=f"0; url={address}") if address else NOTHING
    metas = [tag("meta", charset="utf-8"), tag("meta", name_="viewport", content="width=device-width, initial-scale=1")]
    metas += [tag("meta", name_="color-scheme", content="light dark"), lead]
    head = tag("head", *metas, tag("title", title), tag("style", _STYLE))
    return f"<!DOCTYPE html>\n{tag('html', head, tag('body', tag('main', body)), lang='en')}\n"


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def publish_branch(site: Path, branch: str, label: str, *, replace: bool = False, incomplete: bool = False, push: bool = False) -> None:
    """Publish to a branch of the git repository of the current folder. The working tree is not touched.

    If the site is already committed on the local branch, but not pushed, it is only pushed, because an earlier push may have failed.

    Raises:
        TachologError: the branch cannot have this name, or git or `publish` failed.
    """
    git_folder = _git_folder_for(branch)
    with locked(git_folder / "tacholog-publish.lock", f"branch {branch}"), tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "pages")
        target.mkdir()
        is_of_origin = _restore(branch, target)
        if not (push and not is_of_origin and _has_version(target, label, _stamp_to_publish(site, label, incomplete=incomplete))):
            with _branch_in_messages(target, branch):
                publish(site, target, label, replace=replace, incomplete=incomplete)
            _commit(target, branch, label)
        if push:
            _push(branch, label)


def _has_version(target: Path, label: str, stamp: Stamp) -> bool:
    return (target / VERSIONS / label).is_dir() and all(sha256_of(target / name) == digest for name, digest in stamp.files.items())


@contextmanager
def _branch_in_messages(target: Path, branch: str) -> Iterator[None]:
    """Replace the path of the temporary folder ``target`` by the name of the branch in messages of errors.

    The temporary folder no longer exists when a user reads the message.
    """
    try:
        yield
    except TachologError as error:
        message = str(error).replace(f"{target}/", f"branch {branch}: ").replace(str(target), f"branch {branch}")
        raise type(error)(message) from error


def _commit(target: Path, branch: str, label: str) -> None:
    from ghp_import import GhpError, ghp_import

    try:
        ghp_import(str(target), branch=branch, mesg=f"Publish {label}", nojekyll=True, remote="origin")
    except GhpError as error:
        raise TachologError(f"branch {branch}: {error}") from error
    except subprocess.CalledProcessError as error:
        raise TachologError(f"branch {branch}: {' '.join(error.cmd)} ended with {error.returncode}") from error


def _push(branch: str, label: str) -> None:
    pushed = subprocess.run(["git", "push", "origin", branch], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True, check=False)
    if pushed.returncode:
        raise TachologError(
            f"branch {branch}: {label} is committed on the local branch, but git could not push it to origin. "
            f"Solve the problem that git reports, then run the same command again to push it. git reports: {' '.join(pushed.stderr.split())}"
        )


def _git_folder_for(branch: str) -> Path:
    short = not branch.startswith(("-", "refs/", "heads/", "remotes/", "tags/")) and branch not in ("HEAD", "@")
    # The full name is checked: for a short name, git would also accept @{-1}, which means the previously checked out branch.
    if not short or subprocess.run(["git", "check-ref-format", f"refs/heads/{branch}"], capture_output=True, check=False).returncode:
        raise UnreadableInput(f"--branch {branch!r}: not a name for a branch (gh-pages is one)")
    answer = subprocess.run(["git", "rev-parse", "--git-common-dir"], capture_output=True, text=True, check=False)
    if answer.returncode:
        raise UnreadableInput(f"--branch {branch}: {Path.cwd()} is not in a git repository")
    return Path(answer.stdout.strip()).resolve()


def _restore(branch: str, target: Path) -> bool:
    """Unpack the content of a branch into ``target``. Return whether the content comes from the branch of origin.

    The local branch is used only if origin has no such branch, because readers see the branch of origin.
    """
    for remote, name in ((True, f"refs/remotes/origin/{branch}"), (False, f"refs/heads/{branch}")):
        if subprocess.run(["git", "rev-parse", "--verify", "--quiet", name], capture_output=True, check=False).returncode == 0:
            archive = target.with_suffix(".zip")  # Not a tar file: Python unpacks tar files safely only since version 3.11.4.
            words = ["git", "archive", "--output", str(archive), name]
            done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=_GIT_TIMEOUT_S)
            if done.returncode:
                raise TachologError(f"branch {branch}: git could not read it: {' '.join(done.stderr.split())}")
            with zipfile.ZipFile(archive) as content:
                content.extractall(target)
            return remote
    return False


@contextmanager
def replaced(folder: Path, owned: Sequence[str]) -> Iterator[Path]:
    """Yield an empty folder for the new content. It replaces ``folder`` when the block ends without an error.

    Args:
        folder: the folder to replace. It need not exist, and stays unchanged until the block has ended.
        owned: names in the folder that belong to its owner, such as ``.git``. They move to the new folder.

    Raises:
        UnreadableInput: another process is publishing into the folder.
        TachologError: something cannot be written. Nothing has changed.
    """
    folder = folder.resolve()
    staging = _staging_folder(folder)
    with locked(staging.with_name(f"{staging.name}.lock"), str(folder)):
        fresh = staging.with_name(f"{staging.name}.new")
        _remove_leftovers(folder, fresh, owned)
        try:
            fresh.mkdir(parents=True)
            yield fresh
            if folder.exists():
                shutil.copystat(folder, fresh)  # the new folder gets the permissions of the old one
            _keep_owned(folder, fresh, owned)
            _exchange(folder, fresh)
        except OSError as error:
            raise TachologError(f"{folder}: {_first_reason(error)}; nothing was published, and the folder is unchanged") from error
        finally:
            _remove_leftovers(folder, fresh, owned)


def _staging_folder(folder: Path) -> Path:
    """The staging folder is next to ``folder``, so that both can be swapped in one step.

    It is inside ``folder`` if ``folder`` is a mount point, or if the parent folder is not writable.
    """
    parent = folder.parent
    while not parent.exists():
        parent = parent.parent
    is_mount = folder.exists() and folder.stat().st_dev != parent.stat().st_dev
    inside = folder.exists() and (is_mount or os.path.ismount(folder) or not os.access(parent, os.W_OK))
    return folder / ".tacholog-publish" if inside else folder.with_name(f".{folder.name}.tacholog-publish")


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock on a file. The kernel releases it when the process ends, even if it is killed. A leftover file has no effect.

    Raises:
        UnreadableInput: another process holds the lock.
        TachologError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = _locked(path, what)
    except OSError as error:
        raise TachologError(f"{what}: {_first_reason(error)}; nothing was published, and the folder is unchanged") from error
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(handle)


def _locked(path: Path, what: str) -> int:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        try:
            lock_file(handle)
        except BlockingIOError:
            os.close(handle)
            raise UnreadableInput(f"{what}: another tacholog publish is writing to it; try again later") from None
        if _is_same_file(path, handle):
            return handle
        os.close(handle)  # The process that held the lock ended between our two calls, and deleted the file.


def _is_same_file(path: Path, handle: int) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _keep_owned(folder: Path, fresh: Path, owned: Sequence[str]) -> None:
    """Files are copied. Folders are moved, and `_remove_leftovers` can move them back."""
    for name in owned:
        if (folder / name).is_dir() and not (folder / name).is_symlink():
            (folder / name).rename(fresh / name)
        elif os.path.lexists(folder / name):
            shutil.copy2(folder / name, fresh / name, follow_symlinks=False)


def _remove_leftovers(folder: Path, fresh: Path, owned: Sequence[str]) -> None:
    if not os.path.lexists(fresh):
        return
    # An interrupted attempt may have moved folders of the owner.
    for name in owned:
        if os.path.lexists(fresh / name) and folder.is_dir() and not os.path.lexists(folder / name):
            (fresh / name).rename(folder / name)
    if fresh.is_dir() and not fresh.is_symlink():
        shutil.rmtree(fresh)
    else:
        fresh.unlink()


def _first_reason(error: OSError) -> str:
    if isinstance(error, shutil.Error):  # It lists all files that `copytree` could not copy.
        _, target, reason = error.args[0][0]
        return f"{Path(target).name}: {str(reason).partition('] ')[2].partition(': ')[0] or reason}"
    return f"{Path(error.filename).name}: {error.strerror}" if error.filename else str(error.strerror or error)


def _exchange(folder: Path, fresh: Path) -> None:
    if not folder.exists():
        fresh.rename(folder)
        return
    if _swapped(fresh, folder):
        return
    # A mount point cannot be swapped, so its entries are swapped one by one.
    # index.html is moved last, when the pages to which it links exist.
    names = {path.name for parent in (fresh, folder) for path in parent.iterdir()} - {fresh.name, f"{fresh.stem}.lock"}
    for name in sorted(names, key=lambda name: (name == "index.html", name)):
        if not os.path.lexists(folder / name):
            (fresh / name).rename(folder / name)
        elif not os.path.lexists(fresh / name):
            (folder / name).rename(fresh / name)
        elif not _swapped(fresh / name, folder / name):
            (folder / name).rename(fresh / f".{name}.old")
            (fresh / name).rename(folder / name)


def _swapped(first: Path, second: Path) -> bool:
    """Swap two paths in one step. Return false if the system or the file system cannot do this."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return False
    if rename(_AT_FDCWD, os.fsencode(first), _AT_FDCWD, os.fsencode(second), _RENAME_EXCHANGE) == 0:
        return True
    if (code := ctypes.get_errno()) in _NO_EXCHANGE:
        return False
    raise OSError(code, os.strerror(code), str(second))
