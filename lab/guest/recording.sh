# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts of a guest that record which process has I/O on a drive when.
# shellcheck shell=bash
TRACING=/sys/kernel/tracing
# Some 60 bytes for each of its events.
TRACE_KIB=65536

begin_recording() {
  local event
  [[ -d $TRACING/events ]] || mount -t tracefs none $TRACING || stop "no tracefs"
  echo $TRACE_KIB >$TRACING/buffer_size_kb
  # The wall clock, as the servers' logs.
  echo tai >$TRACING/trace_clock || stop "no trace clock tai"
  for event in block_bio_queue block_rq_complete; do
    echo 1 >$TRACING/events/block/$event/enable || stop "no event $event"
  done
}

end_recording() { # DISK...: the events are in $RESULTS/io, disks and their largest I/O in KiB in $RESULTS/drives
  local disk
  echo 0 >$TRACING/tracing_on
  if grep -hq '^overrun: [1-9]' $TRACING/per_cpu/cpu*/stats; then
    echo "the recording is not whole: there is none"
    return
  fi
  grep -v '^#' $TRACING/trace >"$RESULTS/io"
  for disk in "$@"; do
    echo "$(<"/sys/block/$disk/dev") $(<"/sys/block/$disk/queue/max_sectors_kb")"
  done >"$RESULTS/drives"
}
