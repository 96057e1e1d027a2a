# SPDX-License-Identifier: Apache-2.0 OR MIT
# Limits on foreground tasks: of users and cgroups, the list of cgroups, and the ways around them that
# an unprivileged user would try.
# shellcheck shell=bash disable=SC2154

# The defaults. Waits are not followed here: that is slow to switch on and off.
reset_limits() {
  local each
  need_fgio
  for each in locks=N journal=N io=N user=N pagecache=N user_foreground_max=4096 \
    foreground_cgroups=any foreground_ioprio=Y; do
    parameter "${each%%=*}" "${each#*=}"
  done
}

with_limits() { # COMMAND...
  reset_limits
  "$@"
}

with_cgroups() { # COMMAND...
  local status=0
  mountpoint -q /sys/fs/cgroup || mount -t cgroup2 none /sys/fs/cgroup
  mkdir -p /sys/fs/cgroup/trust/{one/below,one.more,two}
  with_limits "$@" || status=$?
  rmdir /sys/fs/cgroup/trust/{one/below,one,one.more,two} /sys/fs/cgroup/trust
  return $status
}

check_user_limit() { with_limits trust user_limit; }
check_words_count_as_foreground() { with_limits trust words_count; }
check_privileged_are_not_asked() { with_limits trust privileged; }
check_counts_after_setuid() { with_limits trust setuid; }
check_counts_after_fork_and_execve() { with_limits trust fork_and_execve; }
check_cgroup_list() { with_cgroups trust cgroup_list; }
check_cgroup_limit() { with_cgroups trust cgroup_limit; }
check_cgroup_made_again() { with_cgroups trust cgroup_made_again; }
check_deep_cgroup() { with_cgroups trust deep_cgroup; }
check_wrong_lists() { with_limits trust wrong_lists; }
check_counts_under_races() { with_cgroups trust all_at_once 6; }

# The flag of an exiting thread is read, then its entry is made: the time between is stretched.
check_tagged_while_ending() {
  reset_limits
  stretch fgio_trust_claim 2
  trust tagged_while_ending 6
  [[ $(cat /sys/kernel/debug/fgio/trust) != *user* ]] || fail "counts do not return to zero"
}

# With its control: a user's own threads are boosted by the same shared words, all threads by root's.
# Any boost counts: without replies, in which the thread that asks the others would be boosted.
check_shared_words_name_no_strangers() {
  reset_limits
  parameter user Y
  parameter replies N
  trust shared_words
  parameter replies Y
}

# Nothing ages here: forgotten entries were pushed out.
with_history() { # COMMAND...
  load_fgio journal=N io=N pagecache=N helper_window_ms=60000
  "$@"
  load_fgio
}

check_declared_waits_push_out_no_other() {
  load_fgio waits_max=512 journal=N io=N pagecache=N user_foreground_max=1000000
  crowd_out declared
  load_fgio
}

check_declared_waits_count() { with_limits trust declared; }

check_traffic_pushes_out_no_condition() { with_history crowd_out conditions; }

check_traffic_pushes_out_no_holder() { with_history crowd_out holders; }

check_user_namespace() {
  ! grep -qs 0 /proc/sys/kernel/unprivileged_userns_clone || skip "users may not have namespaces"
  with_limits trust user_namespace
}

check_one_user_leaves_room_in_the_table() {
  load_fgio tags_max=6
  reset_limits
  trust table_has_room 6
  load_fgio
}

check_limits_given_at_load() {
  load_fgio user_foreground_max=5 foreground_cgroups=/a=3,/b
  [[ $(</sys/module/fgio/parameters/user_foreground_max) == 5 ]] || fail "no limit"
  [[ $(</sys/module/fgio/parameters/foreground_cgroups) == /a=3,/b ]] || fail "no list"
  unload_fgio
  ! insmod "$PAYLOAD/modules/fgio.ko" foreground_cgroups=a 2>/dev/null || fail "took no list"
  ! insmod "$PAYLOAD/modules/fgio.ko" user_foreground_max=-1 2>/dev/null || fail "took no number"
  load_fgio
}

read_as_unprivileged() { # PRIORITY
  trust with_priority 65534 "$1" \
    "dd if=/dev/$DISK of=/dev/null bs=4k count=16 iflag=direct status=none"
}

# Every user may choose best-effort level 0; the administrator may switch its effect off.
check_priority_is_no_way_around_the_list() {
  reset_limits
  make_null guarded size=64
  chmod 0666 "/dev/$DISK"
  use fgio
  expect_critical read_as_unprivileged 0x4000
  expect_noncritical read_as_unprivileged 0x4004
  parameter foreground_cgroups /not/there
  expect_noncritical read_as_unprivileged 0x4000
  expect_critical ionice -c1 dd "if=/dev/$DISK" of=/dev/null bs=4k count=16 iflag=direct status=none
  parameter foreground_cgroups any
  expect_critical read_as_unprivileged 0x4000
  parameter foreground_ioprio N
  expect_noncritical read_as_unprivileged 0x4000
  remove_null guarded
}

# The bits in which the module keeps a decision are user space's, too, since 6.5.
check_marks_cannot_be_forged() {
  reset_limits
  [[ $KERNEL_VERSION != 6.1 ]] || skip "the kernel takes no such priority"
  make_null guarded size=64
  chmod 0666 "/dev/$DISK"
  use fgio
  expect_noncritical read_as_unprivileged 0x5004
  expect_noncritical tagged background trust with_priority 0 0x5004 \
    "dd if=/dev/$DISK of=/dev/null bs=4k count=16 iflag=direct status=none"
  expect_critical read_as_unprivileged 0x4800
  parameter stamp N
  expect_noncritical read_as_unprivileged 0x5004
  parameter stamp Y
  remove_null guarded
}

change_limits_for_ever() {
  local each
  while true; do
    for each in foreground_cgroups=/=3 boost=N foreground_cgroups=/not/there user=N \
      user_foreground_max=4 foreground_cgroups=any boost=Y user=Y user_foreground_max=4096; do
      parameter "${each%%=*}" "${each#*=}"
      sleep 0.1
    done
  done
}

check_fuzzed_by_an_unprivileged_user() {
  local critical
  load_fgio
  make_null fuzzed size=64
  use fgio
  read_classes
  critical=$CRITICAL
  change_limits_for_ever &
  fuzz_device "$FUZZ_SEED" 1200 "/dev/$DISK"
  kill $!
  wait $! || true
  read_classes
  expect "the victim's I/O was critical" "$((CRITICAL - critical))" -ge 100
  [[ $(cat /sys/kernel/debug/fgio/trust) != *user* ]] || fail "counts do not return to zero"
  use none
  unload_fgio
  remove_null fuzzed
  load_fgio
}

# The control of the check before: with a file that every user may write it ends otherwise.
check_fuzzer_finds_a_hole() {
  load_fgio
  make_null fuzzed size=64
  use fgio
  chmod 0666 /sys/module/fgio/parameters/*
  ! fuzz_device "$FUZZ_SEED" 1000 "/dev/$DISK" >"$WORK/said" || fail "it saw nothing"
  grep /sys/module/fgio/parameters/ "$WORK/said" || fail "it saw something else: $(<"$WORK/said")"
  use none
  # The victim ends after the fuzzer.
  wait_for "its files to be closed" unload_fgio
  remove_null fuzzed
  load_fgio
}
