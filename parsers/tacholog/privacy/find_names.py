"""Find the names in a line of text: of machines, users, addresses, folders and secrets.

A name is recognised by its form (`names_by_look`), by the key before it (``user=NAME``), or by the command that it belongs to (``ssh -l NAME HOST``).
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tacholog.privacy.free_text import is_public
from tacholog.privacy.settings import Kind
from tacholog.privacy.tokens import LONGEST_TOKEN, TOKEN, HarmlessTokens

_FIGURES = re.compile(r"[\d.:+\-_/%]*")
# `key=value` and `key:value`, with the dashes of an option or the question mark of a URL before it.
_KEYED = re.compile(r"(?<![\w.-])[-?&]{0,2}(?P<key>[A-Za-z_][\w.-]{0,40}?)(?P<sign>[=:])")
_WORD = r"\w(?:[\w.-]{0,253}\w)?"
NAME = re.compile(_WORD)
_NAMED = re.compile(rf"[^\x00-\x7f\w]{{0,8}}(?P<name>{_WORD})")  # signs that are not ASCII may precede the name
_PLAIN_NUMBER = re.compile(r"[+-]?\d+(?:[.,]\d+)?%?")
_BEHIND_PEER = re.compile(r" size \d")
_PEER = re.compile(r"@?(?P<host>[^\W\d_](?:[\w.-]{0,253}\w)?):\d{1,9}:?")
_KEYS: Mapping[str, Kind] = {
    **dict.fromkeys(("host", "hostname", "host_name", "node_name", "nodename", "computer_name", "computername", "machine", "fqdn", "domain"), "host"),
    **dict.fromkeys(("user", "username", "user_name", "login", "logname", "owner", "email", "mail"), "user"),
    **dict.fromkeys(("ip", "ipaddr", "ip_address", "mac", "hwaddr", "lladdr", "guid", "gid_ib"), "address"),
    **dict.fromkeys(("cwd", "pwd", "oldpwd", "home"), "path"),
    **dict.fromkeys(
        ("password", "passwd", "passphrase", "token", "secret", "api_key", "apikey", "access_key", "auth", "credential", "credentials"), "secret"
    ),
    **dict.fromkeys(("serial", "serial_number", "serialnumber", "sn", "machine_id", "machineid", "boot_id", "uuid", "asset_tag", "asset"), "secret"),
}
# Matches a key whose value is a secret: `API-KEY`, `PGPASSWORD`, `aws_secret_access_key`, `MYTOKEN`, `pw`. It searches for parts of such keys,
# because no list of whole keys is complete.
_SECRET_KEY = re.compile(
    r"passw|passphrase|secret|token|credential|(?:key|pass|auth)s?\d{0,9}(?![a-z])|(?<![a-z])(?:pw|pwd)\d{0,9}(?![a-z])|authoriz|bearer|cookie"
)
_SCHEMES = frozenset(("bearer", "basic", "digest", "negotiate", "apikey"))  # words between `Authorization:` and the secret itself
_IDENTITIES = frozenset(("uid", "gid", "euid", "egid", "groups"))  # keys such as uid in uid=1001(name): a number follows, then a name in parentheses
_SHELLS = frozenset(("ssh", "slogin", "rlogin", "scp", "sftp", "rsync"))
_RUNS_AS = frozenset(("sudo", "su", "doas", "runuser"))
_NAMING_OPTIONS: Mapping[str, Kind] = {
    **dict.fromkeys(("--user", "--username", "--login", "--owner"), "user"),
    **dict.fromkeys(("--password", "--passwd", "--token", "--secret", "--api-key"), "secret"),
    **dict.fromkeys(("--host", "--hostname"), "host"),
}
_VALUED_OPTIONS = frozenset(("-p", "-P", "-i", "-o", "-F", "-J", "-b", "-c", "-D", "-E", "-L", "-R", "-S", "-W", "-w"))
_BARE = frozenset((*_KEYS, *_SHELLS, *_RUNS_AS, *_NAMING_OPTIONS, "-l", "-u", "connecting", "linux", "participant", "bearer"))
_ALNUM = re.compile(r"[^\W_]")
# After `Linux`, `uname -a` prints the name of the host, then the version of the kernel. In the middle of a line, `Linux` may be part of the name of a
# distribution (`Red Hat Enterprise Linux Server 9.3`), whose versions have two numbers.
_UNAME = re.compile(r"\s+\S{1,255}\s+[0-9]+\.[0-9]")
_UNAME_WITHIN = re.compile(r"\s+(?P<host>\S{1,255})\s+[0-9]+\.[0-9]+\.[0-9]")
_LONG_RUN = re.compile(r"(?=[a-z]{0,40}0)[a-z0-9]{20}")  # the shape of a serial number, a digest or a key
_MOST_EXAMINED = 20_000  # At most this number of tokens of a line are examined.
_COMMAND_WORDS = 12  # this number of words after `ssh`, or a similar command, are treated as its arguments


def _kind_after_key(key: str) -> Kind | None:
    lower = key.lower().replace("-", "_")
    return _KEYS.get(lower) or ("secret" if _SECRET_KEY.search(lower) else None)


class _Expected(NamedTuple):
    """A name that must come next, because of an earlier token, such as a user's name after ``user:``."""

    kind: Kind
    is_other_host: bool = False


def find_names(line: str, harmless: HarmlessTokens) -> Iterator[NameSpan]:
    """Yield the names in a line, in the order of its tokens.

    At most `_MOST_EXAMINED` tokens are examined. If there are more, the rest of the line is treated as one secret, because no tool prints such lines.
    """
    context = LineContext()
    examined = 0
    for token in TOKEN.finditer(line):
        word = token[0]
        if context.is_idle and harmless.knows(word):
            context.skip(word)
            continue
        examined += 1
        if examined > _MOST_EXAMINED:
            yield NameSpan(token.start(), len(line), "secret")
            return
        if len(word) > LONGEST_TOKEN:
            context.skip("")
            if not _FIGURES.fullmatch(word):
                yield NameSpan(token.start(), token.end(), "secret")
            continue
        yield from context.take(token, line)


class LineContext:
    """Tells from the earlier words of a line whether the next word is a name: ``user: NAME``, ``ssh -l NAME HOST``, ``connecting to host NAME``."""

    def __init__(self) -> None:
        self.before: list[str] = []
        self._expected: _Expected | None = None
        # Set if the last word is a key as soon as ":" or "=" follows it. The value is the kind of name that this key announces.
        self._key: Kind | None = None
        self._tool, self._tool_position = "", 0
        self._host_due = False
        self._position = 0

    @property
    def is_idle(self) -> bool:
        """Whether the words so far do not announce a name, so that the next word need not be one."""
        return self._expected is None and self._key is None and not self._tool

    def skip(self, word: str) -> None:
        """Remember a token without looking for names in it."""
        self.before = [*self.before[-1:], word.lower()]
        self._position += 1
        if self._tool and self._position - self._tool_position > _COMMAND_WORDS:
            self._tool, self._host_due = "", False

    def take(self, token: re.Match[str], line: str) -> Iterator[NameSpan]:
        """Yield the names in a token, and remember which kind of name the token announces."""
        word, start, lower = token[0], token.start(), token[0].lower()
        expected, self._expected = self._expected, None
        key, self._key = self._key, None
        if expected is None and self._host_due and self.before[-1] not in _VALUED_OPTIONS and not word.startswith("-"):
            expected, self._host_due = _Expected("host", is_other_host=True), False
        # Some tokens stand before the name: options, signs, and the words "to" and "host", as in "connecting to host NAME".
        is_filler = word.startswith("-") or word in ("=", ":") or bool(expected and expected.is_other_host and lower in ("to", "host"))
        is_filler = is_filler or bool(expected and expected.kind == "secret" and lower.rstrip(":") in _SCHEMES)
        if expected and not is_filler and (span := _name_span(word, expected.kind)):
            yield NameSpan(start + span[0], start + span[1], *expected)
            self.skip(word)
            return
        for name in _names_in_token(word, self.before, token, line):
            yield NameSpan(start + name.start, start + name.end, name.kind, name.is_other_host)
        if lower in _SHELLS or lower in _RUNS_AS:
            self._tool, self._tool_position, self._host_due = lower, self._position, lower in _SHELLS
        self._expected = _Expected(key) if key and word in ("=", ":") else self._announced(lower, line[token.end() :])
        self._key = "host" if lower == "participant" else _kind_after_key(lower)
        if self._expected is None and expected and is_filler and not word.startswith("-"):
            self._expected = expected
        self.skip(word)

    def _announced(self, word: str, after: str) -> _Expected | None:
        """Return the name that must follow this word. ``after`` is the rest of the line."""
        if word in _NAMING_OPTIONS:
            return _Expected(_NAMING_OPTIONS[word])
        if (self._tool in _SHELLS and word == "-l") or (self._tool in _RUNS_AS and word in ("-u", "--user")):
            return _Expected("user")
        if word == "bearer":
            return _Expected("secret")
        key = _KEYED.match(word)
        kind = _kind_after_key(key["key"]) if key else None
        if key and kind and (key.end() == len(word) or (kind == "secret" and word[key.end() :] in _SCHEMES)):
            return _Expected(kind)
        if key and key["key"] in _IDENTITIES and after.startswith("("):
            return _Expected("user")
        if word == "connecting":
            return _Expected("host", is_other_host=True)
        return _Expected("host") if word == "linux" and _is_uname(after, is_at_start=not self.before) else None


def _is_uname(after: str, is_at_start: bool) -> bool:
    if is_at_start:
        return _UNAME.match(after) is not None
    match = _UNAME_WITHIN.match(after)
    return match is not None and not is_public(match["host"])


def _name_span(word: str, kind: Kind) -> tuple[int, int] | None:
    """Return the start and the end of the name in a token, without a port. Return ``None`` if the token cannot be a name of this kind."""
    if kind in ("secret", "path"):
        return (0, len(word)) if (word and kind == "secret") or "/" in word or "\\" in word else None
    match = _NAMED.match(word)
    if (
        match is None
        or word.lower() in _SHELLS
        or _PLAIN_NUMBER.fullmatch(match["name"])
        or (kind != "address" and "/" in word)
        or "@" in word
        or IPV4.match(word)
    ):
        return None
    return match.span("name")


def _names_in_token(word: str, before: list[str], token: re.Match[str], line: str) -> Iterator[NameSpan]:
    for key in _KEYED.finditer(word):
        value_start = key.end()
        named: Kind | None = "host" if key["key"] == "name" and before[-1:] == ["host"] else _kind_after_key(key["key"])
        if named == "secret" and word[value_start:].lower() in _SCHEMES:
            return  # This word is only a scheme, such as "bearer". The secret is in the next token.
        if named and (name := _name_span(word[value_start:], named)):
            yield NameSpan(value_start + name[0], value_start + name[1], named)
            if named == "secret":
                return
    if (peer := _PEER.fullmatch(word)) and _is_peer(word, before, line[token.end() :]):
        yield NameSpan(*peer.span("host"), "host")
        return
    yield from names_by_look(word, before, token, line)


def _is_peer(word: str, before: list[str], after: str) -> bool:
    """Whether ``HOST:PID`` is another process of ddsperf.

    ddsperf prints "participant" or "@" before such a process, or " size" and a number after it.
    """
    return word.startswith("@") or before[-1:] in (["participant"], ["@"]) or _BEHIND_PEER.match(after) is not None


def may_hold_name(shape: str) -> bool:
    """Whether a token may be a name, or may show that a name follows. If this is not certain, return True.

    The shape is the token with every digit written as 0.
    """
    if len(shape) > LONGEST_TOKEN or "@" in shape or "\\" in shape or "~" in shape or "::" in shape:
        return not _FIGURES.fullmatch(shape)
    if shape.count(":") > 2 or shape.count("-") > 3 or shape.count(".") > 1 or "0x0" in shape:  # noqa: PLR2004
        return _ALNUM.search(shape) is not None
    if "/" in shape and ("//" in shape or PATH_START.search(shape)):
        return True
    lower = shape.lower()
    if "." in lower and (end := lower.rstrip(".:").partition(":")[0].rpartition("."))[1] and end[2] in DOMAIN_ENDINGS:
        return True
    if lower.startswith(("gh", "akia", "xox", "sk-", "eyj", "name=", "glpat")) or _LONG_RUN.search(lower) or lower in _BARE:
        return True
    if _SECRET_KEY.search(lower) or ADDRESS_IN_NAME.search(lower) or _PEER.fullmatch(lower):
        return True
    return any(key["key"] in _IDENTITIES or _kind_after_key(key["key"]) for key in _KEYED.finditer(lower))


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AT = re.compile(r"(?<![^\W_])(?P<user>[^\W\d][\w.+-]{0,63})@(?P<host>[^\W_](?:[\w-]|\.(?=\w)){0,253})")
IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,45}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])")
MAC = re.compile(
    r"(?<![\w:.-])(?:[0-9A-Fa-f]{2}(?:(?:[:-][0-9A-Fa-f]{2}){19}|(?:[:-][0-9A-Fa-f]{2}){7}|(?:[:-][0-9A-Fa-f]{2}){5})"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{4}(?::[0-9A-Fa-f]{4}){3})(?![\w:-])"
)
_GUID = re.compile(r"(?<!\w)0x[0-9A-Fa-f]{16}(?!\w)")  # Matches a GUID of InfiniBand, and also a pointer, which has the same form.
# Matches a name that systemd or rdma-core makes for a network card from the address of the card: enx00e04c680123, wlx..., rocex525400c0fe123455.
ADDRESS_IN_NAME = re.compile(
    r"(?<![^\W_])(?:en|ib|sl|wl|ww|roce|iw|opa|hfi|usnic)x(?P<address>[0-9a-f]{12}(?:[0-9a-f]{4})?)(?![^\W_])", re.IGNORECASE
)
_DOMAIN = re.compile(r"(?<![\w.@-])(?P<host>[^\W_][\w-]{0,62}(?:\.[\w-]{1,63}){1,8})(?![\w-])")
_PUBLIC_ENDINGS = _words(
    """
    com org net edu gov mil int info biz io dev app cloud ai tech de fr uk eu us ca cn jp kr ru ch at nl be se no fi dk es pt pl cz it ie il tr
    br mx au nz tw sg hk example test invalid
    """
)
_PRIVATE_ENDINGS = frozenset(("local", "lan", "internal", "intra", "corp", "home", "localdomain", "private", "arpa"))
DOMAIN_ENDINGS = _PUBLIC_ENDINGS | _PRIVATE_ENDINGS
# A path starts at a slash after a sign, at the start of a token, or after the name of an option or of a variable. It also starts at one or two dots
# before a slash, at a tilde, at a drive or at two backslashes.
PATH_START = re.compile(
    r"(?<![\w./-])--?[A-Za-z][\w-]{0,40}(?P<glued>/)(?=\w|[^\x00-\x7f])|\$\w{1,64}[/\\]"
    r"|(?<![\w.+/~>%-])(?:~[\w.+-]{0,64}[/\\]|~(?=[^\W\d_])|\\\\(?=\w)|[A-Za-z]:[\\/](?![\\/]))"
    r"|(?<![\w./])\.{0,2}/(?=[\w.+@~%$-]|[^\x00-\x7f])|(?<=[=:,])//(?=\w)"
)
_SCHEME = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]{1,20})://", re.IGNORECASE)
_SECRET = re.compile(
    r"(?<![A-Za-z0-9])(?:gh[a-z]_[A-Za-z0-9_]{4,}|github_pat_\w{4,}|glpat-[\w-]{4,}|xox[a-z]-[\w-]{4,}|AKIA[0-9A-Z]{8,}|sk-[\w-]{8,}|eyJ[\w-]{8,}+[\w.-]*"
    r"|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Fa-f]{32}(?![0-9A-Fa-f]))"
)
_HOME = re.compile(r"(?:/(?:home|Users)/|:\\Users\\|(?<![\w.])~)(?P<user>[^\W\d][\w-]{0,63})", re.IGNORECASE)
# Folders that every machine has. A path in these folders, or in the working folder of a program, is shown if each part of it is a public word.
_COMMON = ("/dev/", "/proc/", "/sys/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")


class NameSpan(NamedTuple):
    """The start, the end and the kind of a name in a text.

    ``is_other_host`` is true if the name is that of another machine, and not of the machine that wrote the text.
    """

    start: int
    end: int
    kind: Kind
    is_other_host: bool = False


def names_by_look(word: str, before: list[str], token: re.Match[str], line: str) -> Iterator[NameSpan]:
    """Yield the names in one token that are recognised by their form.

    The start and the end of each name are positions in the token. ``before`` are the earlier tokens of the line.
    """
    if "@" in word:
        for match in _AT.finditer(word):
            yield NameSpan(*match.span("user"), "user")
            yield NameSpan(*match.span("host"), "host")
    if "/" in word or "\\" in word or "~" in word:
        yield from _paths(word)
    for pattern in (MAC, _GUID, ADDRESS_IN_NAME):
        yield from (NameSpan(*match.span(), "address") for match in pattern.finditer(word))
    if word.count(":") > 1:
        yield from (NameSpan(*match.span(), "address") for match in _IPV6.finditer(word) if "::" in match[0] or match[0].count(":") == 7)  # noqa: PLR2004
    for match in IPV4.finditer(word):
        # "1.4.1.1. UDPv4" at the start of a line is a numbered heading. "to 10.9.8.77." is an address at the end of a sentence.
        if before or word != f"{match[0]}." or line[: token.start()].strip():
            yield NameSpan(*match.span(), "address")
    if "." in word and "@" not in word:
        yield from (NameSpan(*match.span(), "host") for match in _DOMAIN.finditer(word) if _is_domain(match[0]))
    yield from (NameSpan(*match.span(), "secret") for match in _SECRET.finditer(word))


def _paths(word: str) -> Iterator[NameSpan]:
    yield from (NameSpan(*match.span("user"), "user") for match in _HOME.finditer(word))
    position = 0
    if scheme := _SCHEME.search(word):
        address = word[scheme.end() :]
        if scheme["scheme"].lower() == "file":
            yield NameSpan(scheme.end(), len(word), "path")
        elif not is_public(address):
            host = re.match(r"[\w.-]+", address)
            if host:
                yield NameSpan(scheme.end(), scheme.end() + host.end(), "host")
            end = scheme.end() + (host.end() if host else 0)
            if "/" in word[end:]:
                yield NameSpan(word.index("/", end) + 1, len(word), "path")
        return
    while start := PATH_START.search(word, position):
        # In a list of folders, a colon is between two folders. But a colon after a drive letter is a part of the path.
        colon = word.find(":", start.end())
        position = len(word) if colon < 0 else colon
        begin = start.start("glued") if start["glued"] else start.start()
        if not _is_common(word[begin:position]):
            yield NameSpan(begin, position, "path")
    if not position and re.search(r"\w\\\w", word):  # the rest of a Windows path that contains a blank
        yield NameSpan(0, len(word), "path")


def _is_common(path: str) -> bool:
    """Whether a path exists on every machine. Also true for a text that is no path, such as a single slash, or `/s` after a unit."""
    if path.startswith("/") and "/" not in path[1:]:
        return path.rstrip(".:") in ("/dev", "/proc", "/sys", "/usr", "/bin", "/tmp", "/etc", "/var") or is_public(path)  # noqa: S108
    return path.startswith((".", *_COMMON)) and all(map(is_public, path.split("/")))


def split_path(path: str) -> tuple[str, str]:
    """Split a path into its folder, including the last slash, and the name of the file."""
    end = max(path.rfind("/"), path.rfind("\\")) + 1
    return path[:end], path[end:]


def _is_domain(text: str) -> bool:
    labels = text.lower().rstrip(".").split(".")
    if labels[-1] in _PRIVATE_ENDINGS:
        return True
    return labels[-1] in _PUBLIC_ENDINGS and not all(map(is_public, labels))


def identifies(text: str) -> bool:
    """Whether an address identifies a machine.

    Addresses for loopback, broadcast and multicast identify none. A version of four numbers is no address.
    """
    if named := ADDRESS_IN_NAME.fullmatch(text):
        return bool(set(named["address"].lower()) - set("0")) and bool(set(named["address"].lower()) - set("f"))
    if MAC.fullmatch(text) or _GUID.fullmatch(text):
        return bool(set(text.lower()) - set("0x:-.")) and bool(set(text.lower()) - set("f:-."))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (text.startswith("0.") or address.is_loopback or address.is_unspecified or address.is_multicast or text == "255.255.255.255")
