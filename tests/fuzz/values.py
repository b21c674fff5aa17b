"""The values that the edits of ``edits.py`` write into manifests, host files and ``site.toml``."""

from __future__ import annotations

# Some of these values differ only in capitals or punctuation. Some are names of pages, and some are private.
# The releases have another order if they are sorted as texts instead of numbers.
SYSTEMS = ("RTI Connext DDS", "rti connext dds", "Zed", "zed", "ZED", "Ünï", "Sockets", "A b", "a-b", "Foo #2", "index", "logs", "hosts")
RELEASES = ("1.0", "1.1", "1.2", "1.10", "2.0-rc1", "2.0", "V1.0", "v1.0")
HOSTS = ("desk", "lab-7", "vm", "alpha", "Desk", "host-98223e", "host-a2b38a")  # The last two hosts are the hosts of the released runs.
WORDS = ("zoe was here", "/home/zoe/settings", "ssh -l bob alpha", "10.1.2.3 answered", "--password hunter2", "lab-7", "vm up", "project-x started")
TIMES = ("2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z", "2026-01-03T12:00:00Z", "2026-02-30", "x")
LOG_NAMES = ("x.log", "zoe.log", "perftest.log", "Index.log", "a b.log", "ü.log", "#.log", "run.log")

#: The keys of a manifest that are changed, and their values. None removes the key.
STATED: dict[str, tuple[object, ...]] = {
    "system": SYSTEMS,
    "release": (*RELEASES, None),
    "host": (*HOSTS, None),
    "session": ("s1", "s2", None),
    "campaign": ("c1", "trial", None),
    "start_time": (*TIMES, None),
    "system_version": ("1.0", "1.1", "2.0", None),
    "notes": (*([word] for word in WORDS), None),
    "repetition": (0, 1, 2, None),
    "order_index": (0, 1, 2, None),
    "labels": ({"plugin": "a"}, {"plugin": "A"}, {"plugin": "udpv4"}, None),
    "status": ("ok", "failed", "interrupted", None),
    "reason": (*WORDS, None),
    "options": ({"x": 1}, {"x": "/home/zoe/x"}, None),
    "environment": ({"load": "0.5"}, {"x": "bob"}, None),
    "conditions": (
        *({"transport": transport} for transport in ("UDPv4", "udpv4", "SHMEM", "TCP", "index")),
        {"transport": "SHMEM", "data_path": "zero-copy"},
        {"transport": "UDPv4", "publishers": 2},
        None,
    ),
}
#: The keys of a site.toml that are changed, with their values. The keys of systems and of privacy are not included.
SETTINGS: dict[str, tuple[object, ...]] = {
    "name": ("One", "Two & <b>", None),
    "title": ("Three {{x}} `a`", "Four", None),
    "intro": ("Five", "Six **bold**", None),
    "copyright": ("2026 zoe", None),
    "logo": ("logo.svg", None),
    "contact": ("https://example.org/c", "mailto:zoe@example.org", None),
    "url": ("https://example.org/x/", "https://example.com/y/", None),
    "repository": ("https://example.org/r", None),
    "vendors": ({"Zed": "https://example.org/zed"}, {"RTI Connext DDS": "https://example.org/r"}, None),
    "links": ([{"title": "Doc", "url": "https://example.org/"}], None),
    "campaigns_left_out": (["trial"], ["c1"], [{"campaign": "c1", "release": "1.0"}], None),
    "pages": (["system"], ["system", "label.plugin"], ["label.plugin", "system"], ["host", "system"], ["release", "system", "transport"], None),
    "limits": ({"log_numbers": 10}, {"log_text_mb": 0.002}, {"file_mb": 0.01}, {"site_mb": 0.1}, None),
}
PRIVACY: dict[str, tuple[object, ...]] = {
    **dict.fromkeys(("hosts", "users", "addresses", "paths", "secrets", "unknown_lines", "free_text"), ("show", None)),
    "keep": (["lab-7"], ["zoe"], None),
    "hide": (["project-x"], ["Zed"], ["UDPv4"], ["plugin"], ["1.1"], None),
}
RENAMES = ('[transport]\n"UDPv4" = "zorkmid"\n', '[transport]\n"UDPv4" = "TCP"\n', '[system]\n"zed" = "Zed"\n', "[[[")
REQUIREMENT = '[[require]]\nname = "{name}"\nmetric = "goodput"\nstatistic = "mean"\nmin = {least}\nunit = "Gbit/s"\n'
