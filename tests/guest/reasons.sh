# SPDX-License-Identifier: Apache-2.0 OR MIT
# Why the cause of a wait is not known, in virtual time: each reason is produced, and most waits have
# it. Waits of which the I/O is found have none.
# shellcheck shell=bash disable=SC2154

slow_disk() { # each I/O takes 40 ms
  make_null reasons irqmode=2 completion_nsec=40000000
  load_fgio
  use fgio
}

tidy() {
  no_unhook
  [[ ! -d /sys/module/fgio ]] || unload_fgio
  [[ ! -d /sys/kernel/config/nullb/reasons ]] || remove_null reasons
}

# Of 8 waits, 6: of the first ones some hooks are not attached yet.
expect_reason() { # REASON WAIT
  local said count
  said=$(reasons "$2" "/dev/$DISK") || fail "reasons $2: $said"
  echo "$2: $said"
  count=$(awk -v reason="$1" '$1 == reason { print $2 }' <<<"$said")
  expect "waits for $2 that are said to be $1" "${count:-0}" -ge 6
}

check_no_reason_where_i_o_was_found() {
  slow_disk
  expect_reason none io
  expect_reason none chain
  expect_reason none page
}

check_holders_that_run_or_sleep() {
  slow_disk
  expect_reason running running
  expect_reason asleep asleep
  expect_reason unseen unseen
}

check_wakers_that_are_not_known() {
  slow_disk
  expect_reason owner condition
}

check_i_o_of_a_disk_that_is_not_under_fgio() {
  slow_disk
  use none
  expect_reason io page
  expect_reason io io
}

# one kernel: a setting of fgio alone
check_a_switch_that_is_off() {
  slow_disk
  parameter io N
  expect_reason off page
  parameter io Y
  expect_reason none page
}

check_a_hook_that_is_missing() {
  make_null reasons irqmode=2 completion_nsec=40000000
  unhook refuse=folio_wait_bit_common
  load_fgio
  use fgio
  expect_reason hook page
}

# one kernel: a setting of fgio alone
check_chains_that_are_not_followed() {
  slow_disk
  parameter transitive N
  expect_reason depth chain
  parameter transitive Y
  expect_reason none chain
}

# one kernel: a bound of fgio alone
check_tables_that_are_full() {
  slow_disk
  parameter walk_links_max 1
  expect_reason full io
  parameter walk_links_max 4096
  expect_reason none io
}

# one kernel: a setting of fgio alone
check_waits_that_no_walk_saw() {
  slow_disk
  parameter walk_delay_us 1000000
  expect_reason short io
  parameter walk_delay_us 100
  expect_reason none io
}
