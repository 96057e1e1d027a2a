# SPDX-License-Identifier: Apache-2.0 OR MIT
# Devices with several hardware queues, for each of which requests are queued.
# shellcheck shell=bash disable=SC2154

tidy() {
  [[ ! -d /sys/module/fgio ]] || parameter hardware_queues Y
  [[ ! -d /sys/module/fgio ]] || parameter queue Y
}

expect_nothing_left() {
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "non-critical requests left" "$(counter noncritical_in_device)" -eq 0
}

check_requests_are_queued_for_each_hardware_queue() {
  local queues
  for queues in 1 2 4; do
    make_null many size=64 irqmode=2 completion_nsec=50000 submit_queues=$queues \
      poll_queues=0
    use fgio
    expect "hardware queues with requests of their own" \
      "$(counter hardware_queues)" -eq $((queues > 1 ? queues : 0))
    verify 3
    expect "critical requests" "$(counter critical_completed)" -gt 50
    expect "non-critical requests" "$(counter noncritical_completed)" -gt 50
    expect_nothing_left
    remove_null many
  done
  # The switch, and what rotates.
  make_null one size=64 submit_queues=4
  parameter hardware_queues N
  use fgio
  expect "hardware queues, switched off" "$(counter hardware_queues)" -eq 0
  use none
  parameter hardware_queues Y
  echo 1 >"/sys/block/$DISK/queue/rotational"
  use fgio
  expect "hardware queues of a disk" "$(counter hardware_queues)" -eq 0
  remove_null one
}

# The most non-critical requests in the device in two seconds; sets MOST.
most_in_device() {
  local end=$((SECONDS + 2)) now
  MOST=0
  while [[ $SECONDS -lt $end ]]; do
    now=$(counter noncritical_in_device)
    [[ $now -le $MOST ]] || MOST=$now
  done
}

# Each queue has a CPU of its own, and a writer there.
check_the_limit_is_one_for_all_queues() {
  local fio
  make_null limited size=64 irqmode=2 completion_nsec=20000000 submit_queues=4
  use fgio
  tunable noncritical_in_device_max 1
  # Where the host is busy, a CPU stands still for a tenth of a second.
  tunable critical_window_ms 10000
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based --runtime=100 --ioengine=libaio \
    --name=reader --rw=randread --iodepth=1 --prioclass=1 --cpus_allowed=0 \
    --name=writer --rw=randwrite --iodepth=16 --numjobs=3 --cpus_allowed=1-3 \
    --cpus_allowed_policy=split --output="$WORK/fio.out" &
  fio=$!
  wait_for "critical I/O" some_critical_completed
  sleep 1
  most_in_device
  # The limit, and what a queue has whose CPU was late.
  expect "non-critical requests in the device" "$MOST" -le 3
  # The control.
  parameter queue N
  sleep 0.5
  most_in_device
  parameter queue Y
  expect "the same with one class" "$MOST" -gt 8
  end_fio $fio
  expect_nothing_left
  remove_null limited
}

# mq-deadline runs one hardware queue for all; the elevator after it must not.
check_all_queues_run_after_another_elevator() {
  local fio
  make_null after size=64 irqmode=2 completion_nsec=2000000 submit_queues=4
  use mq-deadline
  use fgio
  expect "hardware queues with requests of their own" "$(counter hardware_queues)" -gt 1
  tunable noncritical_in_device_max 1
  tunable critical_window_ms 60000
  ionice -c1 dd if="/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --rw=randwrite --ioengine=libaio --iodepth=16 \
    --name=writer --numjobs=4 --cpus_allowed=0-3 --cpus_allowed_policy=split --size=1m \
    --output="$WORK/fio.out" &
  fio=$!
  sleep 1
  # All that is withheld goes at once, on each queue, though none is inserted there.
  parameter queue N
  wait_for "the end of fio" gone $fio
  wait $fio || fail "fio: $(tail -3 "$WORK/fio.out")"
  parameter queue Y
  expect_nothing_left
  remove_null after
}

# The bug keeps the requests of one hardware queue, and the others go on.
check_watchdog_sees_one_hardware_queue_among_others() {
  local fio before
  load_fgio watchdog_ms=1000
  make_null watched size=64 irqmode=2 completion_nsec=1000000 submit_queues=4
  use fgio
  expect "CPU of hardware queue 2" "$(cat "/sys/block/$DISK/mq/2/cpu_list")" -eq 2
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based --runtime=100 --ioengine=libaio \
    --name=reader --rw=randread --iodepth=1 --prioclass=1 --cpus_allowed=0 \
    --name=writer --rw=randwrite --iodepth=8 --numjobs=3 --cpus_allowed=0,1,3 \
    --cpus_allowed_policy=split --output="$WORK/fio.out" &
  fio=$!
  wait_for "critical I/O" some_critical_completed
  # The control: without the bug, all of them move for three times its limit.
  before=$SECONDS
  while [[ $SECONDS -lt $((before + 4)) ]]; do
    taskset -c 2 dd "if=/dev/$DISK" of=/dev/null bs=4k count=16 iflag=direct status=none
  done
  expect "the watchdog, without the bug" "$(counter watchdog_tripped)" -eq 0
  withhold hardware_queue=2
  before=$(counter noncritical_dispatched)
  dmesg -C
  taskset -c 2 dd "if=/dev/$DISK" of=/dev/null bs=4k count=16 iflag=direct status=none
  no_withhold
  expect "the watchdog" "$(counter watchdog_tripped)" -eq 1
  expect "requests of the others meanwhile" $(($(counter noncritical_dispatched) - before)) -gt 100
  dmesg | grep "stayed queued for 1 s in hardware queue 2: letting" || fail "$(dmesg)"
  kill $fio
  wait $fio || true
  expect_nothing_left
  remove_null watched
  unload_fgio
}

some_critical_completed() { [[ $(counter critical_completed) -gt 10 ]]; }
