# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts of a guest: disks, elevators, counters.
# shellcheck shell=bash

stop() { # MESSAGE: ends the run; the host shows the message
  printf 'lab: %s\n' "$*"
  exit 3
}

phase() { # NAME: shown by the progress display
  local uptime
  read -r uptime _ </proc/uptime
  printf '@lab %s phase %s\n' "$uptime" "$*"
}

moment() { # NAME: an event, by the wall clock, for the host
  printf '%s %s\n' "$1" "$EPOCHREALTIME" >>"$RESULTS/moments"
}

load_module() { # NAME [PARAMETER...]: one of the project's own modules
  local name=$1
  shift
  [[ ! -d /sys/module/$name ]] || return 0
  [[ -f $PAYLOAD/modules/$name.ko ]] || stop "$name.ko has not been built: run make -C kmod"
  insmod "$PAYLOAD/modules/$name.ko" "$@" || stop "$name.ko does not load"
}

has_fgio() { [[ -d /sys/module/fgio ]]; }

make_disk() { # DRIVE SEED SIZE_MIB|PATH: sets DISK; DRIVE as model= of simdisk takes it
  case $1 in
  null)
    # Timer-less and without data: the rest is the cost of the path to the disk.
    modprobe null_blk queue_mode=2 irqmode=0 memory_backed=0 gb=16 submit_queues="$(nproc)" \
      hw_queue_depth=256 || stop "null_blk does not load"
    DISK=nullb0
    ;;
  *)
    local where="size_mib=$3"
    [[ $3 != /* ]] || where="backing=$3"
    load_module simdisk devices=1 model="$1" seed="$2" "$where"
    DISK=simdisk0
    ;;
  esac
  local tries=0
  while [[ ! -b /dev/$DISK && $tries -lt 200 ]]; do
    sleep 0.01
    tries=$((tries + 1))
  done
  [[ -b /dev/$DISK ]] || stop "/dev/$DISK did not appear"
}

use_elevator() { # NAME
  case $1 in
  bfq) modprobe bfq ;;
  kyber) modprobe kyber-iosched ;;
  fgio) load_module fgio ;;
  esac
  echo "$1" >"/sys/block/$DISK/queue/scheduler" || stop "elevator $1 does not take /dev/$DISK"
  grep -qF "[$1]" "/sys/block/$DISK/queue/scheduler" || stop "elevator $1 is not in charge of $DISK"
}

# A value that did not take, or was rounded, would be measured under a wrong name. A negative value
# stands for the kernel's own.
set_files() { # FOLDER "NAME=VALUE...": stops unless each file then has its value
  local each file value
  for each in $2; do
    file=$1/${each%%=*} value=${each#*=}
    echo "$value" >"$file" || stop "$file does not take $value"
    [[ $value == -* || $(<"$file") == "$value" ]] || stop "$file is $(<"$file"), not $value"
  done
}

set_tunables() { # "NAME=VALUE...": of the elevator in charge
  set_files "/sys/block/$DISK/queue/iosched" "$1"
}

set_queue() { # "NAME=VALUE...": of the disk's queue
  set_files "/sys/block/$DISK/queue" "$1"
}

use_drive_priority() { # the drive's knob, as fgio enable does it
  echo 1 >"/sys/block/$DISK/device/ncq_prio_enable" || stop "$DISK has no NCQ priority"
  ! grep -qF "[fgio]" "/sys/block/$DISK/queue/scheduler" || set_tunables drive_priority=1
}

set_parameters() { # "NAME=VALUE...": of fgio
  set_files /sys/module/fgio/parameters "$1"
}

use_gate() { # 1|2|NOTHING: the gate at the system call, for comparison (kmod/lab/gate.c)
  [[ -z $1 ]] || load_module fgio_gate gate="$1"
}

snapshot() { # NAME: counters of the disk and the processors now, into $RESULTS/NAME.*
  head -n 1 /proc/stat >"$RESULTS/$1.cpu"
  cat "/sys/block/$DISK/stat" >"$RESULTS/$1.stat"
  cat "/sys/kernel/debug/fgio/$DISK/counters" >"$RESULTS/$1.fgio" 2>/dev/null ||
    rm -f "$RESULTS/$1.fgio"
  cat "/sys/kernel/debug/simdisk/$DISK/stats" >"$RESULTS/$1.simdisk" 2>/dev/null ||
    rm -f "$RESULTS/$1.simdisk"
}
