# SPDX-License-Identifier: Apache-2.0 OR MIT
# PostgreSQL under TPC-C, see databases.sh. The storm: checkpoints, which begin by themselves.
# shellcheck shell=bash
export PATH=$PATH:/usr/lib/postgresql/15/bin PGHOST=/tmp PGUSER=postgres PGDATABASE=bench

as_postgres() { cd /; setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

start_database() {
  local options=$SERVER_OPTIONS
  [[ $HAS_BACKGROUND == 1 ]] || options="-c checkpoint_timeout=1d"
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  install -d -o postgres -g postgres "$RESULTS/server"
  as_postgres pg_ctl -w -t 120 -D "$DATA/pg" -l "$RESULTS/server/log" -o "$options" start >/dev/null ||
    { cat "$RESULTS/server/log"; stop "PostgreSQL does not start"; }
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

measure() {
  local before
  before=$(log_written)
  moment measure_begin
  sleep $((DURATION_S / 2))
  list_threads checkpoints
  sleep $((DURATION_S - DURATION_S / 2))
  moment measure_end
  echo "$before $(log_written)" >"$RESULTS/wal"
}

finish() {
  wait "$pgbench" || { cat pgbench.txt; stop "pgbench failed"; }
  psql -XAtq -f "$PAYLOAD/tpcc/consistency.sql" >"$RESULTS/consistency" || stop "no consistency check"
}
