# SPDX-License-Identifier: Apache-2.0 OR MIT
# Blockers that are searched for among all threads, by more waits at a time than searches have places
# (core/looks.h): each wait has its turn. The disk holds all I/O back that is not critical, so what
# the waits are for ends only once its I/O is promoted.
# shellcheck shell=bash disable=SC2154
WAITS=10

begin() {
  load_fgio watchdog_ms=600000
  make_null looks size=256
  use fgio
  # Their names are looked up while the disk gives them.
  for number in $(seq $WAITS); do : >"$WORK/lock$number"; done
  withhold
}

end() {
  no_withhold
  wait
  remove_null looks
  unload_fgio
}

read_once() { # NUMBER
  dd if="/dev/$DISK" of=/dev/null bs=4k skip="$1" count=1 iflag=direct status=none
}

# As with flock(1): what took the lock has ended, and another process has the file open, too.
hold_lock() { # NUMBER
  exec 9>"$WORK/lock$1"
  flock 9
  : >"$WORK/held$1"
  read_once "$1"
}

all_are() { # WHAT
  local files=("$WORK/$1"[0-9]*)
  [[ -e ${files[0]} && ${#files[@]} -eq $WAITS ]]
}

none_is() { # WHAT
  local files=("$WORK/$1"[0-9]*)
  [[ ! -e ${files[0]} ]] || fail "$1, without being followed: ${files[*]}"
}

# The control: as long as nothing is promoted, none of it ends.
expect_turns() { # WHAT
  sleep 2
  none_is "$1"
  parameter boost Y
  wait_for "all waits to end" all_are "$1"
}

check_locks_whose_takers_have_ended_take_turns() {
  local number
  begin
  parameter boost N
  for number in $(seq $WAITS); do hold_lock "$number" & done
  wait_for "the locks" all_are held
  for number in $(seq $WAITS); do
    tagged foreground flock "$WORK/lock$number" touch "$WORK/taken$number" &
  done
  expect_turns taken
  end
}

# Of two children, one reads: a parent that waits for any of several is not told which.
wait_for_child() { # NUMBER
  # shellcheck disable=SC2016
  tagged foreground bash -c '
    sleep 600 & sleeper=$!
    dd if="$1" of=/dev/null bs=4k skip="$2" count=1 iflag=direct status=none &
    : >"$3/begun$2"
    wait -n
    : >"$3/over$2"
    kill $sleeper' - "/dev/$DISK" "$1" "$WORK"
}

check_parents_of_several_children_take_turns() {
  local number
  begin
  parameter boost N
  for number in $(seq $WAITS); do wait_for_child "$number" & done
  wait_for "the children" all_are begun
  expect_turns over
  end
}
