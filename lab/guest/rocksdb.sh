# SPDX-License-Identifier: Apache-2.0 OR MIT
# RocksDB, see databases.sh. Background burst: compaction, which begins when the database is opened.
# shellcheck shell=bash

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
}

warm_up() { :; }

measure() {
  local compaction=()
  [[ $HAS_BACKGROUND == 1 ]] || compaction=(--disable_auto_compactions)
  moment measure_begin
  # shellcheck disable=SC2086
  db_bench --benchmarks=$BENCHMARK $SHAPE --use_existing_db --seed="$SEED" --duration="$DURATION_S" \
    --ops_between_duration_checks=1 --sync --histogram --statistics $THROTTLE "${compaction[@]}" \
    >"$RESULTS/db_bench.txt" 2>"$RESULTS/db_bench.errors" &
  sleep 2
  list_threads compaction
  wait $! || { cat "$RESULTS/db_bench.errors"; stop "db_bench failed"; }
  moment measure_end
}

finish() {
  cp "$DATA/db/LOG" "$RESULTS/rocksdb.log"
  [[ -z $THROTTLE ]] || grep -q 'Options.rate_limiter: 0x' "$RESULTS/rocksdb.log" ||
    stop "the limit did not take"
}
