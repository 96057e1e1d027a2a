# SPDX-License-Identifier: Apache-2.0 OR MIT
# FGIO_IOC_SHARES: what it says of cgroups, while they come, go and change.
# shellcheck shell=bash disable=SC2154

# shellcheck source=tests/guest/groups.sh
. "$PAYLOAD/tests/groups.sh"

list_all() { share_list list "/dev/$DISK" 512 >"$WORK/listing"; }

listed_figure() { # NAME OF: of the cgroup's line in the last listing
  sed -n "s/^cgroup=$(stat -c %i "$GROUPS_ROOT/$2") .*\b$1=\([0-9]*\).*/\1/p" "$WORK/listing"
}

figure() { # NAME OF: the same in a new one
  list_all
  listed_figure "$@"
}

figure_is() { [[ $(figure "$1" "$2") -eq $3 ]]; }
figure_exceeds() { [[ $(figure "$1" "$2") -gt $3 ]]; }
both_ask() { figure_is asks heavy 1 && [[ $(listed_figure asks light) -eq 1 ]]; }
listed() { share_list list "/dev/$DISK" "$1" | wc -l; }

one_read() { # NAME
  in_cgroup "$1" dd if="/dev/$DISK" of=/dev/null bs=4k count=1 iflag=direct status=none
}

check_listing_says_what_cgroups_have() {
  local reader
  make_null listed size=64 irqmode=2 completion_nsec=200000
  share
  make_group heavy 300
  make_group light 100
  make_group idle 400
  one_read idle
  readers 300 heavy light
  wait_for "shares" shared
  wait_for "the guarantee of 300 of 400" figure_is guarantee heavy 750000
  wait_for "requests in shares" figure_exceeds requests heavy 1000
  # One listing, since readers may pause for a look on a slow guest.
  wait_for "a listing while both ask" both_ask
  expect "the weight" "$(listed_figure weight heavy)" -eq 300
  expect "the guarantee of 100 of 400" "$(listed_figure guarantee light)" -eq 250000
  expect "idle does not ask" "$(listed_figure asks idle)" -eq 0
  # What it would have.
  expect "the guarantee of 400 of 800" "$(listed_figure guarantee idle)" -eq 500000
  expect "the state" "$(share_list state "/dev/$DISK" | cut -d' ' -f1)" -eq 3
  read_bytes heavy
  expect "its sectors are among those of io.stat" "$(listed_figure sectors heavy)" -le $((BYTES / 512))
  expect "requests of 4 KiB or more" \
    "$(listed_figure sectors light)" -ge "$((8 * $(listed_figure requests light)))"
  expect "its parent" "$(listed_figure parent heavy)" -eq "$(stat -c %i $GROUPS_ROOT)"
  for reader in heavy light; do
    echo 1 >"$GROUPS_ROOT/$reader/cgroup.kill"
  done
  wait "${READERS[@]}" || true
  wait_for "the end of its I/O" figure_is in_drive heavy 0
  wait_for "it does not ask" figure_is asks heavy 0
  remove_groups
  remove_null listed
}

scale() { # NAME PARTS MS
  share_list scale "$(stat -c %i "$GROUPS_ROOT/$1")" "$2" "$3"
}

# one kernel: the scale is a figure of fgio alone
# As fgiod cache says it, and for as long as that.
check_weights_that_count_for_more_or_less() {
  make_null scaled size=64 irqmode=2 completion_nsec=200000
  share
  make_group heavy 300
  make_group light 100
  readers 300 heavy light
  wait_for "shares" shared
  wait_for "the guarantee of 300 of 400" figure_is guarantee heavy 750000
  scale heavy 512 60000
  wait_for "the guarantee of 150 of 250" figure_is guarantee heavy 600000
  expect "what it counts for" "$(listed_figure scale heavy)" -eq 512
  expect "its weight as before" "$(listed_figure weight heavy)" -eq 300
  expect "the other one's" "$(listed_figure scale light)" -eq 1024
  # For a moment, and not for longer.
  scale heavy 4096 1
  wait_for "its own weight" figure_is guarantee heavy 750000
  # A weight that counts for less makes no disk shared by weight that has equal ones.
  echo "default 100" >$GROUPS_ROOT/heavy/io.weight
  scale light 256 60000
  wait_for "no shares" not_shared
  echo 1 >$GROUPS_ROOT/heavy/cgroup.kill
  echo 1 >$GROUPS_ROOT/light/cgroup.kill
  wait "${READERS[@]}" || true
  remove_groups
  remove_null scaled
}

# one kernel: what fgio answers when it knows no cgroup
check_listing_without_shares() {
  make_null unshared size=64
  need_fgio
  parameter shares 0
  use fgio
  expect "no cgroup is known" "$(share_list state "/dev/$DISK" | cut -d' ' -f1,2 | tr -d ' ')" -eq 00
  expect "none is listed" "$(listed 512)" -eq 0
  use none
  remove_null unshared
}

# one kernel: a setting of fgio alone
check_always_shared_by_equal_weights() {
  make_null equal size=64
  need_fgio
  parameter shares 2
  use fgio
  wait_for "shares" shared
  # The control.
  parameter shares 1
  wait_for "no shares" not_shared
  parameter shares 2
  wait_for "shares" shared
  parameter shares 0
  wait_for "no shares" not_shared
  remove_null equal
}

# one kernel: arguments that fgio itself refuses
check_wrong_listings() {
  local other
  make_null other size=64
  other=$DISK
  make_null wrong size=64
  share
  share_list errors "/dev/$DISK" "/dev/$other"
  remove_null wrong
  remove_null other
}

# one kernel: the command alone
check_listing_beside_cgroups_that_come_and_go() {
  local round fio lister
  make_null churn size=64 irqmode=2 completion_nsec=2000000
  share
  make_group stays 300
  readers 40 stays
  fio=${READERS[0]}
  wait_for "shares" shared
  share_list again "/dev/$DISK" 20 &
  lister=$!
  for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
    make_group "goes$round" $((round * 100))
    in_cgroup "goes$round" dd if="/dev/$DISK" of=/dev/null bs=64k count=32 iflag=direct status=none &
    in_cgroup "goes$round" dd if=/dev/zero of="/dev/$DISK" bs=4k count=64 oflag=nonblock status=none
    echo "default $((round * 700))" >"$GROUPS_ROOT/goes$round/io.weight"
    wait $!
    # Its pages are written back when it has gone.
    rmdir "$GROUPS_ROOT/goes$round"
    [[ $round -ne 5 ]] || use mq-deadline
    [[ $round -ne 5 ]] || sleep 0.2
    [[ $round -ne 5 ]] || use fgio
    sync -f "/dev/$DISK"
  done
  kill $lister 2>/dev/null || true
  wait $lister || [[ $? -eq 143 ]] || fail "the listing failed"
  echo 1 >$GROUPS_ROOT/stays/cgroup.kill
  wait "$fio" || true
  verify 3
  wait_for "the end of all requests" nothing_left
  remove_groups
  remove_null churn
}

# Reads in each of these cgroups, by one process.
read_in_each() { # FIRST LAST
  python3 - "$GROUPS_ROOT" "/dev/$DISK" "$1" "$2" <<'PYTHON'
import mmap, os, sys

root, disk, first, last = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
page = mmap.mmap(-1, 4096)
file = os.open(disk, os.O_RDONLY | os.O_DIRECT)
for number in range(first, last + 1):
    folder = f"{root}/n{number}"
    os.mkdir(folder)
    with open(f"{folder}/io.weight", "w") as weight:
        weight.write(f"default {number % 10000 + 1}")
    with open(f"{folder}/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))
    os.preadv(file, [page], 0)
PYTHON
}

# Cgroups of read_in_each that the kernel charged: where it has no memory at hand for one that does
# its first I/O, it charges the parent.
have_io() { grep -ls "^$(<"/sys/block/$DISK/dev") " $GROUPS_ROOT/n*/io.stat | wc -l; }

remove_each() { # FIRST LAST
  python3 -c 'import os, sys
for number in range(int(sys.argv[2]), int(sys.argv[3]) + 1):
    os.rmdir(f"{sys.argv[1]}/n{number}")' $GROUPS_ROOT "$1" "$2"
}

# one kernel: the command, and a bound of fgio
# limit: 1800
check_listing_of_many_cgroups() {
  local many=${SHARE_CGROUPS:-1000} before known after lister
  make_null many size=64
  share
  make_group first 200
  one_read first
  wait_for "shares" shared
  before=$(listed 512)
  read_in_each 1 "$many"
  known=$(have_io)
  echo "$known of $many cgroups have I/O of their own"
  expect "cgroups with I/O of their own" "$known" -ge $((many * 99 / 100))
  for after in 1 7 512; do
    expect "cgroups, $after at a call" "$(listed $after)" -eq $((before + known))
  done
  wait_for "a look that counts them" counts_at_least "$known"
  share_list again "/dev/$DISK" 600 &
  lister=$!
  remove_each 1 $((many / 2))
  kill $lister
  wait $lister || [[ $? -eq 143 ]] || fail "the listing failed"
  wait_for "those that are left" left_is $((before + $(have_io)))
  use none
  use fgio
  expect "none of before" "$(listed 512)" -lt "$many"
  remove_each $((many / 2 + 1)) "$many"
  remove_groups
  remove_null many
}

counts_at_least() { [[ $(share_list state "/dev/$DISK" | cut -d' ' -f2) -ge $1 ]]; }
left_is() { [[ $(listed 512) -eq $1 ]]; }

check_wrong_weights() {
  local weight
  make_null weights size=64
  share
  make_group wrong 300
  one_read wrong
  wait_for "its weight" figure_is weight wrong 300
  for weight in 0 20000 -1 10001 x; do
    ! echo "default $weight" 2>/dev/null >"$GROUPS_ROOT/wrong/io.weight" || fail "weight $weight"
  done
  expect "its weight as before" "$(figure weight wrong)" -eq 300
  for weight in 1 10000; do
    echo "default $weight" >"$GROUPS_ROOT/wrong/io.weight"
    wait_for "weight $weight" figure_is weight wrong $weight
  done
  remove_groups
  remove_null weights
}
