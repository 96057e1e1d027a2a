# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts that run databases in a guest: settings of configurations other than fgio's.
# shellcheck shell=bash
CGROUPS=/sys/fs/cgroup
TRACING=/sys/kernel/tracing
# Where an elevator gets a request, mostly in the context of the thread that submits it.
INSERTED=$TRACING/events/block/block_rq_insert

make_cgroup() { # NAME WEIGHT
  local file=$CGROUPS/$1/$WEIGHT_FILE
  mkdir "$CGROUPS/$1"
  echo "default $2" >"$file" || stop "no I/O weight for the cgroup $1"
  grep -qx "default $2" "$file" || stop "the cgroup $1 weighs $(<"$file"), not $2"
}

use_io_cost() {
  local device
  device=$(<"/sys/block/$DISK/dev")
  echo "$device ctrl=user model=linear $IO_COST_MODEL" >$CGROUPS/io.cost.model ||
    stop "no cost model"
  echo "$device enable=1 ctrl=user $IO_COST_QOS" >$CGROUPS/io.cost.qos || stop "no io.cost"
  grep -q "^$device .*ctrl=user" $CGROUPS/io.cost.model || stop "the cost model did not take"
  grep -q "^$device enable=1 ctrl=user" $CGROUPS/io.cost.qos || stop "io.cost is not enabled"
}

# Writeback belongs to a cgroup only where memory does, too. Processes started from here on are
# foreground, until sort_processes knows better.
use_weights() {
  [[ -n ${WEIGHT_FILE:-} ]] || return 0
  mount -t cgroup2 none $CGROUPS || stop "no cgroups"
  echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no I/O controller"
  make_cgroup foreground "$FOREGROUND_WEIGHT"
  make_cgroup background "$BACKGROUND_WEIGHT"
  [[ -z ${IO_COST_MODEL:-} ]] || use_io_cost
  echo $$ >$CGROUPS/foreground/cgroup.procs
  sort_processes &
}

# Ten times a second: a process changes its title when it has its role.
sort_processes() {
  echo "$BASHPID" >$CGROUPS/cgroup.procs
  exec perl -e '
    my ($root, $titles) = @ARGV;
    open(my $file, "<", $titles) or die "$titles: $!";
    my @rules = map { chomp; my ($group, $title) = split /\t/; [$group, qr/^(?:$title)$/] } <$file>;
    my (%group, %kernel);
    sub title { open(my $line, "<", "/proc/$_[0]/cmdline") or return; local $/; my $title = <$line>;
      $title =~ s/\0+$//; $title =~ s/\0/ /g; return $title }
    sub group_of { my ($title) = @_; for (@rules) { return $_->[0] if $title =~ $_->[1] } return }
    while (select(undef, undef, undef, 0.1) || 1) {
      opendir(my $processes, "/proc") or die;
      for my $process (grep { /^\d+$/ && !$kernel{$_} } readdir $processes) {
        my $title = title($process) // next;
        $kernel{$process} = 1 if $title eq "";
        my $group = group_of($title) // next;
        next if ($group{$process} // "") eq $group;
        open(my $members, ">", "$root/$group/cgroup.procs") or die;
        $group{$process} = $group if syswrite($members, $process);
      }
    }' $CGROUPS "$PAYLOAD/titles"
}

# The current shell and its children: clients of the background burst, without a title of their own.
enter_background() {
  [[ -z ${WEIGHT_FILE:-} ]] || echo "$BASHPID" >$CGROUPS/background/cgroup.procs
}

# Of the database's threads, as the profiles have them: all but the foreground is background. A thread
# is looked at when it is new, not again.
use_priorities() { # COMMAND_NAMES: extended regular expression
  [[ -n $BACKGROUND_PRIORITY ]] || return 0
  install -D -m 0644 -t /usr/lib/fgio/profiles "$PAYLOAD"/profiles/*.toml
  perl -e '
    use constant { SET => 251, THREAD => 1, CLASS_SHIFT => 13 };
    my ($programs, @given) = @ARGV;
    my ($foreground, $background) = map { my ($class, $level) = split /,/;
      $class << CLASS_SHIFT | $level } @given;
    my %done;
    while (select(undef, undef, undef, 0.2) || 1) {
      for my $process (split " ", `pgrep -x "$programs"`) {
        next unless grep { !$done{$_} } map { m{(\d+)$} } glob "/proc/$process/task/*";
        my $found = `fgio --json profile test $process 2>/dev/null`;
        while ($found =~ /"tid":(\d+),"comm":"[^"]*","class":"(\w+)"/g) {
          next if $done{$1}++;
          syscall(SET, THREAD, $1 + 0, $2 eq "foreground" ? $foreground : $background) == 0 or
            $!{ESRCH} or warn "thread $1: no I/O priority: $!\n";
        }
      }
    }' "$1" "$FOREGROUND_PRIORITY" "$BACKGROUND_PRIORITY" &
}

class_name() { # CLASS,LEVEL: as ionice calls it
  local names=(none realtime best-effort idle)
  echo "${names[${1%,*}]}"
}

keep_priorities() { # NAME COMMAND_NAMES: leaves the priorities of threads; both sides have to be there
  [[ -n $BACKGROUND_PRIORITY ]] || return 0
  local process thread
  for process in $(pgrep -x "$2"); do
    for thread in "/proc/$process/task"/*; do
      echo "$(ionice -p "${thread##*/}") $(tr '\0' ' ' <"$thread/cmdline") $(<"$thread/comm")"
    done
  done >"$RESULTS/priorities.$1" 2>/dev/null
  for thread in "$FOREGROUND_PRIORITY" "$BACKGROUND_PRIORITY"; do
    grep -q "^$(class_name "$thread")" "$RESULTS/priorities.$1" ||
      stop "no thread of the database is in the class $(class_name "$thread")"
  done
}

watch_submitters() { # the I/O of each thread from here on, by priority
  [[ ${SUBMITTERS:-0} == 1 ]] || return 0
  mount -t tracefs none $TRACING 2>/dev/null
  grep -q "field:.* ioprio;" $INSERTED/format || stop "this kernel traces no I/O priorities"
  echo 'hist:keys=comm,ioprio,rwbs:vals=bytes' >$INSERTED/trigger || stop "no histogram"
}

keep_submitters() {
  [[ ${SUBMITTERS:-0} == 1 ]] || return 0
  cat $INSERTED/hist >"$RESULTS/submitters" || stop "no histogram"
}

# With the scheduler at the system call, a journal is never held back.
set_journal_priority() { # CLASS,LEVEL
  [[ -n $1 ]] || return 0
  ionice -c "${1%,*}" -n "${1#*,}" -p "$(pgrep "^jbd2/$DISK")" ||
    stop "no I/O priority for the journal"
}

keep_weights() { # leaves the I/O and the threads of each group
  [[ -n ${WEIGHT_FILE:-} ]] || return 0
  local group
  for group in foreground background; do
    cat "$CGROUPS/$group/io.stat" >"$RESULTS/$group.io"
    xargs -r ps -o args= -p <"$CGROUPS/$group/cgroup.procs" >"$RESULTS/$group.processes"
  done
}
