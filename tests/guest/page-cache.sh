# SPDX-License-Identifier: Apache-2.0 OR MIT
# POLICY is
# fgiod, none: two cgroups that read more than fits into memory, with or without fgiod cache, then a
#   burst of memory that is no page cache; with it also: new weights, kills and fgio disable;
# drop: a copy beside a working set, with and without --drop-behind, without fgiod cache;
# many: MANY cgroups with weights, of which HOLDING hold file memory: what fgiod cache costs.
# Leaves a line "MOMENT LIGHT HEAVY" in $RESULTS/held (bytes of file memory) and $RESULTS/lows
# (memory.low) for each moment; test_page_cache.py judges them.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
export PATH=$PATH:$PAYLOAD/bin
CGROUPS=/sys/fs/cgroup
FILES=/mnt/files
SHARES=/run/fgio/cache/shares
# Of the administrator, for the heavy group.
OWN_LOW=8388608
READERS=()
RANDOM=$SEED

file_memory() { # GROUP
  awk '$1 == "active_file" || $1 == "inactive_file" { sum += $2 } END { print sum + 0 }' \
    "$CGROUPS/$1/memory.stat"
}

low() { cat "$CGROUPS/$1/memory.low"; }
note_held() { echo "$1 $(file_memory light) $(file_memory heavy)" >>"$RESULTS/held"; } # MOMENT
note_low() { echo "$1 $(low light) $(low heavy)" >>"$RESULTS/lows"; }                  # MOMENT

mean_held() { # MOMENT: means of 3 s
  local look light=0 heavy=0
  for look in 1 2 3 4 5 6; do
    light=$((light + $(file_memory light)))
    heavy=$((heavy + $(file_memory heavy)))
    sleep 0.5
  done
  echo "$1 $((light / look)) $((heavy / look))" >>"$RESULTS/held"
}

in_group() { # GROUP COMMAND...
  bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUPS/$1" "${@:2}"
}

reader() { # GROUP FILE OTHER THIRD
  in_group "$1" fio --eta=never --name="$1" --filename="$FILES/$2:$FILES/$3:$FILES/$4" --rw=randread --bs=64k \
    --ioengine=psync --numjobs=2 --thread --randseed="$SEED$2" --norandommap --time_based \
    --runtime=1000 --invalidate=0 --output="$RESULTS/$1.fio" &
  READERS+=($!)
}

start_fgiod() {
  fgiod cache 2>>"$RESULTS/fgiod.log" &
  FGIOD=$!
}

until_protected() { # both have a memory.low of fgiod's
  local tries=0
  until [[ $(low light) -gt 0 && $(low heavy) -gt $OWN_LOW ]]; do
    sleep 0.1
    tries=$((tries + 1))
    [[ $tries -lt 100 ]] || stop "fgiod protects nothing: $(<"$RESULTS/fgiod.log")"
  done
}

times_restored() { grep -c 'have the memory.low back' "$RESULTS/fgiod.log" || true; }

# What a killed fgiod left looks like protection, until the next one has taken it back.
until_restored() { # TIMES: before it began
  local tries=0
  until [[ $(times_restored) -gt $1 ]]; do
    sleep 0.1
    tries=$((tries + 1))
    [[ $tries -lt 100 ]] || stop "fgiod takes nothing back: $(<"$RESULTS/fgiod.log")"
  done
}

killed() { # ends it at once
  kill -KILL "$FGIOD"
  wait "$FGIOD" 2>/dev/null
}

switch_disk() { # enable|disable
  fgio "$1" "$DISK" >>"$RESULTS/disable" || stop "no $1"
}

# Killed at any moment, also before it took back what the one before it left, with the disk under
# fgio and not, and with the kernel's own reclaim at work before the next one starts.
kill_again_and_again() {
  local round
  for ((round = 0; round < ROUNDS; round++)); do
    start_fgiod
    until_protected
    ((round % 2)) || switch_disk enable
    sleep 0.$((RANDOM % 10))
    killed
    sleep 0.$((RANDOM % 10))
    ((round % 2)) && continue
    # It takes back what was left, while none runs.
    switch_disk disable
    note_low "round$round"
  done
  echo "$round rounds" >"$RESULTS/rounds"
}

no_limits() { # fgiod sets no limit of the kinds that hold tasks back
  local file
  for file in "$CGROUPS"/{light,heavy}/memory.{high,max}; do
    [[ $(<"$file") == max ]] || stop "$file is $(<"$file")"
  done
}

# Anonymous memory, tmpfs and processes, in a cgroup of their own: all of it is to fit when the page
# cache gives way.
burst() {
  local each jobs=()
  mkdir -p "$CGROUPS/burst"
  in_group burst python3 -c '
import time
held = []
for _ in range('"$ANON_MIB"'):
    held.append(bytearray(b"x" * (1 << 20)))
time.sleep(3)' &
  jobs+=($!)
  in_group burst dd if=/dev/zero of=/dev/shm/grown bs=1M count="$TMPFS_MIB" status=none || stop "no tmpfs"
  for ((each = 0; each < 100; each++)); do
    in_group burst sleep 2 &
    jobs+=($!)
  done
  note_held pressed
  for each in "${jobs[@]}"; do
    wait "$each" || echo failed >>"$RESULTS/burst"
  done
  rm -f /dev/shm/grown
  awk '$1 == "oom_kill"' /proc/vmstat >>"$RESULTS/burst"
}

drop() { # MOMENT [OPTION...]: what is left of a working set after a copy of more than memory
  in_group set cat "$FILES/6" "$FILES/6" "$FILES/6" >/dev/null
  echo "$1.before $(file_memory set) 0" >>"$RESULTS/held"
  fgio run --background "${@:2}" -- cat "$FILES"/{7,8,9,10,11} >/dev/null 2>>"$RESULTS/run.log" ||
    stop "fgio run failed: $(<"$RESULTS/run.log")"
  echo "$1.after $(file_memory set) 0" >>"$RESULTS/held"
}

# Cgroups of which the first HOLDING read 5 MiB each, parts of the files that no other reads.
make_many() {
  python3 -c '
import os, sys
root, files, many, holding = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
for number in range(many):
    group = f"{root}/many{number}"
    os.mkdir(group)
    with open(f"{group}/io.weight", "w") as weight:
        weight.write(f"default {100 + number}")
    if number >= holding:
        continue
    with open(f"{group}/cgroup.procs", "w") as members:
        members.write(str(os.getpid()))
    with open(f"{files}/{number // 25}", "rb", buffering=0) as file:
        file.seek(number % 25 * (5 << 20))
        for _ in range(5):
            file.read(1 << 20)
' "$CGROUPS" "$FILES" "$MANY" "$HOLDING" || stop "cgroups were not made"
}

cost() { # NAME: processor time of fgiod in ns, and time in us, of 20 s
  local before after begun
  begun=${EPOCHREALTIME/./}
  read -r before _ <"/proc/$FGIOD/schedstat"
  sleep 20
  read -r after _ <"/proc/$FGIOD/schedstat"
  echo "$1 $((after - before)) $((${EPOCHREALTIME/./} - begun))" >>"$RESULTS/cost"
}

published_weight() { # GROUP WEIGHT: whether fgiod goes by it
  local weight group
  while read -r weight _ _ _ _ _ _ group; do
    [[ $group != "/$1" || $weight != "$2" ]] || return 0
  done <$SHARES
  return 1
}

# New weights, of a cgroup that was there and of one that is new; ms until fgiod goes by them.
note_new_weights() {
  local begun each tries=0
  begun=${EPOCHREALTIME/./}
  echo "default 5000" >$CGROUPS/many7/io.weight
  mkdir $CGROUPS/added
  echo "default 3000" >$CGROUPS/added/io.weight
  in_group added head -c 8M $FILES/6 >/dev/null
  for each in "many7 5000" "added 3000"; do
    # shellcheck disable=SC2086
    until published_weight $each || ((tries++ > 200)); do sleep 0.1; done
    echo "${each% *} $(((${EPOCHREALTIME/./} - begun) / 1000)) 0" >>"$RESULTS/seen"
  done
}

measure_many() {
  make_many
  # As its unit has it.
  ulimit -n 4096
  start_fgiod
  sleep 10
  cost rest
  note_new_weights
  cp $SHARES "$RESULTS/shares" || stop "fgiod published nothing: $(<"$RESULTS/fgiod.log")"
  # The control: ten looks a second, whatever they take.
  printf '%s\n' "page_cache_interval_ms = 100" "page_cache_cpu_percent_max = 100" >/etc/fgio/fgiod.toml
  kill -HUP "$FGIOD"
  sleep 5
  cost often
  kill "$FGIOD"
  wait "$FGIOD" || stop "fgiod failed: $(<"$RESULTS/fgiod.log")"
}

phase preparing
mkdir -p $FILES /run/fgio /etc/fgio
mountpoint -q /dev/shm || { mkdir -p /dev/shm && mount -t tmpfs none /dev/shm; }
make_disk "$DEVICE" "$SEED" /dev/lab/disk1
load_module fgio
# The drive is not divided by weight: parts of memory are the cache's alone.
use_elevator none
mount -t cgroup2 none $CGROUPS || stop "no cgroups"
echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no controllers of I/O and memory"
mount -t ext4 -o noinit_itable,noatime "/dev/$DISK" $FILES || stop "ext4 does not mount"
mkdir "$CGROUPS/light" "$CGROUPS/heavy" "$CGROUPS/set"
echo "default 100" >$CGROUPS/light/io.weight || stop "no io.weight"
echo "default 300" >$CGROUPS/heavy/io.weight
echo $OWN_LOW >$CGROUPS/heavy/memory.low
if [[ $POLICY == drop ]]; then
  phase "memory fills"
  in_group light cat "$FILES"/{0,1,2} >/dev/null
  boost=$(</proc/sys/vm/watermark_boost_factor)
  # More than is free: less may stay than the limit.
  drop behind --drop-behind=64 --summary
  [[ $boost -gt 0 && $(</proc/sys/vm/watermark_boost_factor) == "$boost" ]] ||
    stop "boosts of watermarks are not as they were"
  for copy in 1 2 3; do drop control$copy; done
  phase "done"
  exit 0
fi
if [[ $POLICY == many ]]; then
  phase "many cgroups"
  measure_many
  phase "done"
  exit 0
fi
[[ $POLICY != fgiod ]] || start_fgiod
phase reading
reader light 0 1 2
reader heavy 3 4 5
sleep 12
mean_held divided
phase burst
burst
if [[ $POLICY == fgiod ]]; then
  phase new weights
  sleep 8
  mean_held again
  note_low old
  echo "default 300" >$CGROUPS/light/io.weight
  echo "default 100" >$CGROUPS/heavy/io.weight
  sleep 2
  note_low new
  sleep 7
  mean_held changed
  no_limits
  phase kills
  fgio --json share list >"$RESULTS/share.json" || stop "no share list"
  killed
  note_low killed
  fgio share list >"$RESULTS/share.text" 2>&1
  start_fgiod
  until_restored 0
  until_protected
  killed
  switch_disk disable
  note_low disabled
  kill_again_and_again
  restored=$(times_restored)
  start_fgiod
  until_restored "$restored"
  until_protected
  note_low running
  # The last disk goes while one runs.
  switch_disk enable
  switch_disk disable
  note_low ended
  wait "$FGIOD" || stop "fgiod failed: $(<"$RESULTS/fgiod.log")"
  no_limits
fi
kill "${READERS[@]}"
wait "${READERS[@]}"
phase "done"
