# SPDX-License-Identifier: Apache-2.0 OR MIT
# Critical I/O in the order of users' requests, by their ids.
# shellcheck shell=bash disable=SC2154

tidy() {
  [[ ! -d /sys/module/fgio ]] || parameter request_order 0
}

expect_nothing_left() {
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "non-critical requests left" "$(counter noncritical_in_device)" -eq 0
  expect "requests left in order" "$(counter critical_ranked)" -eq 0
  expect "users' requests left" "$(counter requests_outstanding)" -eq 0
}

# Without ids all is in order of arrival; a drive with hardware queues keeps them until it comes again.
check_drives_with_hardware_queues_follow_when_they_come_again() {
  make_null many size=64 irqmode=2 completion_nsec=50000 submit_queues=2 poll_queues=0
  use fgio
  expect "hardware queues" "$(counter hardware_queues)" -eq 2
  parameter request_order 3
  expect "policy of hardware queues" "$(counter request_order)" -eq 0
  verify 1
  use none
  use fgio
  expect "hardware queues" "$(counter hardware_queues)" -eq 0
  expect "policy" "$(counter request_order)" -eq 3
  verify 1
  expect_nothing_left
  remove_null many
}

switch_order() {
  local policy
  for policy in 3 0 1 5 0 2 4; do
    parameter request_order $policy
    sleep 0.05
  done
}

# one kernel: the order is the policy's
# Ids of all kinds, among them lies, while the order is switched, and shares and classes beside it.
check_the_order_is_switched_under_load() {
  local model churn
  for model in null ssd; do
    if [[ $model == null ]]; then
      make_null switched size=64 irqmode=2 completion_nsec=500000 hw_queue_depth=4 \
        submit_queues=1 poll_queues=0
    else
      make_simdisk model=ssd size_mib=64
    fi
    use fgio
    echo 64 >"/sys/block/$DISK/queue/nr_requests"
    by_id churn "/dev/$DISK" 8 >"$WORK/churn.out" 2>&1 &
    churn=$!
    dd if=/dev/zero "of=/dev/$DISK" bs=64k seek=640 count=256 oflag=direct status=none &
    while kill -0 $churn 2>/dev/null; do
      switch_order
      parameter queue N
      sleep 0.02
      parameter queue Y
    done
    wait $churn || fail "by_id: $(<"$WORK/churn.out")"
    wait
    echo "$(<"$WORK/churn.out") I/Os, critical: $(counter critical_queued)"
    expect "critical requests with an id" "$(counter critical_with_id)" -ge 100
    expect "ids beyond the window" "$(counter critical_clamped)" -ge 1
    expect "numbers that are no ids" "$(counter critical_foreign)" -ge 1
    expect_nothing_left
    [[ $model != null ]] || remove_null switched
  done
}

# All slots are taken by I/Os of different requests, and more wait for one.
check_ten_thousand_requests_outstanding() {
  make_null crowded size=64 irqmode=2 completion_nsec=200000 hw_queue_depth=32 \
    submit_queues=1 poll_queues=0
  use fgio
  echo 2048 >"/sys/block/$DISK/queue/nr_requests"
  echo 100000 >/proc/sys/fs/aio-max-nr
  parameter request_order 3
  expect "I/Os that ended" "$(by_id many "/dev/$DISK")" -eq 10000
  expect "critical requests with an id" "$(counter critical_with_id)" -ge 10000
  expect "bound" "$(counter critical_bound)" -ge 1
  expect_nothing_left
  remove_null crowded
}
