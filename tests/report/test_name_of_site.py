"""The name of a site is plain text on each page, whatever characters it contains."""

from __future__ import annotations

import html
import re
import shutil
from pathlib import Path

import html5lib
import pytest

from tacholog.site.build import build_site
from tacholog.site.settings import SiteSettings

pytestmark = [
    pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.site,
]
NAMES = ("A <B> & C", "x</title><script>document.title='PWNED'</script>", '"><img src=x onerror=alert(1)>', "a {{ 7*7 }} %(b)s &lt;")


@pytest.mark.parametrize("name", NAMES)
def test_name_of_the_site_never_becomes_markup(tmp_path: Path, checkout: Path, name: str) -> None:
    shutil.copytree(checkout / "data/rti/custom-type", tmp_path / "data/rti")

    site = build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work", SiteSettings(name=name)).parent

    pages = [path for path in site.rglob("*.html") if "_static" not in path.parts]
    for path in pages:
        text = path.read_text(encoding="utf-8")
        page = html5lib.parse(text, namespaceHTMLElements=False)
        title = "".join(page.find(".//title").itertext())
        assert name in title or "logs" in path.parts or path.parent == site, (path, title)
        assert not page.findall(".//b") or "<B>" not in name or all("".join(one.itertext()) != " & C" for one in page.findall(".//b")), path
        assert not [one for one in page.iter("script") if "PWNED" in "".join(one.itertext()) and one.get("type") is None], path
        assert not [one for one in page.iter("img") if one.get("onerror")], path
    search = (site / "search.html").read_text(encoding="utf-8")
    assert re.search(r"<title>Search - (.*?)</title>", search, re.DOTALL)
    assert f"<title>Search - {html.escape(name)}</title>" in search.replace("&#39;", "&#x27;").replace("&#34;", "&quot;")
    logo = html5lib.parse(search, namespaceHTMLElements=False).find(".//p[@class='title logo__title']")
    assert "".join(logo.itertext()) == name
