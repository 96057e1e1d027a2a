# SPDX-License-Identifier: Apache-2.0 OR MIT
# fgiod beside a real PostgreSQL: the tags through restarts of either, reconnects and short
# connections. Each moment leaves MOMENT.expected (the kinds of processes by PostgreSQL),
# MOMENT.status (the tags) and MOMENT.ps in $RESULTS; test_daemon.py compares them.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
export PATH=$PATH:/usr/lib/postgresql/15/bin:$PAYLOAD/bin PGHOST=/tmp PGUSER=postgres PGDATABASE=bench
LEDGER=/run/fgio/fgiod/tags

as_postgres() { cd /; setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

server() { # start|restart
  as_postgres pg_ctl -w -t 120 -D /data/pg -l "$RESULTS/server.log" -m fast \
    -o "-c cluster_name=15/main" "$1" >/dev/null || { cat "$RESULTS/server.log"; stop "no PostgreSQL"; }
}

sessions() { # two idle ones, one that works, one that is in a transaction, one that streams
  local pipe
  for pipe in idle other transaction; do
    rm -f "/tmp/$pipe"
    mkfifo "/tmp/$pipe"
    psql -Xq <"/tmp/$pipe" >/dev/null 2>&1 &
  done
  exec 3>/tmp/idle 4>/tmp/other 5>/tmp/transaction
  echo "BEGIN; SELECT 1;" >&5
  psql -XAtqc "SELECT pg_sleep(1000)" >/dev/null 2>&1 &
  as_postgres mkdir -p /tmp/wal
  as_postgres pg_receivewal --no-loop -D /tmp/wal >/dev/null 2>&1 &
  local tries=0
  # Their titles say what they are once they are connected, on a busy host later than in a second.
  until [[ $(psql -XAtqc "SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND
    backend_type IN ('client backend', 'walsender')") -ge 5 ]]; do
    sleep 0.2
    tries=$((tries + 1))
    [[ $tries -lt 300 ]] || stop "the sessions do not connect"
  done
  sleep 1
}

tagged() { # PID:CLASS of each thread that has a tag
  fgio --json status | grep -o '"tid":[0-9]*,"process":[0-9]*,"class":"[a-z]*"' |
    sed 's/"tid":\([0-9]*\),.*:"\([a-z]*\)"/\1:\2/' | sort
}

# Waits until the tags are those of standard input: --all of them, or at least those --among them.
# fgiod reads titles when it has a processor. Tags that never get right are left to the test.
settle() {
  local wanted tries=0 differ=-3
  [[ $1 != --among ]] || differ=-13
  wanted=$(sort)
  until [[ -z $(comm "$differ" <(tagged) - <<<"$wanted") ]]; do
    sleep 0.2
    tries=$((tries + 1))
    [[ $tries -lt 150 ]] || return 0
  done
  sleep 0.5
}

foreground() { # [PID...]: PID:CLASS of the server's threads, and of others
  local pid
  psql -XAtq -c "SELECT pid || ':foreground' FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend', 'walwriter')"
  for pid in "$@"; do echo "$pid:foreground"; done
}

record() { # NAME
  psql -XAtq -F: -c "SELECT pid, backend_type FROM pg_stat_activity WHERE pid <> pg_backend_pid()" \
    >"$RESULTS/$1.expected"
  fgio --json status >"$RESULTS/$1.status" || stop "no status"
  ps -eLo pid,tid,comm,args >"$RESULTS/$1.ps"
  echo "moment $1"
}

moment() { # NAME [PID...]: once the server's threads and those have their tags, and no others
  foreground "${@:2}" | settle --all
  record "$1"
}

# A query and an index build, each of which sleeps in two workers: PID:CLASS of all that take part.
parallel() {
  local each tries=0
  psql -XAtq <<'SQL' || stop "no function"
CREATE FUNCTION slowly(n int) RETURNS int IMMUTABLE PARALLEL SAFE LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_sleep(1000);
  RETURN n;
END $$;
CREATE TABLE built AS SELECT generate_series(1, 10000) AS n;
ALTER TABLE built SET (parallel_workers = 2);
SQL
  for each in "SELECT count(slowly(n)) FROM built" "CREATE INDEX ON built (slowly(n))"; do
    psql -XAtq >/dev/null 2>&1 <<SQL &
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
$each;
SQL
  done
  until [[ $(psql -XAtqc "SELECT count(*) FROM pg_stat_activity
    WHERE backend_type = 'parallel worker' AND wait_event = 'PgSleep'") -eq 4 ]]; do
    sleep 0.2
    tries=$((tries + 1))
    [[ $tries -lt 300 ]] || stop "there are no parallel workers"
  done
  psql -XAtq -F: -o "$RESULTS/parallel.classes" <<'SQL'
SELECT it.pid, CASE WHEN leader.query LIKE 'SELECT%' THEN 'foreground' ELSE 'background' END
FROM pg_stat_activity AS leader JOIN pg_stat_activity AS it
  ON leader.pid IN (it.pid, it.leader_pid)
WHERE leader.query ~ 'slowly' AND leader.backend_type = 'client backend'
  AND leader.pid <> pg_backend_pid();
SQL
  settle --among <"$RESULTS/parallel.classes"
  record parallel
  psql -XAtq >/dev/null <<'SQL'
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query ~ 'slowly'
  AND backend_type = 'client backend' AND pid <> pg_backend_pid();
SQL
}

measure() { # NAME COMMAND...: fgiod's share of a processor meanwhile
  local name=$1 cpu begin
  shift
  cpu=$(metrics | sed -n 's/^fgio_daemon_cpu_seconds_total //p')
  begin=$(cut -d' ' -f1 /proc/uptime)
  "$@" >"$RESULTS/$name.txt" 2>&1 || { cat "$RESULTS/$name.txt"; stop "$name failed"; }
  awk -v name="$name" -v begin="$begin" -v end="$(cut -d' ' -f1 /proc/uptime)" -v was="$cpu" \
    -v is="$(metrics | sed -n 's/^fgio_daemon_cpu_seconds_total //p')" \
    'BEGIN { printf "%s %.2f s, fgiod %.3f s\n", name, end - begin, is - was }' |
    tee -a "$RESULTS/cpu"
}

starts() { # COUNT: processes of no profile
  local left=$1
  while [[ $left -gt 0 ]]; do
    /bin/true
    left=$((left - 1))
  done
}

phase starting
load_module fgio
network || stop "no loopback"
mount -t ext4 /dev/lab/disk1 /data || stop "the data set does not mount"
install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
fgio profile check || stop "the profiles are not as they say"
touch "$RESULTS/fgiod.log" "$RESULTS/server.log"
chmod 666 "$RESULTS/server.log"
chmod 755 "$RESULTS"
start_daemon
server start
sessions
moment started
fgio profile test "$(sed -n 's/:walwriter$//p' "$RESULTS/started.expected")" \
  >"$RESULTS/profile-test.txt" || stop "the profile cannot be tested"

phase restarting PostgreSQL
server restart
sessions
moment restarted

phase running parallel workers
parallel

phase killing fgiod
kill -KILL $daemon
wait $daemon 2>/dev/null
moment without
exec 3>&- 4>&-
start_daemon
moment again

phase tagging by hand
checkpointer=$(sed -n 's/:checkpointer$//p' "$RESULTS/again.expected")
fgio tag --foreground "$checkpointer" >/dev/null || stop "no tag by hand"
kill -HUP $daemon
sleep 1
moment byhand "$checkpointer"

phase short connections
measure idle sleep 2
measure connections pgbench --no-vacuum --connect --select-only --client=4 --rate="$RATE" \
  --time="$SECONDS_OF_CHURN"
moment connected "$checkpointer"
measure starts starts 500
metrics >"$RESULTS/metrics"

phase ending
kill -TERM $daemon
wait $daemon || stop "fgiod does not end well"
cp $LEDGER "$RESULTS/ledger"
fgiod clear || stop "fgiod does not clear its tags"
fgio --json status >"$RESULTS/cleared.status"
exit 0
