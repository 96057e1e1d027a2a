# SPDX-License-Identifier: Apache-2.0 OR MIT
# Common to the checks: modules, disks, elevators, counters, verdicts.
# shellcheck shell=bash
set -Eeuo pipefail
export PATH=$PAYLOAD/tests/bin:$PATH
WORK=$(mktemp -d)
mkfifo "$WORK/never"
exec {NEVER}<>"$WORK/never"

run_check() { # NAME
  trap 'echo "line $LINENO: exit status $?: $BASH_COMMAND"' ERR
  trap 'clean_up' EXIT
  "check_$1"
}

fail() { # MESSAGE
  printf 'FAILED: %s\n' "$*"
  exit 1
}

skip() { # REASON
  printf 'skipped: %s\n' "$*"
  exit 77
}

expect() { # WHAT CONDITION...: the condition is for [[ ]]'s arithmetic, e.g. "$a -gt 3"
  local what=$1
  shift
  # shellcheck disable=SC2086
  [ $* ] || fail "$what: $*"
  printf 'good: %s (%s)\n' "$what" "$*"
}

# Restores the machine after a check, however it ended. Scripts may have a tidy().
clean_up() {
  local status=$? left
  set +eE
  trap - ERR
  # First: what it keeps queued has no other end.
  no_withhold
  ! declare -F tidy >/dev/null || tidy
  local jobs_left
  jobs_left=$(jobs -p)
  # shellcheck disable=SC2086
  [[ -z $jobs_left ]] || kill $jobs_left 2>/dev/null
  wait 2>/dev/null
  no_stretch
  no_unhook
  ! mountpoint -q "$WORK/mount" || umount "$WORK/mount"
  # The next check may make a disk of the same name.
  for left in /sys/kernel/config/nullb/*/; do
    [[ $status -eq 0 || $status -eq 77 || ! -d $left ]] || rmdir "$left"
  done
  rm -rf "$WORK"
}

load_fgio() { # PARAMETER...
  [[ ! -d /sys/module/fgio ]] || unload_fgio
  insmod "$PAYLOAD/modules/fgio.ko" "$@"
  stat -c %a:%U:%G /dev/fgio >/tmp/mode_at_load
  # Checks run as users that udev's group would let in.
  chmod 0666 /dev/fgio
}

unload_fgio() {
  local queue
  for queue in /sys/block/*/queue/scheduler; do
    ! grep -qF '[fgio]' "$queue" || echo none >"$queue"
  done
  rmmod fgio
}

# Widens the window of a race: each call of the function is delayed at its beginning, with the
# variable cleared already where there is one. For batches with test modules.
stretch() { # FUNCTION MILLISECONDS [VARIABLE]
  no_stretch
  insmod "$PAYLOAD/modules/fgio_stretch.ko" "function=$1" "ms=$2" ${3:+"clears=$3"}
}

no_stretch() {
  [[ ! -d /sys/module/fgio_stretch ]] || rmmod fgio_stretch
}

# A kernel that does not let itself be hooked (tests/kmod/fgio_unhook.c), for fgio as it is loaded next.
# For batches with test modules.
unhook() { # refuse=HOOK|mute=TRACEPOINT
  no_unhook
  [[ ! -d /sys/module/fgio ]] || unload_fgio
  insmod "$PAYLOAD/modules/fgio_unhook.ko" "$1"
}

# Not under a module that was deceived.
no_unhook() {
  [[ -d /sys/module/fgio_unhook ]] || return 0
  [[ ! -d /sys/module/fgio ]] || unload_fgio
  rmmod fgio_unhook
}

# A bug of the elevator (kmod/lab/withhold.c): non-critical requests stay queued while no critical one
# is, until the watchdog trips.
withhold() { # [hardware_queue=N]: of this one alone
  need_fgio
  insmod "$PAYLOAD/modules/fgio_withhold.ko" "$@"
}

no_withhold() {
  [[ ! -d /sys/module/fgio_withhold ]] || rmmod fgio_withhold
}

need_fgio() {
  [[ -d /sys/module/fgio ]] || load_fgio
}

# Waits as `sleep` does, without a process: to start one takes 5 ms here, and loops do it all the time.
pause() { # SECONDS
  read -rt "$1" -u "$NEVER" || true
}

now_ms() { awk '{ printf "%d", $1 * 1000 }' /proc/uptime; }

wait_for() { # WHAT COMMAND...: until it succeeds, at least 25 s
  local what=$1 tries=0
  shift
  until "$@"; do
    tries=$((tries + 1))
    [[ $tries -lt 500 ]] || fail "in vain waited for $what"
    pause 0.05
  done
}

# Some seconds after the last foreground task ended.
hooks_are_gone() {
  local attached
  read -r _ attached _ < <(abuse hook folio_wait_bit_common)
  [[ $attached -eq 0 ]]
}

# Ends a fio before its time is over: it writes its report, and its status is that it was interrupted.
end_fio() { # JOB [PROCESS]: fio's own, where the job is a shell around it
  local status=0
  kill "${2:-$1}"
  wait "$1" || status=$?
  [[ $status -eq 128 ]] || fail "fio ended with status $status"
}

gone() { ! kill -0 "$1" 2>/dev/null; }

# Foreground threads by I/O priority are seen by their I/O alone, for some seconds: on a slow guest,
# hooks that were attached for one read are gone before the next wave of threads waits.
some_wait() {
  ionice -c1 dd if="/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
  [[ $(abuse state foreground_waiting) -gt 200 ]]
}

extra_module() { # NAME
  local each
  modprobe -q "$1" 2>/dev/null && return
  while read -r each; do
    [[ -d /sys/module/$each ]] || insmod "$PAYLOAD/tests/extra/$each.ko" 2>/dev/null || true
    [[ $each != "${1//-/_}" ]] || break
  done <"$PAYLOAD/tests/extra.order"
  [[ -d /sys/module/${1//-/_} ]] || fail "module $1 does not load"
}

# Sets DISK. Each device has its own parameters, which only configfs can set.
make_null() { # NAME KEY=VALUE...
  local name=$1 config=/sys/kernel/config/nullb pair
  shift
  [[ -d /sys/module/null_blk ]] || extra_module configfs
  mountpoint -q /sys/kernel/config || mount -t configfs none /sys/kernel/config
  [[ -d /sys/module/null_blk ]] || modprobe null_blk nr_devices=0
  mkdir "$config/$name"
  echo 2 >"$config/$name/queue_mode"
  for pair in memory_backed=1 blocksize=512 size=256 "$@"; do
    echo "${pair#*=}" >"$config/$name/${pair%%=*}"
  done
  echo 1 >"$config/$name/power"
  DISK=nullb$(cat "$config/$name/index")
  [[ -b /dev/$DISK ]] || DISK=$name
  wait_for "/dev/$DISK" test -b "/dev/$DISK"
}

remove_null() { # NAME
  rmdir "/sys/kernel/config/nullb/$1"
}

make_simdisk() { # PARAMETER...: sets DISK to the first
  [[ ! -d /sys/module/simdisk ]] || rmmod simdisk
  insmod "$PAYLOAD/modules/simdisk.ko" "$@"
  DISK=simdisk0
  wait_for "/dev/$DISK" test -b "/dev/$DISK"
}

# Sets DISK.
make_scsi() { # PARAMETER...
  [[ ! -d /sys/module/scsi_debug ]] || rmmod scsi_debug
  modprobe sd_mod
  modprobe scsi_debug "$@"
  wait_for "a SCSI disk" compgen -G "/sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block/sd*"
  DISK=$(basename /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block/sd*)
  wait_for "/dev/$DISK" test -b "/dev/$DISK"
}

use() { # ELEVATOR [DISK]
  local disk=${2:-$DISK}
  case $1 in
  fgio) need_fgio ;;
  bfq | kyber) modprobe "${1/kyber/kyber-iosched}" ;;
  esac
  echo "$1" >"/sys/block/$disk/queue/scheduler"
  grep -qF "[$1]" "/sys/block/$disk/queue/scheduler" || fail "$disk is not under $1"
  [[ $1 != fgio ]] || wait_for "counters" test -e "/sys/kernel/debug/fgio/$disk/counters"
}

counter() { # NAME [DISK]
  awk -v name="$1" '$1 == name { print $2; found = 1 } END { exit !found }' \
    "/sys/kernel/debug/fgio/${2:-$DISK}/counters"
}

tunable() { # NAME VALUE [DISK]
  echo "$2" >"/sys/block/${3:-$DISK}/queue/iosched/$1"
}

parameter() { # NAME VALUE: of the loaded module
  echo "$2" >"/sys/module/fgio/parameters/$1"
}

# Sets CRITICAL and NONCRITICAL to the requests queued so far. Without a process: they are slow here.
read_classes() {
  local name value
  while read -r name value; do
    case $name in
    critical_queued) CRITICAL=$value ;;
    noncritical_queued) NONCRITICAL=$value ;;
    esac
  done <"/sys/kernel/debug/fgio/$DISK/counters"
}

# Runs a command and sets CRITICAL and NONCRITICAL to the requests that it queued.
count_classes() { # COMMAND...
  local critical noncritical
  read_classes
  critical=$CRITICAL
  noncritical=$NONCRITICAL
  "$@"
  read_classes
  CRITICAL=$((CRITICAL - critical))
  NONCRITICAL=$((NONCRITICAL - noncritical))
  printf '%s critical, %s non-critical: %s\n' "$CRITICAL" "$NONCRITICAL" "$*"
}

expect_critical() { # COMMAND...: 16 requests or more, all critical
  count_classes "$@"
  [[ $CRITICAL -ge 16 && $NONCRITICAL -eq 0 ]] || fail "not all of it was critical"
}

expect_noncritical() { # COMMAND...
  count_classes "$@"
  [[ $NONCRITICAL -ge 16 && $CRITICAL -eq 0 ]] || fail "not all of it was non-critical"
}

# Figures from fio's own report.
fio_figure() { # FILE EXPRESSION: the expression is Python on `jobs`, a map by name
  python3 - "$1" "$2" <<'PYTHON'
import json, sys

text = open(sys.argv[1]).read()
jobs = {job["jobname"]: job for job in json.loads(text[text.index("{"):])["jobs"]}
print(eval(sys.argv[2]))
PYTHON
}

run_fio() { # ARGUMENT...: any error that a job met is a failure
  if ! fio --output="$WORK/fio.out" "$@"; then
    cat "$WORK/fio.out"
    fail "fio met an error"
  fi
  grep -q 'err= 0' "$WORK/fio.out" || { cat "$WORK/fio.out"; fail "fio reports no job"; }
  ! grep -E 'err= *[1-9]|verify: bad' "$WORK/fio.out" || fail "fio reports an error"
}

# Two jobs of the two classes that write, then read back and compare, on halves of a device.
verify_options() { # MIB_PER_JOB [DEVICE]
  local device=${2:-/dev/$DISK} common
  common="--filename=$device --direct=1 --rw=randwrite --bssplit=512/30:4k/40:16k/20:64k/10
    --verify=crc32c --verify_fatal=1 --do_verify=1 --verify_backlog=512 --iodepth=32
    --size=${1}m --randseed=7"
  # shellcheck disable=SC2086
  printf '%s\n' --name=critical $common --ioengine=libaio --offset=0 --prioclass=1 --prio=0 \
    --name=noncritical $common --ioengine=io_uring "--offset=${1}m"
}

verify() { # MIB_PER_JOB [DEVICE] [ARGUMENT...]
  local -a options
  mapfile -t options < <(verify_options "$1" "${2:-/dev/$DISK}")
  run_fio "${options[@]}" "${@:3}"
}

# A file is written through the page cache, synced, and read back from the disks. "foreground" has the
# module take the thread for one, in each round, since the module comes and goes.
verified_file() { # NAME foreground|none
  python3 - "$WORK" "$1" "$2" <<'PYTHON'
import fcntl, mmap, os, pathlib, struct, sys

SET_TAG, SIZE = 0x4008F601, 96 << 10
work, name, role = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
content = os.urandom(SIZE)
file = os.open(work / "mount" / name, os.O_RDWR | os.O_CREAT, 0o600)
direct = os.open(work / "mount" / name, os.O_RDONLY | os.O_DIRECT)
read = mmap.mmap(-1, SIZE)
rounds = 0
while not (work / "stop").exists():
    if role == "foreground":
        try:
            device = os.open("/dev/fgio", os.O_RDWR)
            fcntl.ioctl(device, SET_TAG, struct.pack("iI", 0, 1))
            os.close(device)
        except OSError:
            pass
    content = content[4096:] + os.urandom(4096)
    os.pwrite(file, content, 0)
    os.fsync(file)
    got = os.preadv(direct, [read], 0)
    if got != SIZE or read[:] != content:
        sys.exit(f"{name}: {got} bytes read in round {rounds}, and others than were written")
    rounds += 1
    (work / f"{name}.rounds").write_text(str(rounds))
PYTHON
}

rounds_beyond() { # NUMBER
  [[ $(cat "$WORK/urgent.rounds" 2>/dev/null || echo 0) -gt $1 ]]
}

more_rounds() { # [NUMBER]
  local before
  before=$(cat "$WORK/urgent.rounds" 2>/dev/null || echo 0)
  wait_for "rounds of the foreground" rounds_beyond $((before + ${1:-2}))
}

# Foreground tasks have the device of fgio open for a moment.
comes_and_goes() {
  use none
  wait_for "the module to go" rmmod fgio 2>/dev/null
  load_fgio
  use fgio
}

# A switch of the module goes off and comes back under that load, three times.
goes_off_and_on() { # SWITCH
  for _ in 1 2 3; do
    parameter "$1" N
    more_rounds 1
    parameter "$1" Y
    more_rounds 1
  done
}

expect_hooks() { # MODULE FUNCTION...
  local function
  for function in "${@:2}"; do
    expect "hooks on $function" "$(abuse hook "$1:$function" | cut -d ' ' -f 2)" -eq 1
  done
}

all_is_over() {
  [[ $(abuse state foreground_waiting) -eq 0 && $(abuse state boosted) -eq 0 ]]
}

# A foreground task and another one write a file each at $WORK/mount and verify it, again and again.
begin_verified_files() {
  verified_file urgent foreground &
  URGENT=$!
  verified_file others none &
  OTHERS=$!
}

is_boosted() { [[ $(abuse state boosted) -gt 0 ]]; }

has_boosted() { [[ $(abuse state boosts) -gt 0 ]]; }

# The module may have come back some rounds ago, and few of them have to wait for another task.
end_verified_files() {
  wait_for "boosts" has_boosted
  expect "boosts" "$(abuse state boosts)" -gt 0
  touch "$WORK/stop"
  wait "$URGENT" || fail "the foreground's data"
  wait "$OTHERS" || fail "the others' data"
  expect "waiting foreground tasks" "$(abuse state foreground_waiting)" -eq 0
}
