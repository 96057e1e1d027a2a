# SPDX-License-Identifier: Apache-2.0 OR MIT
# Events that a program handles: scanners that die and hang while foreground tasks wait for them, as the
# module comes and goes and its switch changes.
# shellcheck shell=bash disable=SC2154

SCANNED=$WORK/mount

tidy() {
  touch "$WORK/stop"
  # Tasks that wait go on when the scanner is gone.
  [[ -z ${SCANNER:-} ]] || kill -KILL "$SCANNER" 2>/dev/null
  umount -l "$SCANNED" 2>/dev/null
}

begin_scanner() { # sets SCANNER
  rm -f "$WORK/scanner"
  event_handler scan "$SCANNED" >"$WORK/scanner" &
  wait_for "the scanner" test -s "$WORK/scanner"
  SCANNER=$(<"$WORK/scanner")
}

# A scanner of a file system on a slow disk.
begin_events() {
  local each
  make_null scanned size=192 irqmode=2 completion_nsec=200000
  load_fgio
  use fgio
  mke2fs -q -t ext4 -E nodiscard "/dev/$DISK"
  mkdir -p "$SCANNED"
  mount "/dev/$DISK" "$SCANNED"
  for each in scanned stuck; do
    dd if=/dev/urandom of="$SCANNED/$each" bs=16k count=1 conv=fsync status=none
  done
  begin_scanner
}

end_events() {
  ! [[ -e /proc/$SCANNER ]] || kill -KILL "$SCANNER"
  umount "$SCANNED"
  unload_fgio
  remove_null scanned
}

# A foreground task that opens what the scanner reads for long; sets OPENER.
get_stuck() {
  tagged foreground dd if="$SCANNED/stuck" of=/dev/null bs=4k count=1 status=none &
  OPENER=$!
  wait_for "a boost of the scanner" is_boosted
}

check_events_scanner_dies_while_opens_wait() {
  begin_events
  get_stuck
  kill -KILL "$SCANNER"
  wait $OPENER || fail "a file is not opened though no program scans it"
  wait_for "the end of waits and boosts" all_is_over
  begin_scanner
  tagged foreground dd if="$SCANNED/scanned" of=/dev/null bs=4k status=none
  wait_for "the end of waits and boosts" all_is_over
  end_events
}

check_events_opener_is_killed() {
  begin_events
  get_stuck
  kill -KILL $OPENER
  wait $OPENER && fail "an open without an end"
  wait_for "the end of waits and boosts" all_is_over
  end_events
}

# A scanner that does not answer gets what a guess gets after the window.
check_events_scanner_does_not_answer() {
  begin_events
  parameter helper_window_ms 60000
  get_stuck
  count_classes sleep 1
  expect "critical I/O of the scanner within the window" $CRITICAL -gt 8
  parameter helper_window_ms 100
  sleep 0.5
  count_classes sleep 1
  expect "I/O beyond it that is not critical" $NONCRITICAL -gt 8
  kill -KILL "$SCANNER"
  wait $OPENER || fail "a file is not opened though no program scans it"
  wait_for "the end of waits and boosts" all_is_over
  end_events
}

# Opens that wait outlive the module, and are not known to it when it comes back.
check_events_module_goes_while_opens_wait() {
  begin_events
  get_stuck
  comes_and_goes
  expect "boosts of a thread that is not known" "$(abuse state boosted)" -eq 0
  kill -KILL $OPENER "$SCANNER"
  wait $OPENER && fail "an open without an end"
  begin_scanner
  get_stuck
  parameter replies N
  wait_for "the end of boosts" all_is_over
  parameter replies Y
  kill -KILL "$SCANNER"
  wait $OPENER || fail "a file is not opened though no program scans it"
  wait_for "the end of waits and boosts" all_is_over
  end_events
}

check_events_under_load() {
  local meeting function
  begin_events
  begin_verified_files
  event_handler meet "$SCANNED" "$WORK/stop" >"$WORK/met" &
  meeting=$!
  more_rounds
  kill -KILL "$SCANNER"
  more_rounds 1
  begin_scanner
  comes_and_goes
  more_rounds
  for function in fanotify_read fanotify_release fanotify_handle_event userfaultfd_release \
    handle_userfault userfaultfd_event_wait_completion; do
    expect "hooks on $function" "$(abuse hook $function | cut -d ' ' -f 2)" -eq 1
  done
  goes_off_and_on replies
  end_verified_files
  wait $meeting || fail "a page or a file that is not what it was"
  expect "files opened and pages touched" "$(<"$WORK/met")" -gt 8
  wait_for "the end of waits and boosts" all_is_over
  end_events
}
