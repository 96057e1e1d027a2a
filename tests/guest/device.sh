# SPDX-License-Identifier: Apache-2.0 OR MIT
# /dev/fgio: every call, every error that uapi/fgio.h names, and the life of tags.
# shellcheck shell=bash disable=SC2154

check_info() {
  load_fgio
  make_null info size=64
  use fgio
  device_calls info "$(cat /sys/module/fgio/version)" 1 "$(cat /sys/module/fgio/parameters/tags_max)"
  use none
  device_calls info "$(cat /sys/module/fgio/version)" 0 "$(cat /sys/module/fgio/parameters/tags_max)"
  remove_null info
}

check_set_get_clear() { need_fgio && device_calls set_get_clear; }
check_list() { need_fgio && device_calls list; }
check_wrong_arguments() { need_fgio && device_calls wrong_arguments; }
check_wrong_addresses() { need_fgio && device_calls wrong_addresses; }
check_wrong_commands() { need_fgio && device_calls wrong_commands; }
check_permissions() { need_fgio && device_calls permissions; }
check_pid_namespace() { need_fgio && device_calls pid_namespace; }
check_children_are_untagged() { need_fgio && device_calls children_are_untagged; }
check_execve_keeps_it() { need_fgio && device_calls execve_keeps_it; }
check_kill_frees() { need_fgio && device_calls kill_frees; }
check_callers_of_32_bits() { need_fgio && device_calls callers_of_32_bits; }
check_exit_frees_10000_tags() { need_fgio && device_calls exit_frees 10000; }
check_exit_races_with_tagging() { need_fgio && device_calls exit_races_with_tagging 1000; }

check_only_root_may_open_it_until_a_group_is_set() {
  need_fgio
  expect "mode and owners at first" "$(</tmp/mode_at_load) = 660:root:root"
  chmod 0660 /dev/fgio
  local as_member=(setpriv --reuid=65534 --regid=4711 --groups=4712)
  ! "${as_member[@]}" bash -c 'exec 9<>/dev/fgio' 2>/dev/null || fail "any user may open it"
  # The control: the group keeps the others out.
  chgrp 4712 /dev/fgio
  "${as_member[@]}" bash -c 'exec 9<>/dev/fgio' || fail "its group may not open it"
  chgrp root /dev/fgio
  chmod 0666 /dev/fgio
}

check_promote_errors() {
  local other
  need_fgio
  make_null other size=64
  other=$DISK
  use none
  make_null promote size=64
  use fgio
  device_calls promote_errors "/dev/$DISK" "/dev/$other"
  remove_null promote
  remove_null other
}

check_promote_takes_no_overlong_numbers() {
  need_fgio
  make_null overlong size=64
  use fgio
  device_calls promote_takes_no_overlong_numbers "/dev/$DISK"
  remove_null overlong
}

check_table_full() {
  load_fgio tags_max=4
  device_calls table_full 4
  load_fgio
}

check_open_device_keeps_the_module() {
  need_fgio
  exec 9<>/dev/fgio
  ! rmmod fgio 2>/dev/null || fail "the module went away under an open file"
  exec 9>&-
  rmmod fgio
  ! device_calls list >/dev/null || fail "the calls answer without the module"
  load_fgio
}

check_unloading_forgets_tags() {
  need_fgio
  tagged foreground sleep 30 &
  local sleeper=$!
  wait_for "the tag" grep -q sleep "/proc/$sleeper/comm"
  load_fgio
  device_calls list
  kill $sleeper
}
