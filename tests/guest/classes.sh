# SPDX-License-Identifier: Apache-2.0 OR MIT
# Which I/O is critical: I/O priorities, tags, and stacked devices.
# shellcheck shell=bash disable=SC2154

prepare() { # a disk under fgio that counts what reaches it
  need_fgio
  parameter stamp Y
  make_null classes size=64
  use fgio
}

write_16() { dd if=/dev/zero "of=${1:-/dev/$DISK}" bs=4k count=16 oflag=direct status=none; }
read_16() { dd "if=${1:-/dev/$DISK}" of=/dev/null bs=4k count=16 iflag=direct status=none; }
# In a process of its own, so that its I/O has the class of that process.
under() { "$@" dd if=/dev/zero "of=/dev/$DISK" bs=4k count=16 oflag=direct status=none; }
reads_under() { "$@" dd "if=/dev/$DISK" of=/dev/null bs=4k count=16 iflag=direct status=none; }
done_with() { remove_null classes; }

check_io_priority_decides_without_tag() {
  prepare
  expect_noncritical write_16
  expect_noncritical read_16
  expect_critical under ionice -c1 -n0
  expect_critical under ionice -c1 -n7
  expect_critical reads_under ionice -c1
  expect_critical under ionice -c2 -n0
  expect_critical reads_under ionice -c2 -n0
  expect_noncritical under ionice -c2 -n1
  expect_noncritical under ionice -c2 -n4
  expect_noncritical reads_under ionice -c3
  expect_noncritical under ionice -c0
  done_with
}

check_cpu_priority_says_nothing_about_io() {
  prepare
  expect_noncritical under nice -n -20
  expect_noncritical reads_under nice -n -20
  expect_noncritical under chrt -f 50
  expect_noncritical reads_under chrt -r 1
  # The control: ionice sets the priorities that the kernel derives from these two.
  expect_critical under nice -n -20 ionice -c2 -n0
  expect_critical under chrt -f 50 ionice -c1 -n4
  done_with
}

check_switched_off_stamp_leaves_all_noncritical() {
  prepare
  parameter stamp N
  expect_noncritical under ionice -c1
  expect_noncritical under tagged foreground
  parameter stamp Y
  expect_critical under ionice -c1
  expect_critical under tagged foreground
  done_with
}

share_of_priority() { # ENGINE PERCENTAGE ARGUMENT...: sets SHARE of critical I/O in percent
  local engine=$1 percentage=$2
  shift 2
  count_classes run_fio --name=share "--filename=/dev/$DISK" --direct=1 --rw=randread --bs=4k \
    --size=8m --number_ios=400 --iodepth=8 "--ioengine=$engine" \
    "--cmdprio_percentage=$percentage" "$@"
  expect "fio did its I/O" "$((CRITICAL + NONCRITICAL))" -ge 380
  SHARE=$((CRITICAL * 100 / (CRITICAL + NONCRITICAL)))
}

check_priority_of_single_requests() {
  local engine
  prepare
  for engine in libaio io_uring; do
    share_of_priority $engine 50 --cmdprio_class=1
    expect "$engine, half real-time" $SHARE -ge 40
    expect "$engine, half real-time" $SHARE -le 60
    share_of_priority $engine 100 --cmdprio_class=2 --cmdprio=0
    expect "$engine, all best-effort 0" $SHARE -eq 100
    share_of_priority $engine 100 --cmdprio_class=2 --cmdprio=3
    expect "$engine, all best-effort 3" $SHARE -eq 0
  done
  done_with
}

check_tag_overrules_io_priority() {
  prepare
  expect_critical under tagged foreground
  expect_critical reads_under tagged foreground
  expect_critical under tagged foreground ionice -c3
  expect_critical under tagged foreground ionice -c2 -n7
  expect_noncritical under tagged background
  expect_noncritical under tagged background ionice -c1
  expect_noncritical reads_under tagged background ionice -c2 -n0
  # Without the tag the priority counts again.
  expect_critical under tagged none ionice -c1
  done_with
}

check_buffered_writes_belong_to_the_syncing_task() {
  local sync='dd if=/dev/zero bs=1M count=8 conv=fsync status=none'
  prepare
  echo 64 >"/sys/block/$DISK/queue/max_sectors_kb"
  # shellcheck disable=SC2086
  expect_critical tagged foreground $sync "of=/dev/$DISK"
  # By its own tag alone: the foreground task above synced the file a moment ago.
  parameter commits N
  # shellcheck disable=SC2086
  expect_noncritical $sync "of=/dev/$DISK"
  parameter commits Y
  done_with
}

expect_half_critical() { # HOW: 16 requests of a foreground thread, and 16 of another one
  count_classes rings "$1" "/dev/$DISK"
  expect "critical requests, $1" "$CRITICAL" -eq 16
  expect "others, $1" "$NONCRITICAL" -eq 16
}

check_threads_of_io_uring_act_for_the_submitter() {
  local how
  prepare
  # By the submitter's tag alone: a check before this one may have synced the device that was at
  # this one's address.
  parameter commits N
  for how in beside after polled named; do
    expect_half_critical $how
  done
  # The controls.
  parameter uring N
  for how in beside after polled; do
    expect_noncritical rings $how "/dev/$DISK"
  done
  expect_half_critical named
  parameter uring Y
  parameter commits Y
  done_with
}

# Sets HINTED to the number of requests that went to the driver with this priority, as the trace
# spells it.
count_issued_as() { # WORDS COMMAND...
  local words=$1 tracing=/sys/kernel/tracing
  shift
  echo >$tracing/trace
  echo 1 >$tracing/events/block/block_rq_issue/enable
  "$@"
  echo 0 >$tracing/events/block/block_rq_issue/enable
  grep -m 2 block_rq_issue: $tracing/trace
  HINTED=$(grep -c "block_rq_issue:.* $words \\[" $tracing/trace || true)
}

# A command duration limit is a hint, and so is the mark: drivers read one number.
check_duration_limits_reach_the_driver() {
  local reads
  [[ $KERNEL_VERSION != 6.1 ]] || skip "the kernel has no hints"
  prepare
  reads="exec tagged foreground dd if=/dev/$DISK of=/dev/null bs=4k count=16 iflag=direct status=none"
  count_issued_as be,3,4 expect_critical trust with_priority 0 0x401c "$reads"
  expect "requests with limit 3" "$HINTED" -eq 16
  # The control: requests without another hint go out with the mark.
  count_issued_as be,512,4 expect_critical trust with_priority 0 0x4004 "$reads"
  expect "requests with the mark alone" "$HINTED" -eq 16
  done_with
}

LIMITED=/sys/fs/cgroup/limited
limited() { # COMMAND...: in the cgroup that limit_reads made
  bash -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' $LIMITED "$@"
}

limit_reads() { # RATE or max: of the cgroup, on DISK
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  grep -qw io /sys/fs/cgroup/cgroup.subtree_control || echo +io >/sys/fs/cgroup/cgroup.subtree_control
  mkdir -p $LIMITED
  echo "$(<"/sys/block/$DISK/dev") riops=$1" >$LIMITED/io.max
}

# 32 reads, of which most wait for the limit.
limited_reads() { # COMMAND...
  limited "$@" dd "if=/dev/$DISK" of=/dev/null bs=4k count=32 iflag=direct status=none
}

# A worker submits I/O that waited for its cgroup's limit.
check_io_over_its_limit_keeps_its_class() {
  prepare
  limit_reads 20
  chmod 0666 "/dev/$DISK"
  expect_critical limited_reads tagged foreground
  expect_critical limited_reads ionice -c1
  expect_noncritical limited_reads env
  expect_noncritical limited_reads tagged background ionice -c1
  expect_noncritical limited_reads nice -n -20
  if [[ $KERNEL_VERSION != 6.1 ]]; then
    expect_noncritical forged_reads
  fi
  # The control: decided where the worker submits it, some I/O has the wrong class each time.
  limit_reads max
  remove_null classes
  unhook refuse=__blk_throtl_bio
  load_fgio
  prepare
  limit_reads 20
  chmod 0666 "/dev/$DISK"
  count_classes limited_reads tagged foreground
  expect "without the hook: tagged, not critical" "$NONCRITICAL" -ge 4
  count_classes limited_reads nice -n -20
  expect "without the hook: not tagged, critical" "$CRITICAL" -ge 4
  if [[ $KERNEL_VERSION != 6.1 ]]; then
    count_classes forged_reads
    expect "without the hook: forged, critical" "$CRITICAL" -ge 4
  fi
  limit_reads max
  rmdir $LIMITED
  done_with
  load_fgio
}

# Of an unprivileged user, with a mark of ours in its priority.
forged_reads() {
  limited trust with_priority 65534 0x5004 \
    "dd if=/dev/$DISK of=/dev/null bs=4k count=32 iflag=direct status=none"
}

stack_checks() { # DEVICE: of which DISK is a leg
  local device=$1
  expect_critical tagged foreground dd if=/dev/zero "of=$device" bs=4k count=16 oflag=direct status=none
  expect_critical tagged foreground dd "if=$device" of=/dev/null bs=4k count=64 iflag=direct status=none
  expect_critical ionice -c1 dd if=/dev/zero "of=$device" bs=4k count=16 oflag=direct status=none
  expect_noncritical dd if=/dev/zero "of=$device" bs=4k count=16 oflag=direct status=none
  expect_noncritical tagged background ionice -c1 \
    dd if=/dev/zero "of=$device" bs=4k count=16 oflag=direct status=none
  expect_noncritical tagged background ionice -c2 -n0 \
    dd "if=$device" of=/dev/null bs=4k count=64 iflag=direct status=none
}

check_class_survives_dm_linear() {
  prepare
  modprobe dm_mod
  dmsetup create --noudevsync stacked --table "0 65536 linear /dev/$DISK 0"
  dmsetup mknodes
  stack_checks /dev/mapper/stacked
  dmsetup remove --noudevsync stacked
  done_with
}

# Its worker submits to the disk below: the tag of the thread is out of reach there.
check_class_survives_dm_delay() {
  prepare
  modprobe dm_mod
  extra_module dm-delay
  dmsetup create --noudevsync delayed --table "0 65536 delay /dev/$DISK 0 2"
  dmsetup mknodes
  stack_checks /dev/mapper/delayed
  dmsetup remove --noudevsync delayed
  done_with
}

# Its threads encrypt into pages of their own and submit those.
check_class_survives_dm_crypt() {
  prepare
  modprobe dm_mod
  extra_module dm-crypt
  dmsetup create --noudevsync crypted \
    --table "0 65536 crypt aes-cbc-plain64 00112233445566778899aabbccddeeff 0 /dev/$DISK 0"
  dmsetup mknodes
  stack_checks /dev/mapper/crypted
  dmsetup remove --noudevsync crypted
  done_with
}

# A mirror without metadata, assembled through sysfs.
make_mirror() { # DISK DISK: sets MIRROR
  local md=/sys/block/md77/md disk slot=0
  extra_module raid1
  echo md77 >/sys/module/md_mod/parameters/new_array
  echo none >$md/metadata_version
  echo raid1 >$md/level
  echo 2 >$md/raid_disks
  echo 32768 >$md/component_size
  for disk in "$@"; do
    cat "/sys/block/$disk/dev" >$md/new_dev
    echo $slot >"$md/dev-$disk/slot"
    slot=$((slot + 1))
  done
  echo none >$md/resync_start
  echo active >$md/array_state
  MIRROR=/dev/md77
  wait_for $MIRROR test -b $MIRROR
}

check_class_survives_md_mirror() {
  local other
  prepare
  other=$DISK
  make_null classes2 size=64
  use fgio
  make_mirror "$other" "$DISK"
  wait_for "the mirror's resync" grep -q idle /sys/block/md77/md/sync_action
  expect_critical tagged foreground dd if=/dev/zero of=$MIRROR bs=4k count=16 oflag=direct status=none
  expect_noncritical dd if=/dev/zero of=$MIRROR bs=4k count=16 oflag=direct status=none
  expect_noncritical tagged background ionice -c1 \
    dd if=/dev/zero of=$MIRROR bs=4k count=16 oflag=direct status=none
  echo clear >/sys/block/md77/md/array_state
  remove_null classes2
  done_with
}
