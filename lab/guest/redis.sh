# SPDX-License-Identifier: Apache-2.0 OR MIT
# Redis, see databases.sh. Background burst: a snapshot, and then a rewrite of the append-only file.
# shellcheck shell=bash
SOCKET=/tmp/redis

ask() { redis-cli -s $SOCKET "$@"; }

info_has() { # SECTION TEXT
  ask INFO "$1" | grep -q "$2"
}

start_database() {
  local module=()
  [[ $LABELS != inside ]] || module=(--loadmodule "$PAYLOAD/inside/fgio.so")
  make_files
  install -d -o redis -g redis $DATA/redis
  # The values stand for ones that do not compress.
  setpriv --reuid=redis --regid=redis --init-groups redis-server --port 0 --unixsocket $SOCKET \
    --unixsocketperm 777 --dir $DATA/redis --save '' --appendonly yes --appendfsync always \
    --no-appendfsync-on-rewrite "$NO_SYNC_ON_REWRITE" \
    --rdbcompression no --enable-debug-command local "${module[@]}" >"$RESULTS/redis.log" &
  wait_until 20 ask PING >/dev/null 2>&1
  ask DEBUG POPULATE "$KEYS" key 1000 >/dev/null || stop "no keys"
  ask CONFIG GET no-appendfsync-on-rewrite | grep -qx "$NO_SYNC_ON_REWRITE" ||
    stop "no-appendfsync-on-rewrite is not $NO_SYNC_ON_REWRITE"
}

warm_up() {
  redis-clients $SOCKET "$RATE" "$CLIENTS" 1 "$KEYS" $((WARM_S + DURATION_S)) "$SEED" \
    >"$RESULTS/requests" &
  clients=$!
  sleep "$WARM_S"
}

persist() { # COMMAND FIELD: lists the threads when it has begun, returns when it is done
  ask "$1"
  sleep 0.3
  list_threads "$1"
  wait_until 60 info_has persistence "$2:0"
}

burst() {
  persist BGSAVE rdb_bgsave_in_progress
  persist BGREWRITEAOF aof_rewrite_in_progress
  info_has persistence rdb_last_bgsave_status:ok
  info_has persistence aof_last_bgrewrite_status:ok
}

measure() { measure_with_burst burst; }

finish() {
  wait $clients || stop "the clients failed"
  ask INFO everything >"$RESULTS/info"
}
