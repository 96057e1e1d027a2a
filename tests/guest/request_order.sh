# SPDX-License-Identifier: Apache-2.0 OR MIT
# In which order critical I/O completes, by the ids of users' requests. In virtual time: the submitter is
# faster than the drive, however busy the host is.
# shellcheck shell=bash disable=SC2154

tidy() {
  [[ ! -d /sys/module/fgio ]] || parameter request_order 0
}

# Sets PERCENT of pairs of which the I/O of the earlier request completed first.
earlier_first() {
  local first of
  by_id order "/dev/$DISK" >"$WORK/pairs" || fail "by_id: $(<"$WORK/pairs")"
  read -r first of <"$WORK/pairs"
  PERCENT=$((100 * first / of))
  echo "request_order $(cat /sys/module/fgio/parameters/request_order): $first of $of"
}

# one kernel: core/ has the order; by_id.sh loads it on each
# A drive that serves two I/Os at a time. The later requests are queued first.
check_earlier_requests_complete_first() {
  local policy
  make_null ids size=64 irqmode=2 completion_nsec=40000000 hw_queue_depth=2 \
    submit_queues=1 poll_queues=0
  use fgio
  echo 64 >"/sys/block/$DISK/queue/nr_requests"
  for policy in 1 2 3 4 5; do
    parameter request_order $policy
    expect "policy" "$(counter request_order)" -eq $policy
    earlier_first
    expect "percent in order" "$PERCENT" -ge 80
  done
  expect "critical requests with an id" "$(counter critical_with_id)" -ge 160
  # The control.
  parameter request_order 0
  earlier_first
  expect "percent in order, switched off" "$PERCENT" -le 20
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "requests left in order" "$(counter critical_ranked)" -eq 0
  remove_null ids
}

# Sets WAITED to the ms for which a request waits for an I/O that is not its own.
wait_in_order() { # HOW with|without POLICY
  parameter request_order "$3"
  WAITED=$(inherit_id "$1" "$2" "/dev/$DISK" "$WORK/mount/synced") || fail "inherit_id: $WAITED"
  echo "$1, $2 an id, request_order $3: $WAITED ms"
}

# The request is the earliest, and I/O of 16 others is queued all the time: 40 ms each, two at a time.
# So its I/O takes 80 ms at most, and a commit two in a row; the mutex is kept 50 ms longer. In order of
# arrival, an I/O takes 320 ms. The latest in the order is due after 500 ms.
check_io_that_a_request_waits_for_has_its_id() {
  local how most
  make_null heirs size=64 irqmode=2 completion_nsec=40000000 hw_queue_depth=2 \
    submit_queues=1 poll_queues=0
  mke2fs -q -t ext4 -E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "/dev/$DISK" 24m
  mkdir "$WORK/mount"
  use fgio
  # What waits for a slot is in no order.
  echo 64 >"/sys/block/$DISK/queue/nr_requests"
  mount "/dev/$DISK" "$WORK/mount"
  # Promotion alone makes the queued read go before others.
  tunable noncritical_release_interval_ms 10000
  for how in lock queued worker journal; do
    most=200
    [[ $how != journal ]] || most=300
    wait_in_order $how with 1
    expect "ms for $how, with an id" "$WAITED" -le $most
    # The controls.
    wait_in_order $how without 1
    expect "ms for $how, without an id" "$WAITED" -gt 400
    wait_in_order $how with 0
    expect "ms for $how, switched off" "$WAITED" -gt $most
  done
  umount "$WORK/mount"
  # Each of the four, with an order and an id.
  expect "I/Os after the deadline" "$(counter critical_late)" -ge 4
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "requests left in order" "$(counter critical_ranked)" -eq 0
  expect "users' requests left" "$(counter requests_outstanding)" -eq 0
  remove_null heirs
}
