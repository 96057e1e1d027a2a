# SPDX-License-Identifier: Apache-2.0 OR MIT
# Thread flags: the map of /dev/fgio, precedence, lifetime, and the class of I/O.
# shellcheck shell=bash disable=SC2154

check_word_maps() { need_fgio && words wrong_maps && words protection; }
check_word_slots() { need_fgio && words wrong_slots && words word_by_address; }
check_word_before_tag() { need_fgio && words word_before_tag && words word_of_another_file; }
check_word_and_fork() { need_fgio && words fork_leaves_it_behind; }
check_word_and_execve() { need_fgio && words execve_unties; }
check_word_exit_frees() { need_fgio && words exit_frees 2000 && words kill_frees; }
check_word_of_any_user() { need_fgio && words any_user; }

check_word_table_full() {
  load_fgio tags_max=4
  words table_full 4
  load_fgio
}

check_word_decides_class() {
  make_null word size=64
  use fgio
  expect_noncritical words read 0 "/dev/$DISK"
  expect_critical words read 1 "/dev/$DISK"
  expect_noncritical words read 2 "/dev/$DISK"
  expect_noncritical words read 3 "/dev/$DISK"
  expect_noncritical words read -1 "/dev/$DISK"
  expect_noncritical ionice -c1 words read 2 "/dev/$DISK"
  expect_critical ionice -c1 words read 3 "/dev/$DISK"
  expect_critical tagged foreground words read 0 "/dev/$DISK"
  expect_noncritical tagged foreground words read 2 "/dev/$DISK"
  expect_critical tagged background words read 1 "/dev/$DISK"
  remove_null word
}

check_words_all_at_once() {
  make_null word size=64
  use fgio
  words all_at_once "/dev/$DISK" 5
  remove_null word
}

check_mapped_words_keep_the_module() {
  need_fgio
  words hold &
  local holder=$!
  wait_for "the map" grep -q /dev/fgio "/proc/$holder/maps"
  wait_for "the file to be closed" bash -c "! ls -l /proc/$holder/fd | grep -q /dev/fgio"
  ! rmmod fgio 2>/dev/null || fail "the module went away under mapped words"
  kill $holder
  wait $holder || true
  rmmod fgio
}
