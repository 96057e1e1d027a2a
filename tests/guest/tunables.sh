# SPDX-License-Identifier: Apache-2.0 OR MIT
# queue/iosched/: values, ranges, errors, lifetime; and wbt, which fgio switches off.
# shellcheck shell=bash disable=SC2154

refused() { # MESSAGE NAME VALUE
  local said
  if said=$( (echo "$3" >"/sys/block/$DISK/queue/iosched/$2") 2>&1); then
    fail "$2 took \"$3\""
  fi
  [[ $said == *"$1"* ]] || fail "$2 refused \"$3\" with: $said"
}

expect_range() { # NAME DEFAULT LEAST MOST
  local name=$1 default=$2 least=$3 most=$4 file=/sys/block/$DISK/queue/iosched/$1 value
  [[ $(<"$file") == "$default" ]] || fail "$name begins as $(<"$file")"
  for value in "$least" "$most" $((least + 1)); do
    echo "$value" >"$file"
    [[ $(<"$file") == "$value" ]] || fail "$name became $(<"$file") from $value"
  done
  [[ $least -eq 0 ]] || refused "out of range" "$name" $((least - 1))
  refused "out of range" "$name" $((most + 1))
  refused "out of range" "$name" 4294967296
  refused "Invalid argument" "$name" -1
  refused "Invalid argument" "$name" many
  refused "Invalid argument" "$name" "5 6"
  refused "Invalid argument" "$name" "1.5"
  refused "Invalid argument" "$name" ""
  [[ $(<"$file") == $((least + 1)) ]] || fail "$name changed by a refused value"
}

# 0, or a power of two.
expect_split_lengths() {
  local file=/sys/block/$DISK/queue/iosched/noncritical_split_kib each
  expect "the default length of a piece" "$(<"$file")" -eq 128
  for each in 0 32 8192; do
    echo $each >"$file"
    expect "the length of a piece" "$(<"$file")" -eq $each
  done
  for each in 31 33 96 x; do
    refused "Invalid argument" noncritical_split_kib $each
  done
  refused "Numerical result out of range" noncritical_split_kib 16384
  expect "the length after refused ones" "$(<"$file")" -eq 8192
  echo 128 >"$file"
}

check_tunables() {
  need_fgio
  make_null tunables size=64
  use fgio
  expect_range noncritical_in_device_max 0 0 65535
  expect_split_lengths
  expect_range noncritical_release_interval_ms 10 1 10000
  expect_range critical_window_ms 100 0 60000
  expect_range critical_slots 128 1 65536
  expect_range noncritical_slots 128 1 65536
  expect_range drive_priority 0 0 1
  [[ $(<"/sys/block/$DISK/queue/iosched/version") == "$(</sys/module/fgio/version)" ]] ||
    fail "two versions"
  ! (echo 1 >"/sys/block/$DISK/queue/iosched/version") 2>/dev/null || fail "version is writable"
  # Root alone.
  ! setpriv --reuid 65534 --clear-groups sh -c \
    "echo 2 >/sys/block/$DISK/queue/iosched/critical_slots" 2>/dev/null ||
    fail "any user may write"
  # Values belong to one disk, and end with the elevator.
  make_null tunables2 size=64
  use fgio
  [[ $(<"/sys/block/$DISK/queue/iosched/critical_slots") == 128 ]] || fail "disks share values"
  tunable critical_slots 7
  use none
  use fgio
  [[ $(<"/sys/block/$DISK/queue/iosched/critical_slots") == 128 ]] || fail "values survive"
  remove_null tunables
  remove_null tunables2
}

check_parameters() {
  local name
  need_fgio
  for name in stamp admission; do
    [[ $(<"/sys/module/fgio/parameters/$name") == Y ]] || fail "$name is off"
    parameter $name N
    [[ $(<"/sys/module/fgio/parameters/$name") == N ]] || fail "$name stays on"
    parameter $name Y
    ! parameter $name perhaps 2>/dev/null || fail "$name takes anything"
  done
  ! insmod "$PAYLOAD/modules/fgio.ko" 2>/dev/null || fail "loaded twice"
}

# 1 and 2: on, by default and by hand; 3 and 4: off. On 6.1 queue/wbt_lat_usec does not tell.
wbt_state() { cat "/sys/kernel/debug/block/$DISK/rqos/wbt/enabled"; }

check_wbt_is_off_under_fgio() {
  local latency
  make_simdisk model=hdd size_mib=64
  use none
  latency=$(<"/sys/block/$DISK/queue/wbt_lat_usec")
  expect "latency before" "$latency" -gt 0
  expect "wbt before" "$(wbt_state)" -eq 1
  use mq-deadline
  expect "wbt under mq-deadline, the control" "$(wbt_state)" -eq 1
  use fgio
  expect "wbt under fgio" "$(wbt_state)" -eq 3
  [[ $KERNEL_VERSION == 6.1 ]] ||
    expect "latency under fgio" "$(<"/sys/block/$DISK/queue/wbt_lat_usec")" -eq 0
  use none
  expect "wbt after" "$(wbt_state)" -eq 1
  expect "latency after" "$(<"/sys/block/$DISK/queue/wbt_lat_usec")" -eq "$latency"
  use fgio
  use mq-deadline
  expect "wbt after, under mq-deadline" "$(wbt_state)" -eq 1
  use none
}
