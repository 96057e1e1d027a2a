# SPDX-License-Identifier: Apache-2.0 OR MIT
# A hardware queue whose CPU is busy has its part of the drive beside critical I/O, in virtual time.
# shellcheck shell=bash disable=SC2154

BUSY=3

# Sets PERCENT to what the background on the busy CPU writes of what it writes on the others.
measure_busy() {
  local options="--filename=/dev/$DISK --direct=1 --bs=4k --time_based --runtime=3
    --ioengine=libaio --output-format=json --output=$WORK/fio.json"
  local cpu jobs=()
  for cpu in 0 1 2 3; do
    jobs+=(--name="writer$cpu" --rw=randwrite --iodepth=8 "--cpus_allowed=$cpu")
  done
  # shellcheck disable=SC2086
  fio $options "${jobs[@]}" --name=reader --rw=randread --iodepth=1 --cpus_allowed=0 \
    --prioclass=1 || fail "fio: $(<"$WORK/fio.json")"
  PERCENT=$(fio_figure "$WORK/fio.json" \
    "round(300 * jobs['writer$BUSY']['write']['total_ios'] /
      max(1, sum(jobs[f'writer{cpu}']['write']['total_ios'] for cpu in (0, 1, 2))))")
  echo "the busy CPU's: $PERCENT % of the others'; $(fio_figure "$WORK/fio.json" \
    "{name: job['write']['total_ios'] for name, job in jobs.items()}")"
}

check_a_queue_whose_cpu_is_busy_has_its_part() {
  local spinning
  make_null busy size=64 irqmode=2 completion_nsec=2000000 submit_queues=4 poll_queues=0
  use fgio
  expect "hardware queues" "$(counter hardware_queues)" -eq 4
  expect "the busy CPU's hardware queue" "$(<"/sys/block/$DISK/mq/$BUSY/cpu_list")" -eq $BUSY
  tunable noncritical_in_device_max 2
  taskset -c $BUSY bash -c 'while :; do :; done' &
  spinning=$!
  measure_busy
  expect "critical requests" "$(counter critical_completed)" -gt 100
  expect "percent of what the others have" "$PERCENT" -ge 60
  # The control: a queue that is left out.
  withhold hardware_queue=$BUSY
  (sleep 2.5 && no_withhold) &
  measure_busy
  wait $!
  expect "percent where its requests stay queued" "$PERCENT" -le 40
  kill $spinning
  remove_null busy
}
