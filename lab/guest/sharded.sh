# SPDX-License-Identifier: Apache-2.0 OR MIT
# Four PostgreSQL servers, each on a drive of its own, behind a server with PL/Proxy, and scans over
# all of them at a rate. Settings come from sharded.env.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/sharded.env"
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/recording.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/shards.sh"
export PATH=$PATH:$PAYLOAD/bin
FRONT_PORT=5432

port_of() { echo $((5433 + $1)); } # SHARD

use_extension() { # the same in all configurations; without the module it labels nothing
  install -t "$(pg_config --pkglibdir)" "$PAYLOAD/postgresql/fgio.so"
  install -m 0644 -t "$(pg_config --sharedir)/extension" "$PAYLOAD"/postgresql/fgio{.control,--1.0.sql}
  ! has_fgio || chmod 666 /dev/fgio
}

start_shards() {
  local shard
  for shard in $SHARDS; do
    export PGPORT
    PGPORT=$(port_of "$shard")
    start_server "/data/$shard/pg" \
      "-c port=$PGPORT -c lab.shard=$shard -c shared_preload_libraries=fgio"
  done
}

start_front() { # in memory: it reads and writes nothing while requests come
  mkdir /tmp/front
  mount -t tmpfs none /tmp/front
  cp -a /data/0/front /tmp/front/pg
  export PGPORT=$FRONT_PORT
  start_server /tmp/front/pg "-c port=$PGPORT -c shared_preload_libraries=fgio"
  psql -XqAt -v ON_ERROR_STOP=1 -f "$PAYLOAD/front.sql" template1 || stop "no proxy"
}

checkpoint() { # of shard 1, after updates all over the table
  psql -Xq -p "$(port_of 1)" -c "$UPDATE" -c CHECKPOINT >>"$RESULTS/background.log" 2>&1 &&
    echo "checkpoint $EPOCHREALTIME" >>"$RESULTS/background"
}

vacuum() { # of shard 2, at the pace of autovacuum with these settings
  PGOPTIONS="$VACUUM_OPTIONS" vacuumdb -p "$(port_of 2)" --disable-page-skipping \
    --table=items bench >>"$RESULTS/background.log" 2>&1 &&
    echo "vacuum $EPOCHREALTIME" >>"$RESULTS/background"
}

forget() { # the page cache of shard 3
  find /data/3/pg/base -type f -size +1M -exec dd if={} iflag=nocache count=0 status=none \;
}

begin_states() {
  [[ $STATES == 1 ]] || return 0
  PGOPTIONS="-c fgio.class=background" until_ending 5 checkpoint &
  until_ending 0 vacuum &
  until_ending 2 forget &
}

phase starting the servers
make_disks
set_parameters "$SETTINGS"
use_extension
start_shards
start_front
sync
echo 3 >/proc/sys/vm/drop_caches
cd "$RESULTS" || exit 1
: >background
phase warming up
begin_recording
pgbench --no-vacuum --client="$CLIENTS" --jobs=1 --time=$((WARM_S + DURATION_S + 1)) \
  --protocol=prepared --random-seed="$SEED" --rate="$RATE" --log --log-prefix=pgbench \
  -f "$PAYLOAD/scan.pgbench" template1 >pgbench.txt 2>&1 &
pgbench=$!
measure
wait $pgbench || { cat pgbench.txt; tail -n 20 server/log; stop "pgbench failed"; }
end_recording simdisk{0,1,2,3}
[[ ! -e failed ]] || { cat background.log; stop "the background failed"; }
exit 0
