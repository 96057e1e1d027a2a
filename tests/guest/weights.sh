# SPDX-License-Identifier: Apache-2.0 OR MIT
# Fair shares: cgroups by io.weight, in virtual time.
# shellcheck shell=bash disable=SC2154

# shellcheck source=tests/guest/groups.sh
. "$PAYLOAD/tests/groups.sh"

check_weights_divide_a_drive() {
  make_simdisk model=volume size_mib=256
  share
  make_group heavy 300
  make_group light 100
  readers 40 heavy light
  wait_for "shares" shared
  sleep 1
  measure_ratio 4 heavy light
  expect "what 300 gets for 100 of 100" "$RATIO" -ge 285
  expect "what 300 gets for 100 of 100" "$RATIO" -le 315
  # A new weight.
  echo "default 100" >$GROUPS_ROOT/heavy/io.weight
  echo "default 200" >$GROUPS_ROOT/light/io.weight
  sleep 0.3
  measure_ratio 4 light heavy
  expect "what 200 gets for 100 of 100" "$RATIO" -ge 190
  expect "what 200 gets for 100 of 100" "$RATIO" -le 210
  # The control.
  parameter shares 0
  wait_for "no shares" not_shared
  sleep 1
  measure_ratio 4 light heavy
  expect "the same without shares" "$RATIO" -le 120
  parameter shares 1
  wait_for_readers
  remove_groups
  wait_for "no shares, since no cgroup has a weight" not_shared
}

check_equal_weights_leave_a_drive_alone() {
  make_simdisk model=volume size_mib=256
  share
  make_group one 100
  make_group two 100
  readers 4 one two
  sleep 2
  expect "shares" "$(counter shared)" -eq 0
  wait_for_readers
  remove_groups
}
