# SPDX-License-Identifier: Apache-2.0 OR MIT
# I/Os a second of two CPUs on null_blk, one scheduler after the other, in turns:
# scripts/queues-guest runs it. Needs QUEUES, ROUNDS, DEPTH and RUN_S; leaves QUEUES-ROUND-NAME.json.
# shellcheck shell=bash disable=SC2154
. "$PAYLOAD/functions.sh"
cd "$RESULTS" || exit

make_null() { # HARDWARE_QUEUES
  modprobe null_blk queue_mode=2 irqmode=0 memory_backed=0 gb=16 hw_queue_depth=256 \
    submit_queues="$1" || stop "null_blk does not load"
  DISK=nullb0
}

run_one() { # NAME ELEVATOR FOREGROUND_CPUS: none, one, or all
  local -a first=(--name=first --cpus_allowed=0) second=(--name=second --cpus_allowed=1)
  [[ $3 == none ]] || first+=(--prioclass=1)
  [[ $3 != all ]] || second+=(--prioclass=1)
  use_elevator "$2"
  fio --eta=never --output-format=json --output="$QUEUES-$round-$1.json" --filename="/dev/$DISK" --direct=1 \
    --rw=randread --bs=4k --ioengine=libaio --iodepth="$DEPTH" --iodepth_batch_submit=16 \
    --time_based --ramp_time=1 --runtime="$RUN_S" --randrepeat=0 "${first[@]}" "${second[@]}" ||
    stop "fio failed under $1"
}

# The first foreground thread makes fgio attach its hooks, in a worker: some 260 million instructions.
# They stay for seconds after the last one.
attach_hooks() {
  use_elevator fgio
  fio --eta=never --output=warm-up.txt --filename="/dev/$DISK" --direct=1 --rw=randread --bs=4k --time_based \
    --runtime=4 --rate_iops=50 --name=warm-up --prioclass=1 || stop "fio failed"
}

load_module fgio_least
make_null "$QUEUES"
for round in $(seq "$ROUNDS"); do
  phase "$QUEUES hardware queues, round $round"
  run_one none none none
  run_one mq-deadline mq-deadline none
  run_one kyber kyber none
  run_one bfq bfq none
  run_one least fgio-least none
  run_one fgio-none fgio none
  attach_hooks
  run_one fgio-one fgio one
  run_one fgio-all fgio all
done
use_elevator none
rmmod null_blk || stop "null_blk does not go"
