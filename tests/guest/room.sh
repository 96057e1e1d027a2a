# SPDX-License-Identifier: Apache-2.0 OR MIT
# Writers' room: dirty memory of cgroups by io.weight, in virtual time.
# shellcheck shell=bash disable=SC2154

# shellcheck source=tests/guest/groups.sh
. "$PAYLOAD/tests/groups.sh"

prepare() { # BYTES_PER_S: a disk with files, shared whatever the weights are
  make_simdisk "model=volume:bytes_per_s=$1" size_mib=512
  need_fgio
  parameter shares 2
  parameter dirty_room_percent 10
  use fgio
  wait_for "shares" shared
  mke2fs -q -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "/dev/$DISK" 480m
  mkdir -p "$WORK/mount"
  mount -o noatime "/dev/$DISK" "$WORK/mount"
}

tidy() {
  local group
  for group in "$GROUPS_ROOT"/*/; do
    [[ ! -d $group ]] || echo 1 >"$group/cgroup.kill"
  done
  [[ ! -d /sys/module/fgio ]] || parameter shares 0
}

make_writers() { # NAME WEIGHT ...: a cgroup each
  while [[ $# -gt 0 ]]; do
    make_group "$1" "$2"
    shift 2
  done
  echo +memory >/sys/fs/cgroup/cgroup.subtree_control
  echo +memory >$GROUPS_ROOT/cgroup.subtree_control
}

declare -A WRITERS

# To a file of its own, again and again, until the cgroup is killed: more than there may be dirty. All
# begin at once.
keep_writing() { # NAME...
  local name
  [[ -z ${GO:-} ]] || exec {GO}>&-
  rm -f "$WORK/go"
  mkfifo "$WORK/go"
  for name in "$@"; do
    # To open the pipe waits for its writer.
    # shellcheck disable=SC2016
    in_cgroup "$name" bash -c \
      ': <"$2"
      while :; do dd if=/dev/zero of="$1" bs=64k count=2560 conv=notrunc status=none; done' - \
      "$WORK/mount/$name" "$WORK/go" &
    WRITERS[$name]=$!
  done
  sleep 1
  exec {GO}>"$WORK/go"
}

end_writers() { # NAME...
  local name
  for name in "$@"; do
    echo 1 >"$GROUPS_ROOT/$name/cgroup.kill"
    wait "${WRITERS[$name]}" || true
  done
  sync -f "$WORK/mount"
}

dirty_of() { # NAME: KiB of the cgroup's files that are dirty or under writeback
  awk '/^file_(dirty|writeback) / { sum += $2 } END { print int(sum / 1024) }' "$GROUPS_ROOT/$1/memory.stat"
}

room() { echo $(($(counter room_pages) * 4)); }

# Sets ONE, OTHER and ROOM to what both cgroups have dirty, and may have, in KiB: means of 3 s.
measure_room() { # NAME NAME
  local sample
  ONE=0 OTHER=0 ROOM=0
  for ((sample = 0; sample < 30; sample++)); do
    ONE=$((ONE + $(dirty_of "$1")))
    OTHER=$((OTHER + $(dirty_of "$2")))
    ROOM=$((ROOM + $(room)))
    sleep 0.1
  done
  ONE=$((ONE / 30)) OTHER=$((OTHER / 30)) ROOM=$((ROOM / 30))
  echo "$1 has $ONE KiB dirty, $2 $OTHER KiB, of $ROOM KiB for $(counter room_groups)"
}

ms_of_writes() { # NAME COMMAND...: sets MS to what dd takes for 16 MiB in the cgroup
  MS=$(date +%s%3N)
  in_cgroup "$1" "${@:2}" dd if=/dev/zero of="$WORK/mount/own" bs=64k count=256 conv=notrunc status=none
  MS=$(($(date +%s%3N) - MS))
}

# one kernel: parts are the policy's; that room is hooked shows in the check below
# limit: 200
# From the first page on: neither has had any I/O. The control are the kernel's own limits.
check_writers_have_room_by_weight() {
  local held
  prepare 20Mi
  make_writers heavy 300 light 100 strong 300 weak 100
  keep_writing heavy light
  sleep 2
  measure_room heavy light
  expect "what 300 has dirty for 100 of 100" $((100 * ONE / OTHER)) -ge 250
  expect "what 300 has dirty for 100 of 100" $((100 * ONE / OTHER)) -le 350
  expect "dirty of the room in percent" $((100 * (ONE + OTHER) / ROOM)) -ge 80
  expect "dirty of the room in percent" $((100 * (ONE + OTHER) / ROOM)) -le 110
  # A foreground task of the light cgroup is not held.
  ms_of_writes light
  held=$MS
  ms_of_writes light tagged foreground
  expect "ms of a foreground task, as others take $held" $((2 * MS)) -le "$held"
  # The heavy one goes: what it had is lent.
  end_writers heavy
  sleep 7
  measure_room light heavy
  expect "what the light one alone has of the room in percent" $((100 * ONE / ROOM)) -ge 80
  expect "what the light one alone has of the room in percent" $((100 * ONE / ROOM)) -le 110
  end_writers light
  parameter dirty_room_percent 0
  keep_writing strong weak
  sleep 2
  measure_room strong weak
  expect "room without the setting" "$(counter room_pages)" -eq 0
  expect "what 300 has dirty for 100 of 100 then" $((100 * ONE / OTHER)) -le 150
  end_writers strong weak
  umount "$WORK/mount"
  remove_groups
}

each_writes() { # NAME...: each file is written to meanwhile
  local name
  declare -A begin
  for name in "$@"; do begin[$name]=$(written_by "$name"); done
  sleep 3
  for name in "$@"; do
    expect "KiB written by $name" $(($(written_by "$name") - begin[$name])) -ge 1024
  done
}

written_by() { # NAME: KiB that were written back for the cgroup
  echo $(($(sed -n "s/^$(<"/sys/block/$DISK/dev") .*wbytes=\([0-9]*\).*/\1/p" "$GROUPS_ROOT/$1/io.stat") / 1024))
}

# limit: 300
# Writers wait in it meanwhile, and none hangs.
# The disk is fast enough to be empty within a second, or it would not be shared anew.
check_room_changes_and_ends_under_load() {
  local round
  prepare 200Mi
  make_writers heavy 300 light 100
  keep_writing heavy light
  sleep 2
  for round in 1 2 3 4; do
    parameter dirty_room_percent 0
    sleep 0.2
    parameter dirty_room_percent $((2 * round))
    sleep 0.2
    parameter pagecache N
    sleep 0.1
    parameter pagecache Y
    sleep 0.1
  done
  use mq-deadline
  use fgio
  wait_for "shares" shared
  sleep 5
  each_writes heavy light
  for round in 1 2; do
    use none
    wait_for "the module to go" rmmod fgio
    each_writes heavy light
    load_fgio
    parameter shares 2
    use fgio
    wait_for "shares" shared
    sleep 2
  done
  end_writers heavy light
  umount "$WORK/mount"
  remove_groups
}
