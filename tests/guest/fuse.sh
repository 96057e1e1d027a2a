# SPDX-License-Identifier: Apache-2.0 OR MIT
# FUSE: daemons that die, hang and lie while foreground tasks wait for them, as the module comes and
# goes and its switch changes.
# shellcheck shell=bash disable=SC2154

BELOW=$WORK/below
TOP=$WORK/mount
CONNECTIONS=/sys/fs/fuse/connections

tidy() {
  touch "$WORK/stop"
  # Tasks in requests end with the connections.
  abort_all
  umount -l "$TOP" "$BELOW" 2>/dev/null
}

abort_all() {
  local each
  for each in $CONNECTIONS/*/abort; do
    [[ ! -e $each ]] || echo 1 >"$each"
  done
}

# A folder on a slow disk, and a file system that passes it on; sets SERVER to the daemon.
begin_fuse() { # THREADS [hands-over]
  local each
  [[ -e /dev/fuse ]] || extra_module fuse
  mountpoint -q $CONNECTIONS || mount -t fusectl none $CONNECTIONS
  make_null below size=192 irqmode=2 completion_nsec=200000
  load_fgio
  use fgio
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$BELOW" "$TOP"
  mount "/dev/$DISK" "$BELOW"
  for each in urgent others direct-stuck direct-greedy; do
    dd if=/dev/zero of="$BELOW/$each" bs=96k count=1 conv=fsync status=none
  done
  mount_fuse "$@"
}

mount_fuse() { # THREADS [hands-over]
  fuse_daemon "$BELOW" "$TOP" "$@" >"$WORK/server" &
  wait_for "the file system" mountpoint -q "$TOP"
  wait_for "the daemon" test -s "$WORK/server"
  SERVER=$(<"$WORK/server")
}

end_fuse() {
  ! mountpoint -q "$TOP" || umount "$TOP"
  umount "$BELOW"
  unload_fgio
  remove_null below
}

# A foreground task that reads what is never answered; sets READER.
get_stuck() { # [FILE]
  tagged foreground dd if="$TOP/${1:-direct-stuck}" of=/dev/null bs=4k count=1 status=none 2>/dev/null &
  READER=$!
  wait_for "the reader to wait" is_stuck
}

is_stuck() { [[ $(abuse state foreground_waiting) -gt 0 ]]; }

check_fuse_daemon_dies_while_requests_wait() {
  begin_fuse 2
  get_stuck
  wait_for "a boost of its thread" is_boosted
  kill -KILL "$SERVER"
  wait $READER && fail "a read of a daemon that is dead"
  wait_for "the end of waits and boosts" all_is_over
  umount "$TOP"
  end_fuse
}

check_fuse_connection_is_aborted_while_requests_wait() {
  begin_fuse 2
  get_stuck
  wait_for "a boost of its thread" is_boosted
  abort_all
  wait $READER && fail "a read of an aborted connection"
  wait_for "the end of waits and boosts" all_is_over
  umount "$TOP"
  mount_fuse 2
  get_stuck
  umount -f "$TOP" 2>/dev/null || umount -l "$TOP"
  wait $READER && fail "a read of a file system that is gone"
  wait_for "the end of waits and boosts" all_is_over
  end_fuse
}

check_fuse_reader_is_killed_in_its_request() {
  begin_fuse 1 hands-over
  get_stuck
  kill -KILL $READER
  wait $READER && fail "a read without an end"
  wait_for "the end of waits and boosts" all_is_over
  cat "$TOP/urgent" >/dev/null
  end_fuse
}

# Requests that are waited for outlive the module, and are not known to it when it comes back.
check_fuse_module_goes_while_requests_wait() {
  begin_fuse 2
  get_stuck
  wait_for "a boost of its thread" is_boosted
  comes_and_goes
  expect "boosts of a thread that is not known" "$(abuse state boosted)" -eq 0
  tagged foreground dd if="$TOP/urgent" of=/dev/null bs=4k status=none
  kill -KILL $READER
  wait $READER && fail "a read without an end"
  wait_for "the end of waits and boosts" all_is_over
  get_stuck
  wait_for "a boost of its thread" is_boosted
  parameter replies N
  wait_for "the end of boosts" all_is_over
  parameter replies Y
  tagged foreground dd if="$TOP/others" of=/dev/null bs=4k status=none
  kill -KILL $READER
  wait $READER && fail "a read without an end"
  wait_for "the end of waits and boosts" all_is_over
  end_fuse
}

# What a daemon gains whose thread writes for itself, and does not answer: after the window, what a guess
# does.
check_fuse_daemon_does_not_answer() {
  begin_fuse 1
  parameter helper_window_ms 60000
  get_stuck direct-greedy
  wait_for "a boost of its thread" is_boosted
  count_classes sleep 1
  expect "critical I/O of its thread within the window" $CRITICAL -gt 8
  parameter helper_window_ms 100
  sleep 0.5
  count_classes sleep 1
  expect "I/O beyond it that is not critical" $NONCRITICAL -gt 8
  kill -KILL "$SERVER"
  wait $READER && fail "a read without an end"
  wait_for "the end of waits and boosts" all_is_over
  umount "$TOP"
  end_fuse
}

check_fuse_under_load() {
  begin_fuse 4
  begin_verified_files
  more_rounds
  comes_and_goes
  more_rounds
  expect_hooks fuse request_wait_answer fuse_copy_args fuse_request_end fuse_get_req \
    fuse_set_nowrite fuse_direct_IO
  goes_off_and_on replies
  end_verified_files
  wait_for "the end of waits and boosts" all_is_over
  end_fuse
}
