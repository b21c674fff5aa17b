"""What a build leaves of the redacted logs of the one before it."""

from __future__ import annotations

from pathlib import Path

from tacholog.privacy.logs import LogFolder, line_classes_file


def build(folder: Path, runs: dict[str, list[str]]) -> None:
    """Show these logs of runs, as a build does."""
    shown = LogFolder(folder)
    for run, logs in runs.items():
        of_run = shown.of_run(run)
        for path in (*(of_run / log for log in logs), *(Path(line_classes_file(str(of_run), log)) for log in logs)):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(run)
        shown.keep(of_run, logs)
    shown.close()


def files(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.rglob("*") if path.is_file())


def test_a_log_that_is_not_shown_any_more_is_deleted(tmp_path: Path) -> None:
    build(tmp_path / "shown", {"a": ["pub.log", "sub.log"], "b": ["sub.log"]})
    assert len(files(tmp_path / "shown")) == 6

    build(tmp_path / "shown", {"a": ["sub.log"]})

    assert [Path(path).name for path in files(tmp_path / "shown") if path.endswith(".log")] == ["sub.log"]
    assert len(files(tmp_path / "shown")) == 2  # with the classes of its lines
    assert len(list((tmp_path / "shown").iterdir())) == 2


def test_what_a_build_left_that_was_stopped_is_deleted(tmp_path: Path) -> None:
    build(tmp_path / "shown", {"a": ["sub.log"]})
    stopped = LogFolder(tmp_path / "shown")
    (stopped.of_run("a") / "half.log").write_text("of a name that is private now")

    build(tmp_path / "shown", {"a": ["sub.log"]})

    assert [Path(path).name for path in files(tmp_path / "shown") if path.endswith(".log")] == ["sub.log"]
    assert len(files(tmp_path / "shown")) == 2
