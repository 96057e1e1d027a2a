# SPDX-License-Identifier: Apache-2.0 OR MIT
# WiredTiger under YCSB's workload A, see databases.sh. Background burst: checkpoints and eviction, which its
# own threads begin.
# shellcheck shell=bash
export LD_LIBRARY_PATH=$PAYLOAD/wiredtiger

# The profile is for programs that are known to have WiredTiger inside: the lab's is added by a drop-in.
install -d /etc/fgio/profiles/wiredtiger.toml.d
printf '[program]\ncomm = "wt-clients"\n' >/etc/fgio/profiles/wiredtiger.toml.d/lab.toml

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  # As much of it as the page cache keeps.
  cat "$DATA/db/ycsb.wt" >/dev/null
}

is_answered() { [[ -s $RESULTS/requests ]]; }

warm_up() {
  local engine=$ENGINE${EVICTION:+,$EVICTION}
  [[ $HAS_BACKGROUND == 0 ]] || engine+=,$CHECKPOINTS
  [[ -z $CONNECTION ]] || engine+=,$CONNECTION
  wt-clients "$DATA/db" run "$engine" "$RATE" "$CLIENTS" "$UPDATE_SHARE" "$KEYS" \
    $((WARM_S + DURATION_S + 1)) "$SEED" >"$RESULTS/requests" 2>"$RESULTS/errors" &
  clients=$!
  wait_until 60 is_answered
  sleep "$WARM_S"
}

measure() {
  moment measure_begin
  sleep $((DURATION_S / 2))
  list_threads checkpoints
  sleep $((DURATION_S - DURATION_S / 2))
  moment measure_end
}

finish() {
  wait $clients || { cat "$RESULTS/errors"; stop "the clients failed"; }
  cat "$DATA"/db/WiredTigerStat.* >"$RESULTS/statistics"
}
