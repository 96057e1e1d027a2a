# SPDX-License-Identifier: Apache-2.0 OR MIT
# Four MariaDB servers, each on a drive of its own, behind a server with Spider, and scans over all of
# them at a rate. Settings come from sharded-spider.env.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/sharded-spider.env"
# shellcheck source=/dev/null
. "$PAYLOAD/shards.sh"
export PATH=$PATH:$PAYLOAD/bin

ask() { # SERVER COMMAND
  mariadb --no-defaults --user=root --socket="/tmp/mariadb-$1" --batch --skip-column-names --execute="$2" bench
}

start_server() { # NAME FOLDER OPTION...
  local name=$1 folder=$2 tries=0
  shift 2
  # shellcheck disable=SC2086
  mariadbd --no-defaults --user="$SERVER_USER" --datadir="$folder" --socket="/tmp/mariadb-$name" $OPTIONS \
    "$@" >"$RESULTS/mariadb-$name.log" 2>&1 &
  until mariadb-admin --no-defaults --user=root --socket="/tmp/mariadb-$name" ping >/dev/null 2>&1; do
    tries=$((tries + 1))
    [[ $tries -lt 300 ]] || { cat "$RESULTS/mariadb-$name.log"; stop "MariaDB $name does not start"; }
    sleep 0.2
  done
}

start_shards() { # the plugin in all configurations; without the module it labels nothing
  local shard
  install -t /usr/lib/mysql/plugin "$PAYLOAD/mariadb/fgio.so"
  ! has_fgio || chmod 666 /dev/fgio
  for shard in $SHARDS; do
    start_server "$shard" "/data/$shard/mysql" --plugin-maturity=experimental --plugin-load-add=fgio \
      --fgio-read-requests=ON
    [[ $(ask "$shard" "SELECT @@innodb_use_native_aio, @@innodb_flush_method") == 1$'\t'O_DIRECT ]] ||
      stop "not with native I/O and O_DIRECT"
  done
  ! has_fgio || [[ $(ask 0 "SHOW STATUS LIKE 'fgio_available'") == *ON ]] ||
    stop "the plugin does not reach the module"
}

start_front() { # in memory: it reads and writes nothing while requests come
  mkdir /tmp/front
  mount -t tmpfs none /tmp/front
  cp -a /data/0/front /tmp/front/mysql
  # Parts of a request side by side, and connections to shards for as long as the client's. Requests
  # read alone, so there is nothing to commit.
  start_server front /tmp/front/mysql --plugin-load-add=ha_spider --spider-bgs-mode=1 \
    --spider-conn-recycle-mode=2 --spider-semi-trx=OFF
  mariadb --no-defaults --user=root --socket=/tmp/mariadb-front <"$PAYLOAD/front.sql" || stop "no front"
}

checkpoint() { # of shard 1, after updates all over the table: until no page is dirty that was then
  local begin
  ask 1 "SET fgio_class = 'background'; $UPDATE" &&
    begin=$(ask 1 "SHOW STATUS LIKE 'Innodb_lsn_current'" | cut -f2) &&
    ask 1 "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0, innodb_max_dirty_pages_pct = 0" || return
  until [[ $(ask 1 "SHOW STATUS LIKE 'Innodb_lsn_last_checkpoint'" | cut -f2) -ge $begin ]]; do sleep 0.5; done
  ask 1 "SET GLOBAL innodb_max_dirty_pages_pct = 90" && echo "checkpoint $EPOCHREALTIME" >>"$RESULTS/background"
}

scan() { # of all of shard 2, at the pace of a batch job that leaves room
  mariadb --no-defaults --user=root --socket=/tmp/mariadb-2 bench <"$PAYLOAD/scan.sql" &&
    echo "scan $EPOCHREALTIME" >>"$RESULTS/background"
}

begin_states() {
  [[ $STATES == 1 ]] || return 0
  until_ending 5 checkpoint >>background.log 2>&1 &
  until_ending 0 scan >>background.log 2>&1 &
}

show_requests() { # SHARD: commands that served a request, so far
  ask "$1" "SHOW GLOBAL STATUS LIKE 'fgio_commands_with_request'"
}

phase starting the servers
make_disks
set_parameters "$SETTINGS"
start_shards
start_front
sync
echo 3 >/proc/sys/vm/drop_caches
cd "$RESULTS" || exit 1
: >background
phase warming up
spider-clients /tmp/mariadb-front "$RATE" "$CLIENTS" "$RECORDS" "$MOST_RECORDS" \
  $((WARM_S + DURATION_S + 1)) "$SEED" >requests 2>clients.txt &
clients=$!
measure
wait $clients || { cat clients.txt; tail -n 20 mariadb-*.log; stop "the clients failed"; }
for shard in $SHARDS; do show_requests "$shard"; done >commands
[[ ! -e failed ]] || { cat background.log; stop "the background failed"; }
exit 0
