"""Redact the lines of a native log: the key of each value shows its kind (docs/native-log.md)."""

from __future__ import annotations

import re

from tacholog.privacy.free_text import is_public
from tacholog.privacy.redactor import Redactor
from tacholog.privacy.tokens import SHAPE

# Keys with public values: numbers, choices, versions, and properties of a machine that identify nobody.
_PUBLIC_KEYS = """
    version log git mock recovery_times_ns build compiler flags libc test transport reach data_path reliability role sizes_bytes duration_s warmup
    warmup_s touch verify waiting load_mode demands recovery_ms demand recovery_time_ns rate_per_s basis from probe_every batch_bytes batched_by
    batch_messages publishers subscribers slow_subscriber instances instances_heard interval_s seed cpu_pub cpu_sub tuning timeout_s guarantees kernel
    distribution cpu_model cpus_online threads_per_core memory_bytes governor isolated_cpus idle_driver idle_states turbo transparent_huge_pages
    shared_memory_huge_pages shared_memory_bytes shared_huge_page_bytes realtime_throttling relation shared_cache numa_nodes cache_line_ns
    virtualisation clocksource mitigations_off name resolution_ns
    overhead_ns at load1 load5 load15 time requested achieved rcvbuf_bytes sndbuf_bytes congestion payload_bytes messages duration_ns outcome
    index p50_ns p99_ns max_ns received lost samples duplicated reordered corrupted overflow mean_ns std_ns min_ns p90_ns p99.9_ns p99.99_ns
    p99.999_ns p99.9999_ns part parts bins planned sent target_rate_per_s offered_rate_per_s dropped goodput_bit_per_s send_duration_ns
    library library_version expected carried_bytes ip_bytes agrees sides_ns companion_ns
    receive_duration_ns offered_goodput_bit_per_s rate_min_per_s rate_sum_per_s goodput_min_bit_per_s goodput_sum_bit_per_s user_ns system_ns
    goal_statistic goal_latency_ns goal_loss_ratio goal_width_ratio exceed_ratio least_rate_per_s most_rate_per_s short_trial_s trials length
    held_back loss_ratio latency_kept loss_kept passed passed_s missed_s upper_rate_per_s width_ratio passed_above sustain sent_rate_per_s sha256
    voluntary_switches involuntary_switches peak_memory_from peak_memory_bytes status latency throughput errors late answer_limit_ns answer_limit_s
    endpoints
"""
# Settings of transports whose values are numbers or fixed words of the transport, not paths or addresses.
PUBLIC_SETTINGS = """
    congestion nagle faults capacity
    sockets high_water_mark io_threads
    send_queue receive_queue
    receive_buffer queue ttl
    qos tcp_nodelay max_queued_messages
    send_asap pending_messages
    pipeline output_buffer_limit
    buffers data_sharing datagram_bytes depth heartbeat_ms max_samples queue queue_full reliability segment_bytes writer_bytes
    history
    threading idle mtu send term_length window
"""
PUBLIC_KEYS = frozenset(f"{_PUBLIC_KEYS} {PUBLIC_SETTINGS}".split())
_STATISTICS = re.compile(r"(?:lateness|from_send)_(?:mean|std|min|max|p\d{2}(?:\.9{1,4})?)_ns|(?:udp6?|tcp|ip6?)_[a-z_]{1,30}")
_STATISTIC_SHAPES = re.compile(r"(?:lateness|from_send)_(?:mean|std|min|max|p00(?:\.0{1,4})?)_ns|(?:udp0?|tcp|ip0?)_[a-z_]{1,30}")
_QUOTE = '"'
_PAIR = re.compile(r'(?P<key>[A-Za-z_][\w.]{0,63})=(?P<value>"(?:[^"\\]|\\.)*"|[^\s"]*)')
_SHAPES = frozenset(key.translate(SHAPE) for key in PUBLIC_KEYS) - {"name"}
_KIND = re.compile(r"[a-z]+")
_PARTICIPANT = re.compile(r"(?:sub|pub)\d{1,6}|all")


def native_line(text: str, redactor: Redactor) -> str:
    """Redact a known line of a native log: a value is redacted according to its key, and all other text as free text."""
    if redactor.harmless_by(_is_native)(text):
        return text
    kind = _KIND.match(text)
    out, position = [], 0
    for pair in _PAIR.finditer(text):
        out += [redactor.free(text[position : pair.start()]), _pair(kind[0] if kind else "", pair["key"], pair["value"], redactor)]
        position = pair.end()
    return "".join([*out, redactor.free(text[position:])])


def _is_native(shape: str) -> bool:
    """Whether a token of this shape is a public word, or ``key=value`` with a public value."""
    key, sign, value = shape.partition("=")
    if not sign:
        return is_public(shape)
    return key in _SHAPES or bool(_STATISTIC_SHAPES.fullmatch(key)) or (key == "participant" and bool(_PARTICIPANT.fullmatch(value)))


def is_public_pair(key: str, value: str) -> bool:
    """Whether a value with this key may be shown, whatever the kind of its line."""
    if key == "participant":
        return bool(_PARTICIPANT.fullmatch(value))
    return (key in PUBLIC_KEYS and key != "name") or bool(_STATISTICS.fullmatch(key))


def _pair(kind: str, key: str, value: str, redactor: Redactor) -> str:
    if (kind, key) == ("host", "name"):
        return f"{key}={redactor.name(value.strip(_QUOTE), 'host')}"
    if is_public_pair(key, value) or (kind, key) in {("clock", "name"), ("config", "address")}:
        return f"{key}={redactor.text(value)}"
    return f"{redactor.free(key)}={redactor.free(value)}"
