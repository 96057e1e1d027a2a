# SPDX-License-Identifier: Apache-2.0 OR MIT
# PostgreSQL under TPC-C, see databases.sh. Background burst: a checkpoint every CHECKPOINT_S seconds.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  [[ $IN_MEMORY == 0 ]] || cat "$DATA"/pg/base/*/* >/dev/null
  [[ $HAS_BACKGROUND == 0 ]] || SERVER_OPTIONS+=" $TIMED_OPTIONS"
  start_server "$DATA/pg" "$SERVER_OPTIONS"
}

warm_up() {
  local files=() name weight pace=()
  while read -r name weight; do
    files+=("--file=$PAYLOAD/tpcc/$name.pgbench@$weight")
  done <"$PAYLOAD/tpcc/mix"
  [[ $RATE == 0 ]] || pace=("--rate=$RATE")
  cd "$RESULTS" || exit 1
  pgbench --no-vacuum --client="$CLIENTS" --jobs=1 --time=$((WARM_S + DURATION_S + 1)) \
    --protocol=prepared --random-seed="$SEED" "${pace[@]}" --define=warehouses="$WAREHOUSES" \
    "${files[@]}" --log --log-prefix=pgbench >pgbench.txt 2>&1 &
  pgbench=$!
  sleep "$WARM_S"
}

log_written() { # bytes of WAL so far
  psql -XAtqc "SELECT pg_current_wal_lsn() - '0/0'"
}

checkpoints() { # at BURST_AFTER_S, and every CHECKPOINT_S from then on
  local at
  sleep "$BURST_AFTER_S"
  for ((at = BURST_AFTER_S; at < DURATION_S; at += CHECKPOINT_S)); do
    psql -Xqc "$CHECKPOINT" >/dev/null &
    sleep "$CHECKPOINT_S"
  done
  wait
}

measure() {
  local before
  before=$(log_written)
  moment measure_begin
  [[ $HAS_BACKGROUND == 0 || -n $TIMED_OPTIONS ]] || checkpoints &
  sleep $((BURST_AFTER_S + 1))
  list_threads checkpoint
  sleep $((DURATION_S - BURST_AFTER_S - 1))
  moment measure_end
  echo "$before $(log_written)" >"$RESULTS/wal"
}

finish() {
  wait "$pgbench" || { cat pgbench.txt; stop "pgbench failed"; }
  [[ $CHECKED == 0 ]] ||
    psql -XAtq -f "$PAYLOAD/tpcc/consistency.sql" >"$RESULTS/consistency" || stop "no consistency check"
}
