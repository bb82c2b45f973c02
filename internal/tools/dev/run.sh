#!/usr/bin/env bash
# Runs the server, rebuilt and restarted by air when its sources change, and beside it the
# development server of the administration page. Ctrl-C, or the end of one, ends both.
set -uo pipefail
cd "$(dirname "$0")/../../.."

listen=${LISTEN:-127.0.0.1:8080} data=${DATA:-./data} port=${PAGE_PORT:-5173}

# The child's commands are started in process groups of their own (set -m), so that each is
# asked to stop once, by this script.
set -m
bin/tools/air -c internal/tools/dev/air.toml -- serve --data-dir "$data" --listen "$listen" "$@" &
server=$!
(cd web && DEV_SERVER="http://$listen" exec node node_modules/vite/bin/vite.js --host 127.0.0.1 --port "$port" --strictPort) </dev/null &
page=$!
set +m

echo "page: http://127.0.0.1:$port/admin/   API: http://$listen/api   (Ctrl-C ends both)"

stop() {
	trap - INT TERM EXIT
	kill -INT "$server" 2>/dev/null
	kill -TERM "$page" 2>/dev/null
	wait "$server" "$page" 2>/dev/null
	exit "${1:-0}"
}
trap 'stop 0' INT TERM
trap 'stop 1' EXIT
wait -n "$server" "$page"
