"""``site.toml``: the name of a site, what it shows, and what it keeps private."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec

from tacholog.errors import UnreadableInput
from tacholog.evidence import is_there
from tacholog.privacy.settings import Privacy
from tacholog.privacy.tokens import plain
from tacholog.render.links import is_web_address
from tacholog.runs.labels import is_label
from tacholog.runs.logs import ReadingLimits
from tacholog.runs.manifest import read_evidence_toml, read_toml
from tacholog.runs.questions import QUESTIONS_FILE, Question, QuestionFile
from tacholog.site.result_pages import DEFAULT, FIELDS

_MAIL = re.compile(r"mailto:[\w.+@%?=&,-]+")
_PICTURES = (".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico")


class Sizes(NamedTuple):
    """The sizes in bytes above which a file or a site is listed before it is published."""

    file: int
    site: int


USUAL = Sizes(50_000_000, 500_000_000)


class Link(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A link in the header: ``title`` and ``url``."""

    title: str
    url: str


class LimitSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Limits for the logs of a site, and sizes for a warning.

    ``log_text_mb`` limits the uncompressed text of a log, and ``log_numbers`` the count of its numbers. A site names a larger log, but does not show
    it.

    ``file_mb`` and ``site_mb`` are the sizes for the warning: a larger file or site is listed before it is published, and is published nevertheless.
    Hosters refuse files above 50 or 100 MB and sites above 1 GB.
    """

    log_text_mb: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 64  # The upper bound excludes infinity.
    log_numbers: Annotated[int, msgspec.Meta(gt=0, le=10**9)] = 500_000
    file_mb: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 50
    site_mb: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 500

    @property
    def limits(self) -> ReadingLimits:
        """The limits in the form that `tacholog.store.load` takes."""
        return ReadingLimits(round(self.log_text_mb * 1e6), self.log_numbers)

    @property
    def sizes(self) -> Sizes:
        """The sizes above which a file or a site is listed."""
        return Sizes(round(self.file_mb * 1e6), round(self.site_mb * 1e6))


class CampaignOfRelease(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A campaign and a release. They select the runs of this campaign that measured this release."""

    campaign: str
    release: str


class SiteSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The keys of ``site.toml``. All are optional."""

    name: str = "Tacholog"
    title: str = "Publish/subscribe performance"
    intro: str | None = None
    logo: str | None = None
    copyright: str | None = None
    contact: str | None = None
    url: str | None = None
    repository: str | None = None
    vendors: dict[str, str] = {}
    links: tuple[Link, ...] = ()
    systems: tuple[str, ...] | None = None
    campaigns_left_out: tuple[str | CampaignOfRelease, ...] = ()
    pages: tuple[str, ...] = DEFAULT
    questions: tuple[Question, ...] = ()
    privacy: Privacy = Privacy()
    limits: LimitSettings = LimitSettings()


def read_settings(path: Path) -> SiteSettings:
    """Read a ``site.toml``. The path of the logo is relative to that file.

    Raises:
        UnreadableInput: the file or its logo is missing, or the file is not TOML or contains an unknown key. The message names file and key.
    """
    settings = read_toml(path, SiteSettings)
    _check_pages(path, settings.pages)
    for word in settings.privacy.hide:
        if not any(map(str.isalnum, plain(word))):
            raise UnreadableInput(f"{path}: privacy.hide: {word!r} has no letter and no digit, so it cannot be found")
    for link in settings.links:
        if not (is_web_address(link.url) or _MAIL.fullmatch(link.url)):
            raise UnreadableInput(f"{path}: links: {link.url!r} is not an address (https://, http:// or mailto:)")
    addresses = {"url": settings.url, "repository": settings.repository, **{f"vendors.{system}": url for system, url in settings.vendors.items()}}
    for key, url in addresses.items():
        if url is not None and not is_web_address(url):
            raise UnreadableInput(f"{path}: {key}: {url!r} is not the address of a page (https:// or http://, without a user name)")
    if settings.logo is None:
        return settings
    logo = path.parent / settings.logo
    # The logo is published. Without the following checks, a site.toml could publish any file as its logo.
    if logo.suffix.lower() not in _PICTURES or logo.is_symlink():
        raise UnreadableInput(f"{path}: logo: {logo}: not a picture ({', '.join(_PICTURES)}), or a symbolic link, which is not followed")
    if Path(os.path.normpath(path.parent.resolve() / settings.logo)) != logo.resolve():
        raise UnreadableInput(f"{path}: logo: {logo}: a symbolic link leads there, which is not followed")
    if not logo.is_file():
        raise UnreadableInput(f"{path}: logo: {logo}: no such file")
    return msgspec.structs.replace(settings, logo=str(logo.resolve()))


def with_questions(settings: SiteSettings, roots: Sequence[Path]) -> SiteSettings:
    """Return the settings with the questions of the campaigns in these folders, if ``site.toml`` states none.

    Raises:
        UnreadableInput: a file of questions cannot be read; the message names file and key.
    """
    if settings.questions:
        return settings
    files = [root / QUESTIONS_FILE for root in roots if is_there(root, QUESTIONS_FILE)]
    questions = tuple(question for file in files for question in read_evidence_toml(file, QuestionFile).questions)
    return msgspec.structs.replace(settings, questions=questions)


def _check_pages(path: Path, fields: tuple[str, ...]) -> None:
    allowed = f"{', '.join(FIELDS)}, label.NAME"
    if not fields:
        raise UnreadableInput(f"{path}: pages: the list is empty; there are {allowed}")
    for field in fields:
        if field not in FIELDS and not is_label(field):
            raise UnreadableInput(f"{path}: pages: {field!r} is not known; there are {allowed}")
        if fields.count(field) > 1:
            raise UnreadableInput(f"{path}: pages: {field!r} stands there twice")
