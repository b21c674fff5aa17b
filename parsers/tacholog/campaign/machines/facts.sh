# Prints properties of a host for remote_facts.py, which rebuilds them as files. grep puts the path before each line; no other program is needed.
# $1: "moment" for the properties that change from second to second, or "all".
cd / || exit 1
lines() { grep -H -s "$@"; }
cpu=sys/devices/system/cpu

lines '^' proc/loadavg
lines -E '^cpu[0-9]* ' proc/stat
lines -E '^cpu MHz' proc/cpuinfo
for folder in $cpu/cpu[0-9]*; do echo "is $folder"; done
lines '^' $cpu/cpu[0-9]*/online $cpu/cpu[0-9]*/thermal_throttle/package_throttle_count
test "$1" = all || exit 0

lines -E '^(model name|microcode|flags)' proc/cpuinfo
lines '^' $cpu/cpu[0-9]*/topology/physical_package_id $cpu/cpu[0-9]*/topology/core_id
lines '^' $cpu/cpu[0-9]*/cpufreq/scaling_governor $cpu/cpu[0-9]*/cpufreq/cpuinfo_min_freq $cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq
lines '^' $cpu/cpu0/cache/index[0-9]*/level $cpu/cpu0/cache/index[0-9]*/type $cpu/cpu0/cache/index[0-9]*/size
lines '^' $cpu/intel_pstate/no_turbo $cpu/cpufreq/boost $cpu/cpuidle/current_driver $cpu/isolated $cpu/vulnerabilities/*
lines '^' $cpu/cpu0/cpuidle/state[0-9]*/name $cpu/cpu0/cpuidle/state[0-9]*/disable
for folder in sys/devices/system/node sys/devices/system/node/node[0-9]*; do test -d "$folder" && echo "is $folder"; done

lines -E '^(MemTotal|HugePages_Total|Hugepagesize):' proc/meminfo
lines '^' sys/kernel/mm/transparent_hugepage/enabled
lines -E '^[^ ]+ /dev/shm tmpfs ' proc/mounts
echo "stated shared_memory_kib $(df -k -P /dev/shm 2>/dev/null | { read -r head; read -r name size rest; echo "$size"; })"

for folder in sys/class/net/*; do
  if test -e "$folder/device"; then
    echo "is $folder/device"
    driver=$(cd -P "$folder/device/driver" 2>/dev/null && pwd -P)
    test -n "$driver" && echo "driver $folder/device/driver ${driver##*/}"
  fi
done
lines '^' sys/class/net/*/speed sys/class/net/*/duplex sys/class/net/*/mtu
lines '^' proc/sys/net/core/rmem_max proc/sys/net/core/wmem_max proc/sys/net/core/rmem_default proc/sys/net/core/wmem_default

lines '^' proc/sys/kernel/osrelease proc/sys/kernel/random/boot_id sys/devices/system/clocksource/clocksource0/current_clocksource
lines '^' etc/os-release sys/class/dmi/id/sys_vendor sys/hypervisor/type
for mark in .dockerenv run/.containerenv; do test -e "$mark" && echo "is $mark"; done
# Of the kernel's command line only this word: others may identify the machine.
for word in $(cat proc/cmdline); do case $word in mitigations=*) echo "proc/cmdline:$word" ;; esac; done
lines -E '^0::' proc/self/cgroup
group=$(grep -s -E '^0::' proc/self/cgroup)
lines '^' "sys/fs/cgroup${group#0::}/cpu.max" sys/fs/cgroup/cpu.max
echo "stated architecture $(uname -m)"
echo "stated libc $(getconf GNU_LIBC_VERSION 2>/dev/null)"
echo "stated compiler $(c++ --version 2>/dev/null | { read -r line; echo "$line"; })"
echo "stated affinity $(grep -s Cpus_allowed_list proc/self/status | { read -r name list; echo "$list"; })"
exit 0
