#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs the checks of some scripts, each in a shell of its own with a time limit:
#   run_checks.sh SCRIPT...
# Prints "@check NAME ok|FAILED|skipped|HUNG SECONDS" on the console and in $RESULTS/said, and leaves
# the output of a check in $RESULTS/checks/NAME.log.
set -m
tests=$PAYLOAD/tests
mkdir -p "$RESULTS/checks"
say() { printf '@check %s\n' "$*" | tee -a "$RESULTS/said"; }
seconds() { cut -d' ' -f1 /proc/uptime; }

# Waits as `sleep` does, without a process: those of the guest would take a tenth of each check.
mkfifo /tmp/never
exec {never}<>/tmp/never
pause() { # SECONDS
  read -rt "$1" -u "$never" || true
}

limit_of() { # NAME: a line "# limit: SECONDS" in front of a check raises its limit
  local limit
  limit=$(grep -B1 "^check_$1()" "$tests/$script.sh" | sed -n 's/^# limit: \([0-9]*\)$/\1/p')
  echo "$((${limit:-${CHECK_LIMIT:-600}} * ${LAB_SLOWNESS:-1}))"
}

# A process that cannot be killed is what these checks look for: show where it hangs.
show_hang() {
  local task stack
  declare -A seen=()
  for task in /proc/[0-9]*/task/[0-9]*; do
    grep -q '^State:.D' "$task/status" 2>/dev/null || continue
    stack=$(cat "$task/stack")
    if [[ -z ${seen[$stack]:-} ]]; then
      printf '%s %s\n%s\n' "$task" "$(cat "$task/comm")" "$stack"
    else
      printf '%s %s: the same\n' "$task" "$(cat "$task/comm")"
    fi
    seen[$stack]=1
  done
  grep -H . /sys/kernel/debug/fgio/*/counters
  grep -H busy /sys/kernel/debug/block/*/hctx*/sched_tags
}

run_one() { # NAME
  local name=$1 log=$RESULTS/checks/$1.log limit begin now took waited=0
  limit=$(limit_of "$name")
  say "$name begin"
  begin=$(seconds)
  bash -c '. "$1/library.sh"; . "$1/$2.sh"; run_check "$3"' - "$tests" "$script" "$name" \
    </dev/null >"$log" 2>&1 {never}>&- &
  local process=$!
  while kill -0 $process 2>/dev/null; do
    read -r now _ </proc/uptime
    if [[ $((${now%.*} - ${begin%.*})) -ge $limit ]]; then
      if [[ $waited -eq 0 ]]; then
        echo "no end after $limit s" >>"$log"
        show_hang >>"$log" 2>&1
      fi
      kill -KILL -- -$process 2>/dev/null
      waited=$((waited + 1))
      [[ $waited -lt 10 ]] || break
    fi
    pause 0.2
  done
  if kill -0 $process 2>/dev/null; then
    status=hung
  else
    wait $process 2>/dev/null
    status=$?
  fi
  took=$(awk -v a="$begin" -v b="$(seconds)" 'BEGIN { printf "%.1f", b - a }')
  case $status in
  0) say "$name ok $took" ;;
  77) say "$name skipped $took" ;;
  hung)
    say "$name HUNG $took"
    tail -n 200 "$log"
    ;;
  *)
    say "$name FAILED $took"
    tail -n 15 "$log"
    ;;
  esac
}

for script in "$@"; do
  for name in $(sed -n 's/^check_\([a-z0-9_]*\)().*/\1/p' "$tests/$script.sh"); do
    [[ -z $ONLY || $name =~ $ONLY ]] || continue
    [[ " $WITHOUT " != *" $name "* ]] || continue
    echo "scenario: $name" >/dev/kmsg
    run_one "$name"
    # A hung task holds disks and modules: no later check would be valid.
    [[ $status != hung ]] || exit 1
  done
done
