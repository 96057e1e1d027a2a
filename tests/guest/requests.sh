# SPDX-License-Identifier: Apache-2.0 OR MIT
# Every kind of request, under verification of the data: none is lost, changed or stuck.
# shellcheck shell=bash disable=SC2154

# Both classes were served, and no request is left in fgio.
expect_both_classes() {
  expect "critical requests" "$(counter critical_completed)" -gt 50
  expect "non-critical requests" "$(counter noncritical_completed)" -gt 50
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "non-critical requests left" "$(counter noncritical_in_device)" -eq 0
  expect "all that was queued was completed or merged" \
    "$(counter critical_queued)" -le "$(($(counter critical_completed) + $(counter critical_merged)))"
}

# one kernel: the control of fio, which is the same program on each
# The control of all others: the comparison finds one changed sector.
check_verification_notices_damage() {
  local options="--name=v --direct=1 --rw=write --bs=4k --size=1m --verify=crc32c --ioengine=psync"
  make_null damage size=16
  use fgio
  # shellcheck disable=SC2086
  run_fio $options "--filename=/dev/$DISK" --do_verify=0
  # shellcheck disable=SC2086
  run_fio $options "--filename=/dev/$DISK" --verify_only
  dd if=/dev/urandom "of=/dev/$DISK" bs=512 seek=77 count=1 oflag=direct status=none
  # shellcheck disable=SC2086
  ! fio $options "--filename=/dev/$DISK" --verify_only --output="$WORK/fio.out" 2>&1 ||
    fail "a damaged sector went unnoticed"
  remove_null damage
}

check_hard_disk() {
  make_simdisk model=hdd size_mib=64
  use fgio
  verify 2
  expect_both_classes
}

check_sata_ssd_with_volatile_cache() {
  make_simdisk model=ssd size_mib=64
  use fgio
  grep -q 'write back' "/sys/block/$DISK/queue/write_cache"
  verify 3
  expect_both_classes
}

check_nvme_with_two_queues() {
  make_simdisk model=nvme size_mib=64 hw_queues=2
  use fgio
  expect "hardware queues" "$(find "/sys/block/$DISK/mq" -mindepth 1 -maxdepth 1 -type d | wc -l)" -eq 2
  verify 3
  expect_both_classes
}

# one kernel: core/ has the model; the other drives are on each
check_cloud_volume() {
  make_simdisk model=volume size_mib=64
  use fgio
  verify 3
  expect_both_classes
}

check_flush_and_fua_under_a_file_system() {
  local flushes model
  for model in ssd hdd; do
    make_simdisk model=$model size_mib=160
    use fgio
    mkfs.ext4 -q -E lazy_itable_init=0,lazy_journal_init=0 -J size=4 "/dev/$DISK"
    mkdir -p "$WORK/mount"
    mount "/dev/$DISK" "$WORK/mount"
    flushes=$(awk '/^flush_count/ { print $2 }' "/sys/kernel/debug/simdisk/$DISK/stats")
    run_fio "--directory=$WORK/mount" --rw=randwrite --bs=4k --size=1m --verify=crc32c \
      --name=critical --fsync=8 --ioengine=psync --prioclass=1 --number_ios=32 \
      --name=noncritical --fdatasync=4 --ioengine=psync --number_ios=32 \
      --name=durable --sync=1 --direct=1 --ioengine=libaio --iodepth=4 --number_ios=32
    dd if=/dev/urandom "of=$WORK/mount/large" bs=1M count=8 conv=fsync status=none
    sha256sum "$WORK"/mount/* >"$WORK/sums" 2>/dev/null || true
    expect "flushes of $model" \
      "$(awk '/^flush_count/ { print $2 }' "/sys/kernel/debug/simdisk/$DISK/stats")" -gt "$flushes"
    umount "$WORK/mount"
    fsck.ext4 -fn "/dev/$DISK"
    mount "/dev/$DISK" "$WORK/mount"
    sha256sum -c --quiet "$WORK/sums"
    umount "$WORK/mount"
    expect "sums" "$(wc -l <"$WORK/sums")" -ge 4
  done
}

# Parts of a device are discarded and zeroed; the rest and the zeroes are as they should be.
discard_and_zero() {
  local zero="dd if=/dev/zero of=$WORK/wanted bs=64k conv=notrunc status=none"
  dd if=/dev/urandom of="$WORK/wanted" bs=1M count=8 status=none
  dd if="$WORK/wanted" of="/dev/$DISK" bs=256k oflag=direct status=none
  blkdiscard -o 1M -l 1M -p 64k "/dev/$DISK"
  $zero seek=16 count=16
  ionice -c1 blkdiscard -z -o 3M -l 1M "/dev/$DISK"
  $zero seek=48 count=16
  fallocate -z -o 5M -l 512K "/dev/$DISK"
  $zero seek=80 count=8
  # Only where the device itself can write zeroes.
  if [[ $(<"/sys/block/$DISK/queue/write_zeroes_max_bytes") -gt 0 ]]; then
    fallocate -p -o 6M -l 512K "/dev/$DISK"
    $zero seek=96 count=8
  fi
  head -c 8M "/dev/$DISK" | cmp - "$WORK/wanted" || fail "other data than wanted on $DISK"
}

check_discard_and_write_zeroes() {
  local other="--name=other --direct=1 --rw=randwrite --bs=4k --offset=16m --size=8m
    --verify=crc32c --ioengine=libaio --iodepth=16 --time_based --runtime=6"
  make_simdisk model=ssd size_mib=64
  use fgio
  # shellcheck disable=SC2086
  fio $other "--filename=/dev/$DISK" --output="$WORK/other.out" &
  discard_and_zero
  discard_and_zero
  wait $! || fail "fio beside the discards: $(tail -5 "$WORK/other.out")"
  expect "discards" "$(awk '/^discard_count/ { print $2 }' "/sys/kernel/debug/simdisk/$DISK/stats")" -gt 0
  make_null discard size=64 discard=1
  use fgio
  discard_and_zero
  remove_null discard
}

check_passthrough_beside_load() {
  make_scsi dev_size_mb=32 delay=0
  use fgio
  verify 3 "/dev/$DISK" --time_based --runtime=4 &
  passthrough "/dev/$DISK" 50
  wait $! || fail "fio beside the passthrough failed"
  expect_both_classes
}

count_requeues() { # COMMAND...: sets REQUEUES
  local tracing=/sys/kernel/tracing
  echo >$tracing/trace
  echo 1 >$tracing/events/block/block_rq_requeue/enable
  "$@"
  echo 0 >$tracing/events/block/block_rq_requeue/enable
  REQUEUES=$(grep -c 'block_rq_requeue:' $tracing/trace || true)
  echo "requeued: $REQUEUES"
}

check_requeue() {
  make_scsi dev_size_mb=32 delay=1 statistics=1
  use fgio
  # The control: a healthy device gives nothing back.
  count_requeues verify 2
  expect "requeues of a healthy device" $REQUEUES -eq 0
  # A busy host: given back before the device accepted it.
  make_scsi dev_size_mb=32 ndelay=20000 every_nth=7 statistics=1 opts=0x8000
  use fgio
  count_requeues verify 2
  expect "requeues of what did not fit" $REQUEUES -gt 10
  expect_both_classes
  # A failing link: accepted, and given back with a status.
  make_scsi dev_size_mb=32 ndelay=20000 every_nth=40 statistics=1 opts=0x10
  use fgio
  count_requeues verify 2
  expect "requeues after transport errors" $REQUEUES -gt 3
  expect_both_classes
}

check_shared_tags_of_two_queues() {
  make_scsi dev_size_mb=32 ndelay=20000 submit_queues=2 host_max_queue=16
  use fgio
  verify 3
  expect_both_classes
}

check_nowait() {
  local slowest good again writer
  make_null nowait size=64 irqmode=2 completion_nsec=1000000000 hw_queue_depth=2 submit_queues=1
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  fio --name=writer "--filename=/dev/$DISK" --direct=1 --rw=randwrite --bs=4k --ioengine=libaio \
    --iodepth=16 --thread --numjobs=2 --time_based --runtime=8 --output="$WORK/writer.out" &
  writer=$!
  wait_for "waiting writers" sleeping_in_admission
  read -r slowest good again < <(nowait "/dev/$DISK" 32)
  echo "without waiting: slowest $slowest ms, $good read, $again refused"
  expect "reads that must not wait, slowest in ms" "$slowest" -lt 500
  expect "reads that ended" $((good + again)) -eq 32
  expect "reads refused" "$again" -gt 0
  read -r slowest good again < <(nowait "/dev/$DISK" 2 plain)
  echo "waiting: slowest $slowest ms, $good read, $again refused"
  expect "the control: reads that may wait, slowest in ms" "$slowest" -gt 500
  expect "reads that ended" "$good" -eq 2
  wait $writer || fail "the writer failed"
  # Refused reads are tried again by io_uring, from its workers.
  remove_null nowait
  make_null nowait2 size=64 irqmode=2 completion_nsec=200000 hw_queue_depth=2
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  run_fio --name=ring "--filename=/dev/$DISK" --direct=1 --rw=randwrite --bs=4k --size=4m \
    --verify=crc32c --ioengine=io_uring --iodepth=64 --nowait=0
  expect "requests left" "$(counter noncritical_in_device)" -eq 0
  remove_null nowait2
}

# Two polled reads stay in the device. After critical I/O there is room for two: the next request waits
# until the reads are written off, which shows that they were in its way; later requests do not wait.
check_unreaped_reads_hold_nothing_up() {
  local poller begin first took elevator
  make_null polls size=64 irqmode=2 completion_nsec=1000000 submit_queues=2 poll_queues=1
  echo 600000 >"/sys/block/$DISK/queue/io_timeout"
  for elevator in mq-deadline fgio; do
    use $elevator
    polled "/dev/$DISK" 2 >"$WORK/polled.out" &
    poller=$!
    wait_for "polled reads" grep -q submitted "$WORK/polled.out"
    [[ $elevator != fgio ]] || wait_for "them in the device" two_in_device
    ionice -c1 dd "if=/dev/$DISK" of=/dev/null bs=4k count=3 iflag=direct status=none
    sleep 0.3
    begin=$(now_ms)
    dd "if=/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
    first=$(($(now_ms) - begin))
    dd "if=/dev/$DISK" of=/dev/null bs=4k count=8 iflag=direct status=none
    took=$(($(now_ms) - begin - first))
    echo "$elevator: first $first ms, eight more $took ms"
    if [[ $elevator == fgio ]]; then
      expect "requests that stay" "$(counter noncritical_in_device)" -eq 2
      expect "ms until they are written off" "$first" -gt 500
    fi
    expect "ms of the first" "$first" -lt 10000
    expect "ms of the others" "$took" -lt 10000
    kill $poller
    wait $poller || true
  done
  remove_null polls
}

two_in_device() { [[ $(counter noncritical_in_device) -eq 2 ]]; }

sleeping_in_admission() { [[ $(counter noncritical_waiting) -gt 0 ]]; }

check_zoned() {
  local options
  make_null zoned size=64 zoned=1 zone_size=4 submit_queues=2
  if [[ $KERNEL_VERSION == 6.1 ]]; then
    ! echo fgio >"/sys/block/$DISK/queue/scheduler" || fail "6.1 must refuse a zoned device"
    grep -qF '[fgio]' "/sys/block/$DISK/queue/scheduler" && fail "fgio took a zoned device"
    remove_null zoned
    return
  fi
  use fgio
  options="--filename=/dev/$DISK --direct=1 --zonemode=zbd --bs=16k --verify=crc32c --do_verify=1
    --ioengine=libaio --iodepth=8"
  # shellcheck disable=SC2086
  run_fio --name=sequential $options --rw=write --size=16m --prioclass=1 \
    --name=beside $options --rw=write --offset=32m --size=16m
  expect_both_classes
  blkzone reset "/dev/$DISK"
  # shellcheck disable=SC2086
  run_fio --name=random $options --rw=randwrite --size=16m --max_open_zones=4
  remove_null zoned
}

check_few_slots() {
  make_null few size=64 irqmode=2 completion_nsec=50000 submit_queues=2
  use fgio
  # The kernel itself makes it 4.
  echo 2 >"/sys/block/$DISK/queue/nr_requests"
  expect "slots" "$(<"/sys/block/$DISK/queue/nr_requests")" -eq 4
  verify 2
  expect_both_classes
  remove_null few
}

# Sets TAKEN to the most scheduler tags that writes through a device above take at once.
most_tags_taken() { # DEVICE ARGUMENT...
  local busy fio name
  fio --name=load "--filename=$1" --direct=1 --rw=randwrite --bs=4k --ioengine=libaio --iodepth=64 \
    --size=16m --time_based --runtime=4 --output="$WORK/load.out" "${@:2}" &
  fio=$!
  TAKEN=0
  # Each request has its tag for 300 ms and more.
  while kill -0 $fio 2>/dev/null; do
    pause 0.05
    while IFS='=' read -r name busy; do
      [[ $name != busy || $busy -le $TAKEN ]] || TAKEN=$busy
    done <"/sys/kernel/debug/block/$DISK/hctx0/sched_tags"
  done
  wait $fio || fail "fio: $(tail -3 "$WORK/load.out")"
  echo "tags taken through $1: $TAKEN"
}

# Requests that must not wait come in batches: io_uring first tries each that way. Room is checked, then
# taken when the request has its tag: each processor may have one request too many.
check_batches_leave_the_reserve() {
  make_null batches size=64 irqmode=2 completion_nsec=1000000000 hw_queue_depth=64 submit_queues=1
  use fgio
  echo 64 >"/sys/block/$DISK/queue/nr_requests"
  most_tags_taken "/dev/$DISK" --ioengine=io_uring --iodepth_batch=64
  expect "tags taken, of 64" "$TAKEN" -le $((60 + $(nproc)))
  expect "tags taken, of 64" "$TAKEN" -ge 50
  # The control.
  parameter admission N
  most_tags_taken "/dev/$DISK" --ioengine=io_uring --iodepth_batch=64
  parameter admission Y
  expect "tags taken, of 64, without admission" "$TAKEN" -gt $((60 + $(nproc)))
  remove_null batches
}

make_crypt() { # NAME: on DISK
  extra_module dm-crypt
  dmsetup create --noudevsync "$1" \
    --table "0 65536 crypt aes-cbc-plain64 00112233445566778899aabbccddeeff 0 /dev/$DISK 0"
  dmsetup mknodes
}

# The workers of a loop device and of dm-crypt leave the reserve: one tag of these 16.
check_kernel_threads_leave_the_reserve() {
  local device
  make_null carried size=64 irqmode=2 completion_nsec=300000000 hw_queue_depth=8 submit_queues=1
  use fgio
  echo 16 >"/sys/block/$DISK/queue/nr_requests"
  extra_module loop
  modprobe dm_mod
  for device in loop crypt; do
    if [[ $device == loop ]]; then
      device=$(losetup --find --show --direct-io=on "/dev/$DISK")
      echo none >"/sys/block/${device#/dev/}/queue/scheduler"
    else
      make_crypt carried
      device=/dev/mapper/carried
    fi
    most_tags_taken "$device"
    expect "tags taken, of 16" "$TAKEN" -eq 15
    # The control.
    parameter admission N
    most_tags_taken "$device"
    parameter admission Y
    expect "tags taken, of 16, without admission" "$TAKEN" -eq 16
    if [[ $device == /dev/loop* ]]; then
      losetup --detach "$device"
    else
      dmsetup remove --noudevsync carried
    fi
  done
  expect "requests left" "$(counter noncritical_in_device)" -eq 0
  remove_null carried
}

# Critical writes queue behind others in the one thread that submits both.
check_both_classes_behind_one_thread() {
  make_null crypt size=64 irqmode=2 completion_nsec=1000000 hw_queue_depth=2 submit_queues=1
  use fgio
  echo 4 >"/sys/block/$DISK/queue/nr_requests"
  modprobe dm_mod
  make_crypt behind
  verify 2 /dev/mapper/behind
  expect_both_classes
  dmsetup remove --noudevsync behind
  remove_null crypt
}

check_changing_slots_and_switches_under_load() {
  local fio number
  make_null changing size=64 irqmode=2 completion_nsec=50000 submit_queues=2
  use fgio
  verify 3 "/dev/$DISK" --time_based --runtime=4 &
  fio=$!
  while kill -0 $fio 2>/dev/null; do
    for number in 4 256 5 64 1024 17; do
      echo $number >"/sys/block/$DISK/queue/nr_requests"
      tunable critical_slots $((number / 3 + 1))
      tunable noncritical_slots $number
      parameter admission $((number % 2))
      parameter stamp $((number % 2))
    done
    parameter admission Y
    parameter stamp Y
  done
  wait $fio || fail "fio failed"
  expect_both_classes
  remove_null changing
}

check_requests_without_slot() {
  load_fgio max_slots=16
  make_null fallback size=64 irqmode=2 completion_nsec=50000 submit_queues=2
  use fgio
  verify 3 "/dev/$DISK" --time_based --runtime=4
  expect "critical requests left" "$(counter critical_in_device)" -eq 0
  expect "non-critical requests left" "$(counter noncritical_in_device)" -eq 0
  remove_null fallback
  unload_fgio
}

check_cpu_hotplug() {
  local fio cycles=0 cpu=/sys/devices/system/cpu/cpu1/online
  make_null hotplug size=64 irqmode=2 completion_nsec=100000 submit_queues=2
  use fgio
  echo 8 >"/sys/block/$DISK/queue/nr_requests"
  verify 3 "/dev/$DISK" --time_based --runtime=4 &
  fio=$!
  while kill -0 $fio 2>/dev/null; do
    echo 0 >$cpu
    echo 1 >$cpu
    cycles=$((cycles + 1))
  done
  wait $fio || fail "fio failed"
  expect "times that the CPU went and came" $cycles -ge 2
  expect_both_classes
  remove_null hotplug
}
