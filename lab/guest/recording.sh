# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts of a guest that record which process reads from a drive when.
# shellcheck shell=bash
TRACING=/sys/kernel/tracing
# Some 100 bytes for each of its events.
TRACE_KIB=65536

begin_recording() {
  local event
  [[ -d $TRACING/events ]] || mount -t tracefs none $TRACING || stop "no tracefs"
  echo $TRACE_KIB >$TRACING/buffer_size_kb
  # The wall clock, as the servers' logs.
  echo tai >$TRACING/trace_clock || stop "no trace clock tai"
  for event in block_bio_queue block_rq_complete; do
    echo 'rwbs ~ "R*"' >$TRACING/events/block/$event/filter || stop "$event takes no filter"
    echo 1 >$TRACING/events/block/$event/enable || stop "no event $event"
  done
}

end_recording() { # DISK...: leaves the events in $RESULTS/reads, the disks' numbers in $RESULTS/drives
  local disk
  echo 0 >$TRACING/tracing_on
  grep -q '^overrun: 0$' $TRACING/per_cpu/cpu0/stats || stop "the recording is not whole"
  grep -v '^#' $TRACING/trace >"$RESULTS/reads"
  for disk in "$@"; do cat "/sys/block/$disk/dev"; done >"$RESULTS/drives"
}
