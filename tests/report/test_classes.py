"""Publishing uses an allow-list: each field of the schema has a class, and a field without a class is not published."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import msgspec
import pytest

from tacholog.privacy import free_text
from tacholog.privacy.classes import CLASSES, NESTED, OPEN, is_unchanged, published_host, published_manifest, published_text
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.native_log import PUBLIC_SETTINGS, is_public_pair, native_line
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.runs.manifest import Command, Host, LogFile, Manifest, Readiness, Source, read_manifest
from tacholog.schema.conditions import StatedConditions
from tacholog.schema.tables import TABLES

ROOT = Path(__file__).parent.parent.parent


def redactor(**settings: object) -> Redactor:
    return Redactor(KnownNames(msgspec.convert(settings, Privacy), {}))


@pytest.mark.parametrize("struct", [Manifest, LogFile, Command, Readiness, Source, Host, StatedConditions])
def test_each_field_of_the_schema_has_a_class(struct: type[msgspec.Struct]) -> None:
    assert set(struct.__struct_fields__) == set(CLASSES[struct])


def test_all_columns_of_a_dataset_except_the_listed_columns_are_public() -> None:
    classes = {f"{table}.{name}": column.privacy for table, columns in TABLES.items() for name, column in columns.items()}

    assert {name: class_ for name, class_ in classes.items() if class_ != "public"} == {
        "runs.host": "name",
        "runs.session": "name",
        "runs.reason": "free text",
        "runs.options": "open",
        "runs.labels": "open",
        "runs.root": "never",
        "runs.manifest": "never",
        "problems.text": "free text",
        "problems.reason": "free text",
        "results.participant": "name",
        "results.settings": "open",
    }


@pytest.mark.parametrize("field", ["system_version", "tool_version", "program_version", "build", "start_time", "retrieved", "sha256", "system"])
def test_known_names_addresses_folders_and_secrets_are_replaced_in_each_public_field(field: str) -> None:
    names = KnownNames(Privacy(), {"kesselpc": "host-000001"})
    names.add(names.found_in(["user=annauser"]))
    said = "4.2 (built by annauser on kesselpc in /srv/geheim/work at 10.77.3.9 with token=hunter2)"

    shown = published_text(said, field, "public", Redactor(names))

    assert shown == "4.2 (built by user-1 on host-000001 in path-1/work at address-1 with token=secret-1)"
    assert published_text("1.2.3.4-kesselpc", field, "public", Redactor(names)) in ("1.2.3.4-host-000001", "address-1-host-000001")
    assert not is_unchanged(said, field, "public", Redactor(names))


@pytest.mark.parametrize("version", ["4.2.0-rc1+g12ab~3", "1.2.3.4", "1.2.3.4-1ubuntu2", "v1.2.3.4", "1:2.0.11-1.2+b1", "2.1~rc3", "0.4 (GCC 12.2)"])
@pytest.mark.parametrize("field", ["system_version", "tool_version", "program_version", "build"])
def test_version_stays_unchanged(field: str, version: str) -> None:
    assert published_text(version, field, "public", redactor()) == version


def test_digest_and_time_stay_unchanged() -> None:
    digest = hashlib.sha256(b"").hexdigest()

    assert published_text(digest, "sha256", "public", redactor()) == digest
    assert published_text("2026-11-23T04:36:00.123+01:00", "start_time", "public", redactor()) == "2026-11-23T04:36:00.123+01:00"


def test_labels_are_shown_with_known_names_replaced() -> None:
    names = KnownNames(Privacy(), {"zanzibar": "host-000001"})
    manifest = Manifest(system="S", logs=(), labels={"plugin": "flannel on host zanzibar", "zanzibar": "6.1", "user": "user=quentin"})

    shown = published_manifest(manifest, Redactor(names))

    assert shown.labels == {"plugin": "flannel on host host-000001", "host-000001": "6.1", "user": "user=user-1"}
    assert published_text('{"plugin": "flannel-é"}', "labels", "open", Redactor(names)) == '{"plugin": "flannel-é"}'


def test_values_of_a_label_stay_different_after_names_in_the_values_were_replaced() -> None:
    names = KnownNames(Privacy(), {})

    shown = [published_text(json.dumps({"by": f"user={user}"}), "labels", "open", Redactor(names)) for user in ("quentin", "trudy", "quentin")]

    assert shown == ['{"by": "user=user-1"}', '{"by": "user=user-1 (2)"}', '{"by": "user=user-1"}']


def test_names_of_labels_stay_different_and_valid_after_hidden_words_in_the_names_were_replaced() -> None:
    manifest = Manifest(system="S", logs=(), labels={"acme": "1", "ACME": "2", "acme-" + "x" * 59: "3", "long": "acme " * 40})

    shown = published_manifest(manifest, redactor(hide=["acme"]))

    assert len(shown.labels) == len(manifest.labels)
    assert "acme" not in json.dumps(shown.labels).lower()


def test_each_nested_field_and_each_open_field_has_rules_for_the_content() -> None:
    nested = {name for fields in CLASSES.values() for name, class_ in fields.items() if class_ == "nested"}
    opened = {name for fields in CLASSES.values() for name, class_ in fields.items() if class_ == "open"}

    assert nested == set(NESTED)
    assert all(NESTED[name] in CLASSES for name in nested)
    assert opened == set(OPEN)


def test_all_documented_keys_of_the_native_log_are_public_except_the_listed_keys() -> None:
    text = (ROOT / "docs/native-log.md").read_text()
    rows = re.findall(r"^\| `([a-z]+)` \| [^|]* \| (.*) \|$", text, re.MULTILINE)
    keys = {(kind, key) for kind, said in rows for key in re.findall(r"`([a-z][a-z0-9_.]*)`(?! or `)", re.sub(r"\([^()]*\)", "", said))}

    free = {(kind, key) for kind, key in keys if not is_public_pair(key, "sub1")}

    assert len(keys) > 150
    assert free == {
        *(("host", "name"), ("clock", "name"), ("config", "address"), ("config", "command"), ("note", "text"), ("error", "text")),
        *(("companion", "name"), ("companion", "command")),
    }


def test_state_of_another_host_is_public_and_the_name_of_the_host_is_hidden() -> None:
    environment = {"governor": "performance", "zanzibar.governor": "powersave", "zanzibar.load1_before": "0.50", "zanzibar.key": "5"}

    shown = published_manifest(Manifest(system="S", logs=(), environment=environment), redactor()).environment

    assert [(key.rpartition(".")[2], value) for key, value in shown.items()][:3] == [
        ("governor", "performance"),
        ("governor", "powersave"),
        ("load1_before", "0.50"),
    ]
    assert "zanzibar" not in str(shown)


def test_texts_that_a_person_chose_for_a_process_are_masked() -> None:
    process = Command(
        role="sub", name="server", argv=("sockperf",), prefix=("ip", "netns", "exec", "zanzibar"), ready=Readiness(output="zanzibar is up")
    )

    shown = published_manifest(Manifest(system="S", logs=(), commands=(process,)), redactor()).commands[0]

    assert "zanzibar" not in str(shown)
    assert shown.ready is not None


def test_known_keys_of_an_open_table_are_shown_and_other_keys_are_masked() -> None:
    environment = {"governor": "performance", "load1_before": "0.50", "proxy": "acmeproxy", "acmekey": "5"}
    options = {"sizes_bytes": [64, 1024], "transport": "udp", "project": "zanzibar", "zanzibar": True}
    manifest = Manifest(system="S", logs=(), environment=environment, options=options, notes=("A quick run for zanzibar, on a shared machine.",))

    shown = published_manifest(manifest, redactor())

    assert shown.environment == {"governor": "performance", "load1_before": "0.50", "[…]": "[…]", "[…] 2": "5"}
    assert "acme" not in str(shown)
    assert "zanzibar" not in str(shown)
    assert shown.options["sizes_bytes"] == [64, 1024]
    assert shown.options["transport"] == "udp"
    assert shown.notes == ("A quick run for […], on a shared machine.",)


def test_no_entry_of_an_open_table_is_lost_if_two_masked_keys_are_equal() -> None:
    manifest = Manifest(system="S", logs=(), options={"zanzibar": 1, "acmekey": 2, "touch": {"quentin": 3, "trudy": 4}}, environment={"kim": "5"})

    shown = published_manifest(manifest, redactor())

    assert shown.options == {"[…]": 1, "[…] 2": 2, "touch": {"[…]": 3, "[…] 2": 4}}


def test_options_stay_different_even_if_they_differ_only_in_masked_text() -> None:
    texts = ['{"mode": "zanzibar"}', '{"mode": "Zanzibar"}', '{"acmekey": 1, "zanzibar": 2}', '{"zanzibar": 2}', '{"zanzibar": 2, "variant": 1}']

    site = redactor()  # As on a site, a single redactor masks all texts and numbers them.
    shown = [published_text(text, "options", "open", site) for text in texts]

    assert len(set(shown)) == len(texts)
    assert "anzibar" not in str(shown)
    assert [len(json.loads(text or "")) for text in shown] == [2, 2, 3, 2, 3]


def test_command_keeps_its_options_and_numbers_but_not_text_that_may_be_a_name() -> None:
    words = ("/opt/acme/bin/perftest", "--transport", "udp", "--sizes", "64,1024", "--label=zanzibar", "harry", "{payload_bytes}")
    manifest = Manifest(system="S", logs=(), commands=(Command(role="both", argv=words),))

    (command,) = published_manifest(manifest, redactor()).commands

    assert command.argv == ("path-1/perftest", "--transport", "udp", "--sizes", "64,1024", "--label=[…]", "[…]", "{payload_bytes}")


def test_host_keeps_its_measured_properties_but_not_text_added_by_people() -> None:
    host = Host(name="desk of kim", source="kim", cpu={"model": "Some CPU 9", "asset": "AC-42"}, network={"eth0": "ixgbe, MTU 9000", "enx5254": "x"})

    shown = published_host(host, redactor())

    assert shown.cpu["model"] == "Some CPU 9"
    assert shown.network["eth0"] == "ixgbe, MTU 9000"
    assert not any(word in str(shown) for word in ("kim", "AC-42", "enx5254"))


def test_free_text_is_shown_if_the_settings_allow_free_text() -> None:
    manifest = Manifest(system="S", logs=(), notes=("For zanzibar.",))

    assert published_manifest(manifest, redactor(free_text="show")).notes == ("For zanzibar.",)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ('note text="by zanzibar at 64 bytes"', 'note text="by […] at 64 bytes"'),
        ("host name=buildbox kernel=6.1.0-zen", "host name=host-ab35f2 kernel=6.1.0-zen"),
        ("latency payload_bytes=64 p99.9_ns=5 acme=zanzibar", "latency payload_bytes=64 p99.9_ns=5 […]=[…]"),
        ("load at=start load1=1.39 zanzibar", "load at=start load1=1.39 […]"),
        ("clock name=CLOCK_MONOTONIC resolution_ns=1", "clock name=CLOCK_MONOTONIC resolution_ns=1"),
    ],
)
def test_class_of_a_key_decides_whether_a_native_line_shows_the_value(line: str, shown: str) -> None:
    assert re.sub("host-[0-9a-f]{6}", "host-ab35f2", native_line(line, redactor())) == shown


@pytest.mark.parametrize("log", sorted((ROOT / "tests/formats/native").glob("*.log")), ids=lambda log: log.stem)
def test_line_of_the_native_log_keeps_its_first_word(log: Path) -> None:
    lines, of_site = log.read_text(encoding="utf-8").splitlines(), redactor()

    # Without the first word, the numbers of a published line cannot be read again.
    assert [native_line(line, of_site).partition(" ")[0] for line in lines] == [line.partition(" ")[0] for line in lines]


def test_values_of_an_unknown_setting_are_masked_and_stay_different() -> None:
    known = '{"congestion": "reno", "sockets": "push-pull"}'
    of_site = redactor()
    one, other = (published_text(f'{{"acmekey": "{value}"}}', "settings", "open", of_site) for value in ("acmevalue", "acmeother"))

    assert published_text(known, "settings", "open", of_site) == known
    assert "acme" not in f"{one}{other}"
    assert one != other


def test_settings_of_a_manifest_in_an_unexpected_form_are_treated_as_free_text() -> None:
    assert "acmehost" not in (published_text("host acmehost", "settings", "open", redactor()) or "")


@pytest.mark.core
def test_settings_of_all_transports_of_perftest_are_public(perftest: Path) -> None:
    listed = subprocess.run([perftest, "--list-transports", "--verbose"], capture_output=True, text=True, check=True).stdout
    settings = {name.replace("-", "_") for name in re.findall(r"^    --set ([a-z0-9-]+)=", listed, re.MULTILINE)}

    assert {"congestion", "faults"} <= settings
    assert settings - {*PUBLIC_SETTINGS.split()} == set()


def test_words_of_all_settings_of_perftest_are_public() -> None:
    assert [name for name in PUBLIC_SETTINGS.split() if not free_text.is_public(name)] == []


def test_commands_of_our_own_runs_in_data_are_published_with_all_words() -> None:
    manifests = [read_manifest(path) for path in sorted(ROOT.glob("data/**/01/run.toml"))]
    published = [published_manifest(manifest, redactor()) for manifest in manifests if not manifest.published]
    words = [word for manifest in published for command in manifest.commands for word in command.argv]

    assert len(words) > 5000
    assert [word for word in words if "[…]" in word] == []


def steps_of(call: Callable[[], object]) -> int:
    """Return how many Python functions and generators a call enters."""
    entered = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event == "call"

    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(None)
    return entered


@pytest.mark.parametrize("table", ["options", "environment", "labels"])
def test_work_grows_linearly_with_the_number_of_entries(table: str) -> None:
    def work(count: int) -> int:
        text = json.dumps({f"zorkmid{number}": f"zorkmid{number}" for number in range(count)})
        return steps_of(lambda: published_text(text, table, "open", one))

    one = redactor()
    work(1)

    assert work(1200) < 3 * work(600)


def test_entries_that_are_equal_after_masking_get_the_first_free_number() -> None:
    entries = {"zorkmid": "1", "grault": "2", "[…] 3": "3", "waldo": "4", "garply": "5"}

    shown = json.loads(published_text(json.dumps(entries), "options", "open", redactor()) or "")

    assert [name for name in shown if name != "variant"] == ["[…]", "[…] 2", "[…] 3", "[…] 4", "[…] 5"]
