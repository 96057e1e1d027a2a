# SPDX-License-Identifier: Apache-2.0 OR MIT
# Becomes a command as the unit of a backup runs it, see backup.sh: arguments are the command.
# shellcheck shell=bash disable=SC2154
# shellcheck source=/dev/null
. "$PAYLOAD/backup.env"
# The server reads for pg_basebackup.
served=()
[[ $PART != basebackup ]] || served=(--of /db --with 'postgres: (.*: )?walsender .* sending backup.*')
case $POLICY in
background) exec fgio run --background -- "$@" ;;
client) exec fgio run --background --drop-behind --summary -- "$@" ;;
drop | cache) exec fgio run --background --drop-behind "${served[@]}" --summary -- "$@" ;;
drop16) exec fgio run --background --drop-behind=16 "${served[@]}" --summary -- "$@" ;;
*) exec "$@" ;;
esac
