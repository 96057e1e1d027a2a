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
