# SPDX-License-Identifier: Apache-2.0 OR MIT
# Sourced by scripts that run PostgreSQL in a guest.
# shellcheck shell=bash
PATH=$PATH:$(echo /usr/lib/postgresql/*/bin)
export PATH PGHOST=/tmp PGUSER=postgres PGDATABASE=bench

as_postgres() { cd /; setpriv --reuid=postgres --regid=postgres --init-groups "$@"; }

start_server() { # FOLDER [OPTIONS]: its log is in $RESULTS/server
  install -d -o postgres -g postgres "$RESULTS/server"
  # Without the log collector the server writes its log where it was started.
  as_postgres pg_ctl -w -t 120 -D "$1" -l "$RESULTS/server/log" -o "${2:-}" start >/dev/null ||
    { cat "$RESULTS/server/log"; stop "PostgreSQL does not start"; }
  check_options "${2:-}"
}

check_options() { # "-c NAME=VALUE...": stops unless the server has them
  local each
  for each in $1; do
    [[ $each == *=* ]] || continue
    [[ $(psql -XAtqc "SHOW ${each%%=*}" template1) == "${each#*=}" ]] ||
      stop "PostgreSQL's ${each%%=*} is not ${each#*=}"
  done
}
