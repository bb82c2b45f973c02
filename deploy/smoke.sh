#!/usr/bin/env bash
# Starts the production stack of docker-compose.yml, with Prometheus and Grafana,
# under a project name, ports, passwords and volumes of its own, sends points and
# commands through it, restarts Livegraph, and takes everything away again.
#
# This is not run by the test suite, which has no Docker engine; test/compose
# checks docker-compose.yml without one. Run it on a machine with Docker, Docker
# Compose 2.23.1 or newer, curl and openssl:
#
#   deploy/smoke.sh          PORT=18080 unless set, and the two ports behind it;
#                            KEEP=1 leaves the stack running
set -euo pipefail
cd "$(dirname "$0")/.."

readonly port=${PORT:-18080}
readonly api=http://127.0.0.1:$port
readonly prometheus=http://127.0.0.1:$((port + 1))
readonly grafana=http://127.0.0.1:$((port + 2))
scratch=$(mktemp -d)
readonly scratch

say() { printf '%s\n' "smoke: $*"; }

fail() {
	say "FAILED: $*" >&2
	exit 1
}

compose() {
	API_BIND=127.0.0.1 API_PORT=$port PROMETHEUS_PORT=$((port + 1)) GRAFANA_PORT=$((port + 2)) IMAGE_VERSION=smoke \
		docker compose --project-name livegraph-smoke --profile monitoring \
		--file docker-compose.yml --env-file "$scratch/env" "$@"
}

finish() {
	local status=$?
	trap - EXIT
	if [ "$status" -ne 0 ] && [ -s "$scratch/env" ]; then
		compose ps --all || true
		compose logs --no-color --tail 40 || true
	fi
	if [ "${KEEP:-}" = 1 ]; then
		say "left running; its settings are in $scratch/env"
		exit "$status"
	fi
	if [ -s "$scratch/env" ]; then
		compose down --volumes --remove-orphans --timeout 30 || true
	fi
	rm -rf "$scratch"
	exit "$status"
}

# text NAME reads JSON from stdin and gives the first string field of that name.
text() { sed -n "s/.*\"$1\": *\"\([^\"]*\)\".*/\1/p" | head -n 1; }

# call EXPECTED_STATUS CURL_ARGUMENTS... prints the answer's body.
call() {
	local want=$1 got
	shift
	got=$(curl --silent --show-error --max-time 30 --output "$scratch/answer" --write-out '%{http_code}' \
		--header "Authorization: Bearer $key" --header "x-workspace-id: $workspace" "$@") || fail "no answer: $*"
	[ "$got" = "$want" ] || fail "status $got instead of $want: $(cat "$scratch/answer")"
	cat "$scratch/answer"
}

# ingest VALUE sends one point and prints its checkpoint.
ingest() {
	call 201 --header 'Content-Type: application/json' \
		--data "{\"source\": \"smoke\", \"points\": [{\"metric\": \"temperature\", \"value\": $1}]}" \
		"$api/api/live-data/ingest" | text checkpoint
}

# expect CHECKPOINT VALUE... queries what is visible after the checkpoint and
# looks for the values.
expect() {
	local checkpoint=$1 answer value
	shift
	answer=$(call 200 --get --data-urlencode "checkpoint=$checkpoint" \
		"$api/api/live-data/query?source=smoke&metric=temperature")
	for value in "$@"; do
		case $answer in
		*",$value]"*) ;;
		*) fail "$value is not in $answer" ;;
		esac
	done
}

# execute EXPECTED_STATUS COMMAND has a command decided and prints the answer.
execute() {
	call "$1" --header 'Content-Type: application/json' --data "$2" "$api/api/commands/execute"
}

# stands ID: the node can be read and is as it was made.
stands() {
	local answer
	answer=$(call 200 "$api/api/queries/nodes/$1")
	[ "$(text name <<<"$answer")" = "Pump 7" ] || fail "not the node that was made: $answer"
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

# scraped JOB: Prometheus has read the metrics of a service.
scraped() {
	curl --silent --fail --max-time 5 --get --data-urlencode "query=up{job=\"$1\"} == 1" "$prometheus/api/v1/query" |
		grep -q '"value"'
}

# provisioned UID: Grafana has a dashboard.
provisioned() {
	curl --silent --fail --max-time 5 --output /dev/null --config - "$grafana/api/dashboards/uid/$1" <<-END
		user = "admin:$(sed -n 's/^GRAFANA_PASSWORD=//p' "$scratch/env")"
	END
}

trap finish EXIT
for tool in docker curl openssl awk; do
	command -v "$tool" >/dev/null || fail "$tool is needed"
done
docker info >/dev/null 2>&1 || fail "there is no Docker engine to talk to"

say "passwords"
(
	umask 077
	awk '/^[A-Z]+_PASSWORD=$/ {c = "openssl rand -hex 24"; c | getline s; close(c); $0 = $0 s} 1' \
		deploy/.env.example >"$scratch/env"
)

say "up (the first time this downloads the images and builds Livegraph's)"
compose up --build --detach --wait --wait-timeout 600
curl --silent --show-error --fail --max-time 5 --output /dev/null "$api/readyz" || fail "not ready"

compose exec -T livegraph-api cat /var/lib/livegraph/first-run.json >"$scratch/first-run"
key=$(text adminKey <"$scratch/first-run")
workspace=$(text workspaceId <"$scratch/first-run")
if [ -z "$key" ] || [ -z "$workspace" ]; then
	fail "first-run.json has no key or no workspace"
fi

say "every engine, the embedder too, by the settings that Livegraph has"
compose exec -T livegraph-api livegraph doctor >"$scratch/doctor" || fail "doctor: $(cat "$scratch/doctor")"
grep -q '^ok  *embedder' "$scratch/doctor" || fail "no embedder: $(cat "$scratch/doctor")"

say "source"
call 201 --header 'Content-Type: application/json' --data '{"name": "smoke"}' "$api/api/live-data/sources" >/dev/null

say "ingest, and a query that waits for the checkpoint"
checkpoint=$(ingest 71.5)
expect "$checkpoint" 71.5

say "a command, and a read of what it made"
node=$(execute 201 '{"type": "CREATE_NODE", "payload": {"name": "Pump 7", "entityType": "object"}}' | text id)
[ -n "$node" ] || fail "the answer has no node"
stands "$node"

say "Prometheus and Grafana"
for job in livegraph-api livegraph-points livegraph-commands livegraph-embeddings livegraph-rules; do
	within 60 "Prometheus does not scrape $job" scraped "$job"
done
curl --silent --fail --max-time 5 "$prometheus/api/v1/rules" | grep -q LivegraphDown || fail "Prometheus has no alert rules"
for file in deploy/grafana/dashboards/*.json; do
	uid=$(sed -n 's/^  "uid": *"\([^"]*\)".*/\1/p' "$file")
	[ -n "$uid" ] || fail "$file has no uid"
	within 30 "Grafana does not have $file" provisioned "$uid"
done

say "ingest while the consumer is down"
compose stop livegraph-points
checkpoint=$(ingest 72.25)

say "restart of Livegraph"
compose restart livegraph-api
compose up --detach --wait --wait-timeout 300
expect "$checkpoint" 71.5 72.25

say "restart of everything"
compose down --timeout 60
compose up --detach --wait --wait-timeout 600
checkpoint=$(ingest 73.75)
expect "$checkpoint" 71.5 72.25 73.75

say "UNDO of the command"
stands "$node"
execute 200 '{"type": "UNDO"}' >/dev/null
call 404 "$api/api/queries/nodes/$node" >/dev/null

say "passed"
