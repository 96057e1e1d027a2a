# SPDX-License-Identifier: Apache-2.0 OR MIT
# A machine with our packages: the steps of docs/install.md, then the foreground threads of each
# database, through restarts, forks, reconnects and short connections. Each moment leaves
# status.MOMENT (classes), threads.MOMENT (all threads) and, of PostgreSQL, expected.MOMENT (the kinds
# of its processes by its own view); tests/installed compares them.
# shellcheck shell=bash disable=SC2154,SC2317
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
DATA=/srv/data
# Once for the whole boot: psql is a quarter of a second to start.
export PGUSER=postgres PGDATABASE=postgres

wait_until() { # COMMAND...
  local tries=0
  until "$@" >/dev/null 2>&1; do
    tries=$((tries + 1))
    [[ $tries -lt 300 ]] || stop "in vain waited for: $*"
    sleep 0.1
  done
}

show() { # MOMENT
  fgio --json status >"$RESULTS/status.$1" || stop "no status"
  ps -eLo pid=,tid=,comm=,args= >"$RESULTS/threads.$1"
  phase "$1"
}

# Moves a folder to the disk under fgio; its path stays.
to_disk() { # FOLDER
  mkdir -p "$DATA$1"
  cp -a "$1/." "$DATA$1"
  mount --bind "$DATA$1" "$1" 2>/dev/null || stop "$1 cannot be moved to $DATA"
}

prepare_machine() {
  fgio doctor >"$RESULTS/doctor-before.txt"
  grep -q 'is installed .*but not loaded' "$RESULTS/doctor-before.txt" ||
    stop "the module is not as the packages leave it: $(cat "$RESULTS/doctor-before.txt")"
  make_disk ssd 1 1024
  fgio enable "$DISK" || stop "fgio enable fails"
  # The first unit stands for all clusters, and does not wait for them.
  systemctl stop postgresql 'postgresql@*' redis-server mariadb
  mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "/dev/$DISK"
  mkdir -p $DATA
  mount "/dev/$DISK" $DATA
  to_disk /var/lib/postgresql
  to_disk /var/lib/redis
  to_disk /var/lib/mysql
  systemctl enable --quiet --now fgiod || stop "fgiod does not start: $(journalctl -u fgiod)"
  fgio doctor >"$RESULTS/doctor.txt" || stop "fgio doctor: $(cat "$RESULTS/doctor.txt")"
}

# --- PostgreSQL ---

as_postgres() { (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"); }

ask_postgres() { as_postgres psql -XAtq -v ON_ERROR_STOP=1 "$@"; }

session() { # NAME: a psql that stays connected
  local pipe
  rm -f "/tmp/session.$1"
  mkfifo "/tmp/session.$1"
  exec {pipe}<>"/tmp/session.$1"
  PGAPPNAME=$1 ask_postgres <&"$pipe" >/dev/null 2>&1 &
}

tell() { # NAME STATEMENTS
  echo "$2" >"/tmp/session.$1"
}

have_sessions() { # COUNT
  [[ $(ask_postgres -c "SELECT count(*) FROM pg_stat_activity WHERE state IS NOT NULL
    AND pid <> pg_backend_pid() AND (application_name = 'idle' OR
    application_name <> 'idle' AND (xact_start IS NOT NULL OR backend_type = 'walsender'))") == "$1" ]]
}

# Their names say what they do. Of the six, one receives the log.
sessions() {
  local name
  for name in idle busy batch transaction; do session "$name"; done
  tell busy 'SELECT pg_sleep(1000);'
  tell batch "${1:-}SELECT pg_sleep(1000);"
  tell transaction 'BEGIN; SELECT txid_current();'
  as_postgres mkdir -p /tmp/wal
  as_postgres pg_receivewal --no-loop -D /tmp/wal >/dev/null 2>&1 &
  wait_until have_sessions 5
}

postgres_moment() { # MOMENT
  ask_postgres -F: -c "SELECT pid, backend_type, application_name FROM pg_stat_activity
    WHERE pid <> pg_backend_pid()" >"$RESULTS/expected.$1"
  sleep 0.2
  show "$1"
}

# RATE connections a second, or the guest's maximum; the witness records the life of each process.
connections() { # MOMENT
  local witness
  [[ $1 != *extension* ]] || ask_postgres -c 'SELECT pg_stat_fgio_reset()' >/dev/null
  "$PAYLOAD/bin/witness" postgres 20 >"$RESULTS/lives.$1" &
  witness=$!
  echo 'SELECT 1' >/tmp/one.sql
  as_postgres pgbench --no-vacuum --connect --client=8 --rate="$RATE" --time="$SECONDS_OF_CONNECTIONS" \
    --file=/tmp/one.sql >"$RESULTS/connections.$1" 2>&1 || stop "$(cat "$RESULTS/connections.$1")"
  sleep 0.1
  kill "$witness"
  wait "$witness" || stop "the witness failed"
  [[ $1 != *extension* ]] || ask_postgres -c 'SELECT foreground_statements FROM pg_stat_fgio
    WHERE pid IS NULL' >"$RESULTS/statements.$1"
  metrics >"$RESULTS/metrics.$1"
  postgres_moment "$1"
}

postgres() { # PART [STATEMENTS of the batch session]
  systemctl restart postgresql
  wait_until ask_postgres -c 'SELECT 1'
  sessions "${2:-}"
  postgres_moment "$1.started"
  as_postgres pg_basebackup --pgdata=/tmp/backup --checkpoint=fast --max-rate=2M &
  local backup=$!
  wait_until ls /tmp/backup/base
  postgres_moment "$1.backup"
  kill "$backup"
  wait "$backup"
  rm -rf /tmp/backup
  systemctl restart postgresql
  wait_until ask_postgres -c 'SELECT 1'
  sessions "${2:-}"
  postgres_moment "$1.restarted"
  connections "$1.connections"
}

postgresql_profile() {
  postgres postgresql-profile
  systemctl restart fgiod
  postgres_moment postgresql-profile.daemon-restarted
  kill -KILL "$(systemctl show -P MainPID fgiod)"
  wait_until metrics
  postgres_moment postgresql-profile.daemon-killed
}

postgresql_extension() {
  echo "shared_preload_libraries = 'fgio'" >/etc/postgresql/15/main/conf.d/fgio.conf
  install -D -m 644 "$PAYLOAD/extension.toml" /etc/fgio/profiles/postgresql.toml.d/extension.toml
  fgio profile check || stop "the drop-in of docs/profiles.md is refused"
  systemctl reload fgiod
  systemctl restart postgresql
  wait_until ask_postgres -c 'CREATE EXTENSION fgio'
  postgres postgresql-extension 'SET fgio.class = background;'
  systemctl stop postgresql
}

# --- Redis ---

ask() { redis-cli "$@"; }

info_has() { # SECTION TEXT
  ask INFO "$1" | grep -q "$2"
}

# A child that is slow enough to be seen.
child() { # MOMENT COMMAND FIELD
  ask CONFIG SET rdb-key-save-delay 100000 >/dev/null
  ask "$2" >/dev/null
  wait_until info_has persistence "$3:1"
  sleep 0.2
  show "$1"
  ask CONFIG SET rdb-key-save-delay 0 >/dev/null
  pkill -KILL -f 'redis-(rdb|aof)'
  wait_until info_has persistence "$3:0"
}

start_redis() {
  systemctl restart redis-server || { tail /var/log/redis/redis-server.log; stop "Redis does not start"; }
  wait_until ask PING
}

redis() { # PART
  start_redis
  ask CONFIG SET appendonly yes >/dev/null
  redis-benchmark -q -t set -n 500 -r 500 >/dev/null
  wait_until info_has persistence aof_rewrite_in_progress:0
  sleep 0.2
  show "$1.started"
  child "$1.snapshot" BGSAVE rdb_bgsave_in_progress
  child "$1.rewrite" BGREWRITEAOF aof_rewrite_in_progress
  start_redis
  sleep 0.2
  show "$1.restarted"
  # Each request on a connection of its own.
  redis-benchmark -t get -k 0 -c 8 -n $((RATE * SECONDS_OF_CONNECTIONS)) --csv \
    >"$RESULTS/connections.$1.connections" 2>"$RESULTS/redis-benchmark.txt" || stop "redis-benchmark failed"
  show "$1.connections"
}

redis_profile() {
  redis redis-profile
}

redis_module() {
  echo 'loadmodule /usr/lib/redis/modules/fgio.so' >>/etc/redis/redis.conf
  mkdir -p /etc/systemd/system/redis-server.service.d
  printf '[Service]\nPrivateDevices=no\n' >/etc/systemd/system/redis-server.service.d/fgio.conf
  systemctl daemon-reload
  redis redis-module
  ask INFO fgio >"$RESULTS/redis-module.info"
  systemctl stop redis-server
}

# --- MariaDB ---

has_statements() { # COUNT: that sleep
  [[ $(mariadb -BNe "SELECT count(*) FROM information_schema.processlist
    WHERE info LIKE '%SLEEP(1000%' AND id <> CONNECTION_ID()") == "$1" ]]
}

mariadb_session() { # STATEMENTS: a client that stays connected
  local pipe path
  path=$(mktemp -u)
  mkfifo "$path"
  exec {pipe}<>"$path"
  mariadb -BN <&"$pipe" >/dev/null 2>&1 &
  echo "$1" >&"$pipe"
}

# The statement of each says what it does.
mariadb_sessions() {
  mariadb_session "SELECT 'idle';"
  mariadb_session "START TRANSACTION; INSERT INTO test.numbers VALUES (1); SELECT 'transaction';"
  mariadb_session "SELECT SLEEP(1000), 'busy';"
  mariadb_session "SET fgio_class = background; SELECT SLEEP(1000), 'batch';"
  mariadb_session "SET fgio_class = none; SELECT SLEEP(1000), 'unlabelled';"
  mariadb -e "CREATE OR REPLACE EVENT test.event ON SCHEDULE AT CURRENT_TIMESTAMP
    DO SELECT SLEEP(1000), COUNT(*), 'event' INTO @a, @b, @c FROM test.numbers"
  wait_until has_statements 4
}

mariadb_moment() { # MOMENT
  mariadb -BNe "SELECT tid, command, info FROM information_schema.processlist
    WHERE id <> CONNECTION_ID()" >"$RESULTS/expected.$1"
  sleep 0.2
  show "$1"
}

mariadb_plugin() {
  printf '%s\n' '[mariadb]' 'plugin_maturity = experimental' 'plugin_load_add = fgio' 'event_scheduler = on' \
    >/etc/mysql/mariadb.conf.d/60-fgio.cnf
  systemctl restart mariadb || stop "$(journalctl --no-pager -u mariadb)"
  [[ $(mariadb -BNe "SHOW STATUS LIKE 'fgio_available'") == *ON ]] || stop "the plugin finds no module"
  mariadb -e 'CREATE DATABASE IF NOT EXISTS test; CREATE TABLE test.numbers (n INT) ENGINE=InnoDB'
  mariadb_sessions
  mariadb_moment mariadb-plugin.started
  systemctl restart mariadb
  mariadb_sessions
  mariadb_moment mariadb-plugin.restarted
  # Each query on a connection of its own.
  mariadb-slap --concurrency=8 --number-of-queries=$((RATE * SECONDS_OF_CONNECTIONS)) --detach=1 \
    --query='INSERT INTO test.numbers VALUES (2)' --create-schema=test --csv \
    >"$RESULTS/connections.mariadb-plugin.connections" || stop "mariadb-slap failed"
  mariadb_moment mariadb-plugin.connections
  systemctl stop mariadb
}

# --- engines in a program ---

rocksdb() {
  mkdir -p "$DATA/rocksdb"
  db_bench --benchmarks=fillrandom,readrandomwriterandom --db="$DATA/rocksdb" --num=40000 \
    --value_size=1000 --write_buffer_size=1000000 --threads=4 --duration=8 --compression_type=none \
    >"$RESULTS/rocksdb.txt" 2>&1 &
  local bench=$!
  sleep 4
  show rocksdb.working
  kill "$bench"
  wait "$bench"
}

wiredtiger() {
  mkdir -p "$DATA/wiredtiger"
  LD_LIBRARY_PATH=$PAYLOAD/wiredtiger "$PAYLOAD/wiredtiger/wtperf" -h "$DATA/wiredtiger" \
    -O "$PAYLOAD/wtperf.options" -m "$RESULTS" >"$RESULTS/wiredtiger.txt" 2>&1 &
  local bench=$!
  sleep 4
  show wiredtiger.working
  kill "$bench"
  wait "$bench"
}

phase the machine
prepare_machine
for part in $PARTS; do "${part/-/_}"; done
journalctl --no-pager -u fgiod >"$RESULTS/fgiod.log"
systemctl show -P MemoryPeak -P NRestarts -P MemoryCurrent fgiod >"$RESULTS/fgiod.unit"

phase leaving
umount /var/lib/postgresql /var/lib/redis /var/lib/mysql
umount $DATA
fgio disable "$DISK" || stop "fgio disable fails"
systemctl disable --quiet --now fgiod
fgiod clear
modprobe -r fgio || stop "the module cannot be unloaded"
exit 0
