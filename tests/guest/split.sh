# SPDX-License-Identifier: Apache-2.0 OR MIT
# Long background I/O is split while foreground I/O comes, and nothing else is.
# shellcheck shell=bash disable=SC2154

LONGEST_KIB=128

need_split() {
  local works
  need_fgio
  read -r works _ < <(abuse hook bio_split_rw_at)
  [[ $works == 1 || $(uname -r) == 6.12.* ]] || skip "this kernel has no function that is told the length of the first piece"
  # Its longest request has 256 KiB; 128 KiB take it 4 ms, so pieces of more are not learnt.
  make_simdisk model=volume:bytes_per_s=32Mi size_mib=64
  use fgio
}

# One that stays keeps the hooks attached, and one that reads keeps critical I/O recent.
begin_foreground() {
  tagged foreground sleep 1000 &
  WAITER=$!
  while true; do
    tagged foreground dd "if=/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
    pause 0.05
  done &
  READER=$!
  wait_for "foreground reads" served
}

served() { [[ $(counter critical_completed) -gt 2 ]]; }

end_reads() {
  kill "$READER"
  wait "$READER" || true
}

end_foreground() {
  end_reads
  kill "$WAITER"
  wait "$WAITER" || true
}

writes() { dd if=/dev/zero "of=/dev/$DISK" bs=1M count=8 oflag=direct status=none; }
reads() { dd "if=/dev/$DISK" of=/dev/null bs=256k count=32 iflag=direct status=none; }

# Of other counts, half or twice as many are the nearest. A foreground read may wait for one of the
# background's and make it critical.
expect_about() { # WHAT COUNTED COUNT
  expect "$1" "$2" -ge $(($3 * 7 / 8))
  expect "$1" "$2" -le $(($3 * 9 / 8))
}

expect_requests() { # COUNT COMMAND...: background requests that it takes for its 8 MiB
  local count=$1
  shift
  count_classes "$@"
  expect_about "background requests of: $*" "$NONCRITICAL" "$count"
}

# one kernel: others lack the function
check_long_background_io_is_split() {
  need_split
  expect_requests 32 writes
  expect "split without a foreground" "$(counter split)" -eq 0
  begin_foreground
  expect_requests $((8192 / LONGEST_KIB)) writes
  expect_requests $((8192 / LONGEST_KIB)) reads
  expect "split" "$(counter split)" -ge 32
  # The control.
  parameter split N
  expect_requests 32 writes
  parameter split Y
  expect_requests $((8192 / LONGEST_KIB)) writes
  tunable noncritical_split_kib 0
  expect_requests 32 writes
  end_foreground
}

# one kernel: others lack the function
check_what_must_stay_whole_is_not_split() {
  local good again
  need_split
  begin_foreground
  end_reads
  count_classes tagged foreground dd if=/dev/zero "of=/dev/$DISK" bs=256k count=32 oflag=direct status=none
  expect_about "critical requests of 256 KiB" "$CRITICAL" 32
  read -r _ good again < <(nowait "/dev/$DISK" 16 nowait 256)
  expect "reads of 256 KiB that must not wait" "$good" -eq 16
  # The control: the kernel refuses those that have to be split.
  read -r _ good again < <(nowait "/dev/$DISK" 16 nowait 512)
  expect "reads of 512 KiB that are refused" "$again" -eq 16
  expect_requests $((8192 / LONGEST_KIB)) writes
  kill "$WAITER"
  wait "$WAITER" || true
}

# one kernel: others lack the function
check_split_io_is_whole_while_switches_change() {
  local job
  need_split
  begin_foreground
  fio --name=whole "--filename=/dev/$DISK" --direct=1 --rw=randrw --bsrange=4k-1m --size=48m --loops=20 \
    --ioengine=libaio --iodepth=8 --verify=crc32c --verify_fatal=1 --thread --time_based --runtime=8 \
    --output="$WORK/whole.out" &
  job=$!
  while ! gone $job; do
    parameter split N
    tunable noncritical_split_kib 32
    pause 0.02
    parameter split Y
    pause 0.05
    tunable noncritical_split_kib 0
    pause 0.02
    tunable noncritical_split_kib 128
    # Without a foreground the hook goes, and comes back.
    kill "$WAITER"
    tagged foreground sleep 1000 &
    WAITER=$!
    pause 0.05
  done
  wait $job || fail "$(<"$WORK/whole.out")"
  expect "split" "$(counter split)" -gt 20
  end_foreground
  expect "requests left" "$(counter noncritical_in_device)" -eq 0
}
