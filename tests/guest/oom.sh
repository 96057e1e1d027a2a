# SPDX-License-Identifier: Apache-2.0 OR MIT
# Little memory, and all that fgio does about the page cache beside growth of other memory.
# POLICY is fgio or none: the same load without it. Two cgroups read more than fits into memory, two
# write, one copies files, and one has the reads that requests wait for. Then anonymous memory grows,
# beside many processes and TMPFS_MIB of tmpfs: until something is killed, with the load frozen (the
# control, which says how much fits), then ROUNDS times to ANON_MIB, or to FITS_LESS_MIB less than what
# fitted, beside the load.
# Leaves $RESULTS/fits and $RESULTS/rounds; test_oom.py judges them.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
# shellcheck source=/dev/null
. "$PAYLOAD/fgiod.sh"
export PATH=$PATH:$PAYLOAD/bin
CGROUPS=/sys/fs/cgroup
FILES=/mnt/files
STOP=/run/stop
CROWD=/run/crowd
LOADS=()

has_policy() { [[ $POLICY == fgio ]]; }

in_group() { # GROUP COMMAND...
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUPS/$1" "${@:2}"
}

load() { # GROUP COMMAND...: until the end
  in_group "$@" &
  LOADS+=($!)
}

reader() { # GROUP FILE OTHER THIRD
  load "$1" fio --eta=never --name="$1" --filename="$FILES/$2:$FILES/$3:$FILES/$4" --rw=randread --bs=64k \
    --ioengine=psync --numjobs=2 --thread --randseed="$SEED" --norandommap --time_based \
    --runtime=1000 --invalidate=0 --output="$RESULTS/$1.fio"
}

writer() { # GROUP
  load "$1" bash -c 'while :; do dd if=/dev/zero of="$0" bs=64k count=1024 conv=notrunc status=none; done' \
    "$FILES/$1"
}

copier() {
  local by=()
  ! has_policy || by=(fgio run --background --drop-behind --summary --)
  # shellcheck disable=SC2016
  load copy "${by[@]}" bash -c 'while :; do for each in 6 7 8; do cp "$0/$each" "$0/copy$each"; done; done' \
    $FILES 2>>"$RESULTS/copy.log"
}

start_waited_for() { # NAME: reads for which requests wait
  local by=()
  ! has_policy || by=(fgio run --foreground --)
  in_group front "${by[@]}" fio --eta=never --name=front --filename=$FILES/10 --rw=randread --bs=4k \
    --ioengine=psync --thread --randseed="$SEED" --norandommap --time_based --runtime=1000 \
    --invalidate=0 --rate_iops=50 --output-format=json --output="$RESULTS/$1.json" &
  FRONT=$!
}

end_waited_for() {
  # shellcheck disable=SC2046
  kill $(<$CGROUPS/front/cgroup.procs)
  wait "$FRONT"
}

# While evicted pages are read again, the kernel reclaims for long before it kills.
freeze() { # 0|1: the load
  local group
  for group in "$CGROUPS"/{light,heavy,few,much,copy,fgio-run-*}; do
    [[ ! -d $group ]] || echo "$1" >"$group/cgroup.freeze"
  done
}

kills() { awk '$1 == "oom_kill" { print $2 }' /proc/vmstat; }

# A crowd of 80 that stay, and 10 that come and go, so that as many are there whatever is slow.
crowd() {
  in_group grown perl -MPOSIX -e '
    my ($stop, $there) = @ARGV;
    my $bad = 0;
    pipe(my $end, my $hold) or die;
    sub start {
      my $child = fork;
      defined $child or $bad++, return;
      return if $child;
      close $hold;
      my $held = "x" x (128 << 10);
      $_[0] ? select(undef, undef, undef, 0.1) : sysread($end, $held, 1);
      POSIX::_exit(0);
    }
    start(0) for 1 .. 80;
    start(1) for 1 .. 10;
    open(my $told, ">", $there) or die;
    until (-e $stop) {
      wait;
      $bad++ if $?;
      start(1);
    }
    close $hold;
    while (wait > 0) { $bad++ if $? }
    exit($bad ? 1 : 0)' $STOP $CROWD
}

grow() { # MIB MS: this much anonymous memory, each MiB after a while; says how far it came
  in_group grown python3 -c '
import sys, time
most, ms, told = int(sys.argv[1]), int(sys.argv[2]), open(sys.argv[3], "w")
held, block = [], b"x" * (1 << 20)
for number in range(most):
    held.append(bytearray(block))
    told.seek(0)
    told.write(f"{number + 1}\n")
    told.flush()
    time.sleep(ms / 1000)
time.sleep(0.5)' "$1" "$2" /run/grown
}

# Sets GROWN to the MiB that anonymous memory came to. Leaves in $RESULTS/NAME: MS, MiB, kills, and how
# the process that grew and those beside it ended.
press() { # NAME MIB MS
  local before status=0 crowd_status=0 crowd
  rm -f $STOP $CROWD
  before=$(kills)
  crowd &
  crowd=$!
  until [[ -e $CROWD ]]; do sleep 0.1; done
  in_group grown dd if=/dev/zero of=/dev/shm/grown bs=1M count="$TMPFS_MIB" status=none ||
    stop "no tmpfs"
  # The shell would say on its own that it was killed.
  grow "$2" "$3" 2>/dev/null || status=$?
  touch $STOP
  wait $crowd || crowd_status=$?
  rm -f /dev/shm/grown
  GROWN=$(</run/grown)
  echo "$3 $GROWN $(($(kills) - before)) $status $crowd_status" >>"$RESULTS/$1"
  sleep 1
}

phase preparing
mkdir -p $FILES /run/fgio /etc/fgio
mountpoint -q /dev/shm || { mkdir -p /dev/shm && mount -t tmpfs none /dev/shm; }
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
mount -t cgroup2 none $CGROUPS || stop "no cgroups"
echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no controllers of I/O and memory"
mount -t ext4 -o noinit_itable,noatime "/dev/$DISK" $FILES || stop "ext4 does not mount"
# Space for what is written.
rm $FILES/{11,12,13,14,15}
for each in "light 100" "heavy 300" "few 100" "much 300" "copy 100" "front 300" "grown 100"; do
  mkdir "$CGROUPS/${each% *}"
  echo "default ${each#* }" >"$CGROUPS/${each% *}/io.weight" || stop "no io.weight"
done
if has_policy; then
  load_module fgio shares=1
  use_elevator fgio
  network || stop "no loopback"
  install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
  start_daemon
  fgiod cache 2>>"$RESULTS/fgiod.log" &
  cache=$!
else
  use_elevator mq-deadline
fi
phase filling
reader light 0 1 2
reader heavy 3 4 5
writer few
writer much
copier
start_waited_for filling
sleep "$FILL_S"
phase until killed
freeze 1
press fits 100000 10
fits=$GROWN
freeze 0
sleep 2
end_waited_for
phase rounds
most=$ANON_MIB
[[ $most -gt 0 ]] || most=$((fits - FITS_LESS_MIB))
start_waited_for rounds
for ((round = 0; round < ROUNDS; round++)); do
  press rounds "$most" $((round % 2 * 10))
done
end_waited_for
for group in "$CGROUPS"/*/; do
  [[ ! -f $group/memory.events ]] || sed "s|^|${group#"$CGROUPS"} |" "$group/memory.events"
done >"$RESULTS/events"
kills >"$RESULTS/kills"
if has_policy; then
  fgio --json share list >"$RESULTS/share.json"
  cat "/sys/kernel/debug/fgio/$DISK/counters" >"$RESULTS/counters"
  for each in "$cache" "$daemon"; do
    kill -0 "$each" || stop "fgiod has ended: $(<"$RESULTS/fgiod.log")"
  done
  kill "$cache"
  wait "$cache" || stop "fgiod failed: $(<"$RESULTS/fgiod.log")"
fi
for each in "${LOADS[@]}"; do
  kill -0 "$each" || stop "a load has ended"
done
# `fgio run` says what it dropped when its command has ended.
! has_policy || echo 1 >"$(echo $CGROUPS/fgio-run-*/cgroup.kill)"
sleep 0.5
for each in "$CGROUPS"/*/cgroup.kill; do echo 1 >"$each"; done
wait "${LOADS[@]}" 2>/dev/null
phase "done"
