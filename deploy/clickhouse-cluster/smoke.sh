#!/usr/bin/env bash
# Starts the ClickHouse cluster of compose.yml, and Livegraph with its other engines
# embedded; sends points, stops and kills servers of ClickHouse, and checks that every
# point is stored once, on both replicas of its shard. Then it takes everything away.
#
# This is not run by the test suite, which has no Docker engine. Run it on a machine
# with Docker, Docker Compose 2.23.1 or newer, curl and openssl, after `make build`:
#
#   deploy/clickhouse-cluster/smoke.sh     PORT=19000 unless set, and the three ports behind it;
#                                          KEEP=1 leaves the servers running
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly port=${PORT:-19000}
readonly listen=127.0.0.1:$((port + 3))
scratch=$(mktemp -d)
readonly scratch
server=

say() { printf '%s\n' "smoke: $*"; }

fail() {
	say "FAILED: $*" >&2
	exit 1
}

compose() {
	PORT=$port PORT2=$((port + 1)) PORT3=$((port + 2)) CLICKHOUSE_PASSWORD=$password \
		docker compose --project-name livegraph-cluster-smoke --file deploy/clickhouse-cluster/compose.yml "$@"
}

finish() {
	local status=$?
	trap - EXIT
	if [ -n "$server" ]; then
		kill "$server" 2>/dev/null || true
		wait "$server" || true
	fi
	if [ "$status" -ne 0 ]; then
		tail -n 40 "$scratch/log" 2>/dev/null || true
		compose ps --all || true
		compose logs --no-color --tail 40 || true
	fi
	if [ "${KEEP:-}" = 1 ]; then
		say "the servers of ClickHouse are left running; the log is in $scratch"
		exit "$status"
	fi
	compose down --volumes --remove-orphans --timeout 30 || true
	rm -rf "$scratch"
	exit "$status"
}

# text NAME reads JSON from stdin and gives the first string field of that name.
text() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }

# ask SERVER STATEMENT prints the result.
ask() {
	compose exec -T "clickhouse-$1" clickhouse-client --user livegraph --password "$password" --database livegraph \
		--query "$2"
}

# send FROM TO sends points of 20 series, with the times FROM to TO, and prints the last checkpoint.
send() {
	local at=$1 metric points
	while [ "$at" -lt "$2" ]; do
		points=
		for metric in $(seq 20); do
			points="$points${points:+,}{\"metric\": \"m$metric\", \"value\": $at, \"timestamp\": $((1772323200000 + at * 1000))}"
		done
		curl --silent --show-error --fail --max-time 30 --header "Authorization: Bearer $key" \
			--header "x-workspace-id: $workspace" --header 'Content-Type: application/json' \
			--data "{\"source\": \"smoke\", \"points\": [$points]}" "http://$listen/api/live-data/ingest" >"$scratch/sent" ||
			fail "points are not accepted"
		at=$((at + 1))
	done
	text checkpoint <"$scratch/sent"
}

# within SECONDS WHAT COMMAND... tries the command each second until it works.
within() {
	local tries=$1 what=$2
	shift 2
	until "$@" >/dev/null 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || fail "$what"
		sleep 1
	done
}

# holds SERVER STATEMENT RESULT: the statement has the result.
holds() { [ "$(ask "$1" "$2")" = "$3" ]; }

trap finish EXIT
for tool in docker curl openssl; do
	command -v "$tool" >/dev/null || fail "$tool is needed"
done
docker info >/dev/null 2>&1 || fail "there is no Docker engine to talk to"
[ -x bin/livegraph ] || fail "bin/livegraph is missing: make build"
password=$(openssl rand -hex 24)
readonly password

say "up"
compose up --detach --wait --wait-timeout 300

say "Livegraph"
url=clickhouse://livegraph:$password@127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))/livegraph
LIVEGRAPH_CLICKHOUSE_URL=$url LIVEGRAPH_CLICKHOUSE_CLUSTER=livegraph \
	bin/livegraph serve --data-dir "$scratch/data" --listen "$listen" >"$scratch/log" 2>&1 &
server=$!
within 300 "Livegraph is not ready" curl --silent --fail --max-time 5 "http://$listen/readyz"
key=$(text adminKey <"$scratch/data/first-run.json")
workspace=$(text workspaceId <"$scratch/data/first-run.json")
if [ -z "$key" ] || [ -z "$workspace" ]; then
	fail "first-run.json has no key or no workspace"
fi
readonly key workspace
source=$(curl --silent --show-error --fail --header "Authorization: Bearer $key" --header "x-workspace-id: $workspace" \
	--header 'Content-Type: application/json' --data '{"name": "smoke"}' "http://$listen/api/live-data/sources" | text id)
[ -n "$source" ] || fail "the answer has no source"

# Nothing else writes points of this day.
day="ts >= '2026-03-01' AND ts < '2026-03-02'"
count="SELECT count() FROM points FINAL WHERE $day"
readonly day count

say "points on both shards, replicated"
send 0 50 >/dev/null
within 60 "the points are not stored" holds 1 "$count" 1000
for n in 1 2 3; do
	[ "$(ask "$n" "SELECT count() > 0 FROM points_local")" = 1 ] || fail "clickhouse-$n has no points"
done
within 60 "the replicas differ" holds 2 "SELECT count() FROM points_local" "$(ask 1 'SELECT count() FROM points_local')"
shards="SELECT max(n) FROM (SELECT series, uniq(_shard_num) AS n FROM points GROUP BY series)"
holds 1 "$shards" 1 || fail "a series is in two shards"

say "points while a replica is killed are stored when it is back"
compose kill clickhouse-2
send 50 100 >/dev/null
compose up --detach --wait --wait-timeout 120 clickhouse-2
within 180 "points were lost" holds 1 "$count" 2000
within 60 "the replicas differ" holds 2 "$count" 2000

say "the other replica answers while the first is killed"
compose kill clickhouse-1
within 60 "no answer from the other replica" holds 2 "$count" 2000
answer=$(curl --silent --show-error --fail --max-time 60 --header "Authorization: Bearer $key" \
	--header "x-workspace-id: $workspace" "http://$listen/api/live-data/query?source=smoke&metric=m1&latest=true") ||
	fail "no answer to a query"
case $answer in
*",99]"*) ;;
*) fail "the last point is not in $answer" ;;
esac
compose up --detach --wait --wait-timeout 120 clickhouse-1

say "a deleted source disappears from all servers"
curl --silent --show-error --fail --request DELETE --header "Authorization: Bearer $key" \
	--header "x-workspace-id: $workspace" "http://$listen/api/live-data/sources/$source" >/dev/null ||
	fail "the source cannot be deleted"
for n in 1 2 3; do
	within 180 "points of the deleted source are left" holds "$n" "SELECT count() FROM points_local WHERE $day" 0
done

say "passed"
