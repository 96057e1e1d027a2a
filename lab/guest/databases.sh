# SPDX-License-Identifier: Apache-2.0 OR MIT
# A database, its clients, and a background burst of its own making. Settings come from databases.env, the
# database from database.sh:
#
#   start_database   on $DISK, which has its I/O scheduler; fgiod is at work when profiles are to label
#   warm_up          starts the load (if it is to be warm when measuring begins)
#   measure          the load and the background burst, between the moments measure_begin and measure_end
#   finish           ends both, and leaves the records for the host in $RESULTS
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/rivals.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/databases.env"
export PATH=$PATH:$PAYLOAD/bin
DATA=/data

make_files() { # an empty file system at $DATA
  mke2fs -q -t ext4 -b 4096 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "/dev/$DISK" ||
    stop "mke2fs failed"
  mount -t ext4 -o noinit_itable "/dev/$DISK" $DATA || stop "ext4 does not mount"
}

label() { # by fgiod and the profiles as they come, or by an extension of the database
  case $LABELS in
  profile)
    network || stop "no loopback"
    install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
    fgio profile check >/dev/null || stop "the profiles are not as they say"
    start_daemon
    ;;
  inside) chmod 666 /dev/fgio ;;
  esac
}

list_threads() { # NAME: all threads now, with their tags
  keep_priorities "$1" "$PROGRAMS"
  ps -eLo pid=,tid=,comm=,args= >"$RESULTS/threads.$1"
  ! has_fgio || fgio --json status >"$RESULTS/status.$1" || stop "fgio status failed"
}

wait_until() { # SECONDS COMMAND...
  local tries=$(($1 * 50))
  shift
  until "$@"; do
    sleep 0.02
    tries=$((tries - 1))
    [[ $tries -gt 0 ]] || stop "not in time: $*"
  done
}

run_burst() { # COMMAND...
  enter_background
  moment burst_begin
  "$@" >"$RESULTS/burst.log" 2>&1 || { cat "$RESULTS/burst.log"; echo burst >"$RESULTS/failed"; }
  moment burst_end
}

measure_with_burst() { # COMMAND...: beside a load that runs already
  moment measure_begin
  sleep "$BURST_AFTER_S"
  if [[ $HAS_BACKGROUND == 1 ]]; then
    phase burst
    run_burst "$@" &
  fi
  sleep $((DURATION_S - BURST_AFTER_S))
  moment measure_end
}

# shellcheck source=/dev/null
. "$PAYLOAD/database.sh"

phase starting
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
use_elevator "$ELEVATOR"
[[ -z $LABELS ]] || load_module fgio
set_parameters "$SETTINGS"
use_gate "$GATE"
set_tunables "$TUNABLES"
set_queue "$QUEUE"
use_weights
label
use_priorities "$PROGRAMS"
start_database
set_journal_priority "$JOURNAL_PRIORITY"
phase warming up
warm_up
snapshot before
watch_submitters
phase measuring
measure
snapshot after
keep_submitters
keep_weights
if has_fgio; then
  fgio --json blame >"$RESULTS/blame.json" || stop "fgio blame failed"
  fgio --json status >"$RESULTS/status.json" || stop "fgio status failed"
fi
phase ending
finish
[[ ! -e $RESULTS/failed ]] || stop "the background burst failed"
exit 0
