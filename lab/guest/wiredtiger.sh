# SPDX-License-Identifier: Apache-2.0 OR MIT
# WiredTiger, see databases.sh. Background burst: eviction and checkpoints, which its own threads begin.
# shellcheck shell=bash
export LD_LIBRARY_PATH=$PAYLOAD/wiredtiger

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  # Those of the time when it was filled.
  rm -f "$DATA"/db/WiredTigerStat.*
}

warm_up() { :; }

measure() {
  local options=$PAYLOAD/run
  [[ $HAS_BACKGROUND == 1 ]] || options=$PAYLOAD/run-floor
  moment measure_begin
  "$PAYLOAD/wiredtiger/wtperf" -h "$DATA/db" -m "$RESULTS" -O "$options" \
    ${CONNECTION:+-C "$CONNECTION"} -o "run_time=$DURATION_S" >"$RESULTS/wtperf.txt" 2>&1 &
  sleep $((DURATION_S - 2))
  list_threads checkpoints
  wait $! || { cat "$RESULTS/wtperf.txt"; stop "wtperf failed"; }
  moment measure_end
}

finish() { cat "$DATA"/db/WiredTigerStat.* >"$RESULTS/statistics"; }
