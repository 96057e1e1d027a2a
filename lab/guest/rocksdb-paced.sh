# SPDX-License-Identifier: Apache-2.0 OR MIT
# RocksDB with readers and a writer at a rate, see databases.sh. Background burst: compaction, which begins when
# the database is opened.
# shellcheck shell=bash

# The profile is for programs that are known to have RocksDB inside: the lab's is added by a drop-in.
install -d /etc/fgio/profiles/rocksdb.toml.d
printf '[program]\ncomm = "lsm-clients"\n' >/etc/fgio/profiles/rocksdb.toml.d/lab.toml

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
}

warm_up() { :; }

is_answered() { [[ -s $RESULTS/requests ]]; }

measure() {
  local engine=$ENGINE
  [[ $HAS_BACKGROUND == 1 ]] || engine+=";disable_auto_compactions=true"
  lsm-clients "$DATA/db" "$engine" "$READS" "$WRITES" "$READERS" "$KEYS" "$DURATION_S" "$SEED" \
    "$LIMIT_BYTES_S" "$LIMIT_TUNED" "$LIMIT_REFILL_US" \
    >"$RESULTS/requests" 2>"$RESULTS/statistics" &
  wait_until 20 is_answered
  moment measure_begin
  sleep 2
  list_threads compaction
  # Until the last request. The program ends later, when compaction let go.
  sleep $((DURATION_S - 2))
  moment measure_end
  wait $! || { tail -n 3 "$RESULTS/statistics"; stop "the clients failed"; }
}

finish() { cp "$DATA/db/LOG" "$RESULTS/rocksdb.log"; }
