# SPDX-License-Identifier: Apache-2.0 OR MIT
# PostgreSQL with the extension and Redis with the module, on a disk under fgio: who is foreground,
# as the kernel sees it, beside the list of all threads.
# shellcheck shell=bash disable=SC2154

DATA=/data
export PATH=/usr/lib/postgresql/15/bin:$PATH PGHOST=/tmp PGUSER=postgres PGDATABASE=postgres

# A file system on a disk in memory, under fgio, at /data.
make_data() { # NAME
  make_null "$1" size=384
  use fgio
  chmod 666 /dev/fgio
  mkfs.ext4 -q "/dev/$DISK"
  mount "/dev/$DISK" $DATA
}

# All threads of processes with a name, with the class that the kernel knows and the title.
show_classes() { # NAME
  labels >"$WORK/labels"
  ps -eLo lwp=,comm=,args= | awk -v name="$1" 'NR == FNR { class[$1] = $2; next }
    $3 ~ name || $2 ~ name { sub(/^ */, ""); print ($1 in class ? class[$1] : "-"), $0 }' \
    "$WORK/labels" - | tee "$WORK/classes"
}

expect_classes() { # CLASS EXPECTED...: what has this class, by extended regular expressions
  local class=$1 expected
  shift
  grep "^$class " "$WORK/classes" >"$WORK/found" || true
  for expected in "$@"; do
    grep -qE "$expected" "$WORK/found" || fail "not $class: $expected"
    grep -vE "$expected" "$WORK/found" >"$WORK/rest" || true
    mv "$WORK/rest" "$WORK/found"
  done
  [[ ! -s $WORK/found ]] || fail "$class, but should not be: $(cat "$WORK/found")"
}

in_state() { # APPLICATION STATE
  [[ $(psql -XAtqc "SELECT state FROM pg_stat_activity WHERE application_name = '$1'") == "$2" ]]
}

at_sleep() { # APPLICATION COUNT
  [[ $(psql -XAtqc "SELECT count(*) FROM pg_stat_activity
    WHERE application_name = '$1' AND wait_event = 'PgSleep'") -ge $2 ]]
}

start_postgres() {
  install -D -t "$(pg_config --pkglibdir)" "$PAYLOAD/postgresql/fgio.so"
  install -D -m 644 -t "$(pg_config --sharedir)/extension" "$PAYLOAD"/postgresql/fgio*.{control,sql}
  mkdir "$WORK/set"
  mount -o ro /dev/lab/disk1 "$WORK/set"
  cp -a "$WORK/set/pg" $DATA/
  umount "$WORK/set"
  cat >>$DATA/pg/postgresql.conf <<CONF
shared_preload_libraries = 'fgio'
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
CONF
  as_postgres pg_ctl -w -t 120 -D $DATA/pg -l $DATA/pg/log start >/dev/null ||
    { cat $DATA/pg/log; fail "no server"; }
  psql -Xqc 'CREATE EXTENSION fgio'
}

as_postgres() { setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

session() { # APPLICATION STATEMENT: stays connected
  (
    echo "$2"
    exec sleep 1000
  ) | PGAPPNAME=$1 psql -XAtq >/dev/null &
}

walwriter_is_foreground() {
  psql -Xqc 'SELECT 1' >/dev/null 2>&1 || return
  show_classes postgres >/dev/null
  grep -q '^foreground .*walwriter' "$WORK/classes"
}

# limit: 600
check_postgresql_sessions() {
  local round
  make_data sessions
  start_postgres
  psql -Xqc 'CREATE TABLE numbers AS SELECT generate_series(1, 1000) AS n' \
    -c 'ALTER TABLE numbers SET (parallel_workers = 1)'
  session idle 'SELECT 1;'
  session open 'BEGIN; SELECT txid_current();'
  session busy 'SELECT pg_sleep(1000);'
  session team 'SET parallel_leader_participation = off; SELECT count(pg_sleep(1000)) FROM numbers;'
  session batch 'SET fgio.class = background; SELECT pg_sleep(1000);'
  wait_for "an idle session" in_state idle idle
  wait_for "an idle transaction" in_state open 'idle in transaction'
  wait_for "a busy session" at_sleep busy 1
  wait_for "a background session" at_sleep batch 1
  wait_for "a parallel worker" at_sleep team 1
  show_classes postgres
  expect_classes foreground 'SELECT$' 'parallel worker' 'walwriter'
  expect_classes background 'SELECT$'
  expect "foreground sessions" "$(grep -cE '^foreground .*SELECT$' "$WORK/classes") -eq 2"
  psql -XAtc 'SELECT class, labelled, application_name, backend_type FROM pg_stat_fgio
    LEFT JOIN pg_stat_activity USING (pid)' -c 'SELECT * FROM pg_stat_fgio_module'

  count_classes psql -Xqc 'INSERT INTO numbers SELECT generate_series(1, 10)'
  expect "requests of a commit that are critical" "$CRITICAL -gt 0"

  # Short connections, all the time: no process of the server's own is ever taken for one.
  echo 'SELECT 1' >"$WORK/one.sql"
  pgbench -n -C -c 2 -T 5 -f "$WORK/one.sql" >"$WORK/pgbench" &
  for round in 1 2 3 4 5; do
    sleep 0.5
    show_classes postgres >"$WORK/round"
    if grep '^foreground ' "$WORK/round" | grep -vE 'local|walwriter|parallel worker'; then
      fail "round $round"
    fi
  done
  wait %%
  grep tps "$WORK/pgbench"

  # A crash ends all backends; who connects then labels the new WAL writer.
  pkill -KILL -f 'postgres: postgres postgres .local. idle$'
  wait_for "the WAL writer" walwriter_is_foreground
  show_classes postgres
  expect_classes foreground 'walwriter'
  expect_classes background
  as_postgres pg_ctl -w -m fast -D $DATA/pg stop >/dev/null
  expect "labels after the server's end" "$(labels | wc -l) -eq 0"
}

no_redis() { [[ -z $(pgrep redis) ]]; }

ask() { redis-cli -s /tmp/redis "$@"; }

info_has() { # SECTION TEXT
  ask INFO "$1" | grep -q "$2"
}

# limit: 300
check_redis_threads() {
  make_data threads
  install -d -o redis -g redis $DATA/redis
  setpriv --reuid=redis --regid=redis --init-groups redis-server --port 0 --unixsocket /tmp/redis \
    --unixsocketperm 777 --dir $DATA/redis --save '' --appendonly yes --appendfsync everysec \
    --loadmodule "$PAYLOAD/redis/fgio.so" >"$WORK/redis.log" &
  wait_for "Redis" ask PING
  ask DEBUG POPULATE 1000 >/dev/null || ask SET key value
  wait_for "its threads" info_has fgio 'background_threads:[1-9]'
  ask INFO fgio
  count_classes bash -c 'for key in 1 2 3; do redis-cli -s /tmp/redis SET $key value; done; sleep 2'

  # As slow as with many keys.
  ask CONFIG SET rdb-key-save-delay 20000
  ask BGSAVE
  wait_for "a snapshot" info_has persistence rdb_bgsave_in_progress:1
  show_classes redis
  expect_classes foreground 'redis-server redis-server'
  expect_classes background 'redis-rdb-bgsave' 'bio_' 'jemalloc'
  grep -q '^background .*redis-rdb-bgsave' "$WORK/classes" || fail "the snapshot is not background"
  ask CONFIG SET rdb-key-save-delay 0
  pkill -KILL -f redis-rdb-bgsave
  wait_for "its end" info_has persistence rdb_bgsave_in_progress:0
  ask CONFIG SET rdb-key-save-delay 20000
  ask BGREWRITEAOF
  wait_for "a rewrite" info_has persistence aof_rewrite_in_progress:1
  show_classes redis
  grep -q '^background .*redis-aof-rewrite' "$WORK/classes" || fail "the rewrite is not background"
  ask CONFIG SET fgio.enabled no
  show_classes redis
  expect_classes foreground
  ask CONFIG SET fgio.enabled yes
  show_classes redis
  expect_classes foreground 'redis-server redis-server'
  ask SHUTDOWN NOSAVE FORCE NOW || true
  wait %%
  pkill -KILL redis || true
  wait_for "the end of all" no_redis
  expect "labels after the server's end" "$(labels | wc -l) -eq 0"
}
