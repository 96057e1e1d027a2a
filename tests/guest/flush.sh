# SPDX-License-Identifier: Apache-2.0 OR MIT
# Flushes that a foreground task waits for (kmod/block/flush.c), of a drive with a volatile cache.
# shellcheck shell=bash disable=SC2154
SYNCS=64

tidy() {
  [[ ! -d /sys/module/fgio ]] || parameter io Y
}

files_on_ssd() {
  make_simdisk model=ssd size_mib=256 seed=1
  need_fgio
  use fgio
  mke2fs -q -t ext4 "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount "/dev/$DISK" "$WORK/mount"
  allocate served
  allocate unserved
}

allocate() { # FILE: of 1 MiB, whose syncs have nothing to commit
  fallocate -l 1M "$WORK/mount/$1"
  dd if=/dev/zero "of=$WORK/mount/$1" bs=1M count=1 conv=notrunc,fsync status=none
}

seen_while() { # COMMAND...: sets FLUSHES and MEAN_US
  local flushes took_ns
  flushes=$(counter critical_flushes)
  took_ns=$(counter critical_flushes_ns)
  "$@"
  FLUSHES=$(($(counter critical_flushes) - flushes))
  MEAN_US=$((($(counter critical_flushes_ns) - took_ns) / 1000 / (FLUSHES + !FLUSHES)))
}

# I/O that the journal's thread submits before its boost has no class: how often that is depends on
# the host. At most eight rounds.
grow_until() { # FLUSHES
  local before
  before=$(counter critical_flushes)
  for ((ROUND = 1; ROUND <= 8; ROUND++)); do
    sync_each foreground grows
    [[ $(($(counter critical_flushes) - before)) -lt $1 ]] || break
  done
}

sync_each() { # TAG FILE [OPTION]: SYNCS writes of 4 KiB
  tagged "$1" dd if=/dev/zero "of=$WORK/mount/$2" bs=4k "count=$SYNCS" oflag=dsync status=none \
    ${3:+"$3"}
}

check_flushes_are_seen() {
  local plain_us
  files_on_ssd
  seen_while sync_each foreground served conv=notrunc
  expect "flushes of syncs with nothing to commit" "$FLUSHES" -ge $((SYNCS * 9 / 10))
  plain_us=$MEAN_US
  seen_while grow_until 16
  echo "of $ROUND times $SYNCS commits"
  expect "flushes of a journal's commits" "$FLUSHES" -ge 16
  echo "a flush takes $plain_us us, that of a commit with its record $MEAN_US us"
  expect "a commit's has the record and another flush in it" "$MEAN_US" -gt "$plain_us"
  # A task that syncs the file of foreground threads would count as one.
  seen_while sync_each background unserved conv=notrunc
  expect "those that no foreground task waits for" "$FLUSHES" -le 2
  parameter io N
  seen_while sync_each foreground served conv=notrunc
  expect "without the mechanism" "$FLUSHES" -eq 0
}
