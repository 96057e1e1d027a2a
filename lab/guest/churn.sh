# SPDX-License-Identifier: Apache-2.0 OR MIT
# fgiod while processes and threads come and go. Settings come from churn.env.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/churn.env"
export PATH=$PAYLOAD/programs:$PATH:$PAYLOAD/bin
TITLE="postgres: app bench [local] idle"

sample() { # NAME: a line of $RESULTS/samples, and the page of metrics as NAME.metrics
  metrics >"$RESULTS/$1.metrics"
  {
    cut -d' ' -f1 /proc/uptime
    sed -n 's/^VmRSS:\s*\|^VmHWM:\s*//p' "/proc/$daemon/status" | sed 's/ kB//'
    sed -n 's/^fgio_followed_\(processes\|threads\) //p' "$RESULTS/$1.metrics"
  } | paste -sd' ' >>"$RESULTS/samples"
}

start_all() { # begins all starts
  churn start "$RATE" "$DURATION_S" "$PAYLOAD/programs/churn" >"$RESULTS/starts" &
  churn start "$NAMED_RATE" "$DURATION_S" "$PAYLOAD/programs/redis-server" watch \
    "$RESULTS/exec" >"$RESULTS/exec.starts" &
  postgres fork "$NAMED_RATE" "$DURATION_S" "$RESULTS/title" "$TITLE" >"$RESULTS/title.starts" &
  mongod thread "$NAMED_RATE" "$DURATION_S" "$RESULTS/rename" conn1 >"$RESULTS/rename.starts" &
}

phase preparing
load_module fgio
network || stop "no loopback"
install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
for name in redis-server postgres mongod; do
  cp "$PAYLOAD/programs/churn" "$PAYLOAD/programs/$name"
done
start_daemon
# Hooks come with the first foreground thread, and the tagging process waits for them.
sleep 1000 &
resident=$!
fgio tag --foreground $resident >/dev/null || stop "no tag by hand"
phase at rest
sleep "$REST_S"
sample before
phase measuring
start_all
left=$DURATION_S
while [[ $left -gt 0 ]]; do
  sleep "$SAMPLE_S"
  left=$((left - SAMPLE_S))
  sample "during$((DURATION_S - left))"
done
phase at rest again
# shellcheck disable=SC2046
wait $(jobs -p | grep -vx -e "$daemon" -e $resident) || stop "the churn failed"
sleep "$REST_S"
sample after
fgio --json status >"$RESULTS/after.status" || stop "no status"
phase "done"
