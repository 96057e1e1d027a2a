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

# A tenant with one read at a time, beside four of 128 threads each: sets P99_US to what its reads
# take, with the wait for a slot.
measure_beside_floods() {
  local each
  READERS=()
  for each in 1 2 3 4; do
    in_cgroup "flood$each" fio --name="flood$each" --filename="/dev/$DISK" --direct=1 --bs=4k \
      --rw=randread --ioengine=psync --thread --numjobs=128 --group_reporting --time_based \
      --runtime=8 --output="$WORK/flood$each.out" &
    READERS+=($!)
  done
  wait_for "shares" shared
  sleep 2
  in_cgroup latency fio --name=latency --filename="/dev/$DISK" --direct=1 --bs=4k --rw=randread \
    --ioengine=psync --time_based --runtime=4 --lat_percentiles=1 --clat_percentiles=0 \
    --output-format=json --output="$WORK/latency.json"
  P99_US=$(sed -n 's/.*"99.000000" : \([0-9]*\)[0-9]\{3\},*/\1/p' "$WORK/latency.json" | head -1)
  wait_for_readers
}

# The sum of the weights differs from the default of each, or the drive would not be shared.
make_floods() {
  local each
  for each in 1 2 3 4; do
    make_group "flood$each" 101
  done
  make_group latency 100
}

# Its share alone is a fifth of the time, in which a read takes 0.7 ms alone: 3.5 ms.
check_a_burst_leaves_slots_to_others() {
  local divided
  make_simdisk model=volume size_mib=256
  share
  make_floods
  measure_beside_floods
  divided=$P99_US
  # The control: the slots are not divided.
  parameter shares 0
  wait_for "no shares" not_shared
  withhold groups=1
  parameter shares 1
  measure_beside_floods
  echo "p99 of the reads: $divided us, $P99_US us with slots that are not divided"
  expect "p99 beside four floods in us" "$divided" -le 8000
  expect "the same with slots that are not divided" "$P99_US" -ge $((8 * divided))
  remove_groups
}
