"""`site.toml` is untrusted input: the files and addresses in it are checked before anything is published."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.command import run_tacholog_text

from tacholog.errors import UnreadableInput
from tacholog.site.settings import SiteSettings, read_settings


@pytest.mark.parametrize("name", ["key.txt", "shadow", "linked.svg"])
def test_logo_that_is_a_link_or_not_a_picture_is_not_published(tmp_path: Path, name: str) -> None:
    (tmp_path / "key.txt").write_text("secret")
    (tmp_path / "shadow").write_text("secret")
    (tmp_path / "linked.svg").symlink_to("key.txt")
    (tmp_path / "site.toml").write_text(f'logo = "{name}"\n')

    with pytest.raises(UnreadableInput, match="not a picture"):
        read_settings(tmp_path / "site.toml")


def test_picture_in_any_folder_can_be_a_logo(tmp_path: Path) -> None:
    (tmp_path / "logo.SVG").write_text("<svg/>")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "site.toml").write_text('logo = "../logo.SVG"\n')

    assert read_settings(tmp_path / "conf" / "site.toml").logo == str(tmp_path / "logo.SVG")


def test_address_of_the_site_with_a_script_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('url = "javascript:alert(1)"\n')

    with pytest.raises(UnreadableInput, match="url: 'javascript"):
        read_settings(tmp_path / "site.toml")


@pytest.mark.parametrize("line", ["log_text_mb = inf", "log_text_mb = nan", "log_text_mb = 1e300", "log_numbers = 9223372036854775807"])
def test_invalid_limit_is_refused_with_a_message(tmp_path: Path, line: str) -> None:
    (tmp_path / "site.toml").write_text(f"[limits]\n{line}\n")

    with pytest.raises(UnreadableInput, match="limits"):
        read_settings(tmp_path / "site.toml")


@pytest.mark.parametrize(
    "url", ["https://a b", 'https://x"onmouseover=1', "https://user@host/", "http://", "https://a/\\n<b>", "mailto:a@b.org\\nx", "mailto:"]
)
def test_link_without_a_valid_address_is_refused(tmp_path: Path, url: str) -> None:
    (tmp_path / "site.toml").write_text(f"links = [{{title = 'a', url = \"{url.replace(chr(34), chr(92) + chr(34))}\"}}]\n")

    with pytest.raises(UnreadableInput, match=r"links: .* is not an address"):
        read_settings(tmp_path / "site.toml")


@pytest.mark.parametrize("url", ["https://example.org/a?b=c#d", "mailto:first.last+x@example.org?subject=a%20b"])
def test_web_and_mail_addresses_are_valid_links(tmp_path: Path, url: str) -> None:
    (tmp_path / "site.toml").write_text(f"links = [{{title = 'a', url = '{url}'}}]\n")

    assert read_settings(tmp_path / "site.toml").links[0].url == url


def test_settings_from_a_named_pipe_are_refused_without_waiting(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "site.toml")

    done = run_tacholog_text("report", str(tmp_path), "--site", str(tmp_path / "site.toml"), "--output", str(tmp_path / "site"))

    assert (done.returncode, done.stderr) == (2, f"tacholog: {tmp_path / 'site.toml'}: not a file but a named pipe\n")


def test_settings_can_be_empty() -> None:
    assert read_settings(Path(os.devnull)) == SiteSettings()
