"""Builds and caches are used only in folders to which only their owner can write."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.command import run_tacholog
from tests.left_out import leave_out

from tacholog.errors import TachologError
from tacholog.folders import not_ours_alone
from tacholog.site.build import build_site
from tacholog.store.cache import Cache, Kind, key_of

pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

SOMEBODY = 12345


def run(*arguments: str, environment: dict[str, str] | None = None) -> tuple[int, str]:
    done = run_tacholog(*arguments, environment=environment)
    return done.returncode, done.stderr.decode()


def give_away(path: Path) -> None:
    if os.geteuid() != 0:
        leave_out("only root can give a folder to another user")
    os.chown(path, SOMEBODY, SOMEBODY, follow_symlinks=False)


def test_folder_that_only_the_user_can_write_is_private(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path)

    assert not_ours_alone(tmp_path) is None
    assert not_ours_alone(tmp_path / "to" / "be" / "made") is None
    assert not_ours_alone(tmp_path / "link") is None


@pytest.mark.parametrize("mode", [0o777, 0o757, 0o1777, 0o702])
def test_folder_that_others_can_write_is_not_private(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)

    assert not_ours_alone(folder) == f"others can write to {folder}"


def test_folder_that_a_group_of_others_can_write_is_not_private(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    if os.geteuid() == 0:
        os.chown(folder, 0, SOMEBODY)
        folder.chmod(0o775)
        assert not_ours_alone(folder) == f"others can write to {folder}"
    else:
        leave_out("only root can give a folder to another group")


def test_folder_inside_a_shared_folder_is_private_only_if_others_cannot_replace_it(tmp_path: Path) -> None:
    inner = tmp_path / "shared" / "ours"
    inner.mkdir(parents=True)
    inner.parent.chmod(0o777)
    assert not_ours_alone(inner) == f"others can write to {inner.parent}"
    assert not_ours_alone(inner.parent / "to-be-made") == f"others can write to {inner.parent}"

    inner.parent.chmod(0o1777)  # Like /tmp.
    assert not_ours_alone(inner) is None


def test_symbolic_link_is_checked_by_its_target(tmp_path: Path) -> None:
    target, way = tmp_path / "shared" / "target", tmp_path / "shared" / "way"
    target.mkdir(parents=True)
    way.symlink_to(target)
    (tmp_path / "link").symlink_to(way)
    assert not_ours_alone(tmp_path / "link") is None

    (tmp_path / "shared").chmod(0o777)
    assert not_ours_alone(tmp_path / "link") == f"others can write to {tmp_path / 'shared'}"
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert "Too many levels" in str(not_ours_alone(tmp_path / "round"))


@pytest.mark.parametrize("what", ["folder", "above", "link"])
def test_file_of_another_user_is_not_private(tmp_path: Path, what: str) -> None:
    above, other = tmp_path / "above", tmp_path / "other"
    folder = above / "folder"
    above.mkdir()
    if what == "link":
        other.mkdir()
        folder.symlink_to(other)
    else:
        folder.mkdir()
    given = above if what == "above" else folder
    give_away(given)

    assert not_ours_alone(folder) == f"{given} belongs to another user"


KEY = key_of("a log")


def test_cache_is_not_used_if_others_can_write_to_its_folder(tmp_path: Path) -> None:
    folder = tmp_path / "cache"
    kept = Cache(folder)
    kept.put(Kind.PUBLISHED, {KEY: b"357"})
    kept.close()
    assert Cache(folder).get(Kind.PUBLISHED, [KEY]) == {KEY: b"357"}
    folder.chmod(0o777)

    shared = Cache(folder)

    assert shared.get(Kind.PUBLISHED, [KEY]) == {}
    assert shared.refused == f"others can write to {folder}"
    shared.put(Kind.PUBLISHED, {KEY: b"1"})
    folder.chmod(0o700)
    assert Cache(folder).get(Kind.PUBLISHED, [KEY]) == {KEY: b"357"}


def test_commands_report_that_nothing_is_stored_in_a_folder_that_others_can_write(tmp_path: Path, checkout: Path) -> None:
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(0o777)
    environment = {"TACHOLOG_CACHE": str(folder)}

    read, warned = run("export", str(checkout / "data/rti/custom-type"), "--output", str(tmp_path / "all.csv"), environment=environment)
    shown, refused = run("cache", environment=environment)

    assert read == 0
    assert f"{folder}: others can write to {folder}, so nothing is kept there" in warned
    assert list(folder.iterdir()) == []
    assert shown == 2
    assert "name another folder with TACHOLOG_CACHE" in refused


class Planted:
    """Runs code when it is unpickled."""

    def __init__(self, sign: Path) -> None:
        self.sign = sign

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return os.mkdir, (str(self.sign),)


def test_file_that_somebody_else_left_next_to_a_site_is_not_executed(tmp_path: Path, checkout: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    code, said = run("report", str(checkout / "data/rti/custom-type"), "--output", str(shared / "site"))
    assert code == 0, said
    assert "nothing is kept" not in said
    work, sign = shared / ".site-build", tmp_path / "planted-code-ran"
    (work / "doctrees").mkdir()
    (work / "doctrees/environment.pickle").write_bytes(pickle.dumps(Planted(sign)))
    work.chmod(0o777)
    (shared / "site/index.html").unlink()

    code, said = run("report", str(checkout / "data/rti/custom-type"), "--output", str(shared / "site"))

    assert code == 0, said
    assert f"others can write to {work}, so nothing is kept for the next build" in said
    assert not sign.exists()
    assert (shared / "site/index.html").is_file()


def test_library_builds_no_site_with_a_folder_that_others_can_write(tmp_path: Path, checkout: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    work.chmod(0o777)

    with pytest.raises(TachologError, match="so no other user may write to it"):
        build_site([checkout / "data/rti/custom-type"], tmp_path / "site", work)
