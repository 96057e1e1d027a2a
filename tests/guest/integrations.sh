# SPDX-License-Identifier: Apache-2.0 OR MIT
# PostgreSQL with the extension and Redis with the module, on a disk under fgio: the foreground
# threads by the kernel, beside the list of all threads.
# shellcheck shell=bash disable=SC2154

# Data of servers, and the file system under fgio.
DATA=/data
DISK_FOLDER=/mnt
PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
export PATH PGHOST=/tmp PGUSER=postgres PGDATABASE=postgres

# A file system on a disk in memory, under fgio.
make_disk() { # NAME
  # A leaked entry would soon take the place of others: a user has half of the table.
  [[ -d /sys/module/fgio ]] || load_fgio tags_max=48
  make_null "$1" size=128
  use fgio
  chmod 666 /dev/fgio
  mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 "/dev/$DISK"
  mount "/dev/$DISK" $DISK_FOLDER
}

remove_disk() { # NAME: when its server has ended
  expect "labels after the server's end" "$(labels | wc -l) -eq 0"
  umount $DISK_FOLDER
  remove_null "$1"
}

# For a check that failed.
tidy() {
  local each servers='postgres|redis'
  ! pkill -KILL $servers || wait_for "the servers' end" bash -c "! pgrep '$servers'"
  for each in $DISK_FOLDER $DATA; do ! mountpoint -q $each || umount $each; done
  rmdir /sys/kernel/config/nullb/* 2>/dev/null
}

# Shows all threads with a name in $WORK/names ("TID NAME") and their class, and leaves "CLASS NAME"
# of the threads with a class in $WORK/labelled.
show_labels() {
  labels >"$WORK/labels"
  ps -eLo lwp=,comm=,args= >"$WORK/threads"
  awk -v labelled="$WORK/labelled" '
    BEGIN { printf "" >labelled }
    FILENAME ~ /names$/ { tid = $1; sub(/^[0-9]+ /, ""); name[tid] = $0; next }
    FILENAME ~ /labels$/ { class[$1] = $2
      print $2, $1 in name ? name[$1] : "a stranger, thread " $1 >labelled; next }
    $1 in name { printf "%-10s %-28s %s\n", $1 in class ? class[$1] : "-", name[$1], $0 }' \
    "$WORK/names" "$WORK/labels" "$WORK/threads"
}

expect_labels() { # "CLASS NAME"...: these have a class, and no others
  local each
  for each in "$@"; do echo "$each"; done | sort >"$WORK/expected"
  show_labels
  sort "$WORK/labelled" | diff "$WORK/expected" - || fail "other labels than expected (<)"
}

# --- PostgreSQL ---

# As expect_labels, beside the I/O workers that servers have since 18: foreground from the first
# connection on.
expect_sessions() { # "CLASS NAME"...
  local workers
  mapfile -t workers < <(sed -n 's/^[0-9]* \(io worker\)$/foreground \1/p' "$WORK/names")
  [[ $(pg_config --version) != PostgreSQL\ 18* ]] || expect "I/O workers" "${#workers[@]} -gt 0"
  expect_labels "${workers[@]}" "$@"
}

as_postgres() { (cd / && exec setpriv --reuid=postgres --regid=postgres --init-groups "$@"); }

server() { # ACTION [OPTION...] of pg_ctl
  as_postgres pg_ctl -w -t 120 -D $DATA/pg -l $DATA/pg/log "$@" >/dev/null ||
    { cat $DATA/pg/log; fail "PostgreSQL does not $1"; }
}

# Its WAL, which commits wait for, is on the disk under fgio. A data set serves once.
start_postgres() { # DATA_SET
  install -D -t "$(pg_config --pkglibdir)" "$PAYLOAD/postgresql/fgio.so"
  install -D -m 644 -t "$(pg_config --sharedir)/extension" "$PAYLOAD"/postgresql/fgio*.{control,sql}
  mount "$1" $DATA
  mv $DATA/pg/pg_wal $DISK_FOLDER/
  ln -s $DISK_FOLDER/pg_wal $DATA/pg/
  cat >>$DATA/pg/postgresql.conf <<CONF
shared_preload_libraries = 'fgio'
log_connections = on
autovacuum_naptime = 1h
min_parallel_table_scan_size = 0
parallel_setup_cost = 0
parallel_tuple_cost = 0
CONF
  server start
  psql -XAtq -v ON_ERROR_STOP=1 <<'SQL'
CREATE EXTENSION fgio;
CREATE TABLE numbers AS SELECT generate_series(1, 1000) AS n;
ALTER TABLE numbers SET (parallel_workers = 2);
CREATE TABLE indexed AS SELECT 1 AS n;
CREATE ROLE reports LOGIN;
ALTER ROLE reports SET fgio.class = 'background';
CREATE ROLE untouched LOGIN;
ALTER ROLE untouched SET fgio.scope = 'never';
ALTER DATABASE bench SET fgio.class = 'background';
CREATE FUNCTION slowly(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(1000);
  RETURN n;
END $$;

-- Waits until there are these sessions, "NAME: its wait event, or its state", and no others;
-- returns all processes of the server. A single query for all, since psql takes a second to start.
CREATE FUNCTION processes(VARIADIC expected text[]) RETURNS TABLE (pid int, name text)
LANGUAGE plpgsql AS $$
DECLARE
  found text[];
BEGIN
  FOR round IN 1..400 LOOP
    PERFORM pg_stat_clear_snapshot();
    found := ARRAY(SELECT concat(application_name, ': ',
        CASE state WHEN 'active' THEN wait_event ELSE state END)
      FROM pg_stat_activity AS it WHERE it.pid <> pg_backend_pid()
        AND backend_type IN ('client backend', 'parallel worker'));
    EXIT WHEN ARRAY(SELECT unnest(found) ORDER BY 1) = ARRAY(SELECT unnest(expected) ORDER BY 1);
    PERFORM pg_sleep(0.2);
    IF round = 400 THEN
      RAISE 'in vain waited for %, found %', expected, found;
    END IF;
  END LOOP;
  RETURN QUERY SELECT it.pid, CASE backend_type
      WHEN 'client backend' THEN application_name
      WHEN 'parallel worker' THEN 'worker of ' || application_name
      ELSE backend_type END
    FROM pg_stat_activity AS it WHERE it.pid <> pg_backend_pid();
END $$;
SQL
}

session() { # NAME [ARGUMENT...]: a psql that stays connected
  local pipe
  mkfifo "$WORK/$1"
  # Open in this shell for good: neither end waits for the other.
  exec {pipe}<>"$WORK/$1"
  PGAPPNAME=$1 psql -XAtq "${@:2}" <&"$pipe" >"$WORK/$1.out" 2>&1 &
}

tell() { # NAME STATEMENTS
  echo "$2" >"$WORK/$1"
}

await_sessions() { # "NAME: STATE"...
  local each list=""
  for each in "$@"; do list+=", '$each'"; done
  psql -XAtq -F ' ' -c "SELECT * FROM processes(${list#, })" >"$WORK/names" || fail "other sessions"
}

number_of() { # NAME: of the process
  awk -v name="$1" '{ pid = $1; sub(/^[0-9]+ /, "") } $0 == name { print pid }' "$WORK/names"
}

check_postgresql_sessions() {
  local name before
  make_disk sessions
  start_postgres /dev/lab/disk1
  for name in batch busy held idle index kept open team; do session $name; done
  session archive -d bench
  session reports -U reports
  session untouched -U untouched
  await_sessions {archive,batch,busy,held,idle,index,kept,open,reports,team,untouched}': idle'
  expect_sessions 'foreground walwriter'

  # Statements that run, one that is done, and sessions between statements.
  for name in archive busy reports untouched; do tell $name 'SELECT pg_sleep(1000);'; done
  tell team 'SET parallel_leader_participation = off; SELECT count(pg_sleep(1000)) FROM numbers;'
  tell batch 'SET fgio.class = background; SELECT pg_sleep(1000);'
  tell index 'CREATE INDEX ON indexed (slowly(n));'
  tell idle 'INSERT INTO numbers VALUES (0); SET application_name = done;'
  tell open 'BEGIN; SELECT txid_current();'
  tell kept 'SET fgio.scope = transaction; BEGIN; SELECT txid_current();'
  tell held 'SET fgio.scope = session; SELECT 1; SET application_name = label_held;'
  await_sessions {archive,batch,busy,index,reports,team,team,untouched}': PgSleep' \
    'team: ExecuteGather' {'done',label_held}': idle' {kept,open}': idle in transaction'
  expect_sessions foreground\ {busy,kept,label_held,team,'worker of team','worker of team',walwriter} \
    background\ {archive,batch,index,reports}
  before=$(number_of busy)
  psql -XAt -c 'SELECT * FROM pg_stat_fgio_module' -c "SELECT pg_cancel_backend(pid)
    FROM pg_stat_activity WHERE backend_type = 'client backend' AND wait_event IN
    ('PgSleep', 'ExecuteGather')"
  await_sessions {archive,batch,busy,'done',index,label_held,reports,team,untouched}': idle' \
    {kept,open}': idle in transaction'
  expect_sessions foreground\ {kept,label_held,walwriter}

  # Sessions that change their class, one that must not, and one that connects anew.
  tell batch 'SET fgio.class = foreground; SELECT pg_sleep(1000);'
  tell index 'SET fgio.class = foreground; CREATE INDEX ON indexed (slowly(n));'
  tell reports 'SET fgio.class = foreground; SELECT pg_sleep(1000);'
  tell archive "SET fgio.class = 'default'; SELECT pg_sleep(1000);"
  tell untouched 'SET fgio.scope = session; SELECT pg_sleep(1000);'
  tell held 'SET fgio.scope = statement; SET application_name = held;'
  tell kept 'COMMIT;'
  tell open 'SET LOCAL fgio.class = background; SELECT pg_sleep(1000);'
  tell busy '\c'
  tell busy 'SELECT pg_sleep(1000);'
  await_sessions {archive,batch,busy,index,open,reports,untouched}': PgSleep' \
    {'done',held,kept,team}': idle'
  expect_sessions foreground\ {archive,batch,busy,index,reports,walwriter} 'background open'
  expect "a process that connected anew" "$(number_of busy) -ne $before"
  grep -q 'permission denied to set parameter "fgio.scope"' "$WORK/untouched.out" ||
    fail "a role that must not be labelled can change it"
  server stop -m fast
  remove_disk sessions
  umount $DATA
}

in_log() { # PATTERN: process numbers of the lines of the server's log that match
  sed -nE "s/^.* \[([0-9]+)\] .*$1.*/\1/p" $DATA/pg/log | sort -u
}

# The guest's maximum of connections in ten seconds, each for one statement that writes: none of the
# server's own processes is ever taken for one.
burst() { # sets CONNECTIONS
  local watcher seen
  labels 20 >"$WORK/seen" &
  watcher=$!
  PGAPPNAME=burst pgbench -n -C -c 2 -T 10 -f "$WORK/write.sql" >"$WORK/pgbench"
  kill $watcher
  wait $watcher
  CONNECTIONS=$(sed -n 's/^number of transactions actually processed: //p' "$WORK/pgbench")
  sed -n 's/ foreground$//p' "$WORK/seen" | sort -u >"$WORK/foreground"
  in_log 'connection authorized: .* application_name=burst' >"$WORK/connections"
  expect "connections in the log" "$(wc -l <"$WORK/connections") -ge $CONNECTIONS"
  { number_of walwriter; number_of 'io worker'; } | sort - "$WORK/connections" >"$WORK/known"
  comm -13 "$WORK/known" "$WORK/foreground" >"$WORK/strangers"
  [[ ! -s $WORK/strangers ]] || fail "foreground, but no connection: $(cat "$WORK/strangers")"
  ! grep 'background$' "$WORK/seen" || fail "background"
  seen=$(comm -12 "$WORK/connections" "$WORK/foreground" | wc -l)
  expect "of $CONNECTIONS connections in 10 s, seen as foreground" "$seen -gt 0"
}

# Sets WITH_ID to the critical requests with an id of 20 commits, which a session's options give one.
count_ids() { # OPTIONS
  local before
  before=$(counter critical_with_id)
  PGOPTIONS=$1 pgbench -n -t 20 -f "$WORK/write.sql" >/dev/null
  WITH_ID=$(($(counter critical_with_id) - before))
  echo "$WITH_ID with an id: $1"
}

# A disk with hardware queues follows when it comes again.
order_by() { # POLICY
  parameter request_order "$1"
  use none
  use fgio
}

expect_ids_of_requests() {
  local id
  order_by 3
  id=$(psql -XAtqc 'SELECT fgio_request_new()')
  count_ids "-c fgio.request=$id"
  expect "writes of 20 commits with the session's id" "$WITH_ID -ge 20"
  count_ids ''
  expect "writes of 20 commits without an id" "$WITH_ID -eq 0"
  echo "INSERT INTO numbers VALUES (0) /*tracestate='${id/:/%3D}'*/" >"$WORK/write.sql"
  count_ids '-c fgio.read_comments=on'
  expect "writes of 20 commits with the id of a comment" "$WITH_ID -ge 20"
  count_ids ''
  expect "the same, where comments are not read" "$WITH_ID -eq 0"
  expect "numbers that are no ids" "$(counter critical_foreign) -eq 0"
  order_by 0
  echo 'INSERT INTO numbers VALUES (0)' >"$WORK/write.sql"
}

check_postgresql_connections() {
  local walwriter
  make_disk connections
  start_postgres /dev/lab/disk2
  echo 'INSERT INTO numbers VALUES (0)' >"$WORK/write.sql"
  count_classes pgbench -n -t 20 -f "$WORK/write.sql" >/dev/null
  expect "writes of 20 commits that are critical" "$CRITICAL -ge 20"
  # By the label alone: the sessions above synced the log a moment ago.
  parameter commits N
  PGOPTIONS='-c fgio.class=background' count_classes pgbench -n -t 20 -f "$WORK/write.sql" >/dev/null
  parameter commits Y
  expect "writes of 20 commits without a label that are not" "$NONCRITICAL -ge 20 -a $CRITICAL -lt 20"

  expect_ids_of_requests

  session idle
  await_sessions 'idle: idle'
  psql -XAtqc 'SELECT pg_stat_fgio_reset()' >/dev/null
  burst
  await_sessions 'idle: idle'
  expect_sessions 'foreground walwriter'
  expect "statements of sessions that ended" "$(psql -XAtqc 'SELECT foreground_statements
    FROM pg_stat_fgio WHERE pid IS NULL') -ge $CONNECTIONS"
  tell idle 'SELECT pg_sleep(1000);'
  await_sessions 'idle: PgSleep'
  expect_sessions foreground\ {idle,walwriter}

  # A crash ends all backends; the first new session labels the new WAL writer.
  walwriter=$(number_of walwriter)
  kill -KILL "$(number_of idle)"
  wait_for "the server" psql -Xqc 'SELECT 1' >/dev/null 2>&1
  session after_crash
  await_sessions 'after_crash: idle'
  expect_sessions 'foreground walwriter'
  expect "another WAL writer" "$(number_of walwriter) -ne $walwriter"

  server restart -m fast
  expect "labels before a session connects" "$(labels | wc -l) -eq 0"
  session after_restart
  tell after_restart 'SELECT pg_sleep(1000);'
  await_sessions 'after_restart: PgSleep'
  expect_sessions foreground\ {after_restart,walwriter}
  server stop -m fast
  remove_disk connections
  umount $DATA
}

# --- Redis ---

ask() { redis-cli -s /tmp/redis "$@"; }

info_has() { # SECTION TEXT
  ask INFO "$1" | grep -q "$2"
}

start_redis() { # ARGUMENT...: sets REDIS
  setpriv --reuid=redis --regid=redis --init-groups redis-server --port 0 --unixsocket /tmp/redis \
    --unixsocketperm 777 --dir $DISK_FOLDER/redis --save '' --appendonly yes --enable-debug-command local \
    --enable-module-command local --jemalloc-bg-thread no "$@" >>"$WORK/redis.log" &
  REDIS=$!
  wait_for "Redis's socket" test -S /tmp/redis
  wait_for "Redis" ask PING
}

stop_redis() {
  ask SHUTDOWN NOSAVE NOW FORCE || true
  wait "$REDIS" || true
}

# Threads by their names, children by their titles.
name_threads() {
  ps -eLo lwp=,comm=,args= | awk '/redis-server|redis-rdb|redis-aof/ {
    print $1, $3 ~ /^redis-(rdb|aof)/ ? $3 : $2 }' >"$WORK/names"
}

expect_redis() { # "CLASS NAME"... beside Redis's background threads
  name_threads
  expect_labels background\ bio_{close_file,aof_fsync,lazy_free} "$@"
}

snapshot() {
  ask BGSAVE
  wait_for "its end" info_has persistence rdb_bgsave_in_progress:0
}

write_keys() { # COUNT
  local key
  for ((key = 0; key < $1; key++)); do echo "SET key:$key value"; done | ask >/dev/null
}

check_redis_threads() {
  local field
  make_disk threads
  install -d -o redis -g redis $DISK_FOLDER/redis
  start_redis --loadmodule "$PAYLOAD/redis/fgio.so"
  wait_for "its threads" info_has fgio background_threads:3
  ask INFO fgio | tr -d '\r' | tee "$WORK/info"
  for field in available:1 enabled:1 class:foreground children:0 devices:1; do
    grep -q "^fgio_$field$" "$WORK/info" || fail "INFO fgio does not say $field"
  done
  expect_redis 'foreground redis-server'

  # Which thread submits the writes.
  ask DEBUG POPULATE 1000
  ask CONFIG SET appendfsync always
  count_classes write_keys 20
  expect "writes of 20 commands that are critical" "$CRITICAL -ge 20"
  ask CONFIG SET appendfsync no
  count_classes ask SAVE
  expect "writes of SAVE that are critical" "$CRITICAL -gt 0"
  count_classes snapshot
  expect "writes of BGSAVE, none critical" "$NONCRITICAL -gt 0 -a $CRITICAL -eq 0"

  # Children are slowed down, as with many keys.
  ask CONFIG SET rdb-key-save-delay 200000
  ask BGSAVE
  wait_for "a snapshot" info_has persistence rdb_bgsave_in_progress:1
  expect_redis 'foreground redis-server' 'background redis-rdb-bgsave'
  pkill -KILL -f redis-rdb-bgsave
  wait_for "its end" info_has persistence rdb_bgsave_in_progress:0
  ask BGREWRITEAOF
  wait_for "a rewrite" info_has persistence aof_rewrite_in_progress:1
  expect_redis 'foreground redis-server' 'background redis-aof-rewrite'

  # A child that was forked before a change keeps its class.
  ask CONFIG SET fgio.enabled no
  name_threads
  expect_labels 'background redis-aof-rewrite'
  ask CONFIG SET fgio.class background fgio.enabled yes
  expect_redis 'background redis-server' 'background redis-aof-rewrite'
  ask CONFIG SET fgio.class foreground
  expect_redis 'foreground redis-server' 'background redis-aof-rewrite'
  info_has fgio fgio_children:3 || fail "INFO fgio does not give the number of children"
  pkill -KILL -f redis-aof-rewrite
  stop_redis
  expect "labels after the server's end" "$(labels | wc -l) -eq 0"

  # A module that is loaded into a running server, and a server with jemalloc's threads.
  start_redis --jemalloc-bg-thread yes
  expect "labels of a server without the module" "$(labels | wc -l) -eq 0"
  ask MODULE LOADEX "$PAYLOAD/redis/fgio.so" CONFIG fgio.class background
  wait_for "its threads" info_has fgio 'background_threads:[4-9]'
  name_threads
  show_labels
  grep -q '^background jemalloc_bg_thd$' "$WORK/labelled" || fail "jemalloc's thread has no class"
  grep -q '^background redis-server$' "$WORK/labelled" || fail "the main thread is not background"
  ask MODULE UNLOAD fgio
  expect "labels without the module" "$(labels | wc -l) -eq 0"
  stop_redis
  remove_disk threads
}
