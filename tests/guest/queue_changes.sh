# SPDX-License-Identifier: Apache-2.0 OR MIT
# What changes beneath a loaded queue, on 1, 4 and 16 hardware queues, each with a CPU of its own: all
# that is written is read back, nothing hangs, and nothing is left in fgio.
# shellcheck shell=bash disable=SC2154

CPUS=$(getconf _NPROCESSORS_CONF)

tidy() {
  local cpu
  for cpu in /sys/devices/system/cpu/cpu*/online; do
    [[ $(<"$cpu") -eq 1 ]] || echo 1 >"$cpu"
  done
  [[ -d /sys/module/fgio ]] || return 0
  parameter hardware_queues Y
  parameter queue Y
}

# For one queue and four in the same guest; for sixteen in a guest of its own, which is slow.
each_count() { # FUNCTION ARGUMENT...: with QUEUES
  local counts="1 4"
  [[ $CPUS -lt 16 ]] || counts=16
  for QUEUES in $counts; do
    echo "$QUEUES hardware queues"
    "$@"
  done
}

# Its counters come with it, from a worker.
has_counters() { counter hardware_queues >/dev/null 2>&1; }

expect_hardware_queues() { # COUNT
  wait_for "the counters of $DISK" has_counters
  expect "hardware queues with requests of their own" \
    "$(counter hardware_queues)" -eq $(($1 > 1 ? $1 : 0))
}

make_queues() { # NAME [KEY=VALUE...]: a disk with QUEUES of them, under fgio
  make_null "$1" size=64 irqmode=2 completion_nsec=50000 poll_queues=0 "submit_queues=$QUEUES" "${@:2}"
  use fgio
  expect_hardware_queues "$QUEUES"
}

expect_nothing_left() {
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "non-critical requests left" "$(counter noncritical_in_device)" -eq 0
}

some_in_device() {
  [[ $(counter critical_in_device) -gt 0 || $(counter noncritical_in_device) -gt 0 ]]
}

# Rounds of 2 s of two jobs that write and verify, until the file "stop" is there.
keep_verifying() {
  while [[ ! -e $WORK/stop ]]; do
    verify 1 "/dev/$DISK" --time_based --runtime=2
  done
}

# On a slow kernel, once.
under_load() { # TIMES COMMAND...
  local load number times=$((1 + ($1 - 1) / ${LAB_SLOWNESS:-1}))
  rm -f "$WORK/stop"
  keep_verifying &
  load=$!
  # The control of expect_nothing_left().
  wait_for "requests in the device" some_in_device
  for ((number = 0; number < times; number++)); do
    "${@:2}"
    kill -0 $load 2>/dev/null || fail "the load ended: $(tail -3 "$WORK/fio.out")"
  done
  touch "$WORK/stop"
  wait $load || fail "what was written was not read back: $(tail -3 "$WORK/fio.out")"
  expect_nothing_left
}

switch() {
  local number
  for number in 1 2 3 4; do
    parameter queue $((number % 2))
    tunable noncritical_in_device_max $((number / 2))
    parameter hardware_queues $((number / 3))
    use mq-deadline
    use fgio
  done
}

switches() {
  make_queues switched
  under_load 3 switch
  parameter queue Y
  parameter hardware_queues Y
  remove_null switched
}

check_switches_under_load() { each_count switches; }

go_and_come() {
  local cpus="1 2 3" cpu
  [[ $CPUS -lt 16 ]] || cpus="1 7 15"
  for cpu in $cpus; do
    echo 0 >"/sys/devices/system/cpu/cpu$cpu/online"
  done
  expect "CPUs" "$(nproc)" -eq $((CPUS - 3))
  for cpu in $cpus; do
    echo 1 >"/sys/devices/system/cpu/cpu$cpu/online"
  done
}

hotplug() {
  make_queues plugged completion_nsec=100000
  echo 8 >"/sys/block/$DISK/queue/nr_requests"
  under_load 3 go_and_come
  remove_null plugged
}

# CPUs go and come, and with them the queues that they serve.
check_cpus_come_and_go() { each_count hotplug; }

resize() {
  local depth
  for depth in 16 512 31 64; do
    echo $depth >"/sys/block/$DISK/queue/nr_requests"
    sleep 0.05
  done
}

resizes() {
  make_queues resized
  under_load 8 resize
  remove_null resized
}

check_the_number_of_requests_changes_under_load() { each_count resizes; }

# The elevator is taken away and comes back, with other hardware queues.
other_queues() {
  local count
  for count in 1 "$QUEUES" 3 "$CPUS"; do
    echo "$count" >/sys/kernel/config/nullb/requeued/submit_queues
    grep -qF '[fgio]' "/sys/block/$DISK/queue/scheduler" || fail "fgio did not come back"
    expect_hardware_queues "$count"
  done
}

requeues() {
  # As many as there are CPUs: what the driver made at first bounds what it has later.
  make_queues requeued "submit_queues=$CPUS"
  tunable noncritical_in_device_max 2
  under_load 4 other_queues
  remove_null requeued
}

check_the_number_of_queues_changes_under_load() {
  QUEUES=$CPUS
  requeues
}

change_all() {
  local count
  for count in 3 "$CPUS"; do
    echo 0 >"/sys/devices/system/cpu/cpu$((CPUS - 1))/online"
    echo "$count" >/sys/kernel/config/nullb/all/submit_queues
    expect_hardware_queues "$count"
    echo $((count * 8)) >"/sys/block/$DISK/queue/nr_requests"
    parameter queue N
    tunable noncritical_in_device_max $((count - 2))
    parameter queue Y
    use mq-deadline
    use fgio
    echo 1 >"/sys/devices/system/cpu/cpu$((CPUS - 1))/online"
  done
}

check_all_changes_at_once() {
  QUEUES=$CPUS
  make_queues all
  under_load 4 change_all
  remove_null all
}

inject() { # OPTION NTH: what scsi_debug does with each NTH command
  echo "$2" >/sys/bus/pseudo/drivers/scsi_debug/every_nth
  echo "$1" >/sys/bus/pseudo/drivers/scsi_debug/opts
}

# Linux 6.1 does not count them: then as if each were one.
timeouts() {
  local count=/sys/block/$DISK/device/iotmo_cnt
  if [[ -e $count ]]; then
    echo $(($(<"$count")))
  else
    echo "${EPOCHREALTIME/./}"
  fi
}

repeats() {
  local option before
  make_scsi dev_size_mb=32 delay=1 "submit_queues=$QUEUES" statistics=1
  use fgio
  expect_hardware_queues "$QUEUES"
  echo "${LAB_SLOWNESS:-1}" >"/sys/block/$DISK/device/timeout"
  for option in 4 0x8000 0x400; do
    before=$(timeouts)
    inject $option $((option == 4 ? 200 : 7))
    verify 1 "/dev/$DISK" --verify_backlog=64
    inject 0 0
    # The control: the drive did fail.
    [[ $option != 4 ]] || expect "commands that timed out" $(($(timeouts) - before)) -ge 1
    expect_nothing_left
  done
  use none
  rmmod scsi_debug
}

# Commands that time out (4), that the host (0x8000) or the target (0x400) sends back.
check_commands_that_time_out_or_are_sent_back() { each_count repeats; }

# The set of tags that its disks share is made once, with as many queues as the module is told.
load_null_blk() { # PARAMETER...
  rmmod null_blk 2>/dev/null || true
  modprobe null_blk nr_devices=0 "$@"
}

share_tags() {
  local one first second
  load_null_blk "submit_queues=$QUEUES" poll_queues=0
  make_queues first shared_tags=1
  one=$DISK
  make_queues second shared_tags=1
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
  load_null_blk
}

# Two disks that share the driver's tags.
check_disks_that_share_tags() { each_count share_tags; }

check_hardware_queues_that_share_tags() {
  make_null bitmap size=64 irqmode=2 completion_nsec=50000 "submit_queues=$CPUS" shared_tag_bitmap=1
  use fgio
  expect_hardware_queues 1
  verify 2
  expect_nothing_left
  remove_null bitmap
}

both_classes_wait() {
  [[ $(counter noncritical_waiting) -gt 0 && $(counter critical_waiting) -gt 0 ]]
}

# Reads of a disk that went are at its end, which is no error to fio; writes are.
take_disk_away() {
  local fio
  make_queues gone completion_nsec=20000000 hw_queue_depth=2
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based \
    "--runtime=$((60 * ${LAB_SLOWNESS:-1}))" --ioengine=libaio --exitall_on_error --rw=randwrite \
    --iodepth=16 --thread --name=critical --prioclass=1 "--numjobs=$((8 + CPUS))" \
    --name=noncritical "--numjobs=$((8 + CPUS))" --output="$WORK/gone.out" &
  fio=$!
  wait_for "writers of both classes that sleep for a slot" both_classes_wait
  echo 0 >/sys/kernel/config/nullb/gone/power
  wait_for "the disk's end" test ! -e "/sys/block/$DISK"
  wait_for "the end of fio" gone $fio
  wait $fio && fail "fio did not notice that its disk went"
  wait_for "the end of its counters" test ! -e "/sys/kernel/debug/fgio/$DISK"
  rmdir /sys/kernel/config/nullb/gone
}

# I/O that is queued, and tasks that sleep for a slot, end with an error.
check_a_disk_goes_under_load() { each_count take_disk_away; }

take_scsi_disk_away() {
  local fio
  make_scsi dev_size_mb=32 delay=0 ndelay=20000000 max_queue=2 "submit_queues=$QUEUES"
  use fgio
  expect_hardware_queues "$QUEUES"
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based \
    "--runtime=$((60 * ${LAB_SLOWNESS:-1}))" --ioengine=psync --exitall_on_error --rw=randwrite \
    --thread --name=critical --prioclass=1 "--numjobs=$((6 * CPUS))" \
    --name=noncritical "--numjobs=$((6 * CPUS))" --output="$WORK/gone.out" &
  fio=$!
  wait_for "writers of both classes that sleep for a slot" both_classes_wait
  echo 1 >"/sys/block/$DISK/device/delete"
  wait_for "the disk's end" test ! -e "/sys/block/$DISK"
  wait_for "the end of fio" gone $fio
  wait $fio && fail "fio did not notice that its disk went"
  wait_for "the end of its counters" test ! -e "/sys/kernel/debug/fgio/$DISK"
  rmmod scsi_debug
}

check_a_scsi_disk_goes_under_load() { each_count take_scsi_disk_away; }

unload_and_load() {
  unload_fgio
  load_fgio
  use fgio
}

unloads() {
  make_queues unloaded
  under_load 3 unload_and_load
  expect_hardware_queues "$QUEUES"
  remove_null unloaded
}

check_the_module_goes_and_comes_under_load() { each_count unloads; }
