#!/bin/bash
# SPDX-License-Identifier: Apache-2.0 OR MIT
# Runs scenarios of a group, each under its conditions, and leaves $RESULTS/scenarios.txt with a
# line for each: NAME CONDITION us TIME... The environment of the run is in scenarios.env.
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/scenarios.env"
FILES_MIB=512
DISK_MIB=800
# Behind the file system and the places that the program itself has (tests/scenarios/main.c).
COPIES_AT_MIB=576
# Virtual seconds for one condition of a scenario; the program itself ends earlier.
LIMIT_S=$((40 * ${LAB_SLOWNESS:-1}))
PARAMETERS=/sys/module/fgio/parameters
program=$PAYLOAD/scenarios
out=$RESULTS/scenarios.txt
export FILES=/mnt/scenarios BELOW=/mnt/below

switch() { # Y|N SWITCH...: those that the module has
  local value=$1 name
  shift
  for name in "$@"; do
    [[ ! -f $PARAMETERS/$name ]] || echo "$value" >"$PARAMETERS/$name" || stop "no switch $name"
  done
  "$program" settle >>"$RESULTS/log"
}

slice() { # NAME BEGIN_MIB MIB: a device on a part of the disk
  dmsetup create --noudevsync "$1" --table "0 $(($3 * 2048)) linear /dev/$disk $(($2 * 2048))" &&
    dmsetup mknodes || stop "no dm-linear"
}

# An array of parts of the one disk, without metadata: each write goes to several.
array() { # LEVEL MEMBERS MIB: of each member
  local md=/sys/block/md77/md part slot
  echo md77 >/sys/module/md_mod/parameters/new_array
  echo none >$md/metadata_version
  echo "$1" >$md/level
  echo "$2" >$md/raid_disks
  echo $(($3 * 1024)) >$md/component_size
  if [[ $1 == raid5 ]]; then
    echo 65536 >$md/chunk_size
    echo 2 >$md/layout # left-symmetric, as mdadm has it
  fi
  for ((slot = 0; slot < $2; slot++)); do
    slice "member$slot" $((slot * $3)) "$3"
    part=$(dmsetup info -c --noheadings --separator : -o major,minor "member$slot")
    echo "$part" >$md/new_dev
    echo $slot >"$md/dev-dm-${part#*:}/slot"
  done
  echo none >$md/resync_start
  echo 1 >/sys/block/md77/queue/stable_writes
  echo active >$md/array_state
  [[ $(<$md/array_state) == @(active|clean|write-pending|active-idle) ]] || stop "no array"
}

# A logical volume on an encrypted disk. The cipher changes nothing: the processor is not to be what
# all wait for, which without instructions for AES it would be.
encrypt() { # MIB
  dmsetup create --noudevsync encrypted \
    --table "0 $(($1 * 2048)) crypt cipher_null-ecb - 0 /dev/$disk 0" && dmsetup mknodes &&
    dmsetup create --noudevsync scenarios \
      --table "0 $(($1 * 2048)) linear /dev/mapper/encrypted 0" &&
    dmsetup mknodes || stop "no dm-crypt"
}

# A thin volume: blocks of 64 KiB, which the pool gives it when they are first written.
thin() { # MIB
  slice metadata 0 16
  slice pooled 16 "$1"
  dd if=/dev/zero of=/dev/mapper/metadata bs=1M count=16 oflag=direct status=none
  dmsetup create --noudevsync pool \
    --table "0 $(($1 * 2048)) thin-pool /dev/mapper/metadata /dev/mapper/pooled 128 0" &&
    dmsetup message pool 0 "create_thin 0" && dmsetup mknodes || stop "no thin pool"
  dmsetup create --noudevsync scenarios --table "0 $(($1 * 2048)) thin /dev/mapper/pool 0" &&
    dmsetup mknodes || stop "no thin volume"
}

# A volume with a snapshot: before a chunk of 4 KiB, LVM's default, is overwritten for the first time,
# it is copied, and the copy is noted.
snapshot() { # MIB
  slice real 0 "$1"
  slice copies $COPIES_AT_MIB $((DISK_MIB - COPIES_AT_MIB))
  dd if=/dev/zero of=/dev/mapper/copies bs=1M count=1 oflag=direct status=none
  dmsetup create --noudevsync snapshot \
    --table "0 $(($1 * 2048)) snapshot /dev/mapper/real /dev/mapper/copies P 8" &&
    dmsetup create --noudevsync scenarios \
      --table "0 $(($1 * 2048)) snapshot-origin /dev/mapper/real" &&
    dmsetup mknodes || stop "no snapshot"
}

# A mirror of LVM: halves with a bitmap of what is being written, and a superblock.
mirror() { # MIB: of each half
  local half
  for half in 0 1; do
    slice "meta$half" $((half * 4)) 4
    dd if=/dev/zero of=/dev/mapper/meta$half bs=1M count=4 oflag=direct status=none
    slice "half$half" $((8 + half * $1)) "$1"
  done
  dmsetup create --noudevsync scenarios --table "0 $(($1 * 2048)) raid raid1 4 0 nosync region_size 128 2 \
    /dev/mapper/meta0 /dev/mapper/half0 /dev/mapper/meta1 /dev/mapper/half1" &&
    dmsetup mknodes || stop "no mirror"
  # All regions of a new one are marked. md forgets that after twice its daemon_sleep of 5 s.
  sleep 12
}

# A container's file system on the one that is there.
overlay() {
  mkdir -p "$FILES/lower" "$FILES/upper" "$FILES/work" /mnt/overlay
  mount -t overlay -o "lowerdir=$FILES/lower,upperdir=$FILES/upper,workdir=$FILES/work" none \
    /mnt/overlay || stop "overlayfs does not mount"
  FILES=/mnt/overlay
}

# A loop device on a file of a file system on the disk, all of whose blocks are written. Inodes of
# 128 bytes have times in seconds: with finer ones, each flush of the device commits the journal
# below once more if a tick of the clock lies before it, and a longer wait meets more ticks.
loop() { # MIB on|off: direct I/O
  local device
  mke2fs -q -t ext4 -b 4096 -I 128 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 \
    "/dev/$disk" "${FILES_MIB}M" || stop "mke2fs failed below"
  mkdir -p "$BELOW"
  mount -t ext4 -o noinit_itable "/dev/$disk" "$BELOW" || stop "ext4 does not mount below"
  dd if=/dev/zero of="$BELOW/image" bs=4M count=$(($1 / 4)) oflag=direct conv=fsync status=none
  device=$(losetup --direct-io="$2" --show -f "$BELOW/image") || stop "no loop device"
  echo 1 >"/sys/block/${device#/dev/}/queue/stable_writes"
  FILES_ON=$device
  export FILE_BELOW=$BELOW/image
}

files() { # makes the file system of the group; sets FILES_ON
  local features=() journal=32
  mkdir -p "$FILES"
  # Pages under writeback are not changed, as on any volume with checksums.
  echo 1 >"/sys/block/$disk/queue/stable_writes"
  export FILES_ON=/dev/$disk
  case $GROUP in
  dm)
    modprobe dm_mod
    slice scenarios 0 $FILES_MIB
    FILES_ON=/dev/mapper/scenarios
    ;;
  mirror)
    modprobe dm_mod
    insmod_extra
    mirror $((FILES_MIB / 2 - 16))
    FILES_MIB=$((FILES_MIB / 2 - 16 - 64))
    FILES_ON=/dev/mapper/scenarios
    ;;
  crypt | thin | snapshot)
    modprobe dm_mod
    insmod_extra
    case $GROUP in
    crypt) encrypt $FILES_MIB ;;
    thin) thin $FILES_MIB ;;
    snapshot) snapshot $FILES_MIB ;;
    esac
    # What lies behind is never written but by the scenarios of first writes.
    FILES_MIB=$((FILES_MIB - 64))
    FILES_ON=/dev/mapper/scenarios
    ;;
  raid1)
    modprobe dm_mod
    insmod_extra
    array raid1 2 $((FILES_MIB / 2))
    FILES_MIB=$((FILES_MIB / 2 - 16))
    FILES_ON=/dev/md77
    ;;
  raid5)
    modprobe dm_mod
    insmod_extra
    array raid5 3 $((FILES_MIB / 2))
    FILES_MIB=$((FILES_MIB - 16))
    FILES_ON=/dev/md77
    ;;
  fuse | overlay) insmod_extra ;;
  loop | loop-cached)
    insmod_extra
    [[ $GROUP == loop ]] && loop $((FILES_MIB / 2)) on || loop $((FILES_MIB / 2)) off
    FILES_MIB=$((FILES_MIB / 2 - 16))
    ;;
  fast) features=(-O fast_commit) ;;
  small-log) journal=8 ;;
  esac
  if [[ $GROUP == xfs ]]; then
    insmod_extra
    mkfs.xfs -q -f -K -d "size=${FILES_MIB}m" "$FILES_ON" || stop "mkfs.xfs failed"
    mount -t xfs "$FILES_ON" "$FILES" || stop "xfs does not mount"
  elif [[ $GROUP == btrfs ]]; then
    insmod_extra
    mkfs.btrfs -q -K -b "${FILES_MIB}m" "$FILES_ON" || stop "mkfs.btrfs failed"
    mount -t btrfs "$FILES_ON" "$FILES" || stop "btrfs does not mount"
  else
    mke2fs -q -t ext4 -b 4096 -I 256 -N 16384 -J "size=$journal" "${features[@]}" \
      -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "$FILES_ON" "${FILES_MIB}M" ||
      stop "mke2fs failed"
    # Without reading inodes ahead, a scenario knows which of them are in memory.
    mount -t ext4 -o noinit_itable,inode_readahead_blks=0 "$FILES_ON" "$FILES" ||
      stop "ext4 does not mount"
  fi
  [[ $GROUP != overlay ]] || overlay
}

insmod_extra() {
  local each
  while read -r each; do
    [[ -d /sys/module/$each ]] || insmod "$PAYLOAD/extra/$each.ko" || stop "$each.ko does not load"
  done <"$PAYLOAD/extra.order"
}

# A scenario that does not end holds the file system: the ones after it would measure nothing.
give_up() { # NAME CONDITION
  local task
  echo "$1 $2 failed hung" >>"$out"
  for task in /proc/[0-9]*/task/[0-9]*; do
    grep -q '^State:.D' "$task/status" 2>/dev/null || continue
    printf '%s %s\n' "$task" "$(cat "$task/comm")"
    cat "$task/stack"
  done >"$RESULTS/hung"
  tail -n 1 "$out"
  exit 0
}

run() { # NAME CONDITION [ROUNDS]
  local condition=$2 load=load name=$1 process sleeper ended status
  [[ $condition != floor ]] || load=floor
  phase "$name $condition"
  "$program" run "$name" $load "${@:3}" >"$RESULTS/raw" 2>&1 &
  process=$!
  sleep "$LIMIT_S" &
  sleeper=$!
  wait -n -p ended $process $sleeper
  status=$?
  [[ $ended == "$process" ]] || give_up "$name" "$condition"
  kill $sleeper
  sed "s/^/$name $condition /" "$RESULTS/raw" >>"$RESULTS/log"
  if [[ $status == 0 ]]; then
    echo "$name $condition $(grep '^us ' "$RESULTS/raw")"
  else
    echo "$name $condition failed status $status: $(grep -v ^state "$RESULTS/raw" | tr '\n' ' ')"
  fi >>"$out"
  tail -n 1 "$out"
}

with_fgio() {
  "$program" stay &
  stays=$!
  # shellcheck disable=SC2086
  while IFS=$'\t' read -r name group off _; do
    [[ $group == "$GROUP" && $name =~ $ONLY ]] || continue
    switch Y $ALL
    run "$name" floor
    switch N ${off//,/ }
    run "$name" off 4
    switch Y $ALL
    run "$name" on
  done < <("$program" list)
  kill $stays
}

without_fgio() { # the module is not even loaded
  export STOCK=1 FOREGROUND_PRIORITY BACKGROUND_PRIORITY
  # XFS has no such thread.
  [[ -z $JOURNAL_PRIORITY ]] || ! pgrep '^jbd2/' >/dev/null ||
    ionice -c "${JOURNAL_PRIORITY%,*}" -n "${JOURNAL_PRIORITY#*,}" -p "$(pgrep '^jbd2/')" ||
    stop "no I/O priority for the journal"
  while IFS=$'\t' read -r name group _; do
    [[ $group == "$GROUP" && $name =~ $ONLY ]] || continue
    run "$name" floor
    run "$name" stock 4
  done < <("$program" list)
}

phase preparing
make_disk "$DEVICE" "$SEED" $DISK_MIB
use_elevator "$ELEVATOR"
set_tunables "$TUNABLES"
set_queue "$QUEUE"
disk=$DISK
export DISK=/dev/$disk
insmod "$PAYLOAD/modules/fgio_test.ko" || stop "fgio_test.ko does not load"
"$program" service >"$RESULTS/service" || stop "the device cannot be measured"
files
if [[ $ELEVATOR == fgio ]]; then with_fgio; else without_fgio; fi
rm -f "$RESULTS/raw"
phase "done"
