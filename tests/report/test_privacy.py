"""A site hides the names of machines, people, networks and folders, unless the settings of its owner show these names."""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import msgspec
import pandas as pd
import pytest
from tests.unpacked import content_of

from tacholog.errors import UnreadableInput
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.redact import redacted
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Command, Host, LogFile, Manifest, write
from tacholog.schema.tables import TABLES
from tacholog.site.build import build_site
from tacholog.site.settings import CampaignOfRelease, SiteSettings, read_settings
from tacholog.store.frames import open_saved
from tacholog.store.load import load

# Ignore warnings about old parts of Sphinx: MyST and the theme still use these parts.
pytestmark = [pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"), pytest.mark.filterwarnings("ignore::DeprecationWarning")]

NATIVE = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"
SECRETS = ("buildbox-07", "corp.internal", "annabel", "10.23.45.67", "fd12:3456:789a::17", "52:54:00:ab:cd:ef", "rocket-project", "zanzibar")
SAID = (
    "annabel@buildbox-07:/home/annabel/rocket-project/run$ ./perftest --server 10.23.45.67",
    "\x1b[35mbuildbox-07\x1b[0m eth0 52:54:00:ab:cd:ef inet6 fd12:3456:789a::17 buildbox-07.corp.internal",
    "the code name is Zanzibar",
)


def redact(*lines: str, privacy: Privacy | None = None) -> list[str]:
    names = KnownNames(privacy or Privacy(), {})
    for line in lines:
        names.add(names.found_in([line]))
    redactor = Redactor(names)
    return [redactor.text(line) for line in lines]


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("ping 192.168.2.100 from 192.168.2.7, again 192.168.2.100", "ping address-1 from address-2, again address-1"),
        ("/home/kim/a/x.log and /home/kim/a/y.log and /opt/z/bin/t", "path-1/x.log and path-1/y.log and path-2/t"),
        (r"C:\Users\kim\bench\out.log", "path-1/out.log"),
        ("user=kim said kim", "user=user-1 said user-1"),
        ("fe80::1c2d:3eff:fe4f:5061%eth0", "address-1%eth0"),
    ],
)
def test_names_are_numbered_in_the_order_of_the_log(line: str, shown: str) -> None:
    assert redact(line) == [shown]


@pytest.mark.parametrize(
    "line",
    [
        "127.0.0.1 0.0.0.0 239.255.0.1 ::1 255.255.255.255",
        "version 2.10.1.3, Fast DDS v3.1.0.2",
        "16:20:31.123 bins=217:217:1,219:219:1 std::vector 12:34:56",
        "/dev/shm/tacholog /usr/bin/perf https://example.org/a/b 1/2/3 Packets/s(ave)",  # noqa: S108
        "host-3fa94c",
        "1.4.1.1. UDPv4",
        "Length:    32  Packets: 77849677  Packets/s(ave): 2594706  Mbps(ave):   664.2  Lost:     0 (0.00%)",
    ],
)
def test_text_without_a_name_stays_unchanged(line: str) -> None:
    assert redact(line) == [line]


def test_machine_has_one_pseudonym_for_all_its_names() -> None:
    said, short, prompt = redact("hostname: node7.example.org", "on node7 again", "kim@node7:~$ ls")

    (pseudonym,) = re.findall("host-[0-9a-f]{6}", said)
    assert short == f"on {pseudonym} again"
    assert prompt == f"user-1@{pseudonym}:~$ ls"


def test_machines_with_the_same_host_name_keep_different_pseudonyms() -> None:
    names = KnownNames(Privacy(), {})
    machines = ("host-0a1b2c", "host-3d4e5f")
    for machine in machines:
        names.add(names.found_in(["host name=vm kernel=6.1"]), machine)
    names.add(names.found_in(["Connecting to host node7"]), machines[0])

    assert [Redactor(names, machine).text("host name=vm kernel=6.1") for machine in machines] == [f"host name={name} kernel=6.1" for name in machines]
    called = Redactor(names, machines[0]).text("Connecting to host node7")
    assert re.fullmatch("Connecting to host host-[0-9a-f]{6}", called)
    assert not any(machine in called for machine in machines)


def test_pseudonym_does_not_depend_on_the_order_of_the_runs() -> None:
    lines = (
        ("host name=vm kernel=6.1", "host-0a1b2c"),
        ("host name=vm kernel=6.1", "host-3d4e5f"),
        ("host name=node7.example.org kernel=6.1", "host-0a1b2c"),
        ("Connecting to host node7", "host-3d4e5f"),
        ("Connecting to host node8", None),
        ("Connecting to host node8.example.org", None),
    )
    shown = set()
    for order in permutations(lines):
        names = KnownNames(Privacy(), {})
        for line, machine in order:
            names.add(names.found_in([line]), machine)
        shown.add(tuple(Redactor(names).text(line) for line, _ in lines))

    (texts,) = shown
    pseudonyms = [re.findall("host-[0-9a-f]{6}", text) for text in texts]
    assert pseudonyms[0] == pseudonyms[1]
    assert pseudonyms[0] not in (["host-0a1b2c"], ["host-3d4e5f"])  # The name vm belongs to two machines, so it gets a third pseudonym.
    assert pseudonyms[2] == pseudonyms[3] == ["host-0a1b2c"]
    assert pseudonyms[4] == pseudonyms[5] != pseudonyms[0]


def test_everyday_word_is_replaced_only_where_the_log_states_this_word_as_a_name() -> None:
    assert redact("host name=vm kernel=6.1", "a vm with 2 cores")[1] == "a vm with 2 cores"
    assert redact("Doc guides:  https://rabbitmq.com/documentation.html", "RabbitMQ PerfTest")[1] == "RabbitMQ PerfTest"


def test_pseudonym_depends_on_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = redact("hostname: node7")
    monkeypatch.setenv("TACHOLOG_PSEUDONYM_KEY", "a secret")

    assert redact("hostname: node7") != before


def test_settings_decide_which_names_are_shown_and_which_other_words_are_hidden() -> None:
    privacy = Privacy(paths="show", keep=("10.0.0.1",), hide=("Zanzibar",))

    assert redact("/home/kim/x 10.0.0.1 10.0.0.2 zanzibar", privacy=privacy) == ["/home/user-1/x 10.0.0.1 address-1 hidden-1"]


@pytest.mark.parametrize("line", ["Ähidden", "ähidden ÄHIDDEN", "_underhid", "x_underhid", "-signhid", "a signhid- b", "A\u0308hidden", "STRAẞE 9"])
def test_each_word_of_the_setting_hide_is_hidden_in_any_case_and_with_any_first_character(line: str) -> None:
    (shown,) = redact(line, privacy=Privacy(hide=("Ähidden", "_underhid", "-signhid", "signhid-", "straße")))

    assert "hidden-1" in shown
    assert not re.search("underhid|signhid|ähidden|a\u0308hidden|stra", shown, re.IGNORECASE)


@pytest.mark.parametrize("line", ["hostname: öfenpc", "HOST=Öfenpc", "kim@öfenpc", "user=öfenpc", "user=_öfenpc", "/home/öfenpc/x", "ssh öfenpc"])
def test_name_in_any_script_is_recognised_and_hidden(line: str) -> None:
    shown = redact(line, "Öfenpc: it runs", "öfenpc it runs")

    assert not any("fenpc" in text.lower() for text in shown if "user=_" not in line)
    assert "fenpc" not in shown[0]


@pytest.mark.parametrize("char", ["\u200b", "\u00ad", "\u202e", "\u2060", "\u2028", "\ufe0f", "\x07", "\x1b[35m"])
def test_invisible_characters_do_not_protect_a_name(char: str) -> None:
    names = KnownNames(Privacy(), {"kesselpc": "host-000001"})
    redactor = Redactor(names)

    for redact_text in (redactor.text, redactor.free, redactor.identifier):
        assert redact_text(f"kes{char}selpc") == "host-000001"
        assert "kessel" not in redact_text(f"kesselpc{char}1")
        assert "kessel" not in redact_text(f"kes{char}selpc kesselpc{char}1")
        assert redact_text(f"p{char}50") == f"p{char}50"  # Text without a name stays unchanged.
    assert redactor.text(f"/srv/gehe{char}im/x") == "path-1/x"


@pytest.mark.parametrize(
    "word",
    [
        "\uff2b\uff25\uff33\uff33\uff25\uff2c\uff30\uff23\uff17",  # Full-width letters.
        "kesselpc\uff17",
        "\U0001d424\U0001d41e\U0001d42c\U0001d42c\U0001d41e\U0001d425\U0001d429\U0001d41c7",  # Mathematical bold letters.
        "k\u00e9sselpc7",
        "k\u0117\u0301sselpc7",
        "ke\u0331sselpc7",  # Unicode has no single character for this letter with this accent.
        "KE\u0301SSELPC7",
    ],
)
def test_name_written_with_letters_that_look_similar_is_replaced(word: str) -> None:
    redactor = Redactor(KnownNames(Privacy(), {"kesselpc7": "host-000001"}))

    for redact_text in (redactor.text, redactor.free, redactor.identifier):
        assert redact_text(f"{word} 9") == "host-000001 9"
        assert redact_text(word.replace("7", "8").replace("\uff17", "\uff18")) != "host-000001"


def test_name_with_accents_is_also_replaced_where_its_accents_are_missing() -> None:
    shown = redact("user=jos\u00e9", "jose 1", "JOSE\u0301 1", privacy=Privacy(unknown_lines="show", free_text="show"))

    assert shown[1:] == ["user-1 1", "user-1 1"]


@pytest.mark.parametrize("text", ["10\u00b2 \u00b5s", "\uff11\uff10 ms", "\u00e9t\u00e9", "e\u0331", "\u210f"])
def test_letters_of_a_text_without_a_name_stay_unchanged(text: str) -> None:
    assert Redactor(KnownNames(Privacy(), {"kesselpc7": "host-000001"})).text(text) == text


def test_address_and_folder_in_full_width_letters_are_replaced() -> None:
    redactor = Redactor(KnownNames(Privacy(), {}))

    assert redactor.text("\uff11\uff10\uff0e\uff19\uff0e\uff18\uff0e\uff17 up") == "address-1 up"
    assert redactor.text("\uff0f\uff48\uff4f\uff4d\uff45\uff0fanna/x") == "path-1/x"


def test_window_title_is_not_shown() -> None:
    assert redact("a\x1b]0;titled\x07b") == ["ab"]


def write_telling_run(root: Path) -> None:
    """Write two runs and a host file that contain secrets.

    The secrets are in the names of folders, files and machines. They are also in the logs, the manifests and the host file.
    """
    lines = NATIVE.read_text().splitlines(keepends=True)
    log = "".join([*lines[:3], *(f"{line}\n" for line in SAID), *lines[3:]]).encode()
    for name, content in (("plain.log", log), ("buildbox-07.log", gzip.compress(log))):
        folder = root / "buildbox-07" / f"annabel-{Path(name).stem}"
        folder.mkdir(parents=True)
        (folder / name).write_bytes(content)
        logs = (LogFile(file=name, sha256=hashlib.sha256(content).hexdigest()),)
        commands = (Command(role="both", argv=("/home/annabel/rocket-project/perftest", "--server", "10.23.45.67")),)
        manifest = Manifest(system="Tacholog perftest", host="buildbox-07", session="buildbox-07-1", logs=logs, commands=commands)
        others = {
            "notes": (f"By annabel. {SAID[2]}.",),
            "environment": {"hostname": "buildbox-07.corp.internal", "cwd": "/home/annabel/rocket-project/"},
        }
        write(folder / "run.toml", msgspec.structs.replace(manifest, **others))
    (root / "hosts").mkdir()
    write(
        root / "hosts" / "buildbox-07.toml",
        Host(name="buildbox-07 of annabel", source="annabel", cpu={"model": "Some CPU"}, network={"eth0": "10.23.45.67"}),
    )


def texts(site: Path) -> Iterator[tuple[str, str]]:
    """Yield the name and the content of each file of a site, each with its place. Parquet tables are converted to text."""
    for path in (path for path in site.rglob("*") if path.is_file()):
        yield f"name {path}", path.relative_to(site).as_posix()
        content = content_of(path)
        if path.suffix == ".parquet":
            yield str(path), pd.read_parquet(io.BytesIO(content)).to_csv()
        elif "_static" not in path.parts:
            yield str(path), content.decode(errors="replace")


@pytest.fixture(scope="module")
def telling(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("telling") / "data"
    write_telling_run(root)
    return root


@pytest.mark.site
def test_no_file_of_the_site_contains_a_secret(telling: Path, tmp_path: Path) -> None:
    site = build_site([telling], tmp_path / "site", tmp_path, SiteSettings(privacy=Privacy(hide=("zanzibar",)))).parent

    told = [(place, secret) for place, text in texts(site) for secret in SECRETS if secret in text.lower()]

    assert told == []
    pages = {path: path.read_text() for path in site.rglob("logs/**/*.html")}
    assert len(pages) == 2
    for text in pages.values():
        assert "This log is redacted, here and in the file for download." in text
        assert "SHA-256 of the original" in text
        offered = re.search(r"SHA-256 of the file offered here</dt><dd><code[^>]*>([0-9a-f]{64})", text)
        assert offered
        assert offered[1] in {hashlib.sha256(content_of(path)).hexdigest() for path in site.rglob("raw/**/*.gz")}
    originals = [hashlib.sha256(path.read_bytes()).hexdigest() for path in telling.rglob("*.log")]
    assert all(any(sha256 in text for text in pages.values()) for sha256 in originals)


def test_no_column_of_a_table_contains_a_secret_not_even_in_unused_categories(telling: Path, tmp_path: Path) -> None:
    data = redacted(load([telling]), Privacy(hide=("zanzibar",)), tmp_path)

    words = {
        f"{name}.{column}": [*table[column].cat.categories] if isinstance(table[column].dtype, pd.CategoricalDtype) else [*table[column].dropna()]
        for name, table in {name: getattr(data, name) for name in TABLES}.items()
        for column in table.columns
    }
    assert "latency" in words["results.metric"]
    assert [(place, secret) for place, found in words.items() for word in found for secret in SECRETS if secret in str(word).lower()] == []


def test_redactor_replaces_each_name_that_was_known_when_the_redactor_was_created() -> None:
    names = KnownNames(Privacy(), {})
    assert Redactor(names).text("started by falcon") == "started by falcon"

    names.add(names.found_in(["user=falcon"]))

    assert Redactor(names).text("started by falcon") == "started by user-1"


def test_name_of_an_unreadable_host_file_is_replaced(tmp_path: Path) -> None:
    write_telling_run(tmp_path / "data")
    (tmp_path / "data" / "hosts" / "geheimhost.toml").write_text("[[[")

    problems = redacted(load([tmp_path / "data"]), Privacy(), tmp_path / "shown").problems

    (row,) = problems[problems["run"] == ""].to_dict("records")
    assert re.fullmatch(r"host-[0-9a-f]{6}\.toml", row["log"])
    assert "geheimhost" not in problems.to_csv()


@pytest.mark.site
def test_settings_can_show_everything(telling: Path, tmp_path: Path) -> None:
    shown = Privacy(hosts="show", users="show", addresses="show", paths="show", secrets="show", unknown_lines="show", free_text="show")
    site = build_site([telling], tmp_path / "site", tmp_path, SiteSettings(privacy=shown)).parent

    page = next(site.rglob("logs/**/plain.log.html")).read_text()

    assert "annabel@buildbox-07:/home/annabel/rocket-project/run$ ./perftest --server 10.23.45.67" in page
    assert "redacted" not in page


@pytest.mark.site
def test_settings_set_the_brand_and_the_systems_of_a_site(data: Path, tmp_path: Path) -> None:
    (tmp_path / "logo.svg").write_text('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>')
    (tmp_path / "site.toml").write_text(
        'name = "Ours & Theirs"\ntitle = "How fast"\nlogo = "logo.svg"\nsystems = ["RTI Connext DDS"]\n\n[[links]]\ntitle = "Home"\nurl = '
        '"https://example.org/"\n'
    )

    site = build_site([data], tmp_path / "site", tmp_path, read_settings(tmp_path / "site.toml")).parent

    index = (site / "index.html").read_text()
    assert "Ours &amp; Theirs</title>" in index
    assert 'href="https://example.org/"' in index
    assert (site / "_static/logo.svg").is_file()
    assert not (site / "tacholog-perftest").exists()
    assert "Tacholog perftest" not in index


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('colour = "x"', r"site.toml: Object contains unknown field `colour`"),
        ('logo = "none.svg"', r"logo: .*none.svg: no such file"),
        ('[[links]]\ntitle = "x"\nurl = "javascript:alert(1)"', r"links: 'javascript:alert\(1\)' is not an address"),
        ('[privacy]\nhosts = "sow"', "privacy.hosts: 'sow' is not one of pseudonym, show"),
    ],
)
def test_error_in_the_settings_is_named(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "site.toml").write_text(text)

    with pytest.raises(UnreadableInput, match=complaint):
        read_settings(tmp_path / "site.toml")


@pytest.mark.site
def test_hidden_word_without_a_letter_and_without_a_digit_is_refused(tmp_path: Path) -> None:
    (tmp_path / "site.toml").write_text('[privacy]\nhide = ["falcon", "_-"]\n')

    with pytest.raises(UnreadableInput, match=r"site\.toml: privacy\.hide: '_-' has no letter and no digit, so it cannot be found"):
        read_settings(tmp_path / "site.toml")


def test_system_without_runs_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"systems: no run of 'Nobody'; there are '.*RTI Connext DDS"):
        build_site([data], tmp_path / "site", tmp_path, SiteSettings(systems=("Nobody",)))


@pytest.mark.site
def test_campaign_that_the_settings_leave_out_is_named_only_on_the_quality_page(tmp_path: Path) -> None:
    recorded, runs = Path(__file__).parents[2] / "data/perftest", tmp_path / "data/perftest"
    shutil.copytree(recorded / "0.1.0/latency-uds/01", runs / "quick")
    shutil.copytree(recorded / "0.3.0/latency-tcp/01", runs / "release")

    build_site([tmp_path / "data"], tmp_path / "site", tmp_path, SiteSettings(campaigns_left_out=("quick",)))

    assert "in the data, but on no page: quick." in (tmp_path / "site/quality.html").read_text()
    assert [page.name for page in tmp_path.glob("site/*/*.html") if page.stem in ("tcp", "uds")] == ["tcp.html"]
    assert list(open_saved(tmp_path / "dataset").runs["campaign"]) == ["release"]


@pytest.mark.site
def test_single_release_of_a_campaign_is_left_out_and_new_runs_are_shown(tmp_path: Path) -> None:
    recorded, runs = Path(__file__).parents[2] / "data/perftest", tmp_path / "data"
    for release in ("0.1.0", "0.2.0"):
        shutil.copytree(recorded / release / "latency-uds/01", runs / release)
    shutil.copytree(recorded / "0.2.0/latency-tcp/01", runs / "new")
    manifest = runs / "new/run.toml"
    manifest.write_text(manifest.read_text().replace('release = "0.2.0"\n', ""))

    build_site([runs], tmp_path / "site", tmp_path, read_settings(Path(__file__).parents[2] / "site.toml"))

    assert list(open_saved(tmp_path / "dataset").runs["run"]) == ["new"]
    assert "in the data, but on no page: quick of 0.1.0, quick of 0.2.0." in (tmp_path / "site/quality.html").read_text()


@pytest.mark.site
def test_unknown_release_in_the_list_of_left_out_campaigns_is_refused(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "data/perftest/0.1.0/latency-uds/01", tmp_path / "data/run")
    settings = SiteSettings(campaigns_left_out=(CampaignOfRelease("quick", "0.9"),))

    with pytest.raises(UnreadableInput, match=r"campaigns_left_out: no run of the campaign 'quick' has the release '0\.9'; there are '0\.1\.0'"):
        build_site([tmp_path / "data"], tmp_path / "site", tmp_path, settings)


@pytest.mark.site
def test_unknown_campaign_in_the_list_of_left_out_campaigns_is_refused(data: Path, tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match="campaigns_left_out: no run of the campaign 'quik'; there are"):
        build_site([data], tmp_path / "site", tmp_path, SiteSettings(campaigns_left_out=("quik",)))


def test_settings_that_leave_out_all_runs_are_refused(tmp_path: Path) -> None:
    shutil.copytree(Path(__file__).parents[2] / "data/perftest/0.1.0/latency-uds/01", tmp_path / "data/run")

    with pytest.raises(UnreadableInput, match=r"^site\.toml leaves every run out"):
        build_site([tmp_path / "data"], tmp_path / "site", tmp_path, SiteSettings(campaigns_left_out=("quick",)))

    assert not (tmp_path / "site").exists()


def test_machine_with_a_pseudonym_in_its_manifest_has_the_same_pseudonym_in_the_log(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "a"
    folder.mkdir(parents=True)
    (folder / "sub.log").write_text(NATIVE.read_text().replace("host name=vm ", "host name=bigbox "))
    digest = hashlib.sha256((folder / "sub.log").read_bytes()).hexdigest()
    write(folder / "run.toml", Manifest(system="X", host="host-abc123", logs=(LogFile(file="sub.log", sha256=digest),)))

    data = redacted(load([tmp_path / "data"]), Privacy(), tmp_path / "shown")

    assert "\nhost name=host-abc123 kernel=" in Path(data.runs["root"][0], "sub.log").read_text()
