# SPDX-License-Identifier: Apache-2.0 OR MIT
# The gate at the system call (kmod/lab/gate.c), in virtual time on the cloud volume.
# shellcheck shell=bash disable=SC2154

# Everything else that holds up non-critical writers is off, or lets them pass.
files() { # a file system in $WORK/mount
  make_simdisk model=volume size_mib=512 seed=1
  load_fgio locks=N journal=N io=N user=N pagecache=N
  use fgio
  mke2fs -q -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "/dev/$DISK" 384m
  mkdir -p "$WORK/mount"
  mount -o noinit_itable "/dev/$DISK" "$WORK/mount"
}

# Enough reads that one is always outstanding: a write that passes early did not wait for them.
foreground() { # ARGUMENT...: options of a critical reader beside the file system
  fio --name=reader "--filename=/dev/$DISK" --rw=randread --bs=256k --iodepth=16 --direct=1 --offset=384m \
    --size=128m --ioengine=libaio --prioclass=1 --time_based --runtime=120 --output=/dev/null "$@" &
  reader=$!
  wait_for "critical I/O" grep -q '^critical_completed [1-9]' "/sys/kernel/debug/fgio/$DISK/counters"
  sleep 0.2
}

# For comparison alone: a module of its own.
gate() { # 1|2
  insmod "$PAYLOAD/modules/fgio_gate.ko" gate="$1"
}

no_gate() {
  [[ ! -d /sys/module/fgio_gate ]] || rmmod fgio_gate
}

tidy() {
  [[ -z ${reader:-} ]] || kill "$reader" 2>/dev/null
  no_gate
}

elapsed_ms() { # COMMAND...
  local begin=${EPOCHREALTIME/./}
  "$@" >&2 || fail "$*"
  echo $(((${EPOCHREALTIME/./} - begin) / 1000))
}

write_file() { # NAME ARGUMENT...: 1 MiB, as the gate counts: eight writes
  dd if=/dev/urandom "of=$WORK/mount/$1" bs=128k count=8 status=none "${@:2}"
}

# one kernel: the gate is of the lab, which compares with it on one kernel
check_gate_by_priority_makes_writes_and_fsyncs_wait() {
  local control gated critical
  files
  # A fixed depth, so that the gate alone makes the difference.
  tunable noncritical_in_device_max 1
  foreground
  # The first one takes 200 ms more than those after it, of which the gated one is.
  write_file first conv=fsync
  control=$(elapsed_ms write_file control conv=fsync)
  gate 1
  sleep 0.1
  gated=$(elapsed_ms write_file gated conv=fsync)
  critical=$(elapsed_ms ionice -c1 dd if=/dev/urandom "of=$WORK/mount/critical" bs=128k count=8 \
    status=none conv=fsync)
  echo "1 MiB with fsync: $control ms without the gate, $gated ms at it, critical $critical ms"
  expect "the control hardly waits" "$control" -lt 600
  # Nine waits of 200 ms. In one guest of nine, six of them were seen; in another, five.
  expect "eight writes and an fsync wait for their bound" "$gated" -ge $((control + 900))
  expect "and no longer" "$gated" -le $((1800 + control + 200))
  expect "a critical one does not wait" "$critical" -lt 600
  kill "$reader"
  wait "$reader" || true
  control=$(elapsed_ms write_file alone conv=fsync)
  expect "without critical I/O no write waits" "$control" -lt 300
}

fsync_file() { # NAME: says how often a signal came, and fails unless fsync said that all is well
  perl -MIO::Handle -e 'my $seen = 0; $SIG{USR1} = sub { $seen++ };
    open(my $file, "+<", $ARGV[0]) or die; print $file "x" x 8192; $file->flush;
    open(my $ready, ">", $ARGV[1]) or die; print $ready "$$\n"; close $ready;
    $file->sync or die "fsync: $!"; print "$seen\n"' "$WORK/mount/$1" "$WORK/syncing"
}

# one kernel: the gate is of the lab, which compares with it on one kernel
check_gate_is_left_by_signals() {
  local writer begin seen
  files
  gate 1
  foreground
  dd if=/dev/zero "of=$WORK/mount/long" bs=128k count=800 status=none &
  writer=$!
  sleep 1
  begin=${EPOCHREALTIME/./}
  kill "$writer"
  wait "$writer" || true
  expect "ms until a writer was gone" $(((${EPOCHREALTIME/./} - begin) / 1000)) -lt 100
  expect "it waited" "$(stat -c %s "$WORK/mount/long")" -lt $((2 << 20))
  write_file signalled
  fsync_file signalled >"$WORK/seen" &
  writer=$!
  wait_for "the fsync" test -s "$WORK/syncing"
  while kill -USR1 "$(cat "$WORK/syncing")" 2>/dev/null; do sleep 0.02; done
  wait "$writer" || fail "fsync failed, with signals"
  seen=$(cat "$WORK/seen")
  expect "signals that came" "$seen" -ge 1
}

keep_dirty() { # NAME: 4 MiB, again and again
  while :; do
    dd if=/dev/zero "of=$WORK/mount/$1" bs=4M count=1 conv=notrunc status=none
  done
}

# one kernel: the gate is of the lab, which compares with it on one kernel
check_gate_by_deadline_puts_off_fsyncs_alone() {
  local control gated written small
  files
  # A fixed depth, so that the gate alone makes the difference.
  tunable noncritical_in_device_max 1
  foreground --iodepth=1 --bs=4k --rate_iops=100
  write_file dirty
  keep_dirty dirty &
  sleep 0.2
  control=$(elapsed_ms fsync_file dirty)
  gate 2
  sleep 0.1
  gated=$(elapsed_ms fsync_file dirty)
  kill $!
  written=$(elapsed_ms write_file written)
  small=$(elapsed_ms dd if=/dev/zero "of=$WORK/mount/small" bs=64k count=1 status=none conv=fsync)
  echo "fsync of what stays dirty: $control ms, at the gate $gated ms; small file $small ms"
  expect "the control" "$control" -lt 150
  expect "put off until the deadline" "$gated" -ge 200
  expect "and no longer" "$gated" -le $((200 + 2 * control + 50))
  expect "writes do not wait" "$written" -lt 60
  expect "little of a file is left: its fsync does not wait" "$small" -lt 100
}

check_gate_has_two_kinds_and_keeps_fgio_loaded() {
  load_fgio
  ! gate 0 2>/dev/null || fail "there is a gate of no kind"
  ! gate 3 2>/dev/null || fail "there is a third kind"
  gate 2
  ! rmmod fgio 2>/dev/null || fail "fgio went away under the gate"
  no_gate
  rmmod fgio
}

check_unload_with_tasks_at_the_gate() {
  local begin each writers=()
  files
  gate 1
  foreground
  for each in 1 2 3 4; do
    write_file "unload$each" conv=fsync &
    writers+=($!)
  done
  sleep 0.5
  begin=${EPOCHREALTIME/./}
  expect "they wait" "$(jobs -pr | wc -l)" -ge 5
  no_gate
  expect "ms until the module was gone" $(((${EPOCHREALTIME/./} - begin) / 1000)) -lt 1000
  for each in "${writers[@]}"; do
    wait "$each" || fail "a writer failed"
  done
  for each in 1 2 3 4; do
    expect "bytes of a file" "$(stat -c %s "$WORK/mount/unload$each")" -eq 1048576
  done
}
