# SPDX-License-Identifier: Apache-2.0 OR MIT
# libfgio with the module: sections and I/O, threads, children, users.
# shellcheck shell=bash disable=SC2154

check_section_decides_class() {
  make_null section size=64
  use fgio
  expect_noncritical sections read outside "/dev/$DISK"
  expect_critical sections read inside "/dev/$DISK"
  expect_noncritical sections read after "/dev/$DISK"
  expect_critical sections read nested "/dev/$DISK"
  expect_noncritical sections read background "/dev/$DISK"
  expect_critical sections read ended "/dev/$DISK"
  expect_noncritical sections read forked "/dev/$DISK"
  remove_null section
}

# one kernel: libfgio; words.sh checks on each what it stands on
check_section_status() { need_fgio && sections status "$(cat /sys/module/fgio/version)"; }
# one kernel: libfgio; words.sh checks on each what it stands on
check_sections_of_threads() { need_fgio && sections threads; }
# one kernel: libfgio; words.sh checks on each what it stands on
check_section_and_fork() { need_fgio && sections fork; }
# one kernel: libfgio; words.sh checks on each what it stands on
check_section_hints() { need_fgio && sections hints; }
# one kernel: libfgio; words.sh checks on each what it stands on
check_sections_of_any_user() { need_fgio && sections any_user words && sections any_user tags; }
