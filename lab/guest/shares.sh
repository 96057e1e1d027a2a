# SPDX-License-Identifier: Apache-2.0 OR MIT
# Groups of processes on one disk, a cgroup each: one mix of I/O after the other. Settings come from
# shares.env, and those of a mix from the folder mixes:
#   NAME.fio     fio's jobs; each enters its group's cgroup
#   NAME.groups  a line each: group, weight, bytes a second of io.max, of io.low, and 1 if it has jobs
# Leaves MIX/seconds, the bytes of each group second by second, and under fgio MIX/shares.json.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/shares.env"
CGROUPS=/sys/fs/cgroup
FILES=/mnt/files
US_PER_S=1000000
# For groups to begin: a group that does no I/O until then is an error.
BEGIN_TRIES=400

use_controllers() {
  mount -t cgroup2 none $CGROUPS || stop "no cgroups"
  # Writeback belongs to a cgroup only where memory does, too.
  echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no I/O controller"
}

use_io_cost() {
  [[ -n $IO_COST_MODEL ]] || return 0
  echo "$DEVICE_NUMBER ctrl=user model=linear $IO_COST_MODEL" >$CGROUPS/io.cost.model ||
    stop "no cost model"
  echo "$DEVICE_NUMBER enable=1 ctrl=user $IO_COST_QOS" >$CGROUPS/io.cost.qos || stop "no io.cost"
  grep -q "^$DEVICE_NUMBER .*ctrl=user" $CGROUPS/io.cost.model || stop "the model did not take"
  grep -q "^$DEVICE_NUMBER enable=1 ctrl=user" $CGROUPS/io.cost.qos || stop "io.cost is not enabled"
}

set_weight() { # FILE WEIGHT
  echo "default $2" >"$1" || stop "$1 does not take $2"
  grep -qx "default $2" "$1" || stop "$1 is $(<"$1"), not $2"
}

set_limit() { # FILE BYTES_S FURTHER: of the disk
  echo "$DEVICE_NUMBER rbps=$2 wbps=$2 $3" >"$1" || stop "$1 does not take $2 bytes a second"
  grep -q "^$DEVICE_NUMBER .*rbps=$2 " "$1" || stop "$1 is $(<"$1"), without $2 bytes a second"
}

make_group() { # GROUP WEIGHT MAX LOW
  local folder=$CGROUPS/$1
  mkdir "$folder" || stop "no cgroup $1"
  # systemd sets both for IOWeight, where both are.
  set_weight "$folder/io.weight" "$2"
  [[ $ELEVATOR != bfq ]] || set_weight "$folder/io.bfq.weight" "$2"
  case $POLICY in
  max) set_limit "$folder/io.max" "$3" "" ;;
  low)
    [[ -f $folder/io.low ]] || stop "this kernel has no io.low: run lab/low-kernel"
    set_limit "$folder/io.low" "$4" "idle=1000 latency=100"
    ;;
  esac
}

# Dirty data that is left need not be written at a limit.
lift_limits() {
  local group
  for group in "${MEMBERS[@]}"; do
    [[ $POLICY != max ]] || echo "$DEVICE_NUMBER rbps=max wbps=max" >"$CGROUPS/$group/io.max"
    [[ $POLICY != low ]] || echo "$DEVICE_NUMBER rbps=max wbps=max" >"$CGROUPS/$group/io.low"
  done
}

# Fresh caches and inodes: an inode keeps the group that it was last written by.
use_files() {
  [[ $HAS_FILES == 1 ]] || return 0
  mkdir -p $FILES
  ! mountpoint -q $FILES || umount $FILES || stop "$FILES is busy"
  mount -t ext4 -o noinit_itable,noatime "/dev/$DISK" $FILES || stop "ext4 does not mount"
}

# Both answer in REPLY: a fork for each of 256 groups would take a good part of a second.
now_us() { REPLY=${EPOCHREALTIME/./}; }

bytes_of() { # GROUP: "READ WRITTEN", as the block layer has charged them
  local line device word read=0 written=0
  while read -r device line; do
    [[ $device == "$DEVICE_NUMBER" ]] || continue
    for word in $line; do
      case $word in
      rbytes=*) read=${word#*=} ;;
      wbytes=*) written=${word#*=} ;;
      esac
    done
  done <"$CGROUPS/$1/io.stat"
  REPLY="$read $written"
}

sample() { # appends the time in us, and a line for each group
  local group
  now_us
  echo "@ $REPLY"
  for group in "${MEMBERS[@]}"; do
    bytes_of "$group"
    echo "$group $REPLY"
  done
}

wait_for_groups() { # until every group that has jobs has done I/O
  local group tries=0
  for group in "${BUSY[@]}"; do
    while bytes_of "$group" && [[ $REPLY == "0 0" ]]; do
      kill -0 "$jobs" 2>/dev/null || { cat fio.txt; stop "fio failed"; }
      sleep 0.05
      tries=$((tries + 1))
      [[ $tries -lt $BEGIN_TRIES ]] || stop "the group $group does no I/O"
    done
  done
}

measure() { # SECONDS
  local begin left second
  now_us
  begin=$REPLY
  for ((second = 0; second <= $1; second++)); do
    now_us
    left=$((begin + second * US_PER_S - REPLY))
    [[ $left -le 0 ]] || sleep "$(printf '%d.%06d' $((left / US_PER_S)) $((left % US_PER_S)))"
    sample
  done >seconds
}

run_mix() { # NAME SECONDS SETTLE_S
  local group weight max low busy
  MEMBERS=() BUSY=()
  phase "mix $1"
  use_files
  while read -r group weight max low busy; do
    make_group "$group" "$weight" "$max" "$low"
    MEMBERS+=("$group")
    [[ $busy != 1 ]] || BUSY+=("$group")
  done <"$PAYLOAD/mixes/$1.groups"
  mkdir "$RESULTS/$1"
  cd "$RESULTS/$1" || exit
  fio --eta=never --output=fio.txt "$PAYLOAD/mixes/$1.fio" &
  jobs=$!
  wait_for_groups
  sleep "$3"
  RESULTS=$PWD snapshot before
  ! has_fgio || "$PAYLOAD/bin/fgio" --json share list --all --for "$2" >shares.json &
  measure "$2"
  wait $! || stop "fgio share failed"
  RESULTS=$PWD snapshot after
  lift_limits
  kill -INT $jobs || { cat fio.txt; stop "fio ended early"; }
  wait $jobs
  sync
  echo 3 >/proc/sys/vm/drop_caches
  for group in "${MEMBERS[@]}"; do
    rmdir "$CGROUPS/$group" || stop "the cgroup $group is busy"
  done
  cd /
}

phase preparing
make_disk "$DEVICE" "$SEED" "$BACKING"
DEVICE_NUMBER=$(<"/sys/block/$DISK/dev")
# A disk follows the setting when it is put under fgio.
[[ -z $SETTINGS ]] || { load_module fgio && set_parameters "$SETTINGS"; }
use_elevator "$ELEVATOR"
set_tunables "$TUNABLES"
use_controllers
use_io_cost
echo "$DIRTY_BYTES" >/proc/sys/vm/dirty_bytes
echo $((DIRTY_BYTES / 2)) >/proc/sys/vm/dirty_background_bytes
for each in $MIXES; do
  IFS=: read -r name seconds settle <<<"$each"
  run_mix "$name" "$seconds" "$settle"
done
phase "done"
