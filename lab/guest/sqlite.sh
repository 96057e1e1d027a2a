# SPDX-License-Identifier: Apache-2.0 OR MIT
# SQLite in WAL mode, see databases.sh. Background burst: a checkpoint, by a process of its own. With a batch, a
# further process writes all the time.
# shellcheck shell=bash

# SQLite is a library: which processes serve requests, the application's own profile says.
mkdir -p /etc/fgio/profiles /lab
cat >/etc/fgio/profiles/sqlite-clients.toml <<'PROFILE'
summary = "the lab's clients of SQLite"

[program]
comm = "sqlite-clients"

[[rule]]
name = "client"
class = "foreground"
PROFILE
# Other programs, by their names: no profile knows them.
cp "$PAYLOAD/bin/sqlite-clients" /lab/checkpoint
cp "$PAYLOAD/bin/sqlite-clients" /lab/batch

start_database() {
  mount -t ext4 "/dev/$DISK" "$DATA" || stop "the data set does not mount"
}

is_answered() { [[ -s $RESULTS/requests.0 ]]; }

warm_up() {
  cd "$RESULTS" || stop "no $RESULTS"
  sqlite-clients "$DATA/database" run "$READS" "$WRITES" "$READERS" "$KEYS" \
    $((WARM_S + DURATION_S + 1)) "$SEED" 2>"$RESULTS/errors" &
  clients=$!
  wait_until 60 is_answered
  batch=
  if [[ $BATCH_ROWS != 0 ]]; then
    /lab/batch "$DATA/database" batch "$KEYS" "$BATCH_ROWS" "$BATCH_PAUSE_MS" "$SEED" 2>"$RESULTS/batch.log" &
    batch=$!
  fi
  sleep "$WARM_S"
  list_threads warm
}

measure() { measure_with_burst /lab/checkpoint "$DATA/database" checkpoint; }

finish() {
  if [[ $batch ]]; then
    kill "$batch" || { cat "$RESULTS/batch.log"; stop "the batch ended"; }
  fi
  wait $clients || { cat "$RESULTS/errors"; stop "the clients failed"; }
}
