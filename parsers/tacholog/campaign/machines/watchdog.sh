# Runs on a host of a campaign, in any POSIX sh, as long as the harness sends lines. A line is a call of one of the functions below. The harness has set
# $mark, with which each line of the answers begins, $period and $limit. If no line came for $limit seconds, or if the connection is closed, all
# processes are ended with their groups, and the folder is removed. No other files are left here.
#
# A shell that reads lines cannot watch the time, so a second shell does it (guard). Each line "beat" resets its count by a signal, because a signal
# needs no space on a full disk. For the same reason, the files of a job are made before it starts: they are later only overwritten or removed.

umask 077
LC_ALL=C # some tools print numbers in the locale of the user
export LC_ALL
shell=$$

say() { printf '%s %s\n' "$mark" "$*"; }

refuse() {
  say "refused $*"
  exit 1
}

exec 3<&0 </dev/null # only `read` may read the lines of the harness
folder=$(mktemp -d "${TMPDIR:-/tmp}/tacholog.XXXXXXXX" 2>&1) || refuse "no temporary folder:" $folder
cd "$folder" || refuse "no temporary folder: $folder"
folder=$(pwd)
setsid=$(command -v setsid)

# signal_job PID SIGNAL: a process that has just been started may not have its group yet.
signal_job() { kill "-$2" "-$1" 2>/dev/null || kill "-$2" "$1" 2>/dev/null; }

# signal_all SIGNAL: send it to each job. Succeeds if there was one.
signal_all() {
  found=1
  for file in "$folder"/run.*; do
    test -e "$file" && signal_job "${file##*.}" "$1" && found=0
  done
  return $found
}

# kill_strays TEXT: kill the processes that have this mark in their environment. Those that became daemons have left the group of their job.
# grep of busybox reads only the beginning of an environment, so that it may miss some.
kill_strays() {
  for pass in 1 2 3; do
    strays=$(grep -l -s -F "TACHOLOG_JOB=$1" /proc/[0-9]*/environ)
    test -n "$strays" || return
    for file in $strays; do
      stray=${file#/proc/}
      kill -KILL "${stray%/environ}" 2>/dev/null
    done
  done
}

end_everything() {
  if signal_all TERM; then
    for second in 1 2; do
      sleep 1
      signal_all 0 || break
    done
    signal_all KILL
  fi
  kill_strays "$mark."
  cd /
  rm -rf "$folder" || { sleep 1 && rm -rf "$folder"; }
}

# guard: end all processes if the harness is silent for too long, or if the shell that reads its lines has ended.
guard() {
  exec 3<&-
  silent=0
  trap 'silent=0' USR1
  say "watching"
  exec >/dev/null 2>&1
  while sleep "$period" && kill -0 "$shell"; do
    silent=$((silent + period))
    test "$silent" -lt "$limit" || break
  done
  end_everything
  kill -KILL "$shell"
}

# beat: the harness is alive. The resources of the processes are sampled now too, so that they are disturbed only once in each period.
beat() {
  kill -USR1 "$guard_pid" 2>/dev/null || {
    end_everything
    exit 1
  }
  sample
  say "alive"
}

# sample: note the peak memory and the context switches of each job and its descendants. For threads that have ended, the last values stay.
sample() {
  for file in run.*; do
    test -e "$file" || continue
    job_pid=${file#run.}
    files=
    next=$job_pid
    while test -n "$next"; do
      these=$next
      next=
      for pid in $these; do
        files="$files /proc/$pid/task/*/status"
        for children in /proc/"$pid"/task/*/children; do
          children_pids=
          { read -r children_pids <"$children"; } 2>/dev/null
          next="$next $children_pids"
        done
      done
      next=$(echo $next)
    done
    text=$(grep -H -s -E '^(VmHWM|voluntary_ctxt_switches|nonvoluntary_ctxt_switches):' $files)
    test -n "$text" || continue
    eval "keep_ended \$sample_$job_pid"
    eval "sample_$job_pid=\"\$ended \$text\""
  done
}

# keep_ended WORD...: set $ended to the words of a sample about threads that have ended.
keep_ended() {
  ended=
  while test $# -gt 1 && test ${#ended} -lt 100000; do
    case $1 in
      /proc/*) test -d "${1%/status:*}" || ended="$ended $1 $2" ;;
    esac
    shift
  done
}

# used NUMBER PID: report the last sample of a job, and the processor time of its processes as the shell counted it.
used() {
  eval "last_sample=\$sample_$2"
  say "used" $last_sample times $(cat "$1.times")
}

# start NUMBER COMMAND...: start a process in a session of its own, so that it can be ended with its children.
start() {
  number=$1
  shift
  if ! { true >"$number.out" && true >"$number.err" && printf '%0200d\n' 0 >"$number.times" && true >"new.$number"; } 2>/dev/null; then
    say "failed $number cannot write into its temporary folder, whose disk is probably full"
    return
  fi
  run_job "$@" &
}

# run_job COMMAND...: in a shell of its own, because `times` then counts only this process.
run_job() {
  exec 4>&1 </dev/null 2>/dev/null 3<&-
  trap - PIPE
  test -n "$setsid" || set -m
  TACHOLOG_JOB="$mark.$number."
  export TACHOLOG_JOB
  $setsid "$@" >"$number.out" 2>"$number.err" 4>&- &
  pid=$!
  mv "new.$number" "run.$pid"
  if test -z "$setsid" && ! is_leader "$pid"; then
    kill -KILL "$pid"
    rm -f "run.$pid"
    say "failed $number there is neither setsid nor job control, so the process could not be ended with its children" >&4
    exit
  fi
  say "started $number $pid" >&4
  wait "$pid"
  code=$?
  kill -KILL "-$pid" # its remaining children
  kill_strays "$TACHOLOG_JOB"
  rm -f "run.$pid"
  times 1<>"$number.times"
  say "ended $number $code" >&4
}

# is_leader PID: whether a process leads a group of its own: the fifth field of its stat, after a name that may hold blanks.
is_leader() {
  read -r stat <"/proc/$1/stat"
  set -- "$1" ${stat##*\)}
  test "$4" = "$1"
}

# end PID SIGNAL: send a signal to a job that still runs.
end() {
  test -e "run.$1" || return
  sample
  signal_job "$1" "$2"
}

# check NUMBER COMMAND...: report the exit code of a short command.
check() {
  number=$1
  shift
  "$@" >/dev/null 2>&1 3<&-
  say "checked $number $?"
}

size() { say "size $(wc -c <"$1")"; }

# chunk FILE BLOCKS BYTES: send one block of a file. The harness requests the next block after it has this one, so that sending never blocks for long.
chunk() {
  say "data"
  dd if="$1" bs="$3" skip="$2" count=1 2>/dev/null
}

trap : PIPE # so that the end of the connection is noticed where lines are read
guard </dev/null &
guard_pid=$!
nl='
' # represents a line end in a word that the harness sends
while IFS= read -r line <&3; do
  eval "$line"
done
kill -KILL "$guard_pid"
end_everything
