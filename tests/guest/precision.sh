# SPDX-License-Identifier: Apache-2.0 OR MIT
# Boosts on a busy volume, in virtual time: only tasks that are in the way.
# shellcheck shell=bash disable=SC2154

mount_volume() { # under fgio, with ext4, in WORK/mount
  make_simdisk model=volume size_mib=512 seed=1
  use fgio
  mke2fs -q -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount -o noinit_itable "/dev/$DISK" "$WORK/mount"
}

# A boost in vain is rare, and counts for up to a whole interval of the walk: a few seconds of load
# have too few of them for a share. Most come in the first seconds, while files are allocated: they are
# 0.08 % of twelve seconds, and 0.05 % of thirty.
check_few_boosts_are_in_vain() {
  local boosted in_vain boosts left
  mount_volume
  (cd "$WORK/mount" && busy 12) >"$WORK/busy"
  cat "$WORK/busy"
  read -r _ boosted _ in_vain _ boosts _ left <"$WORK/busy"
  expect "boosts" "$boosts" -gt 100
  expect "boosted time that served no wait is less than 1 %" $((in_vain * 100)) -lt "$boosted"
  expect "tasks still boosted" "$left" -eq 0
  umount "$WORK/mount"
}

requests_of() { # COLUMN of /sys/block/DISK/stat: 1 reads, 5 writes
  awk -v column="$1" '{ print $column }' "/sys/block/$DISK/stat"
}

# Readers wait for their own I/O in a file that another task writes, and for a processor when it is
# done. The writer delays none of it.
check_readers_of_their_own_i_o_boost_no_writer() {
  local file=$WORK/mount/file options="--ioengine=psync --bs=8k --size=200m --time_based --runtime=3"
  local reads writes critical
  mount_volume
  dd if=/dev/zero of="$file" bs=1M count=200 conv=fsync status=none
  echo 3 >/proc/sys/vm/drop_caches
  reads=$(requests_of 1) writes=$(requests_of 5) critical=$(counter critical_queued)
  timeout 8 sh -c 'while :; do :; done' &
  # shellcheck disable=SC2086
  run_fio --filename="$file" $options \
    --name=reader --rw=randread --numjobs=6 --prioclass=2 --prio=0 \
    --name=writer --rw=randwrite --numjobs=1 --sync_file_range=write:32
  reads=$(($(requests_of 1) - reads)) writes=$(($(requests_of 5) - writes))
  critical=$(($(counter critical_queued) - critical))
  expect "reads" "$reads" -gt 1000
  expect "writes" "$writes" -gt 200
  # Some commits of the journal that a reader waits for. All writes would be 40 and more; how many
  # there are differs a lot.
  expect "critical requests that are no reads, to a thousand reads" \
    $(((critical - reads) * 1000 / reads)) -lt 10
  umount "$WORK/mount"
}

critical_percent() { # FILE: of the writes, while one task syncs a log and another one, without a tag, FILE
  local writes critical
  writes=$(requests_of 5) critical=$(counter critical_queued)
  run_fio --ioengine=psync --rw=write --bs=4k --size=8m --fdatasync=1 --thinktime=5ms \
    --time_based --runtime=2 --overwrite=1 \
    --name=commits --filename="$WORK/mount/log" --prioclass=2 --prio=0 \
    --name=writer --filename="$1" --offset=8m
  writes=$(($(requests_of 5) - writes)) critical=$(($(counter critical_queued) - critical))
  expect "writes" "$writes" -gt 200
  percent=$((critical * 100 / writes))
}

# A log is synced by a task that needs it on disk, and commits wait for that task.
check_only_tasks_that_sync_the_log_of_others_are_critical() {
  mount_volume
  dd if=/dev/zero of="$WORK/mount/log" bs=1M count=16 conv=fsync status=none
  dd if=/dev/zero of="$WORK/mount/other" bs=1M count=16 conv=fsync status=none
  critical_percent "$WORK/mount/other"
  expect "critical percent, each with a file of its own" "$percent" -lt 65
  critical_percent "$WORK/mount/log"
  expect "critical percent, both with one file" "$percent" -gt 95
  parameter commits N
  critical_percent "$WORK/mount/log"
  expect "critical percent, both with one file and commits off" "$percent" -lt 80
  umount "$WORK/mount"
}

boosts_of() { # OTHER is woken by a foreground thread that sleeps for a message then
  asked "$1" >"$WORK/asked"
  cat "$WORK/asked"
  read -r _ boosts <"$WORK/asked"
}

# A server that was asked may answer; a log, a file's watcher, and a thread that waited for a lock do not.
check_only_who_was_asked_is_guessed() {
  cd "$WORK" || return
  make_simdisk model=volume size_mib=64 seed=1
  use fgio
  export DISK=/dev/$DISK
  boosts_of server
  expect "boosts of one that was asked, in 100 rounds" "$boosts" -ge 80
  boosts_of logger
  expect "boosts of one that takes lines of a log" "$boosts" -lt 10
  boosts_of watcher
  expect "boosts of one that watches a file" "$boosts" -lt 10
  boosts_of lock
  expect "boosts of one that waited for a lock" "$boosts" -lt 10
  parameter replies N
  boosts_of server
  expect "boosts of one that was asked, with replies off" "$boosts" -lt 10
}
