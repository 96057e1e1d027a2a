# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by what runs databases in a guest: what configurations other than fgio's own take.
# shellcheck shell=bash
CGROUPS=/sys/fs/cgroup

set_queue() { # "NAME=VALUE...": of the disk's queue
  local each
  for each in $1; do
    echo "${each#*=}" >"/sys/block/$DISK/queue/${each%%=*}" || stop "the queue does not take $each"
  done
}

make_cgroup() { # NAME WEIGHT
  mkdir "$CGROUPS/$1"
  echo "default $2" >"$CGROUPS/$1/io.weight" || stop "no I/O weight for the cgroup $1"
}

# Writeback belongs to a cgroup only where memory does, too. What is started from here on is
# foreground, until sort_processes knows better.
use_io_cost() {
  [[ -n ${IO_COST_MODEL:-} ]] || return 0
  local device
  device=$(<"/sys/block/$DISK/dev")
  mount -t cgroup2 none $CGROUPS || stop "no cgroups"
  echo "+io +memory" >$CGROUPS/cgroup.subtree_control || stop "no I/O controller"
  make_cgroup foreground "$FOREGROUND_WEIGHT"
  make_cgroup background "$BACKGROUND_WEIGHT"
  echo "$device ctrl=user model=linear $IO_COST_MODEL" >$CGROUPS/io.cost.model ||
    stop "no cost model"
  echo "$device enable=1 ctrl=user $IO_COST_QOS" >$CGROUPS/io.cost.qos || stop "no io.cost"
  echo $$ >$CGROUPS/foreground/cgroup.procs
  sort_processes &
}

# Ten times a second: a process changes its title when it knows what it is.
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

# The current shell, and what it starts: clients of the storm, which have no title of their own.
enter_background() {
  [[ -z ${IO_COST_MODEL:-} ]] || echo "$BASHPID" >$CGROUPS/background/cgroup.procs
}

# Of the database's threads, as the profiles have them: who is not foreground is background. A thread
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
          syscall(SET, THREAD, $1 + 0, $2 eq "foreground" ? $foreground : $background);
        }
      }
    }' "$1" "$FOREGROUND_PRIORITY" "$BACKGROUND_PRIORITY" &
}

keep_priorities() { # NAME COMMAND_NAMES: leaves what the threads have
  [[ -n $BACKGROUND_PRIORITY ]] || return 0
  local process thread
  for process in $(pgrep -x "$2"); do
    for thread in "/proc/$process/task"/*; do
      echo "$(ionice -p "${thread##*/}") $(tr '\0' ' ' <"$thread/cmdline") $(<"$thread/comm")"
    done
  done >"$RESULTS/priorities.$1" 2>/dev/null
}

# With the scheduler at the system call, a journal is never held back.
set_journal_priority() { # CLASS,LEVEL
  [[ -n $1 ]] || return 0
  ionice -c "${1%,*}" -n "${1#*,}" -p "$(pgrep "^jbd2/$DISK")" ||
    stop "no I/O priority for the journal"
}

keep_io_cost() { # leaves who did how much I/O, and who was where
  [[ -n ${IO_COST_MODEL:-} ]] || return 0
  local group
  for group in foreground background; do
    cat "$CGROUPS/$group/io.stat" >"$RESULTS/$group.io"
    xargs -r ps -o args= -p <"$CGROUPS/$group/cgroup.procs" >"$RESULTS/$group.processes"
  done
}
