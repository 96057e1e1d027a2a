# SPDX-License-Identifier: Apache-2.0 OR MIT
# The steps of an administrator of a machine with our packages, before a reboot (STEP=first) and
# after it. Each expectation is a line "good: WHAT" or "wrong: WHAT" of the output; test_machine.py reads
# them.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/functions.sh"
SAID=$RESULTS/said
NOTES=/root/notes

expect() { # WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$SAID" 2>&1; then
    echo "good: $what"
  else
    echo "wrong: $what: $*"
    sed 's/^/  | /' "$SAID"
  fi
}

refute() { # WHAT COMMAND...
  local what=$1
  shift
  expect "$what" not "$@"
}

not() { ! "$@"; }

within() { # SECONDS COMMAND...
  local left=$(($1 * 10))
  shift
  until "$@"; do
    left=$((left - 1))
    [[ $left -gt 0 ]] || return 1
    sleep 0.1
  done
}

says() { # PATTERN COMMAND...: its output has it
  local pattern=$1
  shift
  "$@" 2>&1 | tee "$SAID" | grep -qE -- "$pattern"
}

under_fgio() { grep -qF '[fgio]' "/sys/block/$1/queue/scheduler"; }
serial() { udevadm info --query=property --property=ID_SERIAL --value --name="$1"; }
runs() { systemctl is-active --quiet fgiod; }
pid() { systemctl show -P MainPID fgiod; }
is_another() { runs && [[ $(pid) != "$1" ]]; }
install_package() { dpkg -i "$PAYLOAD/$1" >>"$RESULTS/dpkg.txt" 2>&1 || stop "dpkg: $(<"$RESULTS/dpkg.txt")"; }
as_unprivileged() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
in_group() { setpriv --reuid=65534 --regid=65534 --groups="$(getent group fgio | cut -d: -f3)" "$@"; }

# The disks with a serial number, in the order of these.
find_disks() {
  udevadm settle
  local each
  for each in sda sdb; do
    [[ -b /dev/$each && -n $(serial $each) ]] || stop "$each has no serial number"
  done
}

the_device() {
  modprobe fgio || stop "the module cannot be loaded"
  udevadm settle
  expect "the device is for root and a group" [ "$(stat -c %a:%U:%G /dev/fgio)" = 660:root:fgio ]
  expect "a member of the group tags itself" in_group sh -c 'fgio tag $$'
  refute "others do not" as_unprivileged sh -c 'fgio tag $$'
  expect "others are told why" says 'adduser USER fgio' as_unprivileged sh -c 'fgio tag $$'
  expect "doctor names the group" says 'answers root, fgiod and the group fgio \(no user' fgio doctor
}

the_disks() {
  refute "persistence takes root" as_unprivileged fgio enable sda --persist
  expect "sda, by its serial number or WWN" says 'known by ID_' fgio enable sda --persist
  expect "and again" says 'as before' fgio enable sda --persist
  expect "nullb0, by its name" says 'known by its name nullb0' fgio enable nullb0 --persist
  expect "sdb, until the reboot" fgio enable sdb
  expect "doctor says so" says 'sdb: under fgio until the next boot' fgio doctor
  cat /etc/udev/rules.d/90-fgio-disks.rules
  serial sda >$NOTES
}

the_upgrade() {
  systemctl enable --quiet --now fgiod || stop "fgiod does not start: $(journalctl -u fgiod)"
  local was
  was=$(pid)
  expect "fgiod has its group" grep -qw "$(getent group fgio | cut -d: -f3)" "/proc/$was/status"
  install_package newer.deb
  expect "an upgrade restarts fgiod" within 10 is_another "$was"
  # The control.
  install_package faulty.deb
  refute "(the fault of a package is seen)" within 3 runs
  expect "doctor misses fgiod" says 'fgiod is enabled but does not run' fgio doctor
  install_package last.deb
  refute "an upgrade leaves a daemon stopped that was stopped" within 3 runs
}

after_the_reboot() {
  local mine other
  mine=sda other=sdb
  [[ $(serial sda) == "$(<$NOTES)" ]] || mine=sdb other=sda
  expect "the disk is under fgio after a reboot" within 10 under_fgio "$mine"
  expect "the scheduler before is remembered" test -s "/run/fgio/$mine.scheduler"
  expect "nullb0, too" within 10 under_fgio nullb0
  refute "the other disk is not" under_fgio "$other"
  expect "fgiod runs after a reboot" runs
  expect "doctor is content" says "$mine: put under fgio at each boot" fgio doctor
  expect "status knows" says '"persistent":\{"property":"ID_' fgio --json status
  echo none >"/sys/block/$mine/queue/scheduler"
  expect "doctor misses fgio" says "$mine: to be under fgio from boot on, but is under none" fgio doctor
  expect "status, too" says "$mine is to be under fgio from boot on" fgio status
  fgio enable "$mine"
  expect "the scheduler before fgio comes back" says "back to none.*" fgio disable "$mine"
  refute "its rule is gone" grep -q ID_ /etc/udev/rules.d/90-fgio-disks.rules
  expect "the other rule is not" grep -q nullb0 /etc/udev/rules.d/90-fgio-disks.rules
  expect "nor the module's" test -f /etc/modules-load.d/fgio.conf
  fgio disable nullb0
  refute "the last one takes all along" ls /etc/udev/rules.d/90-fgio-disks.rules /etc/modules-load.d/fgio.conf
}

tagged() { says "\"tid\":$1," fgio --json status; }

# Long before the next rescan, which would find the module, too.
the_late_module() {
  fgio disable sda sdb
  systemctl stop fgiod
  modprobe -r fgio || stop "the module cannot be unloaded"
  echo 'rescan_interval_ms = 30000' >/etc/fgio/fgiod.toml
  cat >/etc/fgio/profiles/waiter.toml <<'END'
[program]
comm = 'waiter'
[[rule]]
name = 'all'
class = 'foreground'
END
  cp /bin/sleep /tmp/waiter
  /tmp/waiter 1000 &
  local waiter=$!
  systemctl start fgiod
  sleep 2
  expect "fgiod runs without the module" runs
  expect "and says that it waits" says 'fgiod waits for the module' journalctl -b -u fgiod
  modprobe fgio
  expect "it tags when the module has come" within 10 tagged $waiter
  kill $waiter
}

the_removal() {
  local was
  # The control.
  install_package faulty.deb
  systemctl start fgiod
  was=$(pid)
  dpkg -r fgio >>"$RESULTS/dpkg.txt" 2>&1
  expect "(the fault of a package is seen)" test -d "/proc/$was"
  kill "$was"
  install_package last.deb
  systemctl restart fgiod
  was=$(pid)
  expect "it runs" runs
  dpkg -r fgio >>"$RESULTS/dpkg.txt" 2>&1
  refute "removal ends fgiod" test -d "/proc/$was"
  expect "settings stay" test -f /etc/fgio/fgiod.toml
  dpkg -P fgio >>"$RESULTS/dpkg.txt" 2>&1
  refute "purge removes them" ls -d /etc/fgio /run/fgio
}

phase "$STEP boot"
find_disks
case $STEP in
first)
  the_device
  the_disks
  the_upgrade
  ;;
second)
  after_the_reboot
  the_late_module
  the_removal
  ;;
esac
journalctl --no-pager -b >"$RESULTS/journal"
sync
exit 0
