# SPDX-License-Identifier: Apache-2.0 OR MIT
# A device with 16 hardware queues, each with a processor of its own.
# shellcheck shell=bash disable=SC2154

expect_nothing_left() {
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "non-critical requests left" "$(counter noncritical_in_device)" -eq 0
}

# Through all that changes at once: switches, depths, hardware queues, processors.
disturb() {
  local queues
  for queues in 3 16; do
    echo 0 >"/sys/devices/system/cpu/cpu$queues/online" 2>/dev/null || true
    echo $queues >/sys/kernel/config/nullb/wide/submit_queues
    [[ $(counter hardware_queues) -eq $queues ]] || fail "no $queues hardware queues"
    echo $((queues * 8)) >"/sys/block/$DISK/queue/nr_requests"
    parameter queue N
    tunable noncritical_in_device_max $((queues - 3))
    parameter queue Y
    echo 1 >"/sys/devices/system/cpu/cpu$queues/online" 2>/dev/null || true
  done
}

check_sixteen_queues_keep_what_is_written() {
  local fio times=0
  make_null wide size=64 irqmode=2 completion_nsec=50000 submit_queues=16 poll_queues=0
  use fgio
  expect "hardware queues" "$(counter hardware_queues)" -eq 16
  verify 2 "/dev/$DISK" --time_based --runtime=10 &
  fio=$!
  while kill -0 $fio 2>/dev/null; do
    disturb
    times=$((times + 1))
  done
  wait $fio || fail "fio failed"
  expect "times" $times -ge 2
  expect_nothing_left
  remove_null wide
}

# Commands that time out (4), that the host (0x8000) or the target (0x400) sends back.
check_sixteen_queues_repeat_commands() {
  local option
  make_scsi dev_size_mb=32 delay=1 submit_queues=16 statistics=1
  use fgio
  expect "hardware queues" "$(counter hardware_queues)" -eq 16
  echo "${LAB_SLOWNESS:-1}" >"/sys/block/$DISK/device/timeout"
  for option in 4 0x8000 0x400; do
    echo $((option == 4 ? 200 : 7)) >/sys/bus/pseudo/drivers/scsi_debug/every_nth
    echo $option >/sys/bus/pseudo/drivers/scsi_debug/opts
    verify 1 "/dev/$DISK" --verify_backlog=64
    echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts
    expect_nothing_left
  done
  use none
  rmmod scsi_debug
}

check_sixteen_queues_go_with_their_disk() {
  local fio
  make_null gone size=64 irqmode=2 completion_nsec=20000000 hw_queue_depth=2 submit_queues=16
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  fio --filename="/dev/$DISK" --direct=1 --bs=4k --time_based --runtime=60 --ioengine=libaio \
    --exitall_on_error --name=reader --rw=randread --iodepth=2 --prioclass=1 \
    --name=writer --rw=randwrite --iodepth=16 --numjobs=16 --thread --output="$WORK/gone.out" &
  fio=$!
  sleep 2
  echo 0 >/sys/kernel/config/nullb/gone/power
  wait $fio && fail "fio did not notice that its disk went"
  rmdir /sys/kernel/config/nullb/gone
}
