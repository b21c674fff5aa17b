"""Publishing puts the newest version at the root, leaves older versions unchanged, and keeps old addresses valid."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tacholog.commands.publish import publish as publish_command
from tacholog.errors import TachologError, UnreadableInput
from tacholog.site.publish import publish, publish_branch, published
from tacholog.site.settings import Sizes
from tacholog.site.stamp import STAMP, write_stamp


def built(folder: Path, **pages: str) -> Path:
    folder.mkdir()
    for name, text in {"index": "home", **pages}.items():
        path = folder / f"{name.replace('__', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / ".doctrees").mkdir()
    write_stamp(folder, "0" * 64, ("a check",), problems=0)
    return folder


def test_newest_version_is_at_the_root_and_the_older_version_stays_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "public"
    publish(built(tmp_path / "one", udp="old"), target, "5.9")

    publish(built(tmp_path / "two", udp="new"), target, "5.12")

    assert (target / "udp.html").read_text() == "new"
    assert (target / "versions/5.9/udp.html").read_text() == "old"
    assert list(published(target)) == ["5.12", "5.9"]
    assert (target / "versions/index.html").read_text().index("5.12") < (target / "versions/index.html").read_text().index("5.9")
    assert not (target / "versions/5.9/.doctrees").exists()
    assert (target / ".nojekyll").is_file()


def test_address_that_no_longer_exists_leads_to_the_last_version_that_had_this_page(tmp_path: Path) -> None:
    target = tmp_path / "public"
    old = built(tmp_path / "one", rti__shmem="old")
    (old / "raw").mkdir()
    (old / "raw/sub.log.txt").write_text("Length: 32")
    write_stamp(old, "0" * 64, (), problems=0)
    publish(old, target, "1")

    publish(built(tmp_path / "two"), target, "2")

    assert 'href="../versions/1/rti/shmem.html"' in (target / "rti/shmem.html").read_text()
    assert (target / "raw/sub.log.txt").read_text() == "Length: 32"
    publish(built(tmp_path / "three", rti__shmem="again"), target, "3")
    assert (target / "rti/shmem.html").read_text() == "again"


def with_raw_log(site: Path, text: str) -> str:
    digest = hashlib.sha256(text.encode()).hexdigest()
    address = f"raw/{digest[:2]}/{digest}.gz"
    (site / address).parent.mkdir(parents=True)
    (site / address).write_text(text)
    (site / "logs/a").mkdir(parents=True)
    (site / "logs/a/sub.log.html").write_text(f'<a href="../../{address}">')
    write_stamp(site, "0" * 64, ("a check",), problems=0)
    return address


def test_raw_log_is_stored_once_for_all_versions_and_each_page_links_to_this_log(tmp_path: Path) -> None:
    target = tmp_path / "public"
    one, two = built(tmp_path / "one"), built(tmp_path / "two")
    first, second = with_raw_log(one, "Length: 32"), with_raw_log(two, "Length: 64")
    publish(one, target, "1")

    publish(two, target, "2")

    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*.gz")) == sorted((first, second))
    for page, address in (("logs/a/sub.log.html", second), ("versions/1/logs/a/sub.log.html", first), ("versions/2/logs/a/sub.log.html", second)):
        found = re.search(r'href="([^"]*)"', (target / page).read_text())
        assert found
        assert (target / page).parent.joinpath(found[1]).resolve() == target / address


def test_raw_log_is_removed_if_only_a_replaced_version_had_a_link_to_the_log(tmp_path: Path) -> None:
    target = tmp_path / "public"
    kept, leaked, clean = (built(tmp_path / name) for name in ("kept", "leaked", "clean"))
    old, _, new = with_raw_log(kept, "Length: 32"), with_raw_log(leaked, "Length: 64 codename"), with_raw_log(clean, "Length: 64 […]")
    publish(kept, target, "1")
    publish(leaked, target, "2")

    publish(clean, target, "2", replace=True)

    assert sorted(path.relative_to(target).as_posix() for path in target.rglob("*.gz")) == sorted((old, new))
    assert not [path for path in target.rglob("*") if path.is_file() and b"codename" in path.read_bytes()]


@pytest.mark.parametrize("name", ["versions", "raw", "versions/versions.json"])
def test_symbolic_link_among_the_published_files_is_refused_and_named(tmp_path: Path, name: str) -> None:
    target = tmp_path / "public"
    one = built(tmp_path / "one")
    with_raw_log(one, "Length: 32")
    publish(one, target, "1")
    (target / name).rename(tmp_path / "elsewhere")
    (target / name).symlink_to(tmp_path / "elsewhere")

    # A folder with a list of versions counts as published, even if the list is a link.
    with pytest.raises(UnreadableInput, match=f"{name}: this is a link, and links are not followed"):
        publish(built(tmp_path / "two"), target, "2")

    assert (target / name).is_symlink()


def test_symbolic_link_beside_the_versions_is_kept_and_is_not_a_version(tmp_path: Path) -> None:
    target, outside = tmp_path / "public", tmp_path / "outside"
    publish(built(tmp_path / "one", udp="old"), target, "1")
    outside.mkdir()
    (outside / "secret.html").write_text("private")
    (target / "versions/0").symlink_to(outside)
    (target / "versions/latest").symlink_to("1")

    publish(built(tmp_path / "two"), target, "2")

    assert (target / "versions/0").readlink() == outside
    assert (target / "versions/latest/udp.html").read_text() == "old"
    assert (target / "versions/latest").is_symlink()
    assert list(published(target)) == ["2", "1"]
    assert not (target / "secret.html").exists()
    with pytest.raises(UnreadableInput, match="this is not a version but a link"):
        publish(built(tmp_path / "three"), target, "latest")


@pytest.mark.parametrize("notes", ["[1", "[1]", '{"1": 5}', "", b"\xff"])
def test_damaged_list_of_versions_is_named_and_nothing_is_published(tmp_path: Path, notes: str | bytes) -> None:
    target = tmp_path / "public"
    publish(built(tmp_path / "one"), target, "1")
    (target / "versions/versions.json").write_bytes(notes.encode() if isinstance(notes, str) else notes)

    with pytest.raises(UnreadableInput, match=r"versions\.json: this is no list of versions with their dates"):
        publish(built(tmp_path / "two"), target, "2")
    assert not (target / "versions/2").exists()

    (target / "versions/versions.json").write_text("{}")
    publish(built(tmp_path / "three"), target, "2")
    assert list(published(target)) == ["2", "1"]


def test_names_and_dates_in_the_list_of_versions_are_escaped(tmp_path: Path) -> None:
    target = tmp_path / "public"
    publish(built(tmp_path / "one"), target, "1")
    (target / "versions/versions.json").write_text('{"1": "<script>alert(1)</script>"}')
    (target / "versions/<b>x").mkdir()
    (target / "versions/<b>x/a.html").write_text("page")

    publish(built(tmp_path / "two"), target, "2")

    index, moved = (target / "versions/index.html").read_text(), (target / "a.html").read_text()
    assert '<a href="%3Cb%3Ex/index.html">&lt;b&gt;x</a></li>' in index
    assert ", published &lt;script&gt;alert(1)&lt;/script&gt;" in index
    assert 'content="0; url=versions/%3Cb%3Ex/a.html#kept"' in moved
    assert not re.search("<script|<b>", index + moved)


def test_unchanged_file_is_not_written_again(tmp_path: Path) -> None:
    target = tmp_path / "public"
    publish(built(tmp_path / "one", udp="same", tcp="old"), target, "1")
    before = {name: (target / name).stat().st_ino for name in ("udp.html", "tcp.html", "versions/1/udp.html")}

    publish(built(tmp_path / "two", udp="same", tcp="new"), target, "2")

    after = {name: (target / name).stat().st_ino for name in before}
    assert [name for name in before if after[name] != before[name]] == ["tcp.html"]


def test_file_that_may_be_too_large_for_a_hoster_is_named_before_publishing(tmp_path: Path) -> None:
    site = built(tmp_path / "one", udp="x" * 2000)
    write_stamp(site, "0" * 64, (), 0, Sizes(file=1000, site=3000))

    done = CliRunner().invoke(publish_command, [str(site), "--release", "1", "--output", str(tmp_path / "public")])

    assert done.exit_code == 0
    assert "udp.html has 0 MB; a hoster may refuse files above 0.001 MB" in done.stderr
    assert (tmp_path / "public/versions/1/udp.html").is_file()


def test_published_release_is_not_overwritten_without_the_option(tmp_path: Path) -> None:
    target = tmp_path / "public"
    publish(built(tmp_path / "one"), target, "1")
    again = built(tmp_path / "two", udp="new")

    with pytest.raises(UnreadableInput, match="this release was published already"):
        publish(again, target, "1")

    publish(again, target, "1", replace=True)
    assert (target / "versions/1/udp.html").read_text() == "new"


@pytest.mark.parametrize("label", ["../x", "", "a b", ".hidden", "x/y"])
def test_label_that_is_not_a_plain_folder_name_is_refused(tmp_path: Path, label: str) -> None:
    with pytest.raises(UnreadableInput, match="letters, digits"):
        publish(built(tmp_path / "one"), tmp_path / "public", label)


@pytest.mark.parametrize("label", ["index.html", "versions.json"])
@pytest.mark.parametrize("replace", [False, True])
def test_label_is_refused_with_advice_if_a_file_of_the_site_has_this_name(tmp_path: Path, label: str, replace: bool) -> None:
    said = rf"^--release '{label}': versions/{label} is a file of the site itself; take another label, of letters, digits and \. _ \+ -$"
    target = tmp_path / "public"
    site = built(tmp_path / "one")
    for _ in range(2):
        with pytest.raises(UnreadableInput, match=said):
            publish(site, target, label, replace=replace)
        publish(site, target, "1", replace=True)

    assert sorted(path.name for path in (target / "versions").iterdir()) == ["1", "index.html", "versions.json"]


@pytest.mark.parametrize("replace", [False, True])
def test_label_with_the_name_of_an_existing_link_or_file_is_refused_and_the_entry_is_kept(tmp_path: Path, replace: bool) -> None:
    target, site = tmp_path / "public", built(tmp_path / "one")
    publish(site, target, "1")
    (target / "versions/latest").symlink_to("1")
    (target / "versions/README").write_text("ours")

    for label, what in (("latest", "a link"), ("README", "a file")):
        with pytest.raises(UnreadableInput, match=rf"versions/{label}: this is not a version but {what}; take another label"):
            publish(site, target, label, replace=replace)

    assert (target / "versions/latest").is_symlink()
    assert (target / "versions/README").read_text() == "ours"


def test_folder_without_a_site_is_named(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="no built site"):
        publish(tmp_path, tmp_path / "public", "1")


def test_site_with_an_unfinished_build_is_not_published(tmp_path: Path) -> None:
    site = built(tmp_path / "one")
    (site / STAMP).unlink()

    with pytest.raises(UnreadableInput, match="the site is not finished: its last build failed or was stopped"):
        publish(site, tmp_path / "public", "1")

    assert not (tmp_path / "public").exists()


def test_site_that_was_changed_after_its_build_is_not_published_and_the_file_is_named(tmp_path: Path) -> None:
    site = built(tmp_path / "one", udp="new")
    (site / "udp.html").write_text("forged")
    with pytest.raises(UnreadableInput, match=r"udp\.html was changed after the site was built"):
        publish(site, tmp_path / "public", "1")
    (site / "udp.html").unlink()
    with pytest.raises(UnreadableInput, match=r"udp\.html is missing after the site was built"):
        publish(site, tmp_path / "public", "1")
    (site / "udp.html").write_text("new")
    (site / "secret.txt").symlink_to("/etc/hostname")
    with pytest.raises(UnreadableInput, match=r"secret\.txt was added after the site was built"):
        publish(site, tmp_path / "public", "1")

    assert not (tmp_path / "public").exists()


def test_site_with_a_symbolic_link_to_a_folder_is_not_published(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("private")
    site = built(tmp_path / "one")
    (site / "extra").symlink_to(outside)

    with pytest.raises(UnreadableInput, match="extra was added after the site was built"):
        publish(site, tmp_path / "public", "1")

    write_stamp(site, "0" * 64, (), problems=0)  # A link that was created during the build is refused too.
    with pytest.raises(UnreadableInput, match="extra was added after the site was built"):
        publish(site, tmp_path / "public", "1")
    assert not (tmp_path / "public").exists()


def test_target_of_a_link_in_a_published_version_is_not_copied_to_the_root(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("private")
    old = built(tmp_path / "one")
    publish(old, tmp_path / "public", "1")
    (tmp_path / "public/versions/1/raw").mkdir()
    (tmp_path / "public/versions/1/raw/sub.log.txt").symlink_to(tmp_path / "secret.txt")

    publish(built(tmp_path / "two"), tmp_path / "public", "2")

    assert not (tmp_path / "public/raw/sub.log.txt").exists()


def test_hidden_files_are_not_published_and_do_not_stop_publishing(tmp_path: Path) -> None:
    site = built(tmp_path / "one")
    (site / ".git").mkdir()
    (site / ".git/HEAD").write_text("ref: refs/heads/main\n")
    (site / ".nojekyll").touch()

    version = publish(site, tmp_path / "public", "1")

    assert sorted(path.name for path in version.iterdir()) == ["index.html", "versions"]
    assert not (tmp_path / "public/.git").exists()


REBUILT_WHILE_IT_IS_COPIED = """
import os, pathlib, sys
from tacholog.cli import main

site, public = sys.argv[1:]

def hook(event, arguments):
    if event == "shutil.copyfile" and os.fspath(arguments[0]) == f"{site}/udp.html":
        pathlib.Path(site, "udp.html").write_text("of another build")

sys.addaudithook(hook)
main(["publish", site, "--release", "1", "--output", public])
"""


def test_site_that_is_rebuilt_during_the_copy_is_not_published(tmp_path: Path) -> None:
    site = built(tmp_path / "one", udp="new")

    words = [sys.executable, "-c", REBUILT_WHILE_IT_IS_COPIED, str(site), str(tmp_path / "public")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 2
    assert "udp.html was changed while it was being published" in done.stderr
    assert not (tmp_path / "public").exists()


def test_incomplete_site_is_published_only_with_the_option(tmp_path: Path) -> None:
    site = built(tmp_path / "one")
    write_stamp(site, "0" * 64, (), problems=2)
    words = [str(site), "--release", "1", "--output", str(tmp_path / "public")]

    refused = subprocess.run([sys.executable, "-m", "tacholog", "publish", *words], capture_output=True, text=True, check=False)
    asked = CliRunner().invoke(publish_command, [*words, "--incomplete"], catch_exceptions=False)

    assert refused.returncode == 2
    assert "2 runs, logs or folders could not be read" in refused.stderr
    assert asked.exit_code == 0
    assert (tmp_path / "public/index.html").read_text() == "home"


@pytest.mark.parametrize("branch", ["-x", "HEAD", "refs/heads/main", "@", "@{-1}", "a..b", "a b", "x.lock", ""])
def test_invalid_branch_name_is_refused_before_anything_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, branch: str) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnreadableInput, match="not a name for a branch"):
        publish_branch(built(tmp_path / "one"), branch, "1")

    assert git(tmp_path, "for-each-ref") == ""


def test_publishing_to_a_branch_outside_of_a_repository_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UnreadableInput, match="is not in a git repository"):
        publish_branch(built(tmp_path / "one"), "gh-pages", "1")


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def test_branch_keeps_its_older_versions_and_the_working_tree_is_unchanged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = tmp_path / "repository"
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(tmp_path, "clone", "-q", str(tmp_path / "origin.git"), str(repository))
    for name, value in (("user.name", "A B"), ("user.email", "a@b.example")):
        git(repository, "config", name, value)
    (repository / "work.txt").write_text("mine")
    git(repository, "add", "work.txt")
    git(repository, "commit", "-q", "-m", "work")
    monkeypatch.chdir(repository)

    publish_branch(built(tmp_path / "one", udp="old"), "gh-pages", "1", push=True)
    git(repository, "branch", "-D", "gh-pages")  # In a fresh clone, only the remote ``origin`` has the branch.
    publish_branch(built(tmp_path / "two"), "gh-pages", "2", push=True)

    names = git(tmp_path / "origin.git", "ls-tree", "-r", "--name-only", "gh-pages").split()
    assert {".nojekyll", "index.html", "udp.html", "versions/1/udp.html", "versions/2/index.html", "versions/index.html"} <= set(names)
    assert set(json.loads(git(tmp_path / "origin.git", "show", "gh-pages:versions/versions.json"))) == {"1", "2"}
    assert git(repository, "status", "--short") == ""
    assert sorted(path.name for path in repository.iterdir()) == [".git", "work.txt"]


def repository_without_origin(folder: Path) -> Path:
    repository = folder / "repository"
    repository.mkdir()
    git(repository, "init", "-q", "-b", "main")
    for name, value in (("user.name", "A B"), ("user.email", "a@b.example")):
        git(repository, "config", name, value)
    git(repository, "commit", "-q", "--allow-empty", "-m", "work")
    return repository


def test_failed_push_shows_the_error_of_git_and_a_second_call_pushes_the_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository, site = repository_without_origin(tmp_path), built(tmp_path / "one")
    monkeypatch.chdir(repository)

    with pytest.raises(TachologError) as first:
        publish_branch(site, "gh-pages", "2", push=True)
    with pytest.raises(TachologError) as second:
        publish_branch(site, "gh-pages", "2", push=True)
    committed = git(repository, "rev-parse", "gh-pages")
    git(tmp_path, "init", "-q", "--bare", "origin.git")
    git(repository, "remote", "add", "origin", str(tmp_path / "origin.git"))
    publish_branch(site, "gh-pages", "2", push=True)

    assert "2 is committed on the local branch, but git could not push it to origin" in str(first.value)
    assert "fatal: 'origin' does not appear to be a git repository" in str(first.value)
    assert str(second.value) == str(first.value)
    assert git(tmp_path / "origin.git", "rev-parse", "gh-pages") == committed


def test_refusal_to_change_a_committed_release_does_not_name_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(repository_without_origin(tmp_path))
    publish_branch(built(tmp_path / "one"), "gh-pages", "2")

    with pytest.raises(UnreadableInput) as error:
        publish_branch(built(tmp_path / "other", index="another home"), "gh-pages", "2", push=True)

    assert str(error.value).startswith("branch gh-pages: versions/2: this release was published already")


def test_workflow_measures_and_publishes_with_existing_nox_sessions(checkout: Path) -> None:
    jobs = yaml.safe_load((checkout / ".github/workflows/publish.yml").read_text())["jobs"]
    commands = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    sessions = [command.split()[2] for command in commands if command.startswith("nox -s")]

    assert sessions == ["bench", "publish", "docs"]
    assert all(f"def {session}(session" in (checkout / "noxfile.py").read_text() for session in sessions)
    assert jobs["publish"]["needs"] == "bench"
    assert jobs["pages"]["needs"] == "publish"
    assert jobs["pages"]["permissions"] == {"contents": "read", "pages": "write", "id-token": "write"}
    # Text that a person types must not become part of a command.
    assert not any("${{" in command for command in commands)


def test_publish_command_prints_the_changes_of_the_newest_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site, summary = built(tmp_path / "one"), tmp_path / "summary.md"
    (site / "downloads").mkdir()
    (site / "downloads/latest-diff.md").write_text("### 1 → 2&#35;: 3 worse\n\n| verdict | rows |\n")
    write_stamp(site, "0" * 64, (), problems=0)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))

    done = CliRunner().invoke(publish_command, [str(site), "--release", "2", "--output", str(tmp_path / "public")], catch_exceptions=False)

    assert "what changed: 1 → 2#: 3 worse" in done.output
    assert summary.read_text() == "### 1 → 2&#35;: 3 worse\n\n| verdict | rows |\n"


def test_publish_command_prints_the_changes_of_each_system(tmp_path: Path) -> None:
    site = built(tmp_path / "one")
    (site / "downloads").mkdir()
    (site / "downloads/latest-diff.md").write_text("### A: 1 → 2: 3 worse\n\n- old: x\n\n### B: 1 → 2: 1 better\n")
    write_stamp(site, "0" * 64, (), problems=0)

    done = CliRunner().invoke(publish_command, [str(site), "--release", "2", "--output", str(tmp_path / "public")], catch_exceptions=False)

    said = [line.rpartition(" (")[0] for line in done.output.splitlines() if line.startswith("what changed: ")]
    assert said == ["what changed: A: 1 → 2: 3 worse", "what changed: B: 1 → 2: 1 better"]


def test_published_list_of_versions_replaces_the_empty_list_and_each_version_links_to_this_list(tmp_path: Path) -> None:
    target = tmp_path / "public"
    site = built(tmp_path / "one", udp='<a href="versions/index.html">', versions__index="not published yet")

    publish(site, target, "1")

    assert "not published yet" not in (target / "versions/index.html").read_text()
    assert 'href="1/index.html"' in (target / "versions/index.html").read_text()
    assert 'href="../../index.html"' in (target / "versions/1/versions/index.html").read_text()
    publish(site, target, "2")  # The list of versions is not reported as a missing page.
    assert 'href="2/index.html"' in (target / "versions/index.html").read_text()


def test_address_of_a_removed_page_redirects_to_the_last_version_with_this_page(tmp_path: Path) -> None:
    target = tmp_path / "public"
    publish(built(tmp_path / "one", udp="old"), target, "1")

    publish(built(tmp_path / "two"), target, "2")

    assert 'content="0; url=versions/1/udp.html#kept"' in (target / "udp.html").read_text()
