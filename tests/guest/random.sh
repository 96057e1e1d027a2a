# SPDX-License-Identifier: Apache-2.0 OR MIT
# Random events at any time: parameters of the module, elevators and their tunables, loading and
# unloading, beside verified I/O and threads that tag, declare waits, wait and end at random.
# RANDOM_SECONDS is the duration, RANDOM_SEED the seed; $RESULTS/random.log is the protocol.
# shellcheck shell=bash disable=SC2154
RANDOM_SECONDS=${RANDOM_SECONDS:-60}
RANDOM_SEED=${RANDOM_SEED:-1}
PARAMETERS=/sys/module/fgio/parameters
ELEVATORS=(fgio fgio fgio none mq-deadline)

declare -A DEFAULTS=()

pick() { # WORD...: sets PICKED. No subshell: it would have random numbers of its own.
  local -a words=("$@")
  PICKED=${words[RANDOM % ${#words[@]}]}
}

note() {
  actions=$((actions + 1))
  echo "$(cut -d' ' -f1 /proc/uptime) $*" >>"$RESULTS/random.log"
}

learn_parameters() {
  local file
  for file in "$PARAMETERS"/*; do
    [[ $(stat -c %a "$file") != *6?? ]] || DEFAULTS[${file##*/}]=$(cat "$file")
  done
}

set_some_parameter() {
  local name default value
  local -a names
  mapfile -t names < <(printf '%s\n' "${!DEFAULTS[@]}" | sort)
  pick "${names[@]}"
  name=$PICKED
  default=${DEFAULTS[$name]}
  case $default in
  Y | N) pick Y N ;;
  [0-9]*) pick 0 1 2 "$default" "$default" $((default / 2)) $((default * 2)) $((default * 10)) ;;
  *) return 0 ;;
  esac
  value=$PICKED
  note "parameter $name $value"
  # Values out of range are refused.
  echo "$value" >"$PARAMETERS/$name" 2>/dev/null || true
}

reset_parameters() {
  local name
  for name in "${!DEFAULTS[@]}"; do
    echo "${DEFAULTS[$name]}" >"$PARAMETERS/$name" 2>/dev/null || true
  done
}

set_some_tunable() {
  local file value
  pick "${disks[@]}"
  local -a files=("/sys/block/$PICKED/queue/iosched"/*)
  [[ -e ${files[0]} ]] || return 0
  pick "${files[@]}"
  file=$PICKED
  value=$(cat "$file" 2>/dev/null) || return 0
  [[ $value =~ ^[0-9]+$ ]] || return 0
  pick 0 1 $((value / 2)) $((value * 2)) "$value"
  note "tunable $file $PICKED"
  echo "$PICKED" >"$file" 2>/dev/null || true
}

switch_some_elevator() {
  local disk
  pick "${disks[@]}"
  disk=$PICKED
  pick "${ELEVATORS[@]}"
  note "elevator $disk $PICKED"
  echo "$PICKED" >"/sys/block/$disk/queue/scheduler" || fail "$disk does not take $PICKED"
}

reload() {
  local disk
  note "reload"
  for disk in "${disks[@]}"; do echo none >"/sys/block/$disk/queue/scheduler"; done
  # Threads of the load have /dev/fgio open now and then.
  wait_for "the module to go" rmmod fgio 2>/dev/null
  sleep "0.$((RANDOM % 5))"
  insmod "$PAYLOAD/modules/fgio.ko"
  loads=$((loads + 1))
  for disk in "${disks[@]}"; do echo fgio >"/sys/block/$disk/queue/scheduler"; done
}

act() {
  case $((RANDOM % 20)) in
  0) reload ;;
  [1-4]) switch_some_elevator ;;
  [5-7]) set_some_tunable ;;
  8) reset_parameters ;;
  9) sleep "0.$((RANDOM % 9))" ;;
  *) set_some_parameter ;;
  esac
}

# Rounds of writing and verifying until the file "stop" is there; ends early only with an error.
verified_job() { # NAME DEVICE ENGINE PRIORITY-CLASS
  local round=0
  while [[ ! -e $WORK/stop ]]; do
    fio --name="$1" --filename="/dev/$2" --rw=randwrite --bssplit=512/20:4k/40:16k/20:64k/20 \
      --ioengine="$3" --iodepth=16 --direct=1 --size=4m --verify=crc32c --verify_fatal=1 \
      --verify_backlog=128 --do_verify=1 --rate_iops=100 --prioclass="$4" --prio=0 \
      --randseed=$((RANDOM_SEED + round)) --output="$RESULTS/$1.fio" >/dev/null 2>&1 || return 1
    grep -q 'err= 0' "$RESULTS/$1.fio" || return 1
    round=$((round + 1))
    echo $round >"$RESULTS/$1.rounds"
  done
}

# Files that are written through the page cache, synced, and read back from the disk.
verified_files() {
  local round=0 sum
  while [[ ! -e $WORK/stop ]]; do
    head -c 1000000 /dev/urandom >"$WORK/expected"
    dd if="$WORK/expected" of="$WORK/mount/file$((round % 4))" bs=64k conv=fsync status=none || return 1
    sum=$(dd if="$WORK/mount/file$((round % 4))" bs=64k iflag=direct status=none | md5sum)
    [[ $sum == "$(md5sum <"$WORK/expected")" ]] || return 1
    round=$((round + 1))
    echo $round >"$RESULTS/files.rounds"
    sleep 0.2
  done
}

begin_load() {
  verified_job direct1 "${disks[0]}" libaio 1 &
  jobs+=($!)
  verified_job direct2 "${disks[1]}" io_uring 2 &
  jobs+=($!)
  verified_files &
  jobs+=($!)
  (cd "$WORK/mount" && exec abuse churn "$RANDOM_SEED") &
  churn=$!
}

end_load() {
  local job
  touch "$WORK/stop"
  for job in "${jobs[@]}"; do
    wait "$job" || fail "data: $(tail -n 5 "$RESULTS"/*.fio)"
  done
  kill "$churn"
  wait "$churn" || fail "the threads' load failed"
}

make_disks() {
  make_null random1 size=32 irqmode=2 completion_nsec=50000 submit_queues=2 hw_queue_depth=32
  disks+=("$DISK")
  make_null random2 size=256 irqmode=2 completion_nsec=200000 submit_queues=4
  disks+=("$DISK")
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount "/dev/$DISK" "$WORK/mount"
  make_simdisk model=nvme size_mib=32 hw_queues=2
  disks=("${disks[0]}" "$DISK" "${disks[1]}")
}

# limit: 100000
check_anything_at_any_time() {
  local disks=() jobs=() churn actions=0 loads=0 now=0 end actions_min name
  RANDOM=$RANDOM_SEED
  echo "@random seed $RANDOM_SEED" | tee /dev/console
  load_fgio
  learn_parameters
  expect "parameters that can be switched" ${#DEFAULTS[@]} -ge 10
  make_disks
  for name in "${disks[@]}"; do use fgio "$name"; done
  actions_min=$((RANDOM_SECONDS / 10))
  begin_load
  reload
  end=$(($(cut -d. -f1 /proc/uptime) + RANDOM_SECONDS))
  # On a busy host little happens within a minute.
  while [[ $now -lt $end || $actions -lt $actions_min ]]; do
    now=$(cut -d. -f1 /proc/uptime)
    act
    [[ $((actions % 10)) -ne 0 ]] || echo "@random $actions actions, $loads loads" >/dev/console
    sleep "0.0$((RANDOM % 10))"
  done
  reset_parameters
  end_load
  printf '{"seed": %d, "actions": %d, "loads": %d}\n' "$RANDOM_SEED" $actions $loads \
    >"$RESULTS/random.json"
  cat "$RESULTS/random.json"
  for name in direct1 direct2 files; do
    expect "rounds of $name" "$(cat "$RESULTS/$name.rounds")" -ge 1
  done
  expect "actions" $actions -ge $actions_min
  wait_for "the last wait to end" all_is_over
  expect "no end of a task was missed" "$(cat $PARAMETERS/ends_missed)" -eq 0
  umount "$WORK/mount"
  unload_fgio
}
