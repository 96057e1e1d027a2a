# SPDX-License-Identifier: Apache-2.0 OR MIT
# Waits in virtual time on the cloud volume: 3,000 IOPS, about 0.6 ms.
# shellcheck shell=bash disable=SC2154
RUNTIME=${RUNTIME:-2}

reader() { # ARGUMENT...: options of a critical QD 1 reader
  printf '%s\n' --name=reader "--filename=/dev/$DISK" --rw=randread --bs=4k --direct=1 --size=256m \
    --ioengine=psync --prioclass=1 --time_based "--runtime=$RUNTIME" "$@"
}

writer() { # DEPTH ARGUMENT...: options of a background writer
  printf '%s\n' --name=writer "--filename=/dev/$DISK" --rw=randwrite --bs=4k --direct=1 \
    --size=256m --offset=256m --ioengine=libaio "--iodepth=$1" --time_based \
    "--runtime=$RUNTIME" "${@:2}"
}

copy() { # options of a background that reads from one end to the other
  printf '%s\n' --name=copy "--filename=/dev/$DISK" --rw=read --bs=256k --direct=1 \
    --size=1g --ioengine=libaio --iodepth=8 --time_based "--runtime=$RUNTIME"
}

measure() { # FILE: options on standard input
  local -a options
  mapfile -t options
  fio --output-format=json --output="$1" --lat_percentiles=1 --norandommap --randrepeat=1 \
    --percentile_list=50:99:99.9 "${options[@]}"
  cp "$1" "$RESULTS/checks/$(basename "$1").json"
}

volume() { # ELEVATOR: a fresh volume
  make_simdisk model=volume size_mib=512 seed=1
  use "$1"
}

p99() { fio_figure "$1" "round(jobs['$2']['$3']['lat_ns']['percentile']['99.000000'] / 1000)"; }
iops() { fio_figure "$1" "round(jobs['$2']['$3']['iops'])"; }

check_reader_beside_a_flood_of_writes() {
  local p99_alone iops_alone p99_fgio iops_fgio p99_none
  volume fgio
  reader | measure "$WORK/alone"
  p99_alone=$(p99 "$WORK/alone" reader read)
  iops_alone=$(iops "$WORK/alone" reader read)
  { reader && writer 1024; } | measure "$WORK/beside"
  p99_fgio=$(p99 "$WORK/beside" reader read)
  iops_fgio=$(iops "$WORK/beside" reader read)
  volume none
  { reader && writer 1024; } | measure "$WORK/control"
  p99_none=$(p99 "$WORK/control" reader read)
  echo "p99 in us: alone $p99_alone, beside writes $p99_fgio, with none $p99_none"
  echo "IOPS: alone $iops_alone, beside writes $iops_fgio"
  expect "the control: none is 5 times slower" "$p99_none" -gt $((p99_alone * 5))
  expect "p99 within 1.3 times" "$p99_fgio" -le $((p99_alone * 13 / 10))
  expect "IOPS within 1.3 times" $((iops_fgio * 13 / 10)) -ge "$iops_alone"
}

# one kernel: core/ learns it from completions
check_a_virtual_disk_is_not_believed_to_rotate() {
  make_simdisk model=volume size_mib=2048 seed=1
  echo 1 >"/sys/block/$DISK/queue/rotational"
  use fgio
  expect "as the disk says" "$(counter rotates)" -eq 1
  { reader --size=2g && copy; } | measure "$WORK/volume"
  expect "as its reads say" "$(counter rotates)" -eq 0
  make_simdisk model=hdd size_mib=2048 seed=1
  use fgio
  { reader --size=2g && copy; } | measure "$WORK/disk"
  expect "a disk is believed" "$(counter rotates)" -eq 1
}

# one kernel: core/ has the release interval
check_background_does_not_starve() {
  local background p99_alone p99_beside
  volume fgio
  reader --ioengine=libaio --iodepth=256 | measure "$WORK/saturated"
  p99_alone=$(p99 "$WORK/saturated" reader read)
  { reader --ioengine=libaio --iodepth=256 && writer 32; } | measure "$WORK/starvation"
  p99_beside=$(p99 "$WORK/starvation" reader read)
  background=$(iops "$WORK/starvation" writer write)
  echo "foreground $(iops "$WORK/starvation" reader read) IOPS, background $background IOPS"
  expect "the control: the foreground saturates" "$(iops "$WORK/starvation" reader read)" -gt 2000
  expect "background I/Os a second" "$background" -ge 100
  echo "foreground p99 in us: alone $p99_alone, beside writes $p99_beside"
  expect "p99 within 1.3 times" "$p99_beside" -le $((p99_alone * 13 / 10))
}

# one kernel: core/ has the release interval
check_release_interval_sets_the_rate() {
  local at_50 at_10
  volume fgio
  # The rate of the interval alone, without the learnt depth.
  tunable noncritical_in_device_max 1
  tunable noncritical_release_interval_ms 50
  { reader --ioengine=libaio --iodepth=256 && writer 32; } | measure "$WORK/interval50"
  at_50=$(iops "$WORK/interval50" writer write)
  tunable noncritical_release_interval_ms 10
  { reader --ioengine=libaio --iodepth=256 && writer 32; } | measure "$WORK/interval10"
  at_10=$(iops "$WORK/interval10" writer write)
  echo "background IOPS: $at_10 at 10 ms, $at_50 at 50 ms"
  expect "at 10 ms" "$at_10" -ge 95
  expect "at 50 ms, at least" "$at_50" -ge 18
  expect "at 50 ms, clearly less than at 10" $((at_50 * 2)) -lt "$at_10"
}

# one kernel: core/ holds nothing back
# From when the hooks for earlier foreground tasks are gone: the kernel takes them out of its code on
# the one processor that fio has.
check_background_alone_is_not_held_back() {
  local elevator kind random sequential
  wait_for "the hooks to go" hooks_are_gone
  pause 1
  for elevator in none fgio; do
    volume $elevator
    writer 64 | measure "$WORK/random-$elevator"
    writer 8 --rw=write --bs=64k | measure "$WORK/sequential-$elevator"
  done
  for kind in random sequential; do
    random=$(iops "$WORK/$kind-none" writer write)
    sequential=$(iops "$WORK/$kind-fgio" writer write)
    echo "$kind: none $random IOPS, fgio $sequential IOPS"
    expect "within 2 %" $((sequential * 100)) -ge $((random * 98))
  done
}

check_promotion_moves_a_queued_write() {
  local load alone promoted without with
  volume fgio
  RUNTIME=60
  # shellcheck disable=SC2046
  fio $(reader --ioengine=libaio --iodepth=16) --output=/dev/null &
  load=$!
  wait_for "critical I/O" grep -q '^critical_in_device [1-9]' "/sys/kernel/debug/fgio/$DISK/counters"
  read -r promoted without < <(promotion "/dev/$DISK" 80)
  expect "the control promotes nothing" "$promoted" -eq 0
  read -r promoted with < <(promotion "/dev/$DISK" 80 promote)
  alone=$(counter critical_promoted)
  kill $load
  echo "the last of 61 writes took $without ms, promoted $with ms"
  expect "promoted" "$promoted" -eq 1
  expect "counted" "$alone" -eq 1
  expect "the control waits" "$without" -gt 200
  expect "ten times sooner" $((with * 10)) -lt "$without"
}

most_in_device() { # SAMPLES: sets MOST to the largest number of non-critical I/Os in the device
  local name value samples=$1
  MOST=0
  while [[ $samples -gt 0 ]]; do
    while read -r name value; do
      [[ $name != noncritical_in_device || $value -le $MOST ]] || MOST=$value
    done <"/sys/kernel/debug/fgio/$DISK/counters"
    samples=$((samples - 1))
  done
}

check_noncritical_in_device_max_bounds_the_device() {
  local jobs max
  volume fgio
  RUNTIME=120
  # shellcheck disable=SC2046
  fio $(writer 64) --output=/dev/null &
  jobs=$!
  wait_for "writes" grep -q '^noncritical_in_device [1-9]' "/sys/kernel/debug/fgio/$DISK/counters"
  most_in_device 30
  expect "the control: without foreground" $MOST -gt 16
  # shellcheck disable=SC2046
  fio $(reader) --output=/dev/null &
  jobs="$jobs $!"
  wait_for "critical I/O" grep -q '^critical_completed [1-9]' "/sys/kernel/debug/fgio/$DISK/counters"
  for max in 1 4 16; do
    tunable noncritical_in_device_max $max
    sleep 0.2
    most_in_device 60
    echo "max $max: at most $MOST seen"
    expect "at most" $MOST -le $max
    expect "and made use of" $MOST -ge $(((max + 1) / 2))
  done
  # shellcheck disable=SC2086
  kill $jobs
}

# one kernel: core/ has the window
check_window_ends_the_restraint() {
  local jobs
  volume fgio
  tunable noncritical_in_device_max 1
  RUNTIME=120
  # shellcheck disable=SC2046
  fio $(writer 64) --output=/dev/null &
  jobs=$!
  wait_for "writes" grep -q '^noncritical_in_device [1-9]' "/sys/kernel/debug/fgio/$DISK/counters"
  tunable critical_window_ms 60000
  ionice -c1 dd "if=/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
  sleep 1
  most_in_device 20
  expect "inside the window" $MOST -eq 1
  tunable critical_window_ms 0
  ionice -c1 dd "if=/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
  sleep 1
  most_in_device 20
  expect "without a window" $MOST -gt 16
  kill $jobs
}
