# SPDX-License-Identifier: Apache-2.0 OR MIT
# The drive's own priority: which requests have it, and fgio enable and disable, which set it.
# shellcheck shell=bash disable=SC2154

DEVICE_FILES=/sys/block/simdisk0/device
KNOB=$DEVICE_FILES/ncq_prio_enable
TOLD=/sys/block/simdisk0/queue/iosched/drive_priority

# A SATA disk under fgio, with its knob on and fgio told so.
prepare() { # PARAMETER...: of simdisk
  make_simdisk size_mib=64 "$@"
  use fgio
  echo 1 >"$KNOB"
  tunable drive_priority 1
}

tidy() {
  local switch
  [[ -d /sys/module/fgio ]] || return 0
  for switch in drive_priority stamp boost queue; do
    parameter $switch Y
  done
}

stat_of() { # NAME
  awk -v name="$1" '$1 == name { print $2 }' "/sys/kernel/debug/simdisk/$DISK/stats"
}

# Sets COUNT to the requests that a command makes, and HIGH to those with priority in the drive.
count_high() { # COMMAND...
  local counted high
  counted=$(($(stat_of read_count) + $(stat_of write_count)))
  high=$(($(stat_of read_high) + $(stat_of write_high)))
  "$@"
  COUNT=$(($(stat_of read_count) + $(stat_of write_count) - counted))
  HIGH=$(($(stat_of read_high) + $(stat_of write_high) - high))
  echo "$HIGH of $COUNT had priority: $*"
}

expect_high() { # COMMAND...
  count_high "$@"
  [[ $COUNT -ge 16 && $HIGH -eq $COUNT ]] || fail "not all of it had priority"
}

expect_normal() { # COMMAND...
  count_high "$@"
  [[ $COUNT -ge 16 && $HIGH -eq 0 ]] || fail "some of it had priority"
}

reads_under() { "$@" dd if=/dev/simdisk0 of=/dev/null bs=4k count=16 iflag=direct status=none; }
writes_under() { "$@" dd if=/dev/zero of=/dev/simdisk0 bs=4k count=16 oflag=direct status=none; }

check_drive_knows_critical_requests_alone() {
  local model
  for model in hdd ssd; do
    prepare model=$model
    expect_high reads_under ionice -c2 -n0
    expect_high writes_under ionice -c2 -n0
    expect_high reads_under ionice -c1
    expect_high writes_under tagged foreground
    expect_high reads_under tagged foreground ionice -c3
    expect_normal reads_under ionice -c2 -n4
    expect_normal writes_under ionice -c3
    expect_normal reads_under env
    # Drivers go by the class of the I/O priority: non-critical requests must not have it.
    expect_normal reads_under chrt -f 50
    expect_normal writes_under tagged background ionice -c1
    use none
  done
}

check_drive_is_told_nothing_when_switched_off() {
  prepare model=hdd
  parameter drive_priority N
  expect_normal reads_under tagged foreground
  # Then the class is as it was chosen, as under any other scheduler.
  expect_high reads_under ionice -c1
  expect_high reads_under tagged background ionice -c1
  parameter drive_priority Y
  tunable drive_priority 0
  expect_normal reads_under tagged foreground
  tunable drive_priority 1
  echo 0 >"$KNOB"
  expect_normal reads_under tagged foreground
  echo 1 >"$KNOB"
  expect_high reads_under tagged foreground
  parameter stamp N
  # A walk promotes what is withheld for the critical reads before, and rightly so.
  parameter boost N
  expect_normal reads_under tagged foreground
  parameter boost Y
  parameter stamp Y
  use none
}

check_drive_is_told_without_order_in_the_queue() {
  prepare model=hdd
  parameter queue N
  expect_high reads_under tagged foreground
  expect_normal reads_under env
  parameter queue Y
  use none
}

# The bug keeps non-critical requests queued, until one of them is promoted. Each of 21 has a slot.
promoted_of_21_writes() { # [promote]
  local process
  withhold
  promotion "/dev/$DISK" 20 "$@" >"$WORK/promotion" &
  process=$!
  sleep 2
  no_withhold
  reads_under env
  wait $process || fail "promotion"
}

check_drive_knows_a_promoted_request() {
  prepare model=hdd
  count_high promoted_of_21_writes
  expect "without promotion" "$HIGH" -eq 0
  count_high promoted_of_21_writes promote
  cat "$WORK/promotion"
  expect "the promoted one" "$HIGH" -eq 1
  use none
}

check_data_is_right_with_priority_in_the_drive() {
  local model
  for model in hdd ssd; do
    prepare model=$model
    count_high verify 2
    expect "some had priority" "$HIGH" -gt 50
    expect "some had not" $((COUNT - HIGH)) -gt 50
    use none
  done
}

# A requeued request has its own priority again, and goes out with the drive's once more.
check_requeued_requests() {
  make_scsi dev_size_mb=32 ndelay=20000 every_nth=40 opts=0x10
  use fgio
  tunable drive_priority 1
  verify 2
  expect "requests told of" "$(counter drive_priority)" -gt 50
  use none
}

knob_is() { # KNOB TOLD
  [[ $(<"$KNOB") == "$1" ]] || fail "the knob is $(<"$KNOB"), not $1"
  [[ -z ${2:-} || $(<"$TOLD") == "$2" ]] || fail "drive_priority is $(<"$TOLD"), not $2"
}

fgio() { "$PAYLOAD/bin/fgio" "$@"; }
# Its other findings in a guest are of no interest.
doctor() { fgio doctor || true; }

# one kernel: the command, and the knob of simdisk
check_enable_asks_and_disable_puts_back() {
  need_fgio
  make_simdisk model=hdd size_mib=64
  use mq-deadline
  fgio enable "$DISK" | tee "$WORK/said"
  grep -q 'the drive serves critical requests first' "$WORK/said" || fail "nothing said"
  knob_is 1 1
  expect_high reads_under tagged foreground
  fgio status | grep 'drive priority: on (NCQ priority)'
  doctor | grep 'critical requests go first in the drive'
  fgio disable "$DISK"
  knob_is 0
  grep -qF '[mq-deadline]' "/sys/block/$DISK/queue/scheduler" || fail "not back"
  fgio enable --no-drive-priority "$DISK"
  knob_is 0 0
  fgio enable "$DISK"
  knob_is 1 1
  fgio enable --no-drive-priority "$DISK"
  knob_is 0 0
  fgio disable "$DISK"
  # A priority that the administrator turned on stays on.
  echo 1 >"$KNOB"
  fgio enable "$DISK"
  fgio disable "$DISK"
  knob_is 1
}

# one kernel: the command, and the knob of simdisk
check_enable_leaves_drives_without_it_alone() {
  need_fgio
  make_simdisk model=ssd size_mib=64 ncq_prio=0
  [[ $(<"$DEVICE_FILES/ncq_prio_supported") == 0 ]] || fail "supported"
  ! (echo 1 >"$KNOB") 2>/dev/null || fail "the knob turns"
  fgio --json enable "$DISK" | grep -F '"drive_priority":{"state":"not-offered"}'
  knob_is 0 0
  fgio disable "$DISK"
  make_simdisk model=volume size_mib=64
  [[ ! -e $KNOB ]] || fail "a volume has a knob"
  fgio --json enable "$DISK" | grep -F '"drive_priority":{"state":"not-offered"}'
  doctor | grep 'no priority command'
  fgio disable "$DISK"
}
