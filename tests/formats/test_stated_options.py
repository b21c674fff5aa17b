"""Each option that a tool prints is a condition, or is listed here with the reason why runs with different values may be compared."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest

from tacholog.formats.reading import read
from tacholog.formats.registry import formats
from tacholog.schema.records import Facts

HERE = Path(__file__).parent
NAMES = [name for name in sorted(formats()) if (HERE / name).is_dir()]
MACHINE, NAMED, ALSO, COUNTED = (
    "describes the machine or build",
    "only a name",
    "is a condition as well",
    "says how much was measured, which is counted",
)
CLOCK = "the step of the tool's clock, by which numbers are marked"
#: For each format, the facts that are only environment. Each key is a pattern for the keys of facts. Each value is the reason.
ENVIRONMENT: dict[str, dict[str, str]] = {
    "ecal": {"ecal_runs": COUNTED, "ecal_buffers": "stands above a table of the documentation", "ecal_frequency": ALSO},
    "emqtt_bench": {"emqtt_.*": COUNTED},
    "fastrtps": {"clock_overhead_ns": MACHINE},
    "github_action_benchmark": {"benchmark_tool": "each suite has one, and suites are kept apart"},
    "google_benchmark": {"host_cpus_online|load_start_load1|cpu_scaling_enabled": MACHINE, "library_build_type": "the library, not the benchmark"},
    "hmbdc": {"machine .*": MACHINE, "notes .*": "prose of the sample page", "note .*": "prose of the sample page", "command .*": "one for each row"},
    "iperf3": {"system_info": MACHINE},
    "kafka": {"clock_resolution_ns": CLOCK},
    "native": {
        "(perftest|host|clock|load|affinity|placement|socket|companion|transport|memory)_.*": MACHINE,
        "(way|path)_.*": "what the kernel counted",
        "note_text": "prose",
        "search_command": "the command of the tool that was run",
    },
    "openmessaging": {"clock_resolution_ns": CLOCK},
    "performance_test": {
        "performance_test (QOS|Communicat.*|RMW Implementation|Publishing rate|Msg name|Maximum runtime.*|Number of .*)": ALSO,
        "performance_test (Zero copy.*|Roundtrip Mode)": ALSO,
        "performance_test (Use single participant|With security|Ignore seconds.*|Unbounded.*|is_rt_init_required|execution_strategy)": ALSO,
        "performance_test (id|Experiment id|Logfile name|final_logfile_name|DDS domain id|Topic name|external_info_.*)": NAMED,
        "performance_test Performance Test Version": "the version",
        "performance_test (check_memory|Memory check enabled)": "says whether the tool watches its own memory",
    },
    "qperf": {"(loc|rem)_.*": MACHINE},
    "rabbitmq_perftest": {"clock_resolution_ns": "the step of the tool's clock, for a mark"},
    "rti": {
        "rti_(publisher|subscriber)_id|rti_domain|lite_domain|rti_xml_file": NAMED,
        "rti_perftest_commit|rti_nic|lite_nic": MACHINE,
        "rti_latency_count|messages_per_latency_sample": COUNTED,
        "rti_data_size|lite_datalen|rti_kind": ALSO,
        "rti_number_of_samples": COUNTED,
    },
    "sockperf": {"sockperf_parameters": ALSO},
}


def runs(name: str) -> Iterator[tuple[str, Facts]]:
    for path in sorted((HERE / name).iterdir()):
        if path.name != "README.md":
            yield from ((path.name, facts) for facts in read(path, name).account.runs)


def why_environment(name: str, key: str) -> str | None:
    """Return the reason why a fact is not a condition; ``None`` if no reason is stated."""
    return next((why for pattern, why in ENVIRONMENT.get(name, {}).items() if re.fullmatch(pattern, key)), None)


@pytest.mark.parametrize("name", NAMES)
def test_each_fact_that_a_tool_prints_is_a_condition_or_is_listed_as_environment(name: str) -> None:
    unexplained = {key: log for log, facts in runs(name) for key in facts.environment if why_environment(name, key) is None}

    assert unexplained == {}


@pytest.mark.parametrize("name", [name for name in NAMES if any(why is ALSO for why in ENVIRONMENT.get(name, {}).values())])
def test_sample_logs_with_different_options_have_different_conditions(name: str) -> None:
    for (path, old), (other, new) in combinations(runs(name), 2):
        options = {key for key in {*old.environment, *new.environment} if why_environment(name, key) is ALSO}
        differ = {key for key in options & {*old.environment} & {*new.environment} if old.environment[key] != new.environment[key]}
        if differ and "rti_data_size" not in differ and "lite_datalen" not in differ:  # The message size is no condition of a run.
            assert (old.conditions, old.system) != (new.conditions, new.system) or name == "sockperf", (path, other, differ)
            if name == "sockperf":  # In sockperf, parameters apply to the records of one test and not to the log.
                assert read(HERE / name / path, name).records[0].conditions != read(HERE / name / other, name).records[0].conditions


@pytest.mark.parametrize("name", NAMES)
def test_docstring_of_a_format_states_the_conditions_that_separate_runs(name: str) -> None:
    assert re.search(r"^(?:.* )?Conditions are ", formats()[name].__doc__ or "", re.MULTILINE)
