# SPDX-License-Identifier: Apache-2.0 OR MIT
# PostgreSQL, see databases.sh. The storm: a base backup with its checkpoint, as in first-light.
# shellcheck shell=bash
export PATH=$PATH:/usr/lib/postgresql/15/bin PGHOST=/tmp PGUSER=postgres PGDATABASE=bench

as_postgres() { cd /; setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

load_extension() {
  install -t "$(pg_config --pkglibdir)" "$PAYLOAD/inside/fgio.so"
  echo "shared_preload_libraries = 'fgio'" >>"$DATA/pg/postgresql.conf"
}

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  [[ $LABELS != inside ]] || load_extension
  install -d -o postgres -g postgres "$RESULTS/server"
  # Without the log collector the server writes its log where it was started.
  as_postgres pg_ctl -w -t 120 -D "$DATA/pg" -l "$RESULTS/server/log" -o "$SERVER_OPTIONS" start \
    >/dev/null ||
    { cat "$RESULTS/server/log"; stop "PostgreSQL does not start"; }
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

storm() {
  # shellcheck disable=SC2086
  pg_basebackup --pgdata="$DATA/backup" $BACKUP_OPTIONS &
  sleep 1
  list_threads backup
  wait $!
}

measure() { measure_with_storm storm; }

finish() {
  wait $pgbench || { cat pgbench.txt; stop "pgbench failed"; }
}
