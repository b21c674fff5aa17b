"""The time of redaction grows linearly with the length of a text, and secrets are removed."""

from __future__ import annotations

import ast
import io
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacholog.formats.reading import read
from tacholog.privacy import free_text
from tacholog.privacy.find_names import LineContext
from tacholog.privacy.known_names import KnownNames
from tacholog.privacy.logs import LineClasses, OriginalLog, write_redacted
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.settings import Privacy
from tacholog.privacy.tokens import plain

DATA = Path(__file__).parent.parent.parent / "data"
NATIVE = Path(__file__).parent.parent / "formats" / "native" / "latency-udp.log"
# Texts with secrets of each kind, and the secret words in each text.
TOLD = {
    "/tmp/bobsecret/keys.txt": ("bobsecret",),  # noqa: S108
    "/run/user/1000/alicesecret/x": ("alicesecret",),
    "/var/log/acme-secret/app.log": ("acme-secret",),
    "/etc/acmecfg/key.pem": ("acmecfg",),
    "/usr/local/acmeprj/lib": ("acmeprj",),
    "file:///srv/acmedir/x.log": ("acmedir",),
    "db7.acmefqdn.com": ("acmefqdn", "db7"),
    "peer=node17.cluster.acmefqdn2.net:7400": ("acmefqdn2", "node17"),
    "to 10.9.8.77. done": ("10.9.8.77",),
    "ssh -l harry acmehost uptime": ("harry", "acmehost"),
    "ssh -p 2222 acmegate": ("acmegate",),
    "sudo -u mallory ls": ("mallory",),
    "--user nancy --password hunter2SECRET": ("nancy", "hunter2SECRET"),
    "--password=hunter3SECRET": ("hunter3SECRET",),
    "uid=1001(quentin)": ("quentin",),
    "~trudy/x": ("trudy",),
    "HOST=acmehosty2": ("acmehosty2",),
    r"\\acmeunc\share\x": ("acmeunc",),
    r"D:\Acmewin Docs\file": ("Acmewin",),
    "C:/Users/acmekim/x": ("acmekim",),
    "aabb.ccdd.eef3": ("aabb.ccdd.eef3",),
    "80:00:02:08:fe:80:00:00:00:00:00:00:00:02:c9:03:00:0e:8a:cd": ("c9:03:00", "fe:80"),
    "0002:c903:000e:8acd": ("c903",),
    "ghp_TOKENTOKENTOKEN1234": ("TOKENTOKEN",),
    "serial=S4EVNX0M123456": ("S4EVNX0M123456",),
    "machine id 0123456789abcdef0123456789abcdef": ("0123456789abcdef",),
    "[1234] participant acmebox:1234: new (self)": ("acmebox",),
    "[11301] 2.000  acmebox:11300 size 12 mean 173.354us min 155.747us": ("acmebox",),
    "[11301] 2.000  sublat acmepeer-2:11300 size 12 mean 173.354us": ("acmepeer",),
    "[11301] 2.000  @acmeat:11300 rss:2.5MB vcsw:2847 ivcsw:0 recvUC:21%+39%": ("acmeat",),
    "[11301] 2.000  @ acmefar:11300 vcsw:2847 ivcsw:0 recvUC:21%+39%": ("acmefar",),
    "connecting to host acmepeer": ("acmepeer",),
    "Linux acmeuname 6.1.0-13-amd64 #1 SMP x86_64 GNU/Linux": ("acmeuname",),
    "-I/home/acmezed/inc": ("acmezed",),
    "https://intra.acmecorp.com/wiki/acmepage": ("acmecorp", "acmepage"),
    '"hostname": "acmejson"': ("acmejson",),
    "-isystem/srv/acmesys/x": ("acmesys",),
    "--sysroot/srv/acmeroot/x": ("acmeroot",),
    "$HOME/acmehome/x": ("acmehome",),
    "$HOME/acmehomefile": ("acmehomefile",),
    "%/srv/acmepercent/x": ("acmepercent",),
    "+/srv/acmeplus/x": ("acmeplus",),
    "-/srv/acmeminus/x": ("acmeminus",),
    "../acmeup/x": ("acmeup",),
    "cd ./srv/acmedot": ("acmedot",),
    "API-KEY=acmekey": ("acmekey",),
    "x-api-key: acmekey2": ("acmekey2",),
    "PGPASSWORD=acmepg psql": ("acmepg",),
    "env=PGPASSWORD=acmepg2 psql": ("acmepg2",),
    "AWS_SECRET_ACCESS_KEY=acmeaws": ("acmeaws",),
    "MYTOKEN=acmetoken": ("acmetoken",),
    "MYTOKEN = acmetoken2": ("acmetoken2",),
    "MYSQL_PWD=acmemysql": ("acmemysql",),
    "pw: acmepw": ("acmepw",),
    "Authorization: Bearer acmebearer": ("acmebearer",),
    "Authorization=Basic acmebasic": ("acmebasic",),
    "sent Bearer acmebearer2": ("acmebearer2",),
    "uname: Linux acmeuname2 6.1.0": ("acmeuname2",),
}


@pytest.mark.parametrize("line", TOLD)
def test_general_patterns_remove_personal_data_from_any_text(line: str) -> None:
    names = KnownNames(Privacy(), {})
    names.add(names.found_in([line]))
    redactor = Redactor(names)

    for shown in (redactor.text(line), redactor.free(line), redactor.text(f"Result: {line}")):
        assert [word for word in TOLD[line] if word.lower() in shown.lower()] == []


@pytest.mark.parametrize(
    "line",
    [
        "Red Hat Enterprise Linux Server 9.3",
        "on Linux kernel 6.1.0",
        "Linux kernel version 6.1.0",
        "+/-5 % and 12 MB/s, 100%/s, p50/p99/max, -1/2/3",
        "keyed=3 passed: 5 passes=2 author: authors keys keyboard",
        "1.2.3~rc1 1.0+~2.1",
        "origin/feature/shm",
        "./perftest ../build/bench ... and so on.",
    ],
)
def test_text_that_only_resembles_a_path_a_key_or_a_host_stays_unchanged(line: str) -> None:
    names = KnownNames(Privacy(), {})
    names.add(names.found_in([line]))

    assert Redactor(names).text(line) == line


def test_linux_sockets_are_not_treated_as_the_name_of_a_host() -> None:
    names = KnownNames(Privacy(), {})
    names.add(names.found_in(["Linux sockets over UDP"]))

    assert Redactor(names).text("Linux sockets") == "Linux sockets"


def test_name_interrupted_by_control_sequences_is_replaced() -> None:
    line = plain("ho\x1b[1mme /home/zoe\x1b[0mphine/x \x1b]0;kim@desk\x07 a\u200bb")

    assert line == "home /home/zoephine/x  ab"


ODD = st.text(st.sampled_from("a1+/\\.:=@~-_ \t\"'([{<,;é\x00\x1b\ufffd漢"), max_size=40)
WORDS = st.sampled_from(
    ["ssh ", "-l ", "host=", "user: ", "/home/", "::", "1.1.1.", "ff:", "ghp_", "C:\\", "connecting to ", "x.com", "file://", "[…]", "a+"]
)


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(st.lists(ODD | WORDS, max_size=6).map("".join), st.integers(1, 400))
def test_work_of_redaction_grows_at_most_linearly_with_the_length_of_a_line(piece: str, times: int) -> None:
    """The work is the number of characters that patterns examine, in a line and in a line of twice the length. No time is measured."""
    once, often = (_looked_at(piece * count) for count in (times, 2 * times))

    assert often <= 2 * once + 40 * (len(piece) * times + 200)
    assert often <= 60 * (len(piece) * 2 * times) + 2000


def _looked_at(line: str) -> int:
    """Return how many characters the redaction examines in a line: the sum over all examined tokens."""
    counted = 0
    take = LineContext.take

    def counting(self: LineContext, token: re.Match[str], whole: str) -> object:
        nonlocal counted
        counted += len(token[0])
        return take(self, token, whole)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LineContext, "take", counting)
        names = KnownNames(Privacy(), {})
        names.add(names.found_in([line]))
        shown = Redactor(names).text(line)
    assert len(shown) <= 30 * len(line) + 100
    return counted


def test_no_pattern_has_an_unbounded_repetition_inside_a_repetition() -> None:
    """Two kinds of patterns can make a search slow: a repetition inside a repetition, and adjacent repetitions of the same characters."""
    modules = ("find_names", "free_text", "settings", "redactor", "tokens")
    sources = [Path(free_text.__file__).with_name(f"{name}.py").read_text() for name in modules]
    strings = [node.value for source in sources for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)]
    patterns = [text for text in strings if isinstance(text, str) and "(?" in text]

    assert len(patterns) > 10
    assert [pattern for pattern in patterns if re.search(r"\)[*+](?!\))", pattern)] == []


def published(text: bytes, folder: Path, format_name: str | None = "native", **wanted: str) -> tuple[list[str], LineClasses]:
    """Return the lines of a log as a site offers them, and the classes of the lines."""
    (folder / "a.log").write_bytes(text)
    names = KnownNames(Privacy(**wanted), {})  # type: ignore[arg-type]
    for line in text.decode(errors="surrogateescape").splitlines():
        names.add(names.found_in([plain(line)]))
    out = io.BytesIO()
    shown = write_redacted(OriginalLog(folder, "a.log", format_name), Redactor(names), out)
    return out.getvalue().decode(errors="surrogateescape").split("\n"), shown


def test_unknown_line_is_withheld_and_other_lines_keep_their_numbers(tmp_path: Path) -> None:
    lines = NATIVE.read_text().splitlines()
    given = [*lines[:4], "one acme line", *lines[4:6], "two acme lines", "more of acme", *lines[6:], ""]

    shown, known = published("\n".join(given).encode(), tmp_path)

    assert known.withheld == [(5, 5), (8, 9)]
    assert [number for number, line in enumerate(shown, 1) if line == "[withheld]"] == [5, 8, 9]
    assert shown[len(given) - 1] == '[3 lines withheld (lines 5, 8 to 9): unknown_lines = "show" under [privacy] in site.toml shows them]'
    same = [number for number, line in enumerate(given) if shown[number] == line]
    assert len(same) >= len(lines) - 2  # `host` lines contain the name of the machine.
    assert "acme" not in "\n".join(shown)


def test_settings_can_show_unknown_lines_after_general_redaction(tmp_path: Path) -> None:
    shown, known = published(NATIVE.read_bytes() + b"seen by acme at 10.9.8.7\n", tmp_path, unknown_lines="show")

    assert known.withheld == []
    assert shown[-2] == "seen by acme at address-1"


def test_log_without_a_format_shows_no_line(tmp_path: Path) -> None:
    shown, known = published(b"acme one\n\nacme two\n", tmp_path, None)

    assert shown[:3] == ["[withheld]", "", "[withheld]"]
    assert known.withheld == [(1, 1), (3, 3)]


def test_broken_line_shows_its_numbers_and_its_known_words(tmp_path: Path) -> None:
    lines = NATIVE.read_text().splitlines()

    shown, known = published("\n".join([*lines[:-1], "latency payload_bytes=64 by zanzibar", lines[-1], ""]).encode(), tmp_path)

    assert known.kinds["broken"] == [(len(lines), len(lines))]
    assert shown[len(lines) - 1] == "latency payload_bytes=64 by […]"


def test_notes_of_perftest_are_shown_complete() -> None:
    logs = (log for log in DATA.rglob("*.log") if log.parent.name == "01")
    notes = {line.strip() for log in logs for line in log.read_text(encoding="utf-8").splitlines() if line.startswith("note text=")}

    assert len(notes) > 10
    assert [note for note in sorted(notes) if not free_text.is_public(note)] == []


@pytest.mark.parametrize("wanted", ["withhold", "show"])
@pytest.mark.parametrize("hidden", ["samp\u00adles=", "samp\x00les=", "samp\uff4ces=", "samp\u0331les="])
def test_broken_line_does_not_become_a_result_by_the_removal_of_hidden_characters(tmp_path: Path, hidden: str, wanted: str) -> None:
    lines = NATIVE.read_text().splitlines()
    place = next(number for number, line in enumerate(lines) if line.startswith("latency "))
    lines[place] = "\x1b]0;acme\x07" + lines[place].replace("samples=", hidden)
    given = "\n".join([*lines, ""]).encode()

    shown, known = published(given, tmp_path, unknown_lines=wanted)

    assert (place + 1, place + 1) in known.kinds["broken"]
    assert shown[place] == "[withheld: hidden characters]"
    (tmp_path / "shown.log").write_text("\n".join(shown), errors="surrogateescape")
    assert read(tmp_path / "shown.log").records == read(tmp_path / "a.log").records


def test_overlong_line_is_cut_and_keeps_its_number(tmp_path: Path) -> None:
    lines = NATIVE.read_text().splitlines()

    shown, known = published("\n".join([*lines[:-1], "a+" * (1 << 19), lines[-1], ""]).encode(), tmp_path, unknown_lines="show")

    assert known.cut == 1
    assert len(shown[len(lines) - 1]) < 1 << 17
    assert shown[len(lines)] == lines[-1]


def test_utf_16_log_is_not_shown(tmp_path: Path) -> None:
    shown, known = published("secret acme\n".encode("utf-16"), tmp_path, None)

    assert "acme" not in "".join(shown)
    assert known.trouble == "the log is UTF-16"
