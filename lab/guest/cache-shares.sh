# SPDX-License-Identifier: Apache-2.0 OR MIT
# Weighted cgroups that read and write files through the page cache. Settings come from
# cache-shares.env. Leaves NAME.json of fio (or NAME.fileserver) for each group, and `held`: second by
# second, the time since the load began ("@", us), and of each group in bytes: file memory,
# memory.low, dirty memory with that under writeback, what the group read from and wrote to the drive,
# and what its process read and wrote.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/cache-shares.env"
CGROUPS=/sys/fs/cgroup
FILES=/mnt/files
read -ra weights <<<"$WEIGHTS"

use_controllers() {
  mount -t cgroup2 none $CGROUPS || stop "no cgroups"
  echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no controllers of I/O and memory"
}

use_io_cost() {
  [[ -n $IO_COST_MODEL ]] || return 0
  local number
  number=$(<"/sys/block/$DISK/dev")
  echo "$number ctrl=user model=linear $IO_COST_MODEL" >$CGROUPS/io.cost.model || stop "no cost model"
  echo "$number enable=1 ctrl=user $IO_COST_QOS" >$CGROUPS/io.cost.qos || stop "no io.cost"
}

make_groups() {
  local number
  for number in "${!weights[@]}"; do
    mkdir "$CGROUPS/g$number" || stop "no cgroup g$number"
    echo "default ${weights[number]}" >"$CGROUPS/g$number/io.weight" || stop "no io.weight"
    [[ $ELEVATOR != bfq ]] ||
      echo "default ${weights[number]}" >"$CGROUPS/g$number/io.bfq.weight" || stop "no io.bfq.weight"
  done
}

# As a careful administrator would: parts of the memory that is there for files, by weight, less a
# tenth, and room for what is no file memory.
set_low() {
  local number free total=0 each
  free=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
  for each in "${weights[@]}"; do total=$((total + each)); done
  for number in "${!weights[@]}"; do
    echo $(((free * 9 / 10 * weights[number] / total + 8192) * 1024)) >"$CGROUPS/g$number/memory.low" ||
      stop "no memory.low"
  done
}

start_fgiod() {
  mkdir -p /run/fgio /etc/fgio
  echo "page_cache_hits = $COUNT_HITS" >/etc/fgio/fgiod.toml
  fgiod cache 2>"$RESULTS/fgiod.log" &
  daemon=$!
}

held() { # the time, and a line for each group
  local number file dirty drive moved name bytes field io
  echo "@ $((${EPOCHREALTIME/./} - BEGUN))"
  for number in "${!weights[@]}"; do
    file=0 dirty=0 drive=0 moved=0
    while read -r name bytes; do
      case $name in
      active_file | inactive_file) file=$((file + bytes)) ;;
      file_dirty | file_writeback) dirty=$((dirty + bytes)) ;;
      esac
    done <"$CGROUPS/g$number/memory.stat"
    while read -r name io; do
      [[ $name == "$DISK_NUMBER" ]] || continue
      for field in $io; do
        case $field in rbytes=* | wbytes=*) drive=$((drive + ${field#*=})) ;; esac
      done
    done <"$CGROUPS/g$number/io.stat"
    while read -r name bytes; do
      case $name in rchar: | wchar:) moved=$((moved + bytes)) ;; esac
    done 2>/dev/null <"/proc/${jobs[number]}/io"
    echo "g$number $file $(<"$CGROUPS/g$number/memory.low") $dirty $drive $moved"
  done
}

watch_groups() { # until WARM_S and SECONDS_MEASURED are over
  local second
  for ((second = 0; second < WARM_S + SECONDS_MEASURED; second++)); do
    sleep_until "$second"
    held
  done >>"$RESULTS/held"
}

sleep_until() { # SECOND of the load
  local left=$(((BEGUN + $1 * 1000000) - ${EPOCHREALTIME/./}))
  ((left <= 0)) || sleep "$((left / 1000000)).$(printf %06d $((left % 1000000)))"
}

in_group() { # NUMBER COMMAND...: becomes the command
  exec bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUPS/g$1" "${@:2}"
}

work() { # NUMBER: two files of the image for each group
  local one=$FILES/$((2 * $1)) other=$FILES/$((2 * $1 + 1))
  case $WORKLOAD in
  fileserver)
    in_group "$1" "$PAYLOAD/bin/fileserver" "$FILES/tree$1" "$FILESET" "$THREADS" "$SEED" "$WARM_S" \
      "$SECONDS_MEASURED" "$DIRECT" >"$RESULTS/g$1.fileserver"
    ;;
  *)
    in_group "$1" fio --eta=never --name="g$1" --filename="$one:$other" --rw=randread --bs=64k --ioengine=psync \
      --numjobs="$THREADS" --thread --group_reporting --direct="$DIRECT" --randseed="$SEED$1" \
      --norandommap --time_based --ramp_time="$WARM_S" --runtime="$SECONDS_MEASURED" \
      --invalidate=0 --output-format=json --output="$RESULTS/g$1.json"
    ;;
  esac
}

phase preparing
export PATH=$PATH:$PAYLOAD/bin
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
# Shares count for disks that fgio is given after that.
[[ -z $SETTINGS ]] || { load_module fgio && set_parameters "$SETTINGS"; }
use_elevator "$ELEVATOR"
set_tunables "$TUNABLES"
use_controllers
use_io_cost
DISK_NUMBER=$(<"/sys/block/$DISK/dev")
mkdir -p $FILES
mount -t ext4 -o noinit_itable,noatime "/dev/$DISK" $FILES || stop "ext4 does not mount"
# Room for its trees.
[[ $WORKLOAD != fileserver ]] || rm -f $FILES/[0-9]*
make_groups
[[ $POLICY != low ]] || set_low
[[ $POLICY != fgiod ]] || start_fgiod
if [[ -n $DIRTY_BYTES ]]; then
  echo "$DIRTY_BYTES" >/proc/sys/vm/dirty_bytes || stop "no dirty_bytes"
  echo "$((DIRTY_BYTES / 2))" >/proc/sys/vm/dirty_background_bytes || stop "no dirty_background_bytes"
fi
phase warming up
jobs=()
BEGUN=${EPOCHREALTIME/./}
for number in "${!weights[@]}"; do
  work "$number" &
  jobs+=($!)
done
watch_groups &
watcher=$!
sleep_until "$WARM_S"
phase measuring
snapshot before
grep '^pgsteal_' /proc/vmstat >"$RESULTS/before.reclaim"
sleep_until $((WARM_S + SECONDS_MEASURED))
snapshot after
grep '^pgsteal_' /proc/vmstat >"$RESULTS/after.reclaim"
wait "$watcher"
for job in "${jobs[@]}"; do
  wait "$job" || stop "a load failed: $(tail -3 "$RESULTS"/g*.json "$RESULTS"/g*.fileserver 2>/dev/null)"
done
cat $CGROUPS/*/memory.events >"$RESULTS/events"
if [[ $POLICY == fgiod ]]; then
  cp /run/fgio/cache/shares "$RESULTS/shares" || stop "fgiod published nothing: $(<"$RESULTS/fgiod.log")"
  # Of user and system time, in ticks of 10 ms.
  cut -d' ' -f14,15 "/proc/$daemon/stat" >"$RESULTS/fgiod.ticks"
  kill "$daemon"
  wait "$daemon" || stop "fgiod failed: $(<"$RESULTS/fgiod.log")"
  for number in "${!weights[@]}"; do
    [[ $(<"$CGROUPS/g$number/memory.low") == 0 ]] || stop "fgiod left a memory.low"
  done
fi
phase "done"
