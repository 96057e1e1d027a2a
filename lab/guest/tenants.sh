# SPDX-License-Identifier: Apache-2.0 OR MIT
# Two PostgreSQL servers on one disk, each with its clients in a cgroup of its own. Settings come from
# tenants.env:
#   TENANTS     NAME:WEIGHT each; its cluster is $DATA/NAME
#   FLOODING    those whose clients read as fast as they can, past the page cache
#   CHECKPOINT  the one that makes a checkpoint while measuring
#   EARLIER_S   seconds in which it makes one before that, and dirties its buffers again; 0: it does not
# Leaves NAME/pgbench.*, NAME/server/log, and under fgio shares.json and waits.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/tenants.env"
export PATH=$PATH:$PAYLOAD/bin
DATA=/data
CGROUPS=/sys/fs/cgroup

set_weight() { # FILE WEIGHT
  echo "default $2" >"$1" || stop "$1 does not take $2"
  grep -qx "default $2" "$1" || stop "$1 is $(<"$1"), not $2"
}

# Writeback belongs to a cgroup only where memory does, too.
make_groups() {
  local each
  mount -t cgroup2 none $CGROUPS || stop "no cgroups"
  echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no I/O controller"
  for each in $TENANTS; do
    mkdir "$CGROUPS/${each%:*}"
    # systemd sets both for IOWeight, where both are.
    set_weight "$CGROUPS/${each%:*}/io.weight" "${each#*:}"
    [[ $ELEVATOR != bfq ]] || set_weight "$CGROUPS/${each%:*}/io.bfq.weight" "${each#*:}"
  done
}

port_of() { # NAME
  [[ $1 == heavy ]] && echo 5432 || echo 5433
}

dirty_buffers() { # of the server at PGPORT
  psql -Xq -f "$PAYLOAD/dirty.sql" || stop "the batch that dirties buffers failed"
}

start_tenant() { # NAME: the server, its buffers dirty, and its processes in its cgroup
  mkdir "$RESULTS/$1"
  (
    echo "$BASHPID" >"$CGROUPS/$1/cgroup.procs"
    export PGPORT
    PGPORT=$(port_of "$1")
    RESULTS=$RESULTS/$1 start_server "$DATA/$1" "-c port=$PGPORT"
    dirty_buffers
  ) || exit
}

start_clients() { # NAME
  local count=$CLIENTS load=("--rate=$RATE")
  [[ " $FLOODING " != *" $1 "* ]] || count=$FLOOD_CLIENTS load=(--select-only)
  echo "$BASHPID" >"$CGROUPS/$1/cgroup.procs"
  cd "$RESULTS/$1" || exit
  PGPORT=$(port_of "$1") exec pgbench --no-vacuum --client="$count" --jobs=1 \
    --time=$((WARM_S + EARLIER_S + DURATION_S + 1)) --protocol=prepared --random-seed="$SEED" "${load[@]}" \
    --log --log-prefix=pgbench >pgbench.txt 2>&1
}

# Stands for tables much larger than memory: in half a second, the drive reads 12 MiB of them.
forget_pages() {
  while sleep 0.5; do
    echo 1 >/proc/sys/vm/drop_caches
  done
}

checkpoint() { # NAME
  PGPORT=$(port_of "$1") psql -Xqc CHECKPOINT >/dev/null || echo checkpoint >"$RESULTS/failed"
}

checkpoint_measured() { # NAME
  echo "$BASHPID" >"$CGROUPS/$1/cgroup.procs"
  moment burst_begin
  checkpoint "$1"
  moment burst_end
}

# Of the thousands of checkpoints that a server makes, one meets a drive that was not learnt yet.
checkpoint_earlier() { # NAME
  local rest
  sleep "$EARLIER_S" &
  rest=$!
  (
    echo "$BASHPID" >"$CGROUPS/$1/cgroup.procs"
    checkpoint "$1"
    PGPORT=$(port_of "$1") dirty_buffers
  ) || exit
  kill -0 $rest || stop "the earlier checkpoint took more than $EARLIER_S s"
  wait $rest
}

phase starting
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
# A disk follows the setting when it is put under fgio.
[[ -z $LABELS ]] || load_module fgio
set_parameters "$SETTINGS"
use_elevator "$ELEVATOR"
set_tunables "$TUNABLES"
make_groups
if [[ -n $LABELS ]]; then
  network || stop "no loopback"
  install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
  start_daemon
fi
mount -t ext4 "/dev/$DISK" $DATA || stop "the data sets do not mount"
for each in $TENANTS; do
  start_tenant "${each%:*}"
done
phase warming up
[[ -z $FLOODING ]] || forget_pages &
clients=()
for each in $TENANTS; do
  start_clients "${each%:*}" &
  clients+=($!)
done
sleep "$WARM_S"
((EARLIER_S == 0)) || checkpoint_earlier "$CHECKPOINT"
snapshot before
phase measuring
moment measure_begin
# It ends after what is measured, which it would delay.
! has_fgio || fgio --json share list --all --for $((DURATION_S + 1)) >"$RESULTS/shares.json" &
listing=$!
sleep "$BURST_AFTER_S"
[[ -z $CHECKPOINT ]] || checkpoint_measured "$CHECKPOINT" &
sleep $((DURATION_S - BURST_AFTER_S))
moment measure_end
snapshot after
wait $listing || stop "fgio share failed"
if has_fgio; then
  # The ring has the last waits alone: these are of all.
  metrics | grep '^fgio_wait' >"$RESULTS/waits" || stop "fgiod has no totals of waits"
fi
phase ending
for each in "${clients[@]}"; do
  wait "$each" || { cat "$RESULTS"/*/pgbench.txt; stop "pgbench failed"; }
done
[[ ! -e $RESULTS/failed ]] || stop "the checkpoint failed"
exit 0
