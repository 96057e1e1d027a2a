# SPDX-License-Identifier: Apache-2.0 OR MIT
# Disks that go away, fail or hang, and memory that runs out, with sleepers in admission.
# shellcheck shell=bash disable=SC2154

both_classes_wait() {
  [[ $(counter noncritical_waiting) -gt 0 && $(counter critical_waiting) -gt 0 ]]
}

# Threads of both classes that wait for slots. Their I/O errors are expected: the disk goes away.
# They must run longer than the checks of a slow kernel.
crowd() { # RUNTIME ARGUMENT...
  fio --filename="/dev/$DISK" --direct=1 --rw=randrw --bs=4k --ioengine=psync --thread \
    --time_based "--runtime=$(($1 * ${LAB_SLOWNESS:-1}))" --group_reporting --output="$WORK/crowd.out" \
    --name=critical --prioclass=1 --numjobs=12 --name=noncritical --prioclass=2 --prio=4 \
    --numjobs=12 "${@:2}" >/dev/null 2>&1 &
  CROWD=$!
}

check_removal_of_a_disk_with_sleepers() {
  local config=/sys/kernel/config/nullb/removed
  make_null removed size=64 irqmode=2 completion_nsec=100000000 hw_queue_depth=1 submit_queues=1
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  crowd 60
  wait_for "sleepers of both classes" both_classes_wait
  echo 0 >$config/power
  wait_for "the disk's end" test ! -e "/sys/block/$DISK"
  wait $CROWD || true
  wait_for "the end of its counters" test ! -e "/sys/kernel/debug/fgio/$DISK"
  remove_null removed
  unload_fgio
}

check_removal_of_a_scsi_disk_with_sleepers() {
  make_scsi dev_size_mb=32 delay=0 ndelay=100000000 max_queue=2
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  crowd 60
  wait_for "sleepers of both classes" both_classes_wait
  echo 1 >"/sys/block/$DISK/device/delete"
  wait_for "the disk's end" test ! -e "/sys/block/$DISK"
  wait $CROWD || true
  wait_for "the end of its counters" test ! -e "/sys/kernel/debug/fgio/$DISK"
  rmmod scsi_debug
  unload_fgio
}

check_switch_with_sleepers() {
  local times=0
  make_null switched size=64 irqmode=2 completion_nsec=20000000 hw_queue_depth=1 submit_queues=1
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  crowd 60
  while [[ $times -lt 5 ]]; do
    wait_for "sleepers of both classes" both_classes_wait
    use none
    use fgio
    echo 4 >"/sys/block/$DISK/queue/nr_requests"
    times=$((times + 1))
  done
  wait_for "sleepers of both classes" both_classes_wait
  ! rmmod fgio 2>/dev/null || fail "the module went away under a queue"
  kill $CROWD
  wait $CROWD || true
  use none
  rmmod fgio
  remove_null switched
}

# A command that times out is aborted and repeated by the SCSI error handler.
check_timeouts_and_medium_errors() {
  make_scsi dev_size_mb=32 delay=1 statistics=1
  use fgio
  echo "${LAB_SLOWNESS:-1}" >"/sys/block/$DISK/device/timeout"
  verify 1
  echo 60 >/sys/bus/pseudo/drivers/scsi_debug/every_nth
  echo 4 >/sys/bus/pseudo/drivers/scsi_debug/opts
  verify 1 "/dev/$DISK" --verify_backlog=16
  echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts
  expect "requests left" "$(counter noncritical_in_device)" -eq 0
  # Sectors 0x1234 to 0x123d cannot be read.
  echo 2 >/sys/bus/pseudo/drivers/scsi_debug/opts
  ! dd if="/dev/$DISK" of=/dev/null bs=4k iflag=direct skip=580 count=8 status=none 2>/dev/null ||
    fail "the error was lost"
  ! ionice -c1 dd if="/dev/$DISK" of=/dev/null bs=4k iflag=direct skip=580 count=8 status=none \
    2>/dev/null || fail "the error was lost"
  echo 0 >/sys/bus/pseudo/drivers/scsi_debug/opts
  dd if="/dev/$DISK" of=/dev/null bs=4k iflag=direct skip=580 count=8 status=none
  expect "requests left" "$(counter noncritical_in_device)" -eq 0
  expect "requests left" "$(counter critical_in_device)" -eq 0
  use none
}

swap_on_disk() {
  make_null swap size=64
  use fgio
  mkswap "/dev/$DISK"
  swapon "/dev/$DISK"
  echo 0 >/proc/sys/vm/page-cluster
}

swap_off() {
  swapoff "/dev/$DISK"
  remove_null swap
}

swapped_out() { awk '/^pswpout/ { print $2 }' /proc/vmstat; }
no_swap_writeback() { [[ $(awk '/^nr_writeback / { print $2 }' /proc/vmstat) -eq 0 ]]; }

# The bug keeps every queued non-critical request while no critical one is queued.
check_swapping_out_is_not_withheld() {
  local before reader
  swap_on_disk
  tunable critical_window_ms 60000
  withhold
  read_16 ionice -c1
  before=$(swapped_out)
  swapfault out
  expect "pages swapped out" $(($(swapped_out) - before)) -gt 500
  wait_for "their writes" no_swap_writeback
  # The control: other I/O of the same class stays.
  read_16 env &
  reader=$!
  sleep 2
  kill -0 $reader 2>/dev/null || fail "the bug keeps nothing"
  no_withhold
  wait $reader
  swap_off
}

swapfault_in_cgroup() {
  local cgroup=/sys/fs/cgroup/swapfault
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  echo +memory >/sys/fs/cgroup/cgroup.subtree_control
  mkdir -p $cgroup
  echo "$BASHPID" >$cgroup/cgroup.procs
  exec swapfault $cgroup/memory.reclaim
}

# Sets TOOK to the milliseconds of a foreground thread's fault, or to "stuck".
fault_on_a_page_being_read() {
  coproc SWAPFAULT { swapfault_in_cgroup; }
  local in=${SWAPFAULT[0]} out=${SWAPFAULT[1]} pid=$SWAPFAULT_PID
  read -r -u "$in" _
  withhold
  echo >&"$out"
  read -r -u "$in" TOOK || TOOK=stuck
  no_withhold
  wait "$pid" || true
  echo "the fault: $TOOK"
}

check_fault_on_a_page_being_swapped_in_is_inherited() {
  swap_on_disk
  fault_on_a_page_being_read
  [[ $TOOK != stuck ]] || fail "the page's read was not promoted"
  expect "its milliseconds" "$TOOK" -lt 5000
  # The control.
  parameter io N
  fault_on_a_page_being_read
  [[ $TOOK == stuck ]] || fail "something else let the read go"
  parameter io Y
  swap_off
}

tidy() { echo 0 >/proc/sys/vm/nr_hugepages; }

available_mib() { awk '/^MemAvailable/ { print int($2 / 1024) }' /proc/meminfo; }

# Swap and dirty pages of a file system share the slots, of which there are few. Nothing uses the huge
# pages: with less memory, less has to be swapped before it is all in use.
check_memory_runs_out_with_swap_under_fgio() {
  local swapped_before swapped_after writer left
  make_simdisk model=nvme backing=/dev/lab/disk1
  use fgio
  echo 8 >"/sys/block/$DISK/queue/nr_requests"
  modprobe dm_mod
  dmsetup create --noudevsync swap --table "0 1048576 linear /dev/$DISK 0"
  dmsetup create --noudevsync files --table "0 1000000 linear /dev/$DISK 1048576"
  dmsetup mknodes
  mkswap -q /dev/mapper/swap 2>/dev/null || mkswap /dev/mapper/swap
  swapon /dev/mapper/swap
  mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 /dev/mapper/files
  mkdir -p "$WORK/mount"
  mount /dev/mapper/files "$WORK/mount"
  echo 1 >/proc/sys/vm/compact_memory
  left=$(($(available_mib) - 140))
  echo $((left > 0 ? left / 2 : 0)) >/proc/sys/vm/nr_hugepages
  echo "$(available_mib) MiB are available"
  (while [[ ! -e $WORK/stop ]]; do
    dd if=/dev/zero "of=$WORK/mount/file" bs=1M count=200 conv=fsync,notrunc status=none || exit 1
  done) &
  writer=$!
  swapped_before=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
  swapper $(($(available_mib) + 60)) 1
  swapped_after=$(awk '/^pswpout/ { print $2 }' /proc/vmstat)
  touch "$WORK/stop"
  wait $writer || fail "the writer failed"
  expect "pages swapped out" $((swapped_after - swapped_before)) -gt 10000
  tidy
  sync
  swapoff /dev/mapper/swap
  umount "$WORK/mount"
  dmsetup remove --noudevsync swap
  dmsetup remove --noudevsync files
  use none
}

rearm() {
  python3 -c 'import fcntl, os; fcntl.ioctl(os.open("/dev/fgio", os.O_RDWR), 0xF6 << 8 | 8)'
}

# FGIO_IOC_REARM_DISK. Prints whether the watchdog had tripped for the disk, or the error's name.
rearm_disk() { # DISK
  python3 - "$1" <<'PYTHON'
import errno, fcntl, os, struct, sys

number = os.stat("/dev/" + sys.argv[1]).st_rdev
request = struct.pack("4I", os.major(number), os.minor(number), 0, 0)
try:
    answer = fcntl.ioctl(os.open("/dev/fgio", os.O_RDWR), 0xC010F60C, request)
    print(struct.unpack("4I", answer)[2])
except OSError as error:
    print(errno.errorcode[error.errno])
PYTHON
}

read_16() { "$@" dd "if=/dev/$DISK" of=/dev/null bs=4k count=16 iflag=direct status=none; }

# Only the watchdog ends the reads: the bug keeps them queued.
trip_watchdog() {
  withhold
  read_16 env
  no_withhold
  expect "the watchdog of $DISK" "$(counter watchdog_tripped)" -eq 1
}

dispatched_more_than() { # NUMBER
  [[ $(counter noncritical_dispatched) -gt $1 ]]
}

# What simulates the bug replaces operations of the elevator while requests come and go.
check_simulated_bug_comes_and_goes_under_load() {
  local times=0 before
  load_fgio
  make_null bug size=64 irqmode=2 completion_nsec=20000000
  use fgio
  crowd 600
  while [[ $times -lt 4 ]]; do
    withhold
    sleep "0.$times"
    no_withhold
    before=$(counter noncritical_dispatched)
    wait_for "non-critical I/O to go on" dispatched_more_than "$before"
    times=$((times + 1))
  done
  kill $CROWD
  wait $CROWD || true
  use none
  withhold
  ! rmmod fgio 2>/dev/null || fail "fgio went away under a module that uses it"
  no_withhold
  rmmod fgio
  remove_null bug
}

check_watchdog_trips_for_one_disk_alone() {
  local one
  load_fgio watchdog_ms=1000
  make_null one size=64
  one=$DISK
  use fgio
  make_null two size=64
  use fgio
  DISK=$one trip_watchdog
  expect "the other disk's watchdog" "$(counter watchdog_tripped)" -eq 0
  expect_critical read_16 tagged foreground
  DISK=$one expect_noncritical read_16 tagged foreground
  rearm
  expect "the watchdog, re-armed" "$(counter watchdog_tripped "$one")" -eq 0
  DISK=$one expect_critical read_16 tagged foreground
  remove_null one
  remove_null two
  unload_fgio
}

check_one_disk_alone_is_rearmed() {
  local one
  load_fgio watchdog_ms=1000
  make_null one size=64
  one=$DISK
  use fgio
  trip_watchdog
  make_null two size=64
  use fgio
  trip_watchdog
  expect "tripped for the disk that is named" "$(rearm_disk "$DISK")" -eq 1
  expect "the watchdog of the disk that is named" "$(counter watchdog_tripped)" -eq 0
  expect "that of the other one" "$(counter watchdog_tripped "$one")" -eq 1
  expect "tripped for it once more" "$(rearm_disk "$DISK")" -eq 0
  use none
  expect "a disk under another scheduler" "$(rearm_disk "$DISK")" = ENODEV
  # The control: without a name, it is both.
  use fgio
  trip_watchdog
  rearm
  expect "the watchdog" "$(counter watchdog_tripped)" -eq 0
  expect "that of the other one" "$(counter watchdog_tripped "$one")" -eq 0
  remove_null one
  remove_null two
  unload_fgio
}

requests_are_queued() { [[ $(counter noncritical_queued) -gt $(counter noncritical_dispatched) ]]; }

# A suspended multipath device stops its queue: no scheduler moves anything then.
check_watchdog_lets_a_stopped_queue_wait() {
  local reader
  load_fgio watchdog_ms=1000
  # With memory behind it null_blk sleeps as it queues, and multipath must not.
  make_null path size=64 memory_backed=0
  modprobe dm_mod
  extra_module dm-multipath
  extra_module dm-round-robin
  dmsetup create --noudevsync stopped \
    --table "0 131072 multipath 0 0 1 1 round-robin 0 1 1 /dev/$DISK 1000"
  DISK=$(dmsetup info -c --noheadings -o blkdevname stopped)
  wait_for "/dev/$DISK" test -b "/dev/$DISK"
  use fgio
  dmsetup suspend --nolockfs --noflush --noudevsync stopped
  read_16 env &
  reader=$!
  wait_for "queued requests" requests_are_queued
  sleep 4
  expect "the watchdog after four times its limit" "$(counter watchdog_tripped)" -eq 0
  requests_are_queued || fail "the queue was not stopped"
  dmsetup resume --noudevsync stopped
  wait $reader
  # The control: where the driver takes requests, the same limit counts.
  trip_watchdog
  use none
  dmsetup remove --noudevsync stopped
  remove_null path
  unload_fgio
}
