# SPDX-License-Identifier: Apache-2.0 OR MIT
# Special files and system calls: the pages of an overlayfs belong to the file below, and a driver may
# run the work of the end of a system call long before that.
# shellcheck shell=bash disable=SC2154

tidy() {
  touch "$WORK/stop"
  ! mountpoint -q "$WORK/over" || umount "$WORK/over"
}

slow_files() { # an ext4 on a slow disk
  make_null layers size=256 irqmode=2 completion_nsec=2000000
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount "/dev/$DISK" "$WORK/mount"
  load_fgio
  use fgio
}

files_gone() {
  umount "$WORK/mount"
  unload_fgio
  remove_null layers
}

commit_always() { # FILE: a foreground task syncs it again and again
  while [[ ! -e $WORK/stop ]]; do
    tagged foreground dd if=/dev/zero of="$1" bs=4k count=1 conv=notrunc,fsync status=none
    echo synced >>"$WORK/commits"
    sleep 0.1
  done
}

some_commits() {
  [[ -e $WORK/commits && $(wc -l <"$WORK/commits") -ge 3 ]]
}

sync_writes() { # FILE
  dd if=/dev/zero of="$1" bs=16k count=32 conv=notrunc oflag=dsync status=none
}

check_commits_to_a_file_of_an_overlay() {
  local over=$WORK/over
  extra_module overlay
  slow_files
  mkdir -p "$WORK/mount"/{lower,upper,work} "$over"
  mount -t overlay -o "lowerdir=$WORK/mount/lower,upperdir=$WORK/mount/upper,workdir=$WORK/mount/work" \
    none "$over"
  dd if=/dev/zero of="$over/log" bs=64k count=16 conv=fsync status=none
  # On a busy host the second of the default may pass between two commits.
  parameter helper_window_ms 60000
  commit_always "$over/log" &
  wait_for "some commits" some_commits
  count_classes sync_writes "$over/log"
  expect "writes to the log that are not critical" $NONCRITICAL -lt 16
  parameter commits N
  sleep 1
  count_classes sync_writes "$over/log"
  expect "without commits, the control" $NONCRITICAL -ge 24
  touch "$WORK/stop"
  wait $!
  umount "$over"
  files_gone
}

sync_as_foreground() { # FILE
  tagged foreground dd if=/dev/zero of="$1" bs=4k count=1 conv=notrunc,fsync status=none
}

# The new file has the deleted one's memory and its inode number.
check_a_new_file_is_not_taken_for_a_deleted_one() {
  local critical=0
  slow_files
  parameter helper_window_ms 60000
  tagged foreground sleep 600 &
  for _ in {1..8}; do
    sync_as_foreground "$WORK/mount/old"
    rm "$WORK/mount/old"
    sleep 0.2
    count_classes sync_writes "$WORK/mount/new"
    critical=$((critical + CRITICAL))
    rm "$WORK/mount/new"
  done
  expect "critical writes to eight new files" $critical -lt 8
  sync_as_foreground "$WORK/mount/new"
  count_classes sync_writes "$WORK/mount/new"
  expect "critical writes to the file itself, the control" $CRITICAL -ge 24
  kill $!
  files_gone
}

parked_us() { # HOW
  abuse dirty "$1" "$WORK/mount/$1" 48 | awk '$1 == "parked_us" { print $2 }'
}

check_no_writer_is_parked_in_a_driver() {
  slow_files
  insmod "$PAYLOAD/modules/fgio_test.ko"
  expect "a writer is parked at the end of write(2), the control" "$(parked_us write)" -gt 0
  sync
  expect "none inside of an ioctl(2)" "$(parked_us ioctl)" -eq 0
  rmmod fgio_test
  files_gone
}
