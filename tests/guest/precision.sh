# SPDX-License-Identifier: Apache-2.0 OR MIT
# Whom fgio helps on a busy volume, in virtual time.
# shellcheck shell=bash disable=SC2154

# limit: 120
check_nobody_is_boosted_in_vain() {
  local boosted in_vain boosts left
  make_simdisk model=volume size_mib=512 seed=1
  use fgio
  mke2fs -q -t ext4 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "/dev/$DISK"
  mkdir -p "$WORK/mount"
  mount -o noinit_itable "/dev/$DISK" "$WORK/mount"
  (cd "$WORK/mount" && busy 6) >"$WORK/busy"
  cat "$WORK/busy"
  read -r _ boosted _ in_vain _ boosts _ left <"$WORK/busy"
  expect "boosts" "$boosts" -gt 100
  expect "boosted time that served nobody is less than 1 %" $((in_vain * 100)) -lt "$boosted"
  expect "tasks still boosted" "$left" -eq 0
  umount "$WORK/mount"
}
