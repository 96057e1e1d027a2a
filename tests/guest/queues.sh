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
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based --runtime=20 --ioengine=libaio \
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
  wait $fio || fail "fio: $(tail -3 "$WORK/fio.out")"
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
  # The control: without the bug, all of them move.
  before=$SECONDS
  while [[ $SECONDS -lt $((before + 5)) ]]; do
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
  load_fgio
}

some_critical_completed() { [[ $(counter critical_completed) -gt 10 ]]; }

check_switches_under_load() {
  local fio number
  make_null switched size=64 irqmode=2 completion_nsec=50000 submit_queues=4
  use fgio
  verify 3 "/dev/$DISK" --time_based --runtime=8 &
  fio=$!
  while kill -0 $fio 2>/dev/null; do
    for number in 1 2 3 4; do
      parameter queue $((number % 2))
      tunable noncritical_in_device_max $((number / 2))
      parameter hardware_queues $((number / 3))
      use mq-deadline
      use fgio
    done
  done
  parameter queue Y
  wait $fio || fail "fio failed"
  parameter hardware_queues Y
  remove_null switched
}

# CPUs go and come, and with them the queues that they serve.
check_cpus_come_and_go() {
  local fio cpu cycles=0
  make_null plugged size=64 irqmode=2 completion_nsec=100000 submit_queues=4
  use fgio
  echo 8 >"/sys/block/$DISK/queue/nr_requests"
  verify 3 "/dev/$DISK" --time_based --runtime=6 &
  fio=$!
  while kill -0 $fio 2>/dev/null; do
    for cpu in 1 2 3; do
      echo 0 >/sys/devices/system/cpu/cpu$cpu/online
    done
    for cpu in 1 2 3; do
      echo 1 >/sys/devices/system/cpu/cpu$cpu/online
    done
    cycles=$((cycles + 1))
  done
  wait $fio || fail "fio failed"
  expect "times that three CPUs went and came" $cycles -ge 2
  expect_nothing_left
  remove_null plugged
}

# Until the load ends, and at least twice.
while_loaded() { # PROCESS COMMAND...
  local process=$1 times=0
  shift
  while kill -0 "$process" 2>/dev/null; do
    "$@"
    times=$((times + 1))
  done
  wait "$process" || fail "fio failed"
  expect "times: $*" $times -ge 2
  expect_nothing_left
}

resize() {
  local depth
  for depth in 16 512 31 64; do
    echo $depth >"/sys/block/$DISK/queue/nr_requests"
    sleep 0.05
  done
}

check_the_number_of_requests_changes_under_load() {
  make_null resized size=64 irqmode=2 completion_nsec=50000 submit_queues=4
  use fgio
  verify 1 "/dev/$DISK" --time_based --runtime=4 &
  while_loaded $! resize
  remove_null resized
}

# The elevator is taken away and comes back, with other hardware queues.
other_queues() {
  local queues
  for queues in 1 4 2 "$(nproc)"; do
    echo "$queues" >/sys/kernel/config/nullb/requeued/submit_queues
    grep -qF '[fgio]' "/sys/block/$DISK/queue/scheduler" || fail "fgio did not come back"
    [[ $(counter hardware_queues) -eq $((queues > 1 ? queues : 0)) ]] ||
      fail "$(counter hardware_queues) hardware queues instead of $queues"
  done
}

check_the_number_of_queues_changes_under_load() {
  make_null requeued size=64 irqmode=2 completion_nsec=50000 submit_queues=4 \
    poll_queues=0
  use fgio
  tunable noncritical_in_device_max 2
  verify 3 "/dev/$DISK" --time_based --runtime=10 &
  while_loaded $! other_queues
  remove_null requeued
}

inject() { # OPTION NTH: what scsi_debug does with each NTH command
  echo "$2" >/sys/bus/pseudo/drivers/scsi_debug/every_nth
  echo "$1" >/sys/bus/pseudo/drivers/scsi_debug/opts
}

# Commands that time out (4), that the host (0x8000) or the target (0x400) sends back.
check_commands_that_time_out_or_are_sent_back() {
  local queues option
  for queues in 1 4; do
    make_scsi dev_size_mb=32 delay=1 submit_queues=$queues statistics=1
    use fgio
    expect "hardware queues of $queues" "$(counter hardware_queues)" -eq $((queues > 1 ? queues : 0))
    echo "${LAB_SLOWNESS:-1}" >"/sys/block/$DISK/device/timeout"
    for option in 4 0x8000 0x400; do
      inject $option $((option == 4 ? 200 : 7))
      verify 1 "/dev/$DISK" --verify_backlog=64
      inject 0 0
      expect_nothing_left
    done
    use none
    rmmod scsi_debug
  done
}

# Two disks that share the driver's tags, and hardware queues that do.
check_shared_tags() {
  local one first second queues
  for queues in 2 4; do
    make_null first size=64 irqmode=2 completion_nsec=50000 submit_queues=$queues shared_tags=1
    one=$DISK
    use fgio
    make_null second size=64 irqmode=2 completion_nsec=50000 submit_queues=$queues shared_tags=1
    use fgio
    mkdir -p "$WORK/first" "$WORK/second"
    (WORK=$WORK/first verify 2 "/dev/$one") &
    first=$!
    (WORK=$WORK/second verify 2 "/dev/$DISK") &
    second=$!
    wait $first || fail "the first disk"
    wait $second || fail "the second disk"
    expect_nothing_left
    DISK=$one expect_nothing_left
    remove_null first
    remove_null second
  done
  make_null bitmap size=64 irqmode=2 completion_nsec=50000 submit_queues=4 shared_tag_bitmap=1
  use fgio
  expect "hardware queues that share their tags" "$(counter hardware_queues)" -eq 0
  verify 2
  expect_nothing_left
  remove_null bitmap
}

sleeping_for_slots() { [[ $(counter noncritical_waiting) -gt 0 ]]; }

# I/O that is queued, and tasks that sleep for a slot, end with an error.
check_a_disk_goes_under_load() {
  local queues
  for queues in 1 4; do take_disk_away $queues; done
}

take_disk_away() { # QUEUES
  local fio
  make_null gone size=64 irqmode=2 completion_nsec=20000000 hw_queue_depth=2 "submit_queues=$1"
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  # Reads of a disk that went are at its end, which is no error to fio; writes are.
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based --runtime=60 --ioengine=libaio \
    --exitall_on_error --name=reader --rw=randread --iodepth=2 --prioclass=1 \
    --name=writer --rw=randwrite --iodepth=16 --numjobs=8 --thread --output="$WORK/gone.out" &
  fio=$!
  wait_for "writers that sleep for a slot" sleeping_for_slots
  echo 0 >/sys/kernel/config/nullb/gone/power
  wait_for "the end of fio" gone $fio
  wait $fio && fail "fio did not notice that its disk went"
  rmdir /sys/kernel/config/nullb/gone
}

gone() { ! kill -0 "$1" 2>/dev/null; }
