# SPDX-License-Identifier: Apache-2.0 OR MIT
# Bitmap scans on PostgreSQL 18 from a cold cache, beside a file that is written and synced, unless
# WRITE_MIB is 0.
# Settings come from io-method.env.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/io-method.env"
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"
export PATH=$PATH:$PAYLOAD/bin

label() { # by fgiod and the profiles as they come, or by the extension
  case $LABELS in
  profile)
    network || stop "no loopback"
    install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
    start_daemon
    ;;
  extension)
    chmod 666 /dev/fgio
    install -t "$(pg_config --pkglibdir)" "$PAYLOAD/postgresql/fgio.so"
    SERVER_OPTIONS+=" -c shared_preload_libraries=fgio"
    ;;
  esac
}

# The same file again and again, until the end.
write_and_sync() {
  [[ $WRITE_MIB != 0 ]] || return 0
  while [[ ! -e $RESULTS/ending ]]; do
    dd if=/dev/zero of=/data/burst bs=1M count="$WRITE_MIB" conv=fsync status=none || return
    echo "$EPOCHREALTIME" >>"$RESULTS/written"
  done
}

phase starting PostgreSQL
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
use_elevator "$ELEVATOR"
mount -t ext4 "/dev/$DISK" /data || stop "the data set does not mount"
label
start_server /data/pg "$SERVER_OPTIONS"
sync
echo 3 >/proc/sys/vm/drop_caches
cd "$RESULTS" || exit 1
: >written
PGOPTIONS="-c enable_indexscan=off -c enable_seqscan=off -c max_parallel_workers_per_gather=0" \
  pgbench --no-vacuum --client="$CLIENTS" --jobs=1 --time=$((WARM_S + DURATION_S + 1)) \
  --random-seed="$SEED" --rate="$RATE" --log --log-prefix=pgbench -f "$PAYLOAD/scan.sql" \
  >pgbench.txt 2>&1 &
pgbench=$!
sleep "$WARM_S"
snapshot before
phase measuring
moment measure_begin
write_and_sync &
writer=$!
sleep "$DURATION_S"
moment measure_end
snapshot after
touch ending
ps -eLo tid=,args= | grep '[p]ostgres: ' >threads
if has_fgio; then
  fgio --json status >status.json || stop "fgio status failed"
fi
phase ending
psql -XAtqc "SELECT version(), current_setting('io_method')" >version.txt
wait $pgbench || { cat pgbench.txt; stop "pgbench failed"; }
wait $writer || stop "the writer failed"
exit 0
