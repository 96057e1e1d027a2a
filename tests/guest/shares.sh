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
