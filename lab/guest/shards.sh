# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts that run four servers of a sharded database in a guest, each on a drive.
# shellcheck shell=bash
SHARDS="0 1 2 3"

make_disks() {
  local shard backing=/dev/lab/disk1
  for shard in 2 3 4; do backing+=,/dev/lab/disk$shard; done
  load_module simdisk devices=4 model="$DEVICE" seed="$SEED" backing="$backing"
  for shard in $SHARDS; do
    DISK=simdisk$shard
    use_elevator "$ELEVATOR"
    set_tunables "$TUNABLES"
    mkdir -p "/data/$shard"
    mount -t ext4 "/dev/$DISK" "/data/$shard" || stop "the data set does not mount"
  done
}

until_ending() { # SECONDS COMMAND...: again and again, a pause after each
  local pause=$1
  shift
  while [[ ! -e $RESULTS/ending ]]; do
    "$@" || { touch "$RESULTS/failed"; return; }
    sleep "$pause"
  done
}

snapshots() { # NAME
  local shard
  for shard in $SHARDS; do
    DISK=simdisk$shard
    snapshot "$1.$shard"
  done
  head -n 1 /proc/stat >"$RESULTS/$1.cpu"
  cp /proc/meminfo "$RESULTS/$1.meminfo"
}

measure() { # while the load that has just begun goes on; begin_states is the caller's
  sleep $((WARM_S - STATES_S))
  begin_states
  sleep "$STATES_S"
  snapshots before
  phase measuring
  moment measure_begin
  sleep "$DURATION_S"
  moment measure_end
  snapshots after
  touch ending
  if has_fgio; then
    fgio --json status >status.json || stop "fgio status failed"
  fi
  phase ending
}
