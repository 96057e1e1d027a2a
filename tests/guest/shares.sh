# SPDX-License-Identifier: Apache-2.0 OR MIT
# Fair shares: cgroups and switches that come and go under load.
# shellcheck shell=bash disable=SC2154

# shellcheck source=tests/guest/groups.sh
. "$PAYLOAD/tests/groups.sh"

# Cgroups come and go while their I/O is queued; the elevator, too.
check_cgroups_come_and_go_under_load() {
  local round fio
  make_null coming size=64 irqmode=2 completion_nsec=50000 submit_queues=2
  share
  make_group stays 300
  in_cgroup stays fio --name=stays --filename="/dev/$DISK" --direct=1 --bs=4k --rw=randread \
    --ioengine=libaio --iodepth=32 --time_based --runtime=60 --output="$WORK/stays.out" &
  fio=$!
  wait_for "shares" shared
  for round in 1 2 3 4 5 6 7 8; do
    make_group "goes$round" $((round * 100))
    in_cgroup "goes$round" dd if="/dev/$DISK" of=/dev/null bs=64k count=64 iflag=direct status=none &
    in_cgroup "goes$round" dd if=/dev/zero of="/dev/$DISK" bs=64k count=64 oflag=direct status=none
    wait $!
    rmdir "$GROUPS_ROOT/goes$round"
    [[ $round -ne 4 ]] || use mq-deadline
    [[ $round -ne 4 ]] || use fgio
  done
  # All of fio's processes: those of its jobs outlive the first.
  echo 1 >$GROUPS_ROOT/stays/cgroup.kill
  wait $fio || true
  verify 3
  wait_for "the end of all requests" nothing_left
  remove_groups
  remove_null coming
}

# Bursts of more I/Os than there are slots, and pauses: slots are counted by group now and then. The
# module warns if one is counted that was given back.
check_slots_are_scarce_now_and_then() {
  local name fios=()
  make_null bursts size=64 irqmode=2 completion_nsec=50000
  share
  for name in heavy light; do
    make_group $name $((100 + 200 * (${#fios[@]} == 0)))
    in_cgroup $name fio --name=$name --filename="/dev/$DISK" --direct=1 --bs=4k --rw=randread \
      --ioengine=libaio --iodepth=128 --thinktime=20ms --thinktime_blocks=256 --numjobs=2 \
      --time_based --runtime=15 --output="$WORK/$name.out" &
    fios+=($!)
  done
  wait_for "shares" shared
  parameter shares 0
  wait_for "no shares" not_shared
  parameter shares 1
  wait_for "shares" shared
  for name in "${fios[@]}"; do
    wait "$name" || fail "a reader failed"
  done
  verify 3
  use none
  wait_for "the end of all requests" nothing_left
  remove_groups
  remove_null bursts
}

check_shares_and_hardware_queues() {
  local fio number
  make_null many size=64 irqmode=2 completion_nsec=50000 submit_queues=2 poll_queues=0
  share
  make_group heavy 300
  in_cgroup heavy dd if="/dev/$DISK" of=/dev/null bs=64k count=4 iflag=direct status=none
  wait_for "shares" shared
  verify 3 "/dev/$DISK" --time_based --runtime=10 &
  fio=$!
  for number in 1 2 3; do
    parameter shares 0
    wait_for "no shares" not_shared
    parameter shares 1
    wait_for "shares" shared
  done
  wait $fio || fail "verification failed"
  parameter shares 0
  wait_for "no shares" not_shared
  wait_for "the end of all requests" nothing_left
  remove_groups
  remove_null many
}

in_order() { # SECONDS NAME read|write OFFSET_MIB: in the background; adds to READERS
  in_cgroup "$2" fio --name="$2" --filename="/dev/$DISK" --direct=1 --bs=64k --rw="$3" --offset="$4m" \
    --size=60m --ioengine=libaio --iodepth=4 --time_based --runtime="$1" --output="$WORK/$2.out" &
  READERS+=($!)
}

io_of() { grep "^$(<"/sys/block/$DISK/dev") " "$GROUPS_ROOT/$1/io.stat"; } # NAME

io_goes_on() { # NAME
  local before
  before=$(io_of "$1")
  sleep 0.5
  [[ $(io_of "$1") != "$before" ]]
}

# On a disk that rotates, groups with I/O in order take slices, and writes pay for what they do later:
# one of the groups has the disk when sharing ends, or when the disk is said not to rotate.
check_slices_end_under_load() {
  local rotational number group
  make_simdisk model=hdd size_mib=192 "seed=$SRANDOM"
  rotational=/sys/block/$DISK/queue/rotational
  share
  make_group heavy 300
  make_group light 100
  make_group random 100
  make_group writes 200
  readers 120 random
  in_order 120 heavy read 0
  in_order 120 light read 64
  in_order 120 writes write 128
  wait_for "shares" shared
  for number in 1 2; do
    sleep 0.7
    parameter shares 0
    wait_for "no shares" not_shared
    sleep 0.3
    parameter shares 1
    wait_for "shares" shared
    sleep 0.7
    echo 0 >"$rotational"
    sleep 0.3
    echo 1 >"$rotational"
  done
  for group in heavy light random writes; do
    wait_for "I/O of $group" io_goes_on $group
    echo 1 >"$GROUPS_ROOT/$group/cgroup.kill"
  done
  wait "${READERS[@]}" || true
  wait_for "the end of all requests" nothing_left
  use none
  remove_groups
}

# Many cgroups, and the module goes while some have bios left.
check_unloading_with_many_cgroups() {
  local number
  make_null loaded size=64 irqmode=2 completion_nsec=50000
  share
  for ((number = 1; number <= 30; number++)); do
    make_group "g$number" "$((number * 10))"
    in_cgroup "g$number" dd if="/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
  done
  wait_for "shares" shared
  remove_groups &
  use none
  unload_fgio
  wait
  remove_null loaded
}
