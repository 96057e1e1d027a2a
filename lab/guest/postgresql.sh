# SPDX-License-Identifier: Apache-2.0 OR MIT
# PostgreSQL, see databases.sh. Background burst: a base backup with its checkpoint, as in first-light.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"

load_extension() {
  install -t "$(pg_config --pkglibdir)" "$PAYLOAD/inside/fgio.so"
  echo "shared_preload_libraries = 'fgio'" >>"$DATA/pg/postgresql.conf"
}

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  [[ $LABELS != inside ]] || load_extension
  start_server "$DATA/pg" "$SERVER_OPTIONS"
  psql -Xq -f "$PAYLOAD/dirty.sql" || stop "the batch that dirties buffers failed"
}

warm_up() {
  cd "$RESULTS" || exit 1
  pgbench --no-vacuum --client="$CLIENTS" --jobs=1 --time=$((WARM_S + DURATION_S + 1)) \
    --protocol=prepared --random-seed="$SEED" --rate="$RATE" --log --log-prefix=pgbench \
    >pgbench.txt 2>&1 &
  pgbench=$!
  sleep "$WARM_S"
}

burst() {
  # shellcheck disable=SC2086
  pg_basebackup --pgdata="$DATA/backup" $BACKUP_OPTIONS &
  sleep 1
  list_threads backup
  wait $!
}

measure() { measure_with_burst burst; }

finish() {
  wait $pgbench || { cat pgbench.txt; stop "pgbench failed"; }
}
