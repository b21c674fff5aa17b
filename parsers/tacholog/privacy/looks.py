"""Names that can be recognised by their look alone: addresses, domains, paths, user@host, tokens and keys."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator
from typing import NamedTuple

from tacholog.privacy.free_text import is_public
from tacholog.privacy.settings import Kind


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_AT = re.compile(r"(?<![^\W_])(?P<user>[^\W\d][\w.+-]{0,63})@(?P<host>[^\W_](?:[\w-]|\.(?=\w)){0,253})")
IPV4 = re.compile(r"(?<![\w.])(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)")
_IPV6 = re.compile(r"(?<![\w:.])[0-9A-Fa-f:]{2,45}(?:\d{1,3}(?:\.\d{1,3}){3})?(?![\w:])")
MAC = re.compile(
    r"(?<![\w:.-])(?:[0-9A-Fa-f]{2}(?:(?:[:-][0-9A-Fa-f]{2}){19}|(?:[:-][0-9A-Fa-f]{2}){7}|(?:[:-][0-9A-Fa-f]{2}){5})"
    r"|[0-9A-Fa-f]{4}(?:\.[0-9A-Fa-f]{4}){2}|[0-9A-Fa-f]{4}(?::[0-9A-Fa-f]{4}){3})(?![\w:-])"
)
_GUID = re.compile(r"(?<!\w)0x[0-9A-Fa-f]{16}(?!\w)")  # of InfiniBand; a pointer looks the same, and nobody misses it
# The name that systemd or rdma-core gives to a network card after its address: enx00e04c680123, wlx..., rocex525400c0fe123455.
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
# A path starts at each slash that is not behind a word of that path: behind a sign, at the start of a token, or behind the name of an option or of
# a variable; and at one or two dots before a slash, a tilde, a drive or two backslashes.
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
# Folders that every machine has, and the folder that a program runs in: a path in them is shown if each of its parts is a public word.
_COMMON = ("/dev/", "/proc/", "/sys/", "/usr/", "/bin/", "/sbin/", "/lib/", "/lib64/")


class FoundName(NamedTuple):
    """A name in a text: where it stands and what it names. ``is_other_host``: it names another machine than the one that wrote the text."""

    start: int
    end: int
    kind: Kind
    is_other_host: bool = False


def names_by_look(word: str, before: list[str], token: re.Match[str], line: str) -> Iterator[FoundName]:
    """Yield the names in one token, placed within the token. ``before`` are the tokens before it on its line."""
    if "@" in word:
        for found in _AT.finditer(word):
            yield FoundName(*found.span("user"), "user")
            yield FoundName(*found.span("host"), "host")
    if "/" in word or "\\" in word or "~" in word:
        yield from _paths(word)
    for pattern in (MAC, _GUID, ADDRESS_IN_NAME):
        yield from (FoundName(*found.span(), "address") for found in pattern.finditer(word))
    if word.count(":") > 1:
        yield from (FoundName(*found.span(), "address") for found in _IPV6.finditer(word) if "::" in found[0] or found[0].count(":") == 7)  # noqa: PLR2004
    for found in IPV4.finditer(word):
        # "1.4.1.1. UDPv4" at the start of a line is a numbered heading. "to 10.9.8.77." is an address at the end of a sentence.
        if before or word != f"{found[0]}." or line[: token.start()].strip():
            yield FoundName(*found.span(), "address")
    if "." in word and "@" not in word:
        yield from (FoundName(*found.span(), "host") for found in _DOMAIN.finditer(word) if _is_domain(found[0]))
    yield from (FoundName(*found.span(), "secret") for found in _SECRET.finditer(word))


def _paths(word: str) -> Iterator[FoundName]:
    yield from (FoundName(*found.span("user"), "user") for found in _HOME.finditer(word))
    at = 0
    if scheme := _SCHEME.search(word):
        rest = word[scheme.end() :]
        if scheme["scheme"].lower() == "file":
            yield FoundName(scheme.end(), len(word), "path")
        elif not is_public(rest):
            host = re.match(r"[\w.-]+", rest)
            if host:
                yield FoundName(scheme.end(), scheme.end() + host.end(), "host")
            end = scheme.end() + (host.end() if host else 0)
            if "/" in word[end:]:
                yield FoundName(word.index("/", end) + 1, len(word), "path")
        return
    while start := PATH_START.search(word, at):
        # A list of folders is separated by colons. The colon of a drive is part of the start.
        colon = word.find(":", start.end())
        at = len(word) if colon < 0 else colon
        begin = start.start("glued") if start["glued"] else start.start()
        if not _is_common(word[begin:at]):
            yield FoundName(begin, at, "path")
    if not at and re.search(r"\w\\\w", word):  # the rest of a Windows path that contains a blank
        yield FoundName(0, len(word), "path")


def _is_common(path: str) -> bool:
    """Whether every machine has this path, or it is not a path at all: `/s` behind a unit, a lone slash."""
    if path.startswith("/") and "/" not in path[1:]:
        return path.rstrip(".:") in ("/dev", "/proc", "/sys", "/usr", "/bin", "/tmp", "/etc", "/var") or is_public(path)  # noqa: S108
    return path.startswith((".", *_COMMON)) and all(map(is_public, path.split("/")))


def split_path(path: str) -> tuple[str, str]:
    """Return the folder of a path, with its last slash, and the name of the file in it."""
    end = max(path.rfind("/"), path.rfind("\\")) + 1
    return path[:end], path[end:]


def _is_domain(text: str) -> bool:
    """Whether a text is the name of a machine in a domain, and not one that is known to be public."""
    labels = text.lower().rstrip(".").split(".")
    if labels[-1] in _PRIVATE_ENDINGS:
        return True
    return labels[-1] in _PUBLIC_ENDINGS and not all(map(is_public, labels))


def identifies(text: str) -> bool:
    """Whether an address identifies a machine. Loopback, broadcast, multicast and versions of four numbers do not."""
    if named := ADDRESS_IN_NAME.fullmatch(text):
        return bool(set(named["address"].lower()) - set("0")) and bool(set(named["address"].lower()) - set("f"))
    if MAC.fullmatch(text) or _GUID.fullmatch(text):
        return bool(set(text.lower()) - set("0x:-.")) and bool(set(text.lower()) - set("f:-."))
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (text.startswith("0.") or address.is_loopback or address.is_unspecified or address.is_multicast or text == "255.255.255.255")
