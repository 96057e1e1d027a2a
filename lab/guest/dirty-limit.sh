# SPDX-License-Identifier: Apache-2.0 OR MIT
# Small durable writes beside a large file being written. Settings come from dirty-limit.env.
# shellcheck shell=bash
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/dirty-limit.env"
FILES=/mnt/files

make_files() {
  mke2fs -q -t ext4 -b 4096 -E nodiscard,lazy_itable_init=1,lazy_journal_init=1 "/dev/$DISK" ||
    stop "mke2fs failed"
  mkdir -p $FILES
  mount -t ext4 -o noinit_itable "/dev/$DISK" $FILES || stop "ext4 does not mount"
}

phase preparing
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
use_elevator "$ELEVATOR"
set_parameters "$SETTINGS"
make_files
phase warming up
# shellcheck disable=SC2086
"$PAYLOAD/bin/durable" "$DEMAND" $FILES "$SEED" $TAG >"$RESULTS/record" &
durable=$!
sleep "$WARM_S"
phase measuring
snapshot before
moment begin
if [[ $HAS_BACKGROUND == 1 ]]; then
  dd if=/dev/zero of=$FILES/bulk bs=256K count=$((BULK_MIB * 4)) status=none || stop "dd failed"
  moment written
  sync $FILES/bulk || stop "fsync failed"
else
  sleep "$FLOOR_S"
fi
moment end
snapshot after
if [[ $ELEVATOR == fgio ]]; then
  "$PAYLOAD/bin/fgio" --json blame >"$RESULTS/blame.json" || stop "fgio blame failed"
  "$PAYLOAD/bin/fgio" --json status >"$RESULTS/status.json" || stop "fgio status failed"
fi
kill $durable || stop "the foreground failed"
phase "done"
