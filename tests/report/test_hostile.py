"""All text of a manifest, a host file, a log and site.toml is plain text on each page, and each page exists and can be reached."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element

import html5lib
import pytest
from click.testing import CliRunner
from html5lib.constants import E as SENTENCES
from tests.depth import tries

from tacholog.commands.check import check
from tacholog.commands.report import report
from tacholog.errors import TachologError
from tacholog.runs.manifest import LogFile, Manifest, write
from tacholog.site.build import build_site
from tacholog.site.settings import Link, SiteSettings
from tacholog.visible import drawn

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

RunsOf = Callable[[Path, Sequence[str]], Path]
Pages = dict[str, Element]


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory, hostile: Sequence[str], runs_of: RunsOf) -> tuple[Path, Path]:
    """A site of harmless texts, and a site of hostile texts in the same fields."""
    folder = tmp_path_factory.mktemp("texts")
    # One hostile text contains "system", which the page of machines takes for an operating system. So the harmless texts contain this word too.
    harmless = [f"Harmless_{number} system (C#)" for number in range(len(hostile))]
    return built(folder / "harmless", harmless, runs_of), built(folder / "hostile", hostile, runs_of)


def built(folder: Path, texts: Sequence[str], runs_of: RunsOf) -> Path:
    text, url = texts[1], f"https://a.test/{texts[1]}"
    settings = SiteSettings(name=text, title=text, intro=text, copyright=text, contact=text, url=url, links=(Link(title=text, url=url),))
    return build_site([runs_of(folder / "data", texts)], folder / "site", folder / "work", settings).parent


def parsed(site: Path) -> Iterator[tuple[str, Element]]:
    for path in sorted(site.rglob("*.html")):
        if "_static" not in path.parts:
            yield path.relative_to(site).as_posix(), html5lib.parse(path.read_text(encoding="utf-8"), namespaceHTMLElements=False)


def shape(page: Element) -> tuple[object, ...]:
    """Return the tags, the names of the attributes and the classes of all elements of a page. The texts on the page must not change this result."""
    return tuple(_shape_of(element) for element in _elements(page) if element.get("class") != "tl-control")


def _shape_of(element: Element) -> tuple[object, ...]:
    class_ = re.sub(r"\btl-s[0-9]\b", "tl-s", element.get("class", ""))
    if class_ == "tl-point":  # The colour and the shape of a point depend on the order of names. This order differs between the sites.
        return ("point",)
    return (element.tag, *sorted(element.attrib), class_ if element.tag != "body" else None)


def _elements(page: Element) -> Iterator[Element]:
    """Yield a page and all elements on the page, except the words of shell scripts.

    These words are left out, because each word has its own element, and the colour of the element depends on the word.
    """
    yield page
    for child in page:
        if not callable(child.tag) and not (page.tag == "pre" and child.tag == "span"):
            yield from _elements(child)


def test_footer_of_a_page_states_the_copyright_from_the_settings(sites: tuple[Path, Path]) -> None:
    footer = next(page for name, page in parsed(sites[0]) if name == "hosts.html").find(".//p[@class='copyright']")

    assert footer is not None
    assert " ".join("".join(footer.itertext()).split()).startswith("© Copyright Harmless_1 system (C#)")


def test_hostile_texts_give_the_same_pages_as_harmless_texts(sites: tuple[Path, Path]) -> None:
    harmless, hostile = (Counter(shape(page) for _, page in parsed(site)) for site in sites)

    assert harmless.total() > 40
    assert hostile - harmless == Counter()
    assert harmless - hostile == Counter()


def test_pages_with_hostile_texts_are_valid_and_show_the_texts_unchanged(sites: tuple[Path, Path], hostile: Sequence[str]) -> None:
    mistakes, titles = [], set()
    for path in sorted(path for path in sites[1].rglob("*.html") if "_static" not in path.parts):
        parser = html5lib.HTMLParser(namespaceHTMLElements=False)
        page = parser.parse(path.read_text(encoding="utf-8"))
        mistakes += [f"{path}:{place}: {SENTENCES[code] % data}" for place, code, data in parser.errors]
        titles.add("".join(page.find(".//h1").itertext()).removesuffix("#"))

    assert mistakes == []
    assert titles >= {" ".join(drawn(text).split("\n")).translate(str.maketrans("<>", "\u2039\u203a")) for text in hostile}


def test_no_script_and_no_address_of_a_script_contains_a_value(sites: tuple[Path, Path]) -> None:
    for name, page in parsed(sites[1]):
        for element in page.iter():
            assert not [key for key in element.attrib if key.startswith("on")], name
            for address in (element.get("href"), element.get("src")):
                parts = urlsplit(address or "")
                assert parts.scheme in ("", "https"), (name, address)
                if name == "fairness.html" and element.get("href") == address and f"({address})" in FAIRNESS:
                    continue  # Our page on fairness links to the sources of the advice that it quotes.
                assert parts.hostname in (None, "www.sphinx-doc.org", "pydata-sphinx-theme.readthedocs.io", "a.test"), (name, address)
                if parts.path and not parts.scheme:
                    assert (sites[1] / name).parent.joinpath(unquote(parts.path)).is_file(), (name, address)
        scripts = [element.text for element in page.iter("script") if not element.get("src") and element.get("type") not in DATA]
        assert scripts == [], name


def test_policy_forbids_scripts_that_are_not_in_files_of_the_site(sites: tuple[Path, Path]) -> None:
    pages = [path for site in sites for path in site.rglob("*.html") if "_static" not in path.parts]
    policies = {re.search(r'Security-Policy" content="[^"]*(script-src [^;]*);', path.read_text())[1] for path in pages}  # type: ignore[index]

    assert policies == {"script-src 'self'"}


#: Types of scripts that browsers do not run.
DATA = ("application/json", "application/ld+json")
#: Names of systems and releases, among them names that once failed the build or lost a page.
FAIRNESS = (Path(__file__).resolve().parent.parent.parent / "docs/fairness.md").read_text(encoding="utf-8")
NAMES = (
    *(
        "Foo #2",
        " leading",
        "trailing ",
        "two\nlines",
        "a: b",
        'quote"s',
        "it's",
        "back`tick",
        "tab\there",
        "\u202ertl",
        "\u4e2d\u6587",
        "1.1-\u00e9",
    ),
    *(
        "C# DDS",
        "a/b",
        "../../x",
        "x" * 300,
        "%41",
        "<b>bold</b>",
        "{{ 7*7 }}",
        "{% raw %}",
        "\U0001f600",
        "\x00nul",
        "---",
        "1.",
        "logs",
        "index",
        "Index",
    ),
)
SAMPLE = Path("docs/example/data/latency-udp/perftest.log")


def write_run(folder: Path, log: Path, **said: str) -> None:
    folder.mkdir(parents=True)
    shutil.copy(log, folder / "a.log")
    digest = hashlib.sha256(log.read_bytes()).hexdigest()
    write(folder / "run.toml", Manifest(published=True, status="ok", logs=(LogFile(file="a.log", sha256=digest),), **said))  # type: ignore[arg-type]


@pytest.mark.site
def test_pages_of_a_system_exist_and_are_linked_for_any_name_of_system_and_release(tmp_path: Path, checkout: Path) -> None:
    for number, name in enumerate(NAMES):
        write_run(tmp_path / f"data/system-{number}", checkout / SAMPLE, system=name)
    with_releases = tries(NAMES[::9], NAMES[::3])
    for number, name in enumerate(with_releases):
        for release in ("1.0", name):
            write_run(tmp_path / f"data/release-{number}-{release == name}", checkout / SAMPLE, system=f"R{number}", release=release)

    checked = CliRunner().invoke(check, [str(tmp_path / "data")])
    made = CliRunner().invoke(report, ["--data", str(tmp_path / "data"), "--output", str(tmp_path / "site")], catch_exceptions=False)

    assert (checked.exit_code, made.exit_code) == (0, 0), made.output
    titles = {name: "".join(page.find(".//h1").itertext()).removesuffix("#") for name, page in parsed(tmp_path / "site")}  # type: ignore[union-attr]
    shown = [" ".join(drawn(name).replace("\t", " ").split("\n")).translate(str.maketrans("<>", "\u2039\u203a")) for name in NAMES]
    entries = dict(parsed(tmp_path / "site"))["systems.html"]
    linked = {titles.get(str(link.get("href"))) for link in entries.iter("a")}
    assert [name for name in shown if f"{name} over udp" not in titles.values() or f"{name} over udp" not in linked] == []
    assert [name for name in shown if name not in titles.values()] == []
    for number, name in enumerate(tries(shown[::9], shown[::3])):
        assert {f"R{number}: 1.0 \u2192 {name}", f"R{number}: {name} \u2192 1.0"} & set(titles.values())
    assert max(len(part) for page in titles for part in page.split("/")) < 150


@pytest.mark.site
def test_only_runs_without_a_system_name_or_with_an_invalid_log_name_are_left_out(tmp_path: Path, checkout: Path) -> None:
    write_run(tmp_path / "data/good", checkout / SAMPLE, system="Good")
    for number, name in enumerate(("", " ", "\u00a0")):
        write_run(tmp_path / f"data/name-{number}", checkout / SAMPLE, system=name)
    for number, name in enumerate((".", "..", "../a.log", "a\nb.log", "a\x1bb.log", "a.log\n", "a\u202eb", "a" * 256)):
        (tmp_path / f"data/file-{number}").mkdir()
        (tmp_path / f"data/file-{number}/run.toml").write_bytes(_toml(name))

    checked = CliRunner().invoke(check, [str(tmp_path / "data")])
    made = CliRunner().invoke(report, ["--data", str(tmp_path / "data"), "--output", str(tmp_path / "site")])

    assert (checked.exit_code, made.exit_code) == (1, 2)
    for output in (checked.output, made.output):
        assert output.count("Expected a name that is not empty or blank, - at `$.system`") == 3
        assert output.count("Expected the name of a file beside run.toml, without a folder or control characters, - at `$.logs[0].file`") == 7
        assert output.count("of length <= 255") == 1
    assert (tmp_path / "site/good/udp.html").is_file()


def _toml(file: str) -> bytes:
    from tacholog.runs.manifest import as_toml

    return as_toml(Manifest(system="S", logs=(LogFile(file=file, sha256="0" * 64),))).encode()


@pytest.mark.site
def test_site_is_built_from_results_without_message_sizes(tmp_path: Path, checkout: Path) -> None:
    write_run(tmp_path / "data/run", checkout / "tests/formats/sockperf/ping-pong-udp.log", system="S")

    for _ in range(tries(1, 2)):
        assert build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").is_file()


@pytest.mark.site
def test_failed_build_fails_again_until_its_cause_is_removed(tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_run(tmp_path / "data/run", checkout / SAMPLE, system="S")
    sources = tmp_path / "sources"
    shutil.copytree(checkout / "site", sources)
    page = (sources / "methodology.md").read_text()
    (sources / "methodology.md").write_text(f"{page}\n{{doc}}`nowhere`\n")
    monkeypatch.setattr("tacholog.site.whole.site_dir", lambda: sources)

    for _ in range(tries(2, 3)):
        with pytest.raises(TachologError, match="Sphinx found problems"):
            build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work")
    (sources / "methodology.md").write_text(page)

    assert build_site([tmp_path / "data"], tmp_path / "site", tmp_path / "work").is_file()
