# SPDX-License-Identifier: Apache-2.0 OR MIT
# Loop devices: detached while foreground tasks wait for them, as the module comes and goes and its
# switch changes.
# shellcheck shell=bash disable=SC2154

BELOW=$WORK/below
MOUNT=$WORK/mount

tidy() {
  touch "$WORK/stop"
  umount -l "$MOUNT" "$BELOW" 2>/dev/null
  [[ -z ${LOOP:-} ]] || losetup -d "$LOOP" 2>/dev/null || true
}

# A file system on a loop device on a file of a slow disk; sets LOOP.
begin_loop() { # on|off: direct I/O
  extra_module loop
  make_null below size=192 irqmode=2 completion_nsec=200000
  load_fgio
  use fgio
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$BELOW" "$MOUNT"
  mount "/dev/$DISK" "$BELOW"
  dd if=/dev/zero of="$BELOW/image" bs=1M count=96 conv=fsync status=none
  LOOP=$(losetup --direct-io="$1" --show -f "$BELOW/image")
  mke2fs -q -t ext4 -E nodiscard "$LOOP"
  mount "$LOOP" "$MOUNT"
}

end_loop() {
  umount "$MOUNT"
  e2fsck -fn "$LOOP" >"$WORK/e2fsck" 2>&1 || fail "$(cat "$WORK/e2fsck")"
  losetup -d "$LOOP"
  wait_for "the loop device's end" is_detached
  umount "$BELOW"
  use none
  remove_null below
}

is_detached() { [[ ! -e /sys/block/${LOOP#/dev/}/loop/backing_file ]]; }

loop_under_load() { # on|off: direct I/O
  begin_loop "$1"
  begin_verified_files
  more_rounds
  comes_and_goes
  more_rounds
  expect_hooks loop loop_process_work lo_rw_aio
  goes_off_and_on io
  # The kind of I/O changes under load, too.
  losetup --direct-io=off "$LOOP"
  more_rounds
  losetup --direct-io=on "$LOOP"
  more_rounds
  end_verified_files
  wait_for "the end of waits and boosts" all_is_over
  end_loop
}

check_loop_device_with_direct_io_under_load() { loop_under_load on; }

check_loop_device_with_cached_file_under_load() { loop_under_load off; }

# It is detached at once, or when the file system is gone; both while a task writes and waits.
check_loop_device_is_detached_while_tasks_wait() {
  local each writer
  begin_loop on
  begin_verified_files
  more_rounds
  losetup -d "$LOOP"
  more_rounds
  end_verified_files
  umount "$MOUNT"
  wait_for "the loop device's end" is_detached
  for each in 1 2 3 4; do
    losetup --direct-io=on "$LOOP" "$BELOW/image"
    tagged foreground dd if=/dev/zero of="$LOOP" bs=64k seek=1024 count=256 oflag=direct,dsync \
      conv=notrunc status=none &
    writer=$!
    sleep 0.$each
    losetup -d "$LOOP"
    wait $writer || fail "the foreground's writes"
    wait_for "the loop device's end" is_detached
  done
  wait_for "the end of waits and boosts" all_is_over
  rmmod loop
  insmod "$PAYLOAD/tests/extra/loop.ko"
  LOOP=$(losetup --direct-io=on --show -f "$BELOW/image")
  tagged foreground dd if=/dev/zero of="$LOOP" bs=64k seek=1024 count=64 oflag=direct conv=notrunc \
    status=none
  mount "$LOOP" "$MOUNT"
  end_loop
}
