# SPDX-License-Identifier: Apache-2.0 OR MIT
# Several instances of Redis under YCSB's workload A, see databases.sh. Background burst: snapshots and
# rewrites of the append-only files, which each instance begins by its own settings.
# shellcheck shell=bash

instances() { seq 1 "$INSTANCES"; }

ask() { # INSTANCE COMMAND...
  redis-cli -s "/tmp/redis.$1" "${@:2}"
}

is_up() { ask "$1" PING >/dev/null 2>&1; }

start_database() {
  local each
  make_files
  for each in $(instances); do
    install -d -o redis -g redis "$DATA/redis.$each"
    # The values stand for ones that do not compress.
    setpriv --reuid=redis --regid=redis --init-groups redis-server --port 0 \
      --unixsocket "/tmp/redis.$each" --unixsocketperm 777 --dir "$DATA/redis.$each" --save '' \
      --appendonly yes --auto-aof-rewrite-percentage 0 --rdbcompression no \
      --no-appendfsync-on-rewrite "$NO_SYNC_ON_REWRITE" \
      --enable-debug-command local >"$RESULTS/redis.$each.log" &
  done
  for each in $(instances); do
    wait_until 20 is_up "$each"
    ask "$each" DEBUG POPULATE "$KEYS" key 1000 >/dev/null || stop "no keys"
    ask "$each" CONFIG GET no-appendfsync-on-rewrite | grep -qx "$NO_SYNC_ON_REWRITE" ||
      stop "no-appendfsync-on-rewrite is not $NO_SYNC_ON_REWRITE"
  done
}

warm_up() {
  local each
  clients=()
  for each in $(instances); do
    redis-clients "/tmp/redis.$each" "$RATE" "$CLIENTS" "$UPDATE_SHARE" "$KEYS" \
      $((WARM_S + DURATION_S + 1)) "$SEED$each" >"$RESULTS/requests.$each" &
    clients+=($!)
  done
  sleep "$WARM_S"
}

allow_burst() {
  local each
  for each in $(instances); do
    ask "$each" CONFIG SET save "$SAVE" auto-aof-rewrite-min-size "$REWRITE_MIN" \
      auto-aof-rewrite-percentage 100 >/dev/null || stop "no settings"
  done
}

measure() {
  moment measure_begin
  [[ $HAS_BACKGROUND == 0 ]] || allow_burst
  sleep $((DURATION_S / 2))
  list_threads burst
  sleep $((DURATION_S - DURATION_S / 2))
  moment measure_end
}

finish() {
  local each
  for each in $(instances); do
    ask "$each" INFO persistence >"$RESULTS/info.$each"
  done
  for each in "${clients[@]}"; do
    wait "$each" || stop "the clients failed"
  done
}
