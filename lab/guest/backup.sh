# SPDX-License-Identifier: Apache-2.0 OR MIT
# A database that lives in the page cache, at a rate, and a backup of everything after a while.
# Settings come from backup.env:
#   PART      basebackup, tar (both PostgreSQL) or rocksdb
#   POLICY    of the backup: plain, high (memory.high), low (memory.low of the database), quiet (none),
#             background (fgio run), client (fgio run --drop-behind), drop (with the process of the
#             server that reads for it, too), drop16 (that, with 16 MiB), cache (drop, and fgiod cache)
#   HOT       accounts or keys that requests are for: the first HOT of ALL
#   WARM_S, BEFORE_S, QUIET_S, AFTER_S    seconds of load before it counts, before the backup, in its
#             place where there is none, and after it
# Leaves the clients' records and `samples`, a line for each moment: its name, the time, what the database's
# processes read (bytes, by system calls, and from the drive), file memory and refaults of the database's
# cgroup, file memory of the backup's, free memory (bytes), pages of the hot part that are in memory.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/postgres-server.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/backup.env"
export PATH=$PATH:$PAYLOAD/bin
DATA=/data
CGROUPS=/sys/fs/cgroup

make_groups() { # as systemd has them: the server's unit, the backup's unit
  local each
  mount -t cgroup2 none $CGROUPS || stop "no cgroups"
  echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no controllers of I/O and memory"
  mkdir $CGROUPS/db $CGROUPS/backup || stop "no cgroup"
  for each in "db $DB_WEIGHT" "backup $BACKUP_WEIGHT"; do
    echo "default ${each#* }" >"$CGROUPS/${each% *}/io.weight" || stop "no io.weight"
  done
  [[ $POLICY != low ]] || set_limit db/memory.low "$DB_LOW"
  [[ $POLICY != high ]] || set_limit backup/memory.high "$BACKUP_HIGH"
}

set_limit() { # FILE BYTES
  echo "$2" >"$CGROUPS/$1" || stop "$1 does not take $2"
  [[ $(<"$CGROUPS/$1") == "$2" ]] || stop "$1 is not $2"
}

in_group() { # GROUP COMMAND...
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUPS/$1" "${@:2}"
}

fgio_cache() {
  mkdir -p /run/fgio /etc/fgio
  fgiod cache 2>"$RESULTS/fgiod-cache.log" &
  cache=$!
}

sum_of() { # NAME FILE...: the sum of values of a name, of the files that are there
  cat "${@:2}" 2>/dev/null |
    awk -v name="$1" '$1 == name || $1 == name ":" { sum += $2 } END { printf "%d ", sum }'
}

# cachestat(2) of Linux 6.5 and later touches no page. Index and table are in the order of their keys.
hot_pages() {
  perl -e '
    my ($share, $pages) = (shift, 0);
    for my $name (@ARGV) {
      open(my $file, "<", $name) or die "$name: $!";
      my $found = "\0" x 40;
      my $range = pack("QQ", 0, int($share * -s $file));
      syscall(451, fileno($file), $range, $found, 0) == 0 or $pages = -1, last;
      $pages += unpack("Q", $found);
    }
    print "$pages\n"' "$HOT_SHARE" "${HOT_FILES[@]}"
}

# Of each read, beside its bytes: RocksDB's begin anywhere in a page, and reach into one more.
BEYOND=0
[[ $PART != rocksdb ]] || BEYOND=4096

sample() { # MOMENT
  local files=("${BACKENDS[@]/#//proc/}")
  files=("${files[@]/%//io}")
  {
    echo -n "$1 $EPOCHREALTIME "
    echo -n "$(($(sum_of rchar "${files[@]}") + BEYOND * $(sum_of syscr "${files[@]}"))) "
    sum_of read_bytes "${files[@]}"
    sum_of file $CGROUPS/db/memory.stat
    sum_of workingset_refault_file $CGROUPS/db/memory.stat
    sum_of file $CGROUPS/backup/memory.stat $CGROUPS/fgio-run-*/memory.stat
    echo -n "$(($(sum_of MemFree /proc/meminfo) * 1024)) "
    hot_pages
  } >>"$RESULTS/samples"
  grep -E '^(pgsteal|pgscan|workingset|pgpgin|pgpgout|oom_kill)' /proc/vmstat >"$RESULTS/$1.vmstat"
}

# A start, for its share of memory: requests then touch the pages again and again.
read_hot() {
  local each size
  for each in "${HOT_FILES[@]}"; do
    size=$(stat -c %s "$each")
    in_group db head -c "$(awk "BEGIN { printf \"%d\", $size * $HOT_SHARE }")" "$each" >/dev/null
  done
}

start_postgresql() {
  (
    echo "$BASHPID" >$CGROUPS/db/cgroup.procs
    start_server $DATA/pg "-c shared_buffers=$SHARED_BUFFERS"
  ) || exit
  mapfile -t HOT_FILES < <(psql -XAtqc "SELECT '$DATA/pg/' || pg_relation_filepath(name)
    FROM (VALUES ('pgbench_accounts'), ('pgbench_accounts_pkey')) AS of(name)")
  read_hot
  cd "$RESULTS" || exit 1
  pgbench --no-vacuum --client="$CLIENTS" --jobs=1 --time=10000 --protocol=prepared \
    --random-seed="$SEED" --rate="$RATE" --log --log-prefix=pgbench --define=hot="$HOT" \
    --file="$PAYLOAD/read.sql@9" --file="$PAYLOAD/write.sql@1" >pgbench.txt 2>&1 &
  clients=$!
  sleep 2
  mapfile -t BACKENDS < <(pgrep -f '^postgres: postgres bench')
  [[ ${#BACKENDS[@]} == "$CLIENTS" ]] || { cat pgbench.txt; stop "${#BACKENDS[@]} backends"; }
}

stop_postgresql() {
  kill "$clients"
  wait "$clients"
  # They may end within a line.
  sed -i '$d' "$RESULTS"/pgbench.[0-9]*
}

# Tables are not compacted meanwhile: each has all keys, in their order.
start_rocksdb() {
  local tries=0
  HOT_FILES=("$DATA"/db/*.sst)
  read_hot
  in_group db lsm-clients $DATA/db "stats_dump_period_sec=0;disable_auto_compactions=true" "$READS" \
    "$WRITES" "$CLIENTS" "$HOT" 10000 "$SEED" 0 0 0 >"$RESULTS/requests" 2>"$RESULTS/statistics" &
  clients=$!
  until [[ -s $RESULTS/requests ]]; do
    sleep 0.1
    tries=$((tries + 1))
    [[ $tries -lt 300 ]] || stop "no request was answered: $(<"$RESULTS/statistics")"
  done
  mapfile -t BACKENDS < <(pgrep -x lsm-clients)
  [[ ${#BACKENDS[@]} == 1 ]] || stop "${#BACKENDS[@]} clients"
}

stop_rocksdb() {
  kill "${BACKENDS[@]}"
  wait "$clients" 2>/dev/null
  # It may end within a line.
  sed -i '$d' "$RESULTS/requests"
}

# What the unit of the backup runs.
backup_command() { # COMMAND...
  bash "$PAYLOAD/backup-command.sh" "$@"
}

# A backup is one when it is durable: pg_basebackup syncs its files by itself.
run_basebackup() {
  backup_command pg_basebackup --pgdata=$DATA/backup --checkpoint=fast
}

# What is copied while it changes is in order again after recovery.
run_tar() {
  mkdir $DATA/backup
  psql -XAtq -v ON_ERROR_STOP=1 <<'SQL'
SELECT pg_backup_start('tar', true);
\! bash "$PAYLOAD/backup-command.sh" bash -c 'tar -C /data -cf /data/backup/pg.tar pg; echo $? >"$RESULTS/tar.status"; sync /data/backup/pg.tar'
\o /data/backup/backup_label
SELECT labelfile FROM pg_backup_stop(false);
SQL
}

run_rocksdb() {
  # shellcheck disable=SC2016
  backup_command bash -c 'cp -r "$0/db" "$0/backup" && sync "$0"/backup/*' $DATA
}

run_backup() {
  echo "$BASHPID" >$CGROUPS/backup/cgroup.procs
  "run_$PART" 2>>"$RESULTS/backup.log" || echo failed >"$RESULTS/failed"
}

verify_basebackup() {
  pg_verifybackup $DATA/backup >"$RESULTS/verified" 2>&1
}

# The server restores it: recovery, then all accounts by the table and by the index.
verify_tar() {
  local place=$DATA/restored
  # 1: files changed as they were read.
  [[ $(<"$RESULTS/tar.status") -le 1 ]] || return 1
  mkdir $place && tar -C $place -xf $DATA/backup/pg.tar || return 1
  mv $DATA/backup/backup_label $place/pg/ && rm -f $place/pg/postmaster.pid
  chown -R postgres:postgres $place
  cp -a $DATA/pg/pg_wal/0* $place/pg/pg_wal/
  as_postgres pg_ctl -w -t 120 -D $place/pg -l /tmp/restored.log -o "-c port=5433" start >/dev/null ||
    { cat /tmp/restored.log; return 1; }
  [[ $(PGPORT=5433 psql -XAtqc "SELECT count(*) FROM pgbench_accounts") == "$ALL" ]] || return 1
  PGPORT=5433 psql -XAtqc "SET enable_seqscan = off; SET enable_bitmapscan = off;
    SELECT count(aid) FROM pgbench_accounts" >"$RESULTS/verified" || return 1
  [[ $(<"$RESULTS/verified") == "$ALL" ]]
}

# Tables are never written again; the log grows meanwhile.
verify_rocksdb() {
  local each
  for each in "$DATA"/db/*.sst; do
    cmp "$each" "$DATA/backup/${each##*/}" >"$RESULTS/verified" 2>&1 || return 1
  done
}

phase starting
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
[[ -z $LABELS ]] || load_module fgio
set_parameters "$SETTINGS"
use_elevator "$ELEVATOR"
set_tunables "$TUNABLES"
make_groups
if [[ -n $LABELS ]]; then
  network || stop "no loopback"
  install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
  # The profile is for programs that are known to have RocksDB inside.
  install -d /etc/fgio/profiles/rocksdb.toml.d
  printf '[program]\ncomm = "lsm-clients"\n' >/etc/fgio/profiles/rocksdb.toml.d/lab.toml
  start_daemon
fi
[[ $POLICY != cache ]] || fgio_cache
mount -t ext4 "/dev/$DISK" $DATA || stop "the data set does not mount"
phase warming up
SERVER=postgresql
[[ $PART != rocksdb ]] || SERVER=rocksdb
"start_$SERVER"
sleep "$WARM_S"
cat /proc/meminfo >"$RESULTS/meminfo"
phase before
snapshot before
sample before
sleep "$BEFORE_S"
phase backing up
sample begin
moment burst_begin
if [[ $POLICY == quiet ]]; then sleep "$QUIET_S"; else (run_backup) || exit; fi
moment burst_end
sample end
phase after
sleep "$AFTER_S"
sample after
snapshot after
phase verifying
cat $CGROUPS/*/memory.events >"$RESULTS/events"
[[ ! -e $RESULTS/failed ]] || stop "the backup failed: $(<"$RESULTS/backup.log")"
"stop_$SERVER"
[[ $POLICY == quiet ]] || "verify_$PART" || stop "the backup is none: $(cat "$RESULTS"/{verified,backup.log})"
if [[ $POLICY == cache ]]; then
  kill "$cache"
  wait "$cache" || stop "fgiod cache failed: $(<"$RESULTS/fgiod-cache.log")"
fi
phase "done"
exit 0
