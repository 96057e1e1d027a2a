# SPDX-License-Identifier: Apache-2.0 OR MIT
# Scheduler switches and module load/unload under verified I/O on two devices at once.
# SWITCHES and CYCLES are their numbers.
# shellcheck shell=bash disable=SC2154
SWITCHES=${SWITCHES:-50}
CYCLES=${CYCLES:-3}

# Rounds of writing and verifying until the file "stop" is there; ends early only with an error.
stressed_job() { # NAME DEVICE ENGINE PRIORITY-CLASS
  local round=0
  while [[ ! -e $WORK/stop ]]; do
    fio --name="$1" --filename="/dev/$2" --rw=randwrite --bssplit=512/20:4k/40:16k/20:64k/20 \
      --ioengine="$3" --iodepth=64 --direct=1 --size=8m --verify=crc32c \
      --verify_fatal=1 --verify_backlog=256 --do_verify=1 --prioclass="$4" --prio=0 \
      --randseed=$round --output="$RESULTS/$1.fio" >/dev/null 2>&1 || return 1
    grep -q 'err= 0' "$RESULTS/$1.fio" || return 1
    round=$((round + 1))
    echo $round >"$RESULTS/$1.rounds"
  done
}

running() { # PROCESS...
  local process
  for process in "$@"; do kill -0 "$process" 2>/dev/null || return 1; done
}

switch_once() { # ELEVATOR: on all devices
  local disk
  for disk in "${disks[@]}"; do
    echo "$1" >"/sys/block/$disk/queue/scheduler"
    switches=$((switches + 1))
  done
}

# The switches are spread over the load cycles, so that both end together.
shake() {
  local elevators=(fgio none fgio mq-deadline) at=0 due
  while [[ $switches -lt $SWITCHES || $cycles -lt $CYCLES ]]; do
    running "${jobs[@]}" ||
      fail "fio met an error after $switches switches: $(tail -n 5 "$RESULTS"/*.fio)"
    switch_once "${elevators[at % 4]}"
    at=$((at + 1))
    due=$((CYCLES * switches / SWITCHES))
    if [[ $cycles -lt $CYCLES && ($cycles -lt $due || $switches -ge $SWITCHES) ]]; then
      switch_once none
      rmmod fgio
      insmod "$PAYLOAD/modules/fgio.ko"
      cycles=$((cycles + 1))
      echo "@stress $switches switches, $cycles loads" >/dev/console
    fi
  done
}

# limit: 100000
check_switches_and_loads_under_verified_io() {
  local disks=() jobs=() switches=0 cycles=0 status=0 job name
  load_fgio
  make_null stress1 size=64 irqmode=2 completion_nsec=50000 submit_queues=2 hw_queue_depth=32
  disks+=("$DISK")
  make_simdisk model=nvme size_mib=64 hw_queues=2
  disks+=("$DISK")
  stressed_job stress1 "${disks[0]}" libaio 1 &
  jobs+=($!)
  stressed_job stress2 "${disks[1]}" io_uring 2 &
  jobs+=($!)
  sleep 2
  shake
  for disk in "${disks[@]}"; do echo fgio >"/sys/block/$disk/queue/scheduler"; done
  touch "$WORK/stop"
  printf '{"switches": %d, "cycles": %d}\n' $switches $cycles >"$RESULTS/stress.json"
  for job in "${jobs[@]}"; do wait "$job" || status=1; done
  for name in stress1 stress2; do
    grep -E 'err=|IOPS' "$RESULTS/$name.fio" || fail "no report of $name"
    expect "rounds of $name" "$(cat "$RESULTS/$name.rounds")" -ge 1
  done
  expect "fio's status" $status -eq 0
  expect "switches" $switches -ge "$SWITCHES"
  expect "loads" $cycles -ge "$CYCLES"
}
