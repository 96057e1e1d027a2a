# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts that run fgiod in a guest; $PAYLOAD/profiles has the profiles.
# shellcheck shell=bash disable=SC2034

network() { # lo up: there is no ip(8) here
  perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 0) or die; my $request = pack("a16 s x14", "lo", 0x41);
    ioctl(S, 0x8914, $request) or die "lo does not come up: $!"'
}

metrics() { # the page, without its head
  perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0) or die;
    connect(S, sockaddr_in(9753, inet_aton("127.0.0.1"))) or die "no metrics: $!";
    syswrite(S, "GET /metrics HTTP/1.0\r\n\r\n"); print while <S>'
}

start_daemon() { # with the capabilities of its unit, and no more; sets daemon
  install -d -o nobody /run/fgio/fgiod
  # As udev's rule does for the group fgio.
  [[ ! -c /dev/fgio ]] || chgrp nogroup /dev/fgio
  setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs \
    --bounding-set=-all,+net_admin,+sys_nice --inh-caps=-all,+net_admin,+sys_nice \
    --ambient-caps=-all,+net_admin,+sys_nice fgiod 2>>"$RESULTS/fgiod.log" &
  daemon=$!
  local tries=0
  until metrics >/dev/null 2>&1; do
    sleep 0.05
    tries=$((tries + 1))
    [[ $tries -lt 200 ]] || { cat "$RESULTS/fgiod.log"; stop "fgiod does not start"; }
  done
}
