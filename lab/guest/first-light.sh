# SPDX-License-Identifier: Apache-2.0 OR MIT
# pgbench on PostgreSQL, with a base backup in the middle. Settings come from first-light.env.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/rivals.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/first-light.env"
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"

pids_of() { # SQL_CONDITION: server processes
  psql -XAtq -c "SELECT pid FROM pg_stat_activity WHERE $1"
}

set_priority() { # CLASS,LEVEL SQL_CONDITION
  [[ -n $1 ]] || return 0
  local pid
  for pid in $(pids_of "$2"); do
    ionice -c "${1%,*}" -n "${1#*,}" -p "$pid" || stop "no I/O priority for process $pid"
  done
}

tag_foreground() { # SQL_CONDITION: tags the server processes that serve requests, and no more
  local pid
  for pid in $(pids_of "$1"); do
    "$PAYLOAD/bin/fgio" tag --foreground "$pid" || stop "fgio does not tag process $pid"
  done
}

background() { # COMMAND...: runs at the background's priority
  if [[ -n $BACKGROUND_PRIORITY ]]; then
    ionice -c "${BACKGROUND_PRIORITY%,*}" -n "${BACKGROUND_PRIORITY#*,}" "$@"
  else
    "$@"
  fi
}

lower_burst() { # server processes of the backup, once they exist
  [[ -n $BACKGROUND_PRIORITY ]] || return 0
  local round
  for round in 1 2 3; do
    sleep "0.$round"
    set_priority "$BACKGROUND_PRIORITY" "backend_type IN ('walsender', 'parallel worker',
      'autovacuum worker') OR application_name = 'burst'"
  done
}

burst() {
  enter_background
  lower_burst &
  moment burst_begin
  # shellcheck source=/dev/null
  PGAPPNAME=burst BACKUP_OPTIONS=$BACKUP_OPTIONS background bash -e "$PAYLOAD/burst.sh" >"$RESULTS/burst.log" 2>&1 ||
    { cat "$RESULTS/burst.log"; echo burst >"$RESULTS/failed"; }
  moment burst_end
}

phase starting PostgreSQL
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
use_elevator "$ELEVATOR"
set_parameters "$SETTINGS"
use_gate "$GATE"
set_tunables "$TUNABLES"
set_queue "$QUEUE"
use_weights
mount -t ext4 "/dev/$DISK" /data || stop "the data set does not mount"
start_server /data/pg "$SERVER_OPTIONS"

phase dirtying buffers
psql -Xq -f "$PAYLOAD/dirty.sql" || stop "the batch that dirties buffers failed"

set_priority "$BACKGROUND_PRIORITY" "backend_type IN ('checkpointer', 'background writer',
  'autovacuum launcher')"
cd "$RESULTS" || exit 1
if [[ $HAS_FOREGROUND == 1 ]]; then
  phase warming up
  pgbench --no-vacuum --client="$CLIENTS" --jobs=1 --time=$((WARM_S + DURATION_S + 1)) \
    --protocol=prepared --random-seed="$SEED" --rate="$RATE" --log --log-prefix=pgbench \
    >pgbench.txt 2>&1 &
  pgbench=$!
  sleep 0.5
  set_journal_priority "$JOURNAL_PRIORITY"
  # A committing backend waits for the WAL writer and for the journal of the file system. fgio
  # finds the wait for the journal by itself; the kernel cannot see the wait for the WAL writer.
  if [[ $ELEVATOR == fgio ]]; then
    tag_foreground "application_name = 'pgbench' OR backend_type = 'walwriter'"
  else
    set_priority "$FOREGROUND_PRIORITY" "application_name = 'pgbench' OR backend_type = 'walwriter'"
  fi
  sleep "$(((WARM_S * 10 - 5) / 10)).5"
fi
if [[ $RECORDED == 1 ]]; then
  "$PAYLOAD/bin/fgio" record "$RESULTS/recording" >/dev/null &
  recorder=$!
fi
phase measuring
# The wait events of the transactions, ten times a second.
psql -XAtq >waits 2>/dev/null <<'SQL' &
SELECT coalesce(wait_event_type || ':' || wait_event, 'CPU') FROM pg_stat_activity
  WHERE application_name = 'pgbench' AND state <> 'idle' \watch 0.1
SQL
sampler=$!
snapshot before
watch_submitters
cat /proc/stat >before.cpu
moment measure_begin
sleep "$BURST_AFTER_S"
if [[ $HAS_BACKGROUND == 1 ]]; then
  phase burst
  burst &
fi
sleep $((DURATION_S - BURST_AFTER_S))
moment measure_end
kill $sampler
[[ $RECORDED == 0 ]] || { kill "$recorder" && wait "$recorder"; } || stop "fgio record failed"
snapshot after
cat /proc/stat >after.cpu
if [[ $ELEVATOR == fgio ]]; then
  "$PAYLOAD/bin/fgio" --json blame >blame.json || stop "fgio blame failed"
  "$PAYLOAD/bin/fgio" --json status >status.json || stop "fgio status failed"
fi
keep_submitters
keep_weights
phase ending
psql -XAtq -c "SELECT row_to_json(s) FROM pg_stat_bgwriter s" >bgwriter.json
psql -XAtq -c "SELECT version()" >version.txt
if [[ $HAS_FOREGROUND == 1 ]]; then
  wait "$pgbench" || { cat pgbench.txt; stop "pgbench failed"; }
fi
cat moments
[[ ! -e failed ]] || stop "the base backup failed"
exit 0
