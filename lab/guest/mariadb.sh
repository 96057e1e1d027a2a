# SPDX-License-Identifier: Apache-2.0 OR MIT
# MariaDB, see databases.sh. Background burst: a backup of everything, after a flush where FORCED_FLUSH is set.
# shellcheck shell=bash
SOCKET=/tmp/mariadb

ask() { mariadb --no-defaults --user=root --socket=$SOCKET --batch --skip-column-names --execute="$1"; }

start_database() {
  local plugin=()
  [[ $LABELS != inside ]] ||
    plugin=(--plugin-dir="$PAYLOAD/inside" --plugin-maturity=experimental --plugin-load-add=fgio)
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
  # shellcheck disable=SC2086
  mariadbd --no-defaults --user="$SERVER_USER" --datadir=$DATA/mysql --socket=$SOCKET --skip-networking $LOG \
    --innodb-buffer-pool-size=320M --innodb-io-capacity=1000 --innodb-io-capacity-max=2000 \
    ${SERVER_OPTIONS:-} "${plugin[@]}" >"$RESULTS/mariadb.log" 2>&1 &
  server=$!
  wait_until 60 ask "SELECT 1" >/dev/null 2>&1
  [[ $(ask "SELECT @@innodb_use_native_aio, @@innodb_flush_method") == 1$'\t'O_DIRECT ]] ||
    stop "not with native I/O and O_DIRECT"
  find "/proc/$server/fd" -lname '*io_uring*' | grep -q . || stop "not with io_uring"
  [[ $LABELS != inside ]] || [[ $(ask "SHOW STATUS LIKE 'fgio_available'") == *ON ]] ||
    stop "the plugin does not reach the module"
}

clients() { # SECONDS
  # shellcheck disable=SC2086
  $BENCH --mysql-socket=$SOCKET --threads="$CLIENTS" --rate="$RATE" --time="$1" --rand-seed="$SEED" \
    --db-ps-mode=disable --histogram=on run
}

# The tables are read once, so that most of them are in the pool.
warm_up() {
  local each
  for each in $(ask "SELECT table_name FROM information_schema.tables WHERE table_schema = 'bench'"); do
    ask "SELECT SUM(k) FROM bench.$each IGNORE INDEX (k_${each#sbtest})" >/dev/null || stop "no table $each"
  done
  clients "$WARM_S" >/dev/null || stop "sysbench failed"
}

# Until no page is dirty that was when it began.
checkpoint() {
  local start begin
  start=$EPOCHREALTIME
  begin=$(ask "SHOW STATUS LIKE 'Innodb_lsn_current'" | cut -f2)
  ask "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, innodb_max_dirty_pages_pct = 0"
  until [[ $(ask "SHOW STATUS LIKE 'Innodb_lsn_last_checkpoint'" | cut -f2) -ge $begin ]]; do sleep 0.5; done
  ask "SET GLOBAL innodb_max_dirty_pages_pct = 90"
  echo "$EPOCHREALTIME $start" | awk '{ print $1 - $2 }' >"$RESULTS/checkpoint_s"
}

# As it comes, it holds up all commits at its end until it looks at the log again, once a second.
burst() {
  [[ -z ${FORCED_FLUSH:-} ]] || checkpoint
  mariadb-backup --no-defaults --backup --user=root --socket=$SOCKET --datadir=$DATA/mysql \
    --target-dir=$DATA/backup --log-copy-interval=10
}

measure() {
  clients "$DURATION_S" >"$RESULTS/sysbench.txt" 2>&1 &
  load=$!
  measure_with_burst burst
}

finish() {
  wait $load || { cat "$RESULTS/sysbench.txt"; stop "sysbench failed"; }
  ask "SHOW ENGINE INNODB STATUS" >"$RESULTS/innodb"
  ask SHUTDOWN
  wait $server
}
