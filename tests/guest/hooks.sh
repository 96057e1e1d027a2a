# SPDX-License-Identifier: Apache-2.0 OR MIT
# Hooks that are attached and detached in the middle of waits. Locks are freed, and their memory
# poisoned (slub_debug), as soon as no task holds them: a wait that stays recorded after its end leads
# the walk there.
# shellcheck shell=bash disable=SC2154
SWITCHES=(locks journal io user pagecache commits uring file_locks replies split)

expect_hook() { # NAME WORKS ATTACHED
  local works attached error said
  said=$(abuse hook "$1") || fail "there is no hook $1: $said"
  read -r works attached error _ <<<"$said"
  echo "$1: works $works, attached $attached, error $error"
  expect "$1 works" "$works" -eq "$2"
  expect "$1 is attached" "$attached" -eq "$3"
}

expect_no_waits() {
  expect "no waiting foreground task is left" "$(abuse state foreground_waiting)" -eq 0
  expect "no boosted task is left" "$(abuse state boosted)" -eq 0
  expect "no end of a task was missed" "$(cat /sys/module/fgio/parameters/ends_missed)" -eq 0
}

foreground() { # COMMAND...: in the background, as a foreground task
  tagged foreground "$@" &
  sleep 1
}

hooks_follow() { # BEGIN END
  read -r _ BEGIN _ < <(abuse hook contention_begin)
  read -r _ END _ < <(abuse hook contention_end)
  [[ $BEGIN == "$1" && $END == "$2" ]]
}

check_hooks_come_in_pairs() {
  local missing
  load_fgio
  foreground sleep 1000
  expect_hook contention_begin 1 1
  expect_hook contention_end 1 1
  parameter locks N
  wait_for "both to go" hooks_follow 0 0
  parameter locks Y
  wait_for "both to come back" hooks_follow 1 1
  for missing in contention_begin contention_end; do
    unhook refuse=$missing
    load_fgio
    foreground sleep 1000
    expect_hook contention_begin 0 0
    expect_hook contention_end 0 0
    expect_hook percpu_down_write 1 1
  done
  unload_fgio
}

# Functions of the kernel that are hooked, by probes and looks.
hooked() {
  grep -vc never_called /sys/kernel/debug/tracing/enabled_functions || true
}

is_hooked() { [[ $(hooked) -eq $1 ]]; } # FUNCTIONS

are_fewer() { [[ $(hooked) -lt $1 ]]; } # FUNCTIONS

# A foreground task that goes at once: it was one when all hooks were attached. Sets ALL, and returns
# as they begin to go, five seconds later.
let_hooks_go() {
  tagged foreground true
  ALL=$(hooked)
  wait_for "hooks to go" are_fewer "$ALL"
}

# A foreground task that comes as the hooks of the last one go has the rest stay: it is one long
# before all would have gone. Without one the kernel calls nothing of the module.
check_hooks_stay_for_a_foreground_that_comes_as_they_go() {
  local idle begin whole
  load_fgio
  # Each call is for eight probes at most.
  stretch unregister_kretprobes 1500
  idle=$(hooked)
  let_hooks_go
  begin=$(now_ms)
  expect "functions hooked beside a foreground task" "$ALL" -gt $((idle + 20))
  wait_for "no hook but those without a foreground task" is_hooked "$idle"
  whole=$(($(now_ms) - begin))
  expect_hook futex_wake 1 0
  expect_hook percpu_down_write 1 0
  let_hooks_go
  begin=$(now_ms)
  tagged foreground sleep 1000 &
  wait_for "all hooks" is_hooked "$ALL"
  expect "ms until a task that came meanwhile was foreground" $(($(now_ms) - begin)) -lt "$whole"
  expect_hook contention_end 1 1
  expect_hook futex_wake 1 1
  expect_hook percpu_down_write 1 1
  kill %%
  wait_for "no hook again" is_hooked "$idle"
  expect_no_waits
  no_stretch
}

# Every end of a wait for a lock is missed: the walk reads freed locks all the time.
check_ends_that_are_missed_do_no_harm() {
  unhook mute=contention_end
  load_fgio
  abuse recycled 1000 &
  wait_for "waits that ended unseen" all_wait
  sleep 3
  kill $!
  wait $! || true
  wait_for "threads to be forgotten" none_waits
  expect_no_waits
  unload_fgio
}

all_wait() { # all 8 at once, although one of them holds the lock
  [[ $(abuse state foreground_waiting) -ge 8 ]]
}

none_waits() {
  [[ $(abuse state foreground_waiting) -eq 0 ]]
}

toggle_switches() { # until the file "stop" is there
  local switch toggles=0
  while [[ ! -e $WORK/stop ]]; do
    switch=${SWITCHES[RANDOM % ${#SWITCHES[@]}]}
    parameter locks N
    parameter "$switch" N
    sleep 0.1
    parameter locks Y
    parameter "$switch" Y
    sleep 0.3
    toggles=$((toggles + 1))
    echo $toggles >"$WORK/toggles"
  done
}

check_switches_under_contention() {
  local seconds=$((15 * ${LAB_SLOWNESS:-1}))
  load_fgio
  stretch tracepoint_probe_register 20
  toggle_switches &
  abuse recycled "$seconds"
  touch "$WORK/stop"
  wait $!
  expect "how often switches went off and on" "$(cat "$WORK/toggles")" -ge 2
  expect "boosts" "$(abuse state boosts)" -gt 0
  sleep 1
  expect_no_waits
  no_stretch
  unload_fgio
}

check_last_tag_goes_beside_recycled_locks() {
  load_fgio
  stretch fgio_walk_pause 100
  abuse lingering 1
  no_stretch
  expect "no end of a task was missed" "$(cat /sys/module/fgio/parameters/ends_missed)" -eq 0
  unload_fgio
}

# The hooks are detached some seconds after the last I/O by priority, while threads wait and end.
expect_ends_missed() { # CONDITION [VARIABLE]: for the number of them; which is 0 before walks pause
  wait_for "waiting threads" some_wait
  # shellcheck disable=SC2086
  stretch fgio_walk_pause 1000 ${2-}
  wait_for "the hooks to go" hooks_follow 0 0
  no_stretch
  expect "ends of tasks that were missed" "$(cat /sys/module/fgio/parameters/ends_missed)" "$1"
}

# one kernel: the pause is of fgio alone
# While waits are ignored, exits of threads are missed: no walk may look at a thread after that.
check_walks_pause_before_waits_are_ignored() {
  local mortals
  load_fgio
  make_null mortals size=64
  use fgio
  abuse mortals 400 &
  mortals=$!
  expect_ends_missed "-eq 0"
  # The control: they are ignored first.
  expect_ends_missed "-gt 0" fgio_waits_matter_now
  kill $mortals
  wait $mortals || true
  unload_fgio
  remove_null mortals
}

count_once() { # sets BOOSTS: those while a foreground task syncs three times, unless a walk came meanwhile
  local boosts walks
  boosts=$(abuse state boosts)
  walks=$(abuse state walks)
  tagged foreground dd if=/dev/zero of="$WORK/mount/file" bs=4k count=3 oflag=append,sync \
    conv=notrunc status=none
  BOOSTS=$(($(abuse state boosts) - boosts))
  [[ $(abuse state walks) -eq $walks ]]
}

# The first walk comes after a second: of what began before, or of the program's own begin.
boosts_of_commits() {
  local try
  for try in {1..10}; do
    count_once && return
    echo "a walk came ($try)"
    sleep 0.5
  done
  fail "a walk always comes"
}

check_the_journal_is_boosted_before_a_walk() {
  load_fgio walk_delay_us=1000000 walk_interval_us=1000000
  make_null journal size=64
  use fgio
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount "/dev/$DISK" "$WORK/mount"
  foreground sleep 1000
  boosts_of_commits
  expect "the journal's thread is boosted for each" "$BOOSTS" -ge 3
  expect "no boost outlasts its wait" "$(abuse state boosted)" -eq 0
  parameter journal N
  boosts_of_commits
  expect "nothing is, the control" "$BOOSTS" -eq 0
  umount "$WORK/mount"
  unload_fgio
  remove_null journal
}
