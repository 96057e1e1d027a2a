# SPDX-License-Identifier: Apache-2.0 OR MIT
# Common to the checks of fair shares: cgroups, and what they read.
# shellcheck shell=bash disable=SC2154

GROUPS_ROOT=/sys/fs/cgroup/shares

tidy() {
  [[ ! -d /sys/module/fgio ]] || parameter shares 0
}

share() { # puts DISK under fgio, to be shared
  need_fgio
  parameter shares 1
  use fgio
}

make_group() { # NAME WEIGHT
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  echo +io >/sys/fs/cgroup/cgroup.subtree_control
  mkdir -p "$GROUPS_ROOT"
  echo +io >$GROUPS_ROOT/cgroup.subtree_control
  mkdir -p "$GROUPS_ROOT/$1"
  echo "default $2" >"$GROUPS_ROOT/$1/io.weight"
}

in_cgroup() { # NAME COMMAND...
  bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$GROUPS_ROOT/$1" "${@:2}"
}

remove_groups() {
  local group
  for group in "$GROUPS_ROOT"/*/ "$GROUPS_ROOT"; do
    [[ -d $group ]] || continue
    wait_for "the end of all tasks in $group" is_removed "$group"
  done
}

nothing_left() { [[ $(counter critical_in_device) -eq 0 && $(counter noncritical_in_device) -eq 0 ]]; }
is_removed() { rmdir "$1" 2>/dev/null; }

shared() { [[ $(counter shared) -eq 1 ]]; }
not_shared() { [[ $(counter shared) -eq 0 ]]; }

read_bytes() { # NAME: sets BYTES to what the cgroup has read
  BYTES=$(sed -n "s/^$(<"/sys/block/$DISK/dev") .*rbytes=\([0-9]*\).*/\1/p" "$GROUPS_ROOT/$1/io.stat")
  BYTES=${BYTES:-0}
}

readers() { # SECONDS NAME...: one in each of these cgroups, in the background; sets READERS
  local name
  READERS=()
  for name in "${@:2}"; do
    in_cgroup "$name" fio --name="$name" --filename="/dev/$DISK" --direct=1 --bs=4k \
      --rw=randread --ioengine=libaio --iodepth=32 --time_based --runtime="$1" \
      --output="$WORK/$name.out" &
    READERS+=($!)
  done
}

wait_for_readers() {
  local each
  for each in "${READERS[@]}"; do
    wait "$each" || fail "a reader failed: $(tail -3 "$WORK"/*.out)"
  done
}

# Sets RATIO to a hundred times what one cgroup read as another read one, in some seconds.
measure_ratio() { # SECONDS ONE ANOTHER
  local one another
  read_bytes "$2"
  one=$BYTES
  read_bytes "$3"
  another=$BYTES
  sleep "$1"
  read_bytes "$2"
  one=$((BYTES - one))
  read_bytes "$3"
  another=$((BYTES - another))
  echo "$2 read $one bytes, $3 $another"
  RATIO=$((100 * one / (another > 0 ? another : 1)))
}
