# SPDX-License-Identifier: Apache-2.0 OR MIT
# Arrays whose members fail while foreground tasks wait for them, volumes with a snapshot, and btrfs,
# whose transactions and logs others write: the module comes and goes, and its switches change.
# shellcheck shell=bash disable=SC2154

MD=/sys/block/md78

switch_off_and_on() { # SWITCH: with rounds of the foreground after each
  parameter "$1" N
  more_rounds
  parameter "$1" Y
  more_rounds
}

tidy() {
  touch "$WORK/stop"
  ! mountpoint -q "$WORK/mount" || umount -l "$WORK/mount"
  [[ ! -e $MD/md/array_state ]] || echo clear >$MD/md/array_state || true
}

# Three parts of a disk; sets MEMBERS to the names of their devices.
make_members() { # MIB
  local each
  modprobe dm_mod
  MEMBERS=()
  for each in 0 1 2; do
    dmsetup create --noudevsync "member$each" \
      --table "0 $(($1 * 2048)) linear /dev/$DISK $((each * $1 * 2048))"
    MEMBERS+=("$(basename "$(readlink -f "/sys/dev/block/$(dmsetup info -c --noheadings \
      --separator : -o major,minor "member$each")")")")
  done
  dmsetup mknodes
}

make_array() { # LEVEL MIB: of each member
  local slot
  [[ -d /sys/module/md_mod ]] || extra_module md-mod
  echo md78 >/sys/module/md_mod/parameters/new_array
  echo none >$MD/md/metadata_version
  echo "$1" >$MD/md/level
  echo 3 >$MD/md/raid_disks
  echo $(($2 * 1024)) >$MD/md/component_size
  if [[ $1 == raid5 ]]; then
    echo 65536 >$MD/md/chunk_size
    echo 2 >$MD/md/layout
  fi
  for slot in 0 1 2; do
    cat "/sys/block/${MEMBERS[slot]}/dev" >$MD/md/new_dev
    echo $slot >"$MD/md/dev-${MEMBERS[slot]}/slot"
  done
  echo none >$MD/md/resync_start
  echo active >$MD/md/array_state
}

clear_array() { echo clear >$MD/md/array_state; }

member_fails_under_load() { # LEVEL MODULE
  local each
  make_null members size=192 irqmode=2 completion_nsec=1000000
  load_fgio
  use fgio
  extra_module "$2"
  make_members 64
  make_array "$1" 63
  mke2fs -q -t ext4 -E nodiscard /dev/md78
  mkdir -p "$WORK/mount"
  mount /dev/md78 "$WORK/mount"
  begin_verified_files
  more_rounds
  echo faulty >"$MD/md/dev-${MEMBERS[1]}/state"
  more_rounds
  expect "boosts with two members" "$(abuse state boosts)" -gt 0
  comes_and_goes
  switch_off_and_on io
  end_verified_files
  umount "$WORK/mount"
  wait_for "the array's end" clear_array
  for each in 0 1 2; do dmsetup remove --noudevsync --retry "member$each"; done
  use none
  remove_null members
}

check_member_of_a_parity_raid_fails_under_load() {
  member_fails_under_load raid5 raid456
}

check_member_of_a_mirror_fails_under_load() {
  member_fails_under_load raid1 raid1
}

# A volume of 96 MiB with a file system, and a snapshot of it: /dev/mapper/origin and snapshot.
make_snapshot() {
  modprobe dm_mod
  extra_module dm-snapshot
  dmsetup create --noudevsync real --table "0 196608 linear /dev/$DISK 0"
  dmsetup create --noudevsync copies --table "0 131072 linear /dev/$DISK 196608"
  dmsetup mknodes
  mke2fs -q -t ext4 -E nodiscard /dev/mapper/real
  dd if=/dev/zero of=/dev/mapper/copies bs=1M count=1 oflag=direct status=none
  dmsetup create --noudevsync snapshot \
    --table "0 196608 snapshot /dev/mapper/real /dev/mapper/copies P 8"
  dmsetup create --noudevsync origin --table "0 196608 snapshot-origin /dev/mapper/real"
  dmsetup mknodes
}

remove_snapshot() {
  local each
  for each in origin snapshot copies real; do
    dmsetup remove --noudevsync --retry "$each"
  done
}

sectors_copied() { dmsetup status snapshot | sed 's,.* \([0-9]*\)/.*,\1,'; }

# Background writes to the first 32 MiB of a volume with a snapshot: each chunk is copied first.
write_chunks() {
  local place=0
  while [[ ! -e $WORK/stop ]]; do
    dd if=/dev/zero of=/dev/mapper/origin bs=64k seek=$place count=4 oflag=direct conv=notrunc \
      status=none || return
    place=$(((place + 4) % 512))
  done
}

check_volume_with_a_snapshot_under_load() {
  local before copied
  make_null originals size=192 irqmode=2 completion_nsec=200000
  load_fgio
  use fgio
  make_snapshot
  before=$(sha256sum </dev/mapper/snapshot)
  copied=$(sectors_copied)
  mkdir -p "$WORK/mount"
  mount /dev/mapper/origin "$WORK/mount"
  begin_verified_files
  more_rounds
  expect "sectors of copies" "$(sectors_copied)" -gt "$copied"
  comes_and_goes
  more_rounds
  dmsetup suspend --noudevsync origin
  sleep 0.2
  dmsetup resume --noudevsync origin
  more_rounds
  switch_off_and_on io
  end_verified_files
  umount "$WORK/mount"
  e2fsck -fn /dev/mapper/origin >"$WORK/e2fsck" 2>&1 || fail "$(cat "$WORK/e2fsck")"
  [[ $(sha256sum </dev/mapper/snapshot) == "$before" ]] || fail "the snapshot has changed"
  remove_snapshot
  use none
  remove_null originals
}

# 128 writes of a foreground task, beside copies that others wait for; sets CRITICAL.
write_beside_copies() { # DEVICE PLACE SECTORS: copied for itself
  local copied
  copied=$(sectors_copied)
  count_classes tagged foreground dd if=/dev/zero "of=/dev/mapper/$1" bs=4k "seek=$2" count=128 \
    oflag=direct conv=notrunc status=none
  # A chunk is 8 sectors, and takes two I/Os of upkeep or more.
  expect "sectors copied for others" $(($(sectors_copied) - copied - $3)) -gt 1024
}

# one kernel: how long copies stay critical is fgio's own
# Copies are critical while a foreground task waits for one, which is each time two I/Os beside its own.
# Now and then a task that has yet to run again looks as if it waited for one.
check_copies_that_nothing_waits_for() {
  local writer
  make_null originals size=192 irqmode=2 completion_nsec=2000000 hw_queue_depth=4
  load_fgio
  use fgio
  make_snapshot
  dmsetup create --noudevsync plain --table "0 65536 linear /dev/$DISK 327680"
  dmsetup mknodes
  write_chunks &
  writer=$!
  write_beside_copies plain 0 0
  expect "critical, of which 128 are its own" "$CRITICAL" -le 192
  parameter io N
  write_beside_copies origin 20480 1024
  expect "critical, switched off" "$CRITICAL" -le 192
  parameter io Y
  write_beside_copies origin 22528 1024
  expect "critical with copies" "$CRITICAL" -ge 256
  touch "$WORK/stop"
  wait $writer || fail "the background writes"
  dmsetup remove --noudevsync --retry plain
  remove_snapshot
  use none
  remove_null originals
}

# A snapshot commits a transaction: handles wait for it, and its task for open ones.
snapshots() {
  local mount=$WORK/mount number=0
  while [[ ! -e $WORK/stop ]]; do
    btrfs subvolume snapshot "$mount" "$mount/snapshot" >/dev/null
    btrfs subvolume delete --commit-each "$mount/snapshot" >/dev/null
    echo $((++number)) >"$WORK/snapshots"
    sleep 0.2
  done
}

check_btrfs_under_load() {
  local commits each switch
  make_null trees size=192 irqmode=2 completion_nsec=200000
  load_fgio
  use fgio
  extra_module btrfs
  mkfs.btrfs -q -K "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount -t btrfs "/dev/$DISK" "$WORK/mount"
  begin_verified_files
  snapshots &
  commits=$!
  more_rounds 1
  comes_and_goes
  more_rounds 1
  for each in wait_log_commit btrfs_commit_transaction btrfs_start_ordered_extent; do
    expect "hooks on $each" "$(abuse hook "btrfs:$each" | cut -d ' ' -f 2)" -eq 1
  done
  for switch in journal io; do
    more_rounds 1
    parameter $switch N
    more_rounds 1
    parameter $switch Y
  done
  more_rounds 1
  end_verified_files
  wait $commits || fail "the snapshots"
  expect "commits" "$(cat "$WORK/snapshots")" -gt 1
  umount "$WORK/mount"
  btrfs check --readonly "/dev/$DISK" >/dev/null 2>&1 || fail "the file system is damaged"
  use none
  remove_null trees
}
