"""Publishing is a transaction: if it is stopped, the root still serves a complete version, and a retry works."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tacholog.errors import UnreadableInput
from tacholog.site.publish import publish
from tacholog.site.stamp import write_stamp

# A script for a child process: it publishes like the command, and kills itself at a given step (open, link, rename, list or remove).
KILL_AT_EVERY_STEP = """
import os, pathlib, shutil, signal, sys
from tacholog.site.publish import publish

site, public, before = map(pathlib.Path, sys.argv[1:])

def content(root, all=True):
    found = {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
    return {name: text for name, text in found.items() if all or not name.startswith(".git/")}  # which no server shows

def killed_at(step):
    child = os.fork()
    if child == 0:
        seen = 0
        def hook(event, _):
            nonlocal seen
            if event in EVENTS:
                seen += 1
                if seen == step:
                    os.kill(os.getpid(), signal.SIGKILL)
        sys.addaudithook(hook)
        publish(site, public, "2")
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0

EVENTS = {"open", "os.link", "os.rename", "os.mkdir", "os.listdir", "os.scandir", "os.remove", "os.rmdir", "os.chmod", "os.utime", "shutil.copyfile",
          "ctypes.dlsym", "fcntl.flock", "shutil.rmtree"}
old, new, step, served = content(before, all=False), None, 0, []
while True:
    step += 1
    shutil.rmtree(public)
    shutil.copytree(before, public)
    if not killed_at(step):
        break
    found = content(public, all=False)
    served.append("old" if found == old else "new" if found.get("udp.html") == b"new" else "broken")
    publish(site, public, "2", replace=True)
    whole = content(public)
    if new is None:
        new = whole
    assert whole == new, (step, whole.keys() ^ new.keys())
    served_now = {name: text for name, text in new.items() if not name.startswith(".git/")}
    assert served[-1] == "old" or found == served_now, (step, found.keys() ^ new.keys())
    left = sorted(path.name for path in public.parent.iterdir() if path.name.startswith(".public"))
    assert not left, (step, left)
print(step, served.count("old"), served.count("new"), served.count("broken"))
"""


def site(folder: Path, **pages: str) -> Path:
    for name, text in {"index": f"home of {folder.name}", **pages}.items():
        path = folder / f"{name.replace('__', '/')}.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / "raw").mkdir()
    (folder / "raw" / f"{folder.name}.log.txt").write_text("Length: 32")
    write_stamp(folder, "0" * 64, ("a check",), problems=0)
    return folder


def files(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_kill_at_any_step_leaves_the_old_or_the_new_version_at_the_root_and_a_retry_works(tmp_path: Path) -> None:
    old, new = site(tmp_path / "one", udp="old", rti__shmem="old"), site(tmp_path / "two", udp="new")
    publish(old, tmp_path / "before", "1")
    (tmp_path / "before/.git").mkdir()
    (tmp_path / "before/.git/HEAD").write_text("ref: refs/heads/gh-pages\n")
    (tmp_path / "before/CNAME").write_text("performance.example\n")
    (tmp_path / "public").mkdir()

    words = [sys.executable, "-c", KILL_AT_EVERY_STEP, str(new), str(tmp_path / "public"), str(tmp_path / "before")]
    done = subprocess.run(words, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    steps, before, after, broken = map(int, done.stdout.split())
    assert broken == 0
    assert before + after == steps - 1
    assert before > 20, "the new version is written aside"
    assert after > 0, "the old one is removed after the switch"


def test_publication_that_failed_on_a_full_disk_changed_nothing_and_can_be_repeated(tmp_path: Path) -> None:
    big = "x" * 90_000
    old, new = site(tmp_path / "one", udp="old"), site(tmp_path / "two", udp="new", big=big, bigger=big)
    small = tmp_path / "small"
    small.mkdir()
    program = """
import pathlib, subprocess, sys
from tacholog.errors import TachologError
from tacholog.site.publish import publish
old, new, small = map(pathlib.Path, sys.argv[1:])
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=180k", "tmpfs", str(small)], check=True)
def files(root):
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}
def fails(site, public, label):
    try:
        publish(site, public, label)
    except TachologError as error:
        assert "No space left on device; nothing was published" in str(error), error
    else:
        raise SystemExit("it fitted")
    assert sorted(path.name for path in small.iterdir() if path.name.startswith(".") and path.name != ".nojekyll") == []
for public in (small / "public", small):
    fails(new, public, "2")
    assert not any(small.iterdir())
    publish(old, public, "1")
    before = files(public)
    fails(new, public, "2")
    assert files(public) == before, files(public).keys() ^ before.keys()
    subprocess.run(["mount", "-o", "remount,size=4m", str(small)], check=True)
    publish(new, public, "2")
    assert (public / "udp.html").read_text() == "new" and (public / "versions/1/udp.html").read_text() == "old"
    subprocess.run(f"rm -rf {small}/* {small}/.nojekyll; mount -o remount,size=180k {small}", shell=True, check=True)
print("whole")
"""
    done = subprocess.run(
        ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"]), sys.executable, "-c", program, str(old), str(new), str(small)],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("whole\n", 0), done.stderr


def test_second_of_two_concurrent_calls_is_refused_and_leaves_no_files(tmp_path: Path) -> None:
    publish(site(tmp_path / "one"), tmp_path / "public", "1")
    before = files(tmp_path / "public")
    two = site(tmp_path / "two")
    lock = tmp_path / ".public.tacholog-publish.lock"

    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(UnreadableInput, match="another tacholog publish is writing to it; try again later"):
            publish(two, tmp_path / "public", "2")
    assert files(tmp_path / "public") == before

    publish(two, tmp_path / "public", "2")
    assert not lock.exists()


def test_each_version_that_concurrent_calls_published_exists(tmp_path: Path) -> None:
    labels = [str(number) for number in range(1, 7)]
    folders = [site(tmp_path / f"site-{label}") for label in labels]
    program = "import pathlib, sys; from tacholog.site.publish import publish; publish(*map(pathlib.Path, sys.argv[1:3]), sys.argv[3])"

    started = [
        subprocess.Popen([sys.executable, "-c", program, str(folder), str(tmp_path / "public"), label], stderr=subprocess.PIPE, text=True)
        for label, folder in zip(labels, folders, strict=True)
    ]
    said = [process.communicate()[1] for process in started]

    for label, folder, process, error in zip(labels, folders, started, said, strict=True):
        assert process.returncode == 0 or "another tacholog publish is writing to it" in error
        if process.returncode:
            publish(folder, tmp_path / "public", label)
    assert sorted(path.name for path in (tmp_path / "public/versions").iterdir() if path.is_dir()) == labels
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.startswith(".")) == []


def test_leftover_files_with_the_names_of_temporary_files_do_not_stop_publishing(tmp_path: Path) -> None:
    (tmp_path / ".public.tacholog-publish.new").write_text("left by somebody")
    (tmp_path / ".public.tacholog-publish.lock").write_text("")

    publish(site(tmp_path / "one"), tmp_path / "public", "1")

    assert (tmp_path / "public/index.html").read_text() == "home of one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "public"]


def test_files_of_the_owner_in_the_folder_are_kept(tmp_path: Path) -> None:
    publish(site(tmp_path / "one"), tmp_path / "public", "1")
    (tmp_path / "public/CNAME").write_text("performance.example\n")
    (tmp_path / "public/.git").mkdir()
    (tmp_path / "public/.git/HEAD").write_text("ref: refs/heads/gh-pages\n")
    (tmp_path / "public").chmod(0o750)

    publish(site(tmp_path / "two"), tmp_path / "public", "2")

    assert (tmp_path / "public/CNAME").read_text() == "performance.example\n"
    assert (tmp_path / "public/.git/HEAD").read_text() == "ref: refs/heads/gh-pages\n"
    assert (tmp_path / "public").stat().st_mode & 0o777 == 0o750
    shutil.rmtree(tmp_path / "public")


def test_symbolic_link_to_the_published_folder_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "public").symlink_to("disk")

    publish(site(tmp_path / "one"), tmp_path / "public", "1")

    assert (tmp_path / "public").is_symlink()
    assert (tmp_path / "disk/index.html").read_text() == "home of one"
