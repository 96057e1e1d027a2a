# SPDX-License-Identifier: Apache-2.0 OR MIT
# Fair shares: cgroups by io.weight, in virtual time.
# shellcheck shell=bash disable=SC2154

# shellcheck source=tests/guest/groups.sh
. "$PAYLOAD/tests/groups.sh"

# one kernel: core/ divides, by requests and weights that are the same on each
check_weights_divide_a_drive() {
  local each
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
  for each in "${READERS[@]}"; do
    end_fio "$each" "$(pgrep -P "$each")"
  done
  remove_groups
  wait_for "no shares, since no cgroup has a weight" not_shared
}

# one kernel: core/ divides, and here nothing
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

# one kernel: core/ divides the slots
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
  expect "p99 beside four floods in us" "$divided" -le 12000
  expect "the same with slots that are not divided" "$P99_US" -ge $((4 * divided))
  remove_groups
}

make_files() { # MOUNT OPTIONS [MIB]: a file system on DISK, with a journal of that size
  local journal=${2:-4}
  mke2fs -q -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 -J "size=$journal" \
    "/dev/$DISK" $((96 + 2 * journal))m
  mkdir -p "$WORK/mount"
  mount -o "$1" "/dev/$DISK" "$WORK/mount"
}

write_and_sync() { # SECONDS: tasks of no cgroup write, and one of syncs waits for the journal
  local end=$((SECONDS + $1))
  while [[ $SECONDS -lt $end ]]; do
    dd if=/dev/zero of="$WORK/mount/file" bs=512k count=1 conv=notrunc status=none
    in_cgroup syncs tagged foreground dd if=/dev/zero of="$WORK/mount/small" bs=1 count=1 \
      conv=fsync status=none
  done
}

# A foreground task of one cgroup syncs a file, with which a journal's thread is busy. Both cgroups
# read, beyond the file system. Sets RATIO to what that cgroup reads for 100 of the other's.
measure_syncs() {
  local each
  write_and_sync 5 &
  READERS=($!)
  for each in syncs other; do
    in_cgroup "$each" fio --name="$each" --filename="/dev/$DISK" --offset=640m --direct=1 --bs=4k \
      --rw=randread --ioengine=libaio --iodepth=16 --time_based --runtime=5 \
      --output="$WORK/$each.out" &
    READERS+=($!)
  done
  wait_for "shares" shared
  sleep 1
  measure_ratio 3 syncs other
  wait_for_readers
}

# With data=journal, all data is written by the journal's thread, whose cgroup is the root's. The
# journal has room for all of it: a task that finds it full writes what is in it to its place.
check_journal_commits_are_charged_to_the_tasks_that_wait() {
  local charged count
  make_simdisk model=volume size_mib=1024
  share
  make_files data=journal 256
  make_group syncs 200
  make_group other 200
  measure_syncs
  charged=$RATIO
  count=$(counter recharged)
  expect "requests charged to those that wait" "$count" -ge 100
  # The control: they are charged to the root's cgroup.
  withhold waiters=1
  count=$(counter recharged)
  measure_syncs
  expect "the same in the control" "$(counter recharged)" -eq "$count"
  echo "reads for 100 of the other's: $charged, in the control $RATIO"
  umount "$WORK/mount"
  expect "what it reads less, for what is written for it" "$charged" -le $((RATIO * 3 / 4))
  expect "in the control, both read alike" "$RATIO" -ge 80
  remove_groups
}

written() { # NAME: sets BYTES to what was written for the cgroup
  BYTES=$(sed -n "s/^$(<"/sys/block/$DISK/dev") .*wbytes=\([0-9]*\).*/\1/p" "$GROUPS_ROOT/$1/io.stat")
  BYTES=${BYTES:-0}
}

# The kernel itself charges writeback to the cgroup that wrote to the file, and fgio has the group
# from the same place. The control: the one that syncs.
check_writeback_is_charged_to_the_cgroup_of_the_pages() {
  make_simdisk model=volume size_mib=256
  share
  make_files noatime
  make_group writes 200
  make_group other 200
  in_cgroup writes dd if=/dev/zero of="$WORK/mount/file" bs=1M count=24 status=none
  in_cgroup other sync "$WORK/mount/file"
  written writes
  expect "written for the cgroup that wrote" "$BYTES" -ge $((24 << 20))
  written other
  expect "written for the one that synced" "$BYTES" -lt $((1 << 20))
  umount "$WORK/mount"
  remove_groups
}

make_many_files() { # CGROUP: and commits them
  # shellcheck disable=SC2016
  in_cgroup "$1" bash -c 'for each in {1..100}; do echo >"$1/$2$each"; done; sync -f "$1"' - \
    "$WORK/mount" "$1"
}

# The journal and what else all tasks of a file system wait for. The control: without shares,
# nothing has to.
check_metadata_passes_where_a_disk_is_shared() {
  local count
  make_simdisk model=volume size_mib=256
  share
  make_files noatime
  make_group heavy 300
  make_group light 100
  readers 4 heavy light
  wait_for "shares" shared
  make_many_files light
  count=$(counter passed)
  expect "requests of metadata that passed" "$count" -ge 2
  parameter shares 0
  wait_for "no shares" not_shared
  make_many_files heavy
  expect "the same without shares" "$(counter passed)" -eq "$count"
  parameter shares 1
  wait_for_readers
  umount "$WORK/mount"
  remove_groups
}

# So it is with pages that are swapped out, whichever task reclaims the memory: the control.
check_swap_is_charged_to_the_cgroup_of_the_pages() {
  local owner
  make_simdisk model=volume size_mib=256
  share
  mkswap "/dev/$DISK" >/dev/null
  swapon "/dev/$DISK"
  make_group owner 200
  make_group other 200
  echo +memory >/sys/fs/cgroup/cgroup.subtree_control
  echo +memory >$GROUPS_ROOT/cgroup.subtree_control
  # shellcheck disable=SC2016
  in_cgroup owner bash -c 'x=$(head -c 24M /dev/zero | tr "\0" x); sleep 1000; echo "${#x}"' >/dev/null &
  owner=$!
  sleep 3
  # shellcheck disable=SC2016
  in_cgroup other bash -c 'echo 16M >"$1/memory.reclaim" || true' - $GROUPS_ROOT/owner
  written owner
  expect "swapped out for the owner of the pages" "$BYTES" -ge $((8 << 20))
  written other
  expect "swapped out for the one that reclaims" "$BYTES" -eq 0
  echo 1 >$GROUPS_ROOT/owner/cgroup.kill
  wait $owner || true
  swapoff "/dev/$DISK"
  remove_groups
}

foreground_readers() { # NAME COUNT: in a cgroup, one read at a time each; sets READERS
  local number
  for ((number = 0; number < $2; number++)); do
    in_cgroup "$1" tagged foreground dd if="/dev/$DISK" of=/dev/null bs=4k iflag=direct \
      skip=$((4096 + number * 256)) count=100000 status=none &
    READERS+=($!)
  done
}

# Sets SAID to the reasons of 8 reads of a foreground thread in light, beside 8 others there.
ask_reasons() { # COUNT: further ones in heavy
  READERS=()
  foreground_readers light 8
  foreground_readers heavy "$1"
  wait_for "shares" shared
  sleep 1
  SAID=$(in_cgroup light reasons read "/dev/$DISK") || fail "reasons: $SAID"
  echo "beside $1 readers in heavy: $SAID"
  echo 1 >$GROUPS_ROOT/light/cgroup.kill
  echo 1 >$GROUPS_ROOT/heavy/cgroup.kill
  wait "${READERS[@]}" || true
  wait_for "the end of all requests" nothing_left
}

said() { # REASON: number of waits that are said to have it
  awk -v reason="$1" '$1 == reason { count = $2 } END { print count + 0 }' <<<"$SAID"
}

# one kernel: whose turn it is, is the policy's
# Both wait, for some 500 ms and 45 ms: once for the turn of another tenant, once for the drive.
check_blame_tells_the_turn_of_others_from_the_drive() {
  make_simdisk model=volume:iops=200 size_mib=256
  share
  # With fewer slots, reads would wait for one of their cgroup's.
  echo 512 >"/sys/block/$DISK/queue/nr_requests"
  make_group heavy 100
  make_group light 10
  ask_reasons 24
  # While a larger limit is tried, for a second, some wait in the drive.
  expect "waits for the turn of others" "$(said share)" -ge 3
  # The control.
  ask_reasons 0
  expect "the same without others" "$(said share)" -eq 0
  expect "waits for the drive" "$(said none)" -ge 6
  remove_groups
}
