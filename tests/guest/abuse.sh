# SPDX-License-Identifier: Apache-2.0 OR MIT
# Many threads, chains, cycles, exits and unloads while foreground tasks wait.
# shellcheck shell=bash disable=SC2154

mounted() { # an ext4 on a disk under fgio
  make_null abuse size=512
  use fgio
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount "/dev/$DISK" "$WORK/mount"
}

unmounted() {
  umount "$WORK/mount"
  echo none >"/sys/block/$DISK/queue/scheduler"
  remove_null abuse
}

# one kernel: the bounds of tables and walks; hundreds of threads sleep on each
check_ten_thousand_threads() {
  local threads=10000
  # A debug kernel needs an hour to give each of these threads a turn.
  [[ ${LAB_SLOWNESS:-1} == 1 ]] || threads=1000
  mounted
  (cd "$WORK/mount" && abuse crowd $threads $((threads / 10)) 20)
  expect "no waiting foreground task is left" "$(abuse state foreground_waiting)" -eq 0
  unmounted
}

check_deep_chains() {
  need_fgio
  abuse chain mutex 20
  abuse chain hint 20
  abuse chain hint 63
}

check_cyclic_chains() {
  need_fgio
  abuse cycle mutex
  abuse cycle hint
}

check_death_while_boosted() {
  need_fgio
  abuse dying 100
}

check_owners_that_are_gone() {
  need_fgio
  abuse exiting 100
}

check_another_pid_namespace() {
  need_fgio
  abuse namespace
}

check_unprivileged_callers() {
  need_fgio
  abuse unprivileged
}

# one kernel: sizes of tables of fgio
check_tables_are_in_proportion_to_memory() {
  local parameters=/sys/module/fgio/parameters total threads
  total=$(awk '/^MemTotal:/ { print $2 }' /proc/meminfo)
  threads=$((total / 256 < 16384 ? total / 256 : 16384))
  load_fgio
  expect "waits" "$(cat $parameters/waits_max)" -eq $threads
  expect "tasks inside a function" "$(cat $parameters/hook_sleepers_max)" -eq $((threads / 4))
  unload_fgio
  load_fgio waits_max=4096 hook_sleepers_max=100
  expect "waits, as asked for" "$(cat $parameters/waits_max)" -eq 4096
  expect "tasks, as asked for" "$(cat $parameters/hook_sleepers_max)" -eq 100
  unload_fgio
}

# one kernel: the bound of a table of fgio
check_overflow_is_counted() {
  local sleepers
  load_fgio waits_max=512
  dd if=/dev/zero of="$WORK/data" bs=4k count=2000 status=none
  (cd "$WORK" && exec abuse sleepers 2000 10) >"$WORK/sleepers" &
  sleepers=$!
  wait_for "sleepers" grep -q ^asleep "$WORK/sleepers"
  expect "waits without room" "$(abuse state waits_lost)" -gt 0
  expect "waits recorded" "$(abuse state foreground_waiting)" -gt 100
  expect "no more than there is room for" "$(abuse state foreground_waiting)" -le 512
  wait $sleepers
  expect "waits that are left" "$(abuse state foreground_waiting)" -eq 0
  unload_fgio
}

# More threads than the tables have places idle in futexes and semop(2). The control: as foreground
# threads, which must be recorded, they fill the tables, and the losses are counted.
check_idle_threads_take_no_place() {
  local boosted lost missed
  load_fgio waits_max=512 hook_sleepers_max=64
  abuse idle 2000 background | tee "$WORK/idle"
  read -r _ boosted _ lost _ missed <"$WORK/idle"
  expect "both threads of the chain are boosted" "$boosted" -eq 2
  expect "waits without room" "$lost" -eq 0
  expect "waits that hooks missed" "$missed" -eq 0
  abuse idle 2000 foreground | tee "$WORK/idle"
  read -r _ boosted _ lost _ missed <"$WORK/idle"
  expect "waits without room" "$lost" -gt 0
  unload_fgio
}

# The disk below is suspended, so that hundreds of tasks sleep in the journal and on pages.
check_unload_while_hundreds_sleep() {
  local sleepers round
  modprobe dm_mod
  make_null abuse size=512
  dmsetup create --noudevsync stopped --table "0 1048576 linear /dev/$DISK 0"
  # In any case, no task is left waiting for a suspended disk.
  trap 'dmsetup resume --noudevsync stopped 2>/dev/null || true; clean_up' EXIT
  dmsetup mknodes
  mke2fs -q -t ext4 -E nodiscard /dev/mapper/stopped
  mkdir -p "$WORK/mount"
  mount /dev/mapper/stopped "$WORK/mount"
  for round in 1 2; do
    load_fgio
    dd if=/dev/zero of="$WORK/mount/data" bs=4k count=700 status=none conv=fsync
    sync
    echo 1 >/proc/sys/vm/drop_caches
    dmsetup suspend --nolockfs --noudevsync stopped
    (cd "$WORK/mount" && exec abuse sleepers 600 5) >"$WORK/sleepers" &
    sleepers=$!
    wait_for "sleepers" grep -q ^asleep "$WORK/sleepers"
    cat "$WORK/sleepers"
    expect "asleep" "$(sed -n 's/^asleep //p' "$WORK/sleepers")" -gt 500
    expect "seen by fgio" "$(abuse state foreground_waiting)" -gt 400
    timeout $((20 * ${LAB_SLOWNESS:-1})) rmmod fgio || fail "the module does not go"
    [[ $round == 1 ]] || load_fgio
    dmsetup resume --noudevsync stopped
    wait $sleepers
    cat "$WORK/sleepers"
    [[ ! -d /sys/module/fgio ]] || unload_fgio
  done
  umount "$WORK/mount"
  dmsetup remove --noudevsync stopped
  remove_null abuse
}

# While hooks are detached, the exits of waiting threads are missed; no walk may look at them then.
check_unload_while_threads_come_and_go() {
  local mortals round
  make_null abuse size=64
  load_fgio
  abuse mortals 400 &
  mortals=$!
  for round in 1 2 3; do
    use fgio
    wait_for "waiting threads" some_wait
    use none
    timeout $((120 * ${LAB_SLOWNESS:-1})) rmmod fgio || fail "the module does not go"
    load_fgio
  done
  kill $mortals
  wait $mortals || true
  unload_fgio
  remove_null abuse
}

no_wait_is_left() { [[ $(abuse state foreground_waiting) -eq 0 ]]; }

some_walks() { [[ $(abuse state walks) -gt 50 ]]; }

some_walks_more() { [[ $(abuse state walks) -gt 100 ]]; }

with_file() { # a file of 2 MiB on a disk, and the module
  make_null abuse size=128
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount "/dev/$DISK" "$WORK/mount"
  dd if=/dev/zero of="$WORK/mount/file" bs=1M count=2 status=none conv=fsync
  load_fgio
}

load_again() {
  use none
  # An open file of a thread that tags itself may hold the module.
  wait_for "the module to go" rmmod fgio
  load_fgio
}

without_file() { # once the processes have been killed
  wait_for "the last process to end" umount "$WORK/mount"
  wait_for "threads to end" no_wait_is_left
  expect "ends of tasks that were missed" "$(cat /sys/module/fgio/parameters/ends_missed)" -eq 0
  unload_fgio
  remove_null abuse
}

# The walk looks at workers and requests of io_uring that are gone at any moment.
check_unload_while_rings_come_and_go() {
  local rings round
  with_file
  rings mortal "$WORK/mount/file" &
  rings=$!
  for round in 1 2; do
    use fgio
    wait_for "walks" some_walks
    load_again
  done
  kill $rings || fail "the rings ended early"
  wait $rings || true
  without_file
}

# The same of locks of files, while the switch goes off and on.
check_unload_while_file_locks_come_and_go() {
  local locks round
  with_file
  file_locks "$WORK/mount/file" &
  locks=$!
  for round in 1 2; do
    use fgio
    wait_for "walks" some_walks
    parameter file_locks N
    sleep 0.2
    parameter file_locks Y
    wait_for "further walks" some_walks_more
    expect "boosts" "$(abuse state boosts)" -gt 0
    load_again
  done
  kill $locks || fail "the processes ended early"
  wait $locks || true
  without_file
}

ask_again_and_again() { # until the file "enough" is there
  while [[ ! -e $WORK/enough ]]; do
    DISK=/dev/$DISK asked server >"$WORK/asked" || touch "$WORK/not_asked"
  done
}

# How many of 100 rounds have a boost depends on the host: one in a hundred by chance, most if it works.
is_boosted_when_asked() {
  local boosts
  DISK=/dev/$DISK asked server | tee "$WORK/asked"
  read -r _ boosts <"$WORK/asked"
  [[ $boosts -ge 20 ]]
}

walks_go_on() { [[ $(abuse state walks) -ge $((WALKS + 50)) ]]; }

# Servers are asked, and processes with rings come and go, while what follows either goes off and on.
check_replies_and_rings_go_off_and_on() {
  local rings asks round switch
  with_file
  use fgio
  rings mortal "$WORK/mount/file" &
  rings=$!
  ask_again_and_again &
  asks=$!
  for round in 1 2 3 4; do
    for switch in replies uring user; do
      parameter $switch N
      sleep 0.2
      parameter $switch Y
      sleep 0.3
    done
    WALKS=$(abuse state walks)
    wait_for "walks" walks_go_on
  done
  touch "$WORK/enough"
  wait $asks
  [[ ! -e $WORK/not_asked ]] || fail "a server was not asked"
  kill $rings || fail "the rings ended early"
  wait $rings || true
  wait_for "boosts of one that was asked, with all on again" is_boosted_when_asked
  parameter replies N
  ! is_boosted_when_asked || fail "it is boosted with replies off, the control"
  use none
  without_file
}

# Of two waits of one call, the first may find no room, and the second one a place that became free.
check_waits_without_room_leave_none() {
  load_fgio waits_max=512
  abuse crowded 1200
  unload_fgio
}

# one kernel: a bound of walks of fgio
check_more_foreground_tasks_than_a_walk_takes() {
  load_fgio walk_roots_max=16
  abuse owners 120
  unload_fgio
}

# one kernel: a bound of walks of fgio
check_walks_take_a_tenth_of_a_processor() {
  local permille
  load_fgio
  abuse stirred 200 | tee "$WORK/stirred"
  read -r _ _ _ permille <"$WORK/stirred"
  expect "their part of a processor, in a thousandth" "$permille" -le 120
  unload_fgio
}

read_hook() { # NAME: sets WORKS, ATTACHED, ERROR and OPTIONAL
  local said
  said=$(abuse hook "$1") || fail "there is no hook $1: $said"
  read -r WORKS ATTACHED ERROR OPTIONAL <<<"$said"
}

check_a_hook_that_cannot_be_attached() {
  local name hooks=(folio_wait_bit_common contention_begin sched_switch jbd2:jbd2_log_wait_commit)
  load_fgio
  for name in "${hooks[@]}"; do
    read_hook "$name"
    expect "$name works, the control" "$WORKS" -eq 1
  done
  for name in "${hooks[@]}"; do
    unhook "refuse=$name"
    load_fgio
    read_hook "$name"
    expect "$name does not work" "$WORKS" -eq 0
    expect "it is not attached" "$ATTACHED" -eq 0
    expect "and it says why" "$ERROR" -ne 0
    # The other hooks work.
    abuse exiting 5
    abuse dying 5 || echo "no task was boosted without $name"
    no_unhook
  done
}

# By their compiler, kernels have it as NAME, NAME.constprop.0 or NAME.isra.0.
check_a_hook_on_a_function_that_compilers_rename() {
  load_fgio
  read_hook __mutex_unlock_slowpath
  expect "it works under any of its names" "$WORKS" -eq 1
  unload_fgio
  unhook refuse=__mutex_unlock_slowpath
  load_fgio
  read_hook __mutex_unlock_slowpath
  expect "under none of them, the control" "$WORKS" -eq 0
  expect "doctor warns of it, since every kernel has it" "$OPTIONAL" -eq 0
  unload_fgio
}
