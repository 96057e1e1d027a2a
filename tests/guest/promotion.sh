# SPDX-License-Identifier: Apache-2.0 OR MIT
# The walk's scan of queues for awaited I/O: a few slots in one hold of the lock, and by the request
# that a slot has now.
# shellcheck shell=bash disable=SC2154
TRACING=/sys/kernel/tracing

tidy() {
  dmsetup resume --noudevsync pages 2>/dev/null
  dmsetup resume --noudevsync below 2>/dev/null
}

queued() {
  echo $(($(counter noncritical_queued) - $(counter noncritical_dispatched)))
}

enough_is_queued() {
  [[ $(queued) -ge 800 ]]
}

# Runs on CPU 1 whenever it can, until the file "stop" is there. Prints the longest time for which it
# could not, in ms: it cannot interrupt the holder of the queue's lock.
longest_gap() {
  taskset -c 1 chrt -f 50 python3 - "$WORK" <<'PYTHON'
import os, sys, time

longest, before = 0.0, time.monotonic()
while not os.path.exists(sys.argv[1] + "/stop"):
    time.sleep(0.001)
    now = time.monotonic()
    longest, before = max(longest, now - before), now
    if not os.path.exists(sys.argv[1] + "/begun"):
        open(sys.argv[1] + "/begun", "w").close()
        longest, before = 0.0, time.monotonic()
print(int(longest * 1000))
PYTHON
}

# A foreground task, which sleeps for a lock that never comes.
never_done() {
  exec tagged foreground python3 -c 'import threading
lock = threading.Lock()
lock.acquire()
lock.acquire(timeout=600)'
}

walk_ms() {
  abuse state walk_ms
}

# Walks have taken LEAST ms or more since WALKED.
all_is_looked_at() {
  SCAN=$(($(walk_ms) - WALKED))
  [[ $SCAN -ge $LEAST ]]
}

# one kernel: the bound of a hold is of fgio alone
# The scan of each slot takes 4 ms longer: in one hold of the lock, nothing else would run on that CPU
# for LEAST ms and more. An emulator with several CPUs makes one wait for half a second, too. Waiting
# for the lock itself proves nothing: spinlocks of guests are not fair.
check_scans_let_go_of_the_lock() {
  local fio witness waiter longest bound WALKED SCAN LEAST
  load_fgio
  make_null many size=256 submit_queues=1
  use fgio
  echo 1024 >"/sys/block/$DISK/queue/nr_requests"
  withhold
  fio --name=many --filename="/dev/$DISK" --direct=1 --rw=randread --bs=4k --ioengine=libaio \
    --iodepth=850 --iodepth_batch=850 --number_ios=850 --output="$WORK/fio" &
  fio=$!
  wait_for "queued requests" enough_is_queued
  LEAST=$(($(queued) * 4))
  taskset -p -c 1 "$(pgrep -x fgio_walk)"
  longest_gap >"$WORK/longest" &
  witness=$!
  wait_for "the witness" test -e "$WORK/begun"
  stretch look_at_slot 4
  WALKED=$(walk_ms)
  never_done &
  waiter=$!
  # The control: the time of a single hold.
  wait_for "a walk that looks at all slots" all_is_looked_at
  touch "$WORK/stop"
  wait $witness
  no_stretch
  longest=$(<"$WORK/longest")
  echo "walks took $SCAN ms, the longest gap $longest ms"
  bound=$((SCAN / 4 > LEAST / 2 ? SCAN / 4 : LEAST / 2))
  expect "the longest gap" "$longest" -lt $bound
  kill $waiter
  no_withhold
  wait $fio
  wait $waiter || true
  remove_null many
  unload_fgio
}

read_page() { # NUMBER
  dd if=/dev/mapper/pages of=/dev/null bs=4k skip="$1" count=1 status=none
}

read_direct() { # NUMBER
  dd if="/dev/$DISK" of=/dev/null bs=4k skip="$1" count=1 iflag=direct status=none
}

in_device() { # NUMBER
  [[ $(counter noncritical_in_device) -eq $1 ]]
}

stand_still() { # DEVICE
  dmsetup suspend --nolockfs --noflush --noudevsync "$1"
}

# Ends all background jobs, too.
go_on() {
  dmsetup resume --noudevsync pages
  dmsetup resume --noudevsync below
  kill $WITNESS
  wait
}

is_tagged() {
  [[ $(<"/proc/$WITNESS/comm") == sleep ]]
}

# A foreground task, so that waits are followed: from when the call that tags it is over. Sets WITNESS.
follow_waits() {
  tagged foreground sleep 1000 &
  WITNESS=$!
  wait_for "waits to be followed" is_tagged
}

ignore_waits() {
  kill $WITNESS
  wait $WITNESS || true
  wait_for "hooks to go" hooks_are_gone
}

sleeps_for_io() { # PROCESS
  grep -q '^State:.D' "/proc/$1/status"
}

# A foreground task, which waits for the page and for nothing else: to read or seek in a block device
# takes a lock that the page's reader holds.
fault_page_in() { # NUMBER
  exec tagged foreground python3 - "$1" "$WORK/mapped" <<'PYTHON'
import mmap, os, sys

file = os.open("/dev/mapper/pages", os.O_RDONLY)
pages = mmap.mmap(file, 16 * 4096, prot=mmap.PROT_READ)
open(sys.argv[2], "w").close()
pages[int(sys.argv[1]) * 4096]
PYTHON
}

# Sets BOOSTS to the boosts of a task that is about to read a page, for a task that waits for it.
wait_for_page() { # NUMBER
  local reader
  rm -f "$WORK/mapped"
  echo >$TRACING/trace
  dd if=/dev/mapper/pages of=/dev/null bs=4k skip="$1" count=1 status=none &
  reader=$!
  wait_for "the reader of the page" sleeps_for_io $reader
  fault_page_in "$1" &
  wait_for "the foreground task" test -e "$WORK/mapped"
  sleep 2
  expect "waiting foreground tasks" "$(abuse state foreground_waiting)" -eq 1
  echo "the page's reader is task $reader"
  grep fgio_boost: $TRACING/trace || true
  BOOSTS=$(grep -c "fgio_boost: .*/$reader kind=" $TRACING/trace || true)
}

# Requests that went to the device while no waits were followed have slots of reads of page 5.
# Page 5 is then read again, by a task that is held up before its I/O is queued: that task must be
# boosted, unless one of those requests is taken for the read. The disk, a loop device, keeps its
# requests while the device below it is suspended.
check_pages_of_a_former_request_are_not_found() {
  local page
  load_fgio helper_window_ms=60000
  make_null former size=64
  modprobe dm_mod
  extra_module loop
  dmsetup create --noudevsync below --table "0 131072 linear /dev/$DISK 0"
  dmsetup mknodes
  DISK=$(losetup --find --show --direct-io=on /dev/mapper/below)
  DISK=${DISK#/dev/}
  use fgio
  # Three slots for a class without the other.
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  dmsetup create --noudevsync pages --table "0 131072 linear /dev/$DISK 0"
  dmsetup mknodes
  echo 1 >$TRACING/events/fgio/fgio_boost/enable
  follow_waits
  # Freed tags are reused when there are no others: so each slot has its turn.
  for _ in {1..8}; do
    read_page 5
    echo 1 >/proc/sys/vm/drop_caches
  done
  ignore_waits
  stand_still below
  # Not through the device that is suspended later: the suspend would wait for them.
  for page in 100 200 300; do
    read_direct $page &
  done
  wait_for "three requests in the device" in_device 3
  follow_waits
  stand_still pages
  wait_for_page 5
  in_device 3 || fail "the requests have left the device"
  expect "boosts of the task that is held up" "$BOOSTS" -ge 1
  go_on
  # The control: a request in the device is found, and its submitter is not boosted.
  follow_waits
  stand_still below
  wait_for_page 9
  in_device 1 || fail "the page's read is not in the device"
  expect "boosts for a page in the device" "$BOOSTS" -eq 0
  go_on
  dmsetup remove --noudevsync pages
  losetup --detach "/dev/$DISK"
  dmsetup remove --noudevsync below
  remove_null former
  unload_fgio
}
