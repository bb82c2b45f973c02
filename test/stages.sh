#!/usr/bin/env bash
# Runs the stages of make test, or with "all" those of make test-all, and prints how long each
# took. Tests that start systems wait a third of the time, so several kinds run at once: beside the
# end-to-end tests, which start a service about a hundred times, the other tests are compiled, and then
# the tests of single packages and the linter run. Compiler and linter have the lowest priority, and
# collect garbage seldom.
# Packages that start systems, the browser and PromQL come after the end-to-end tests.
set -uo pipefail
cd "$(dirname "$0")/.."
suite=${1:-short}
export LIVEGRAPH_TEST=$suite
output=$(mktemp -d)
began=$SECONDS
trap 'rm -rf "$output" "${scratch:-}"' EXIT
trap 'trap - TERM; kill 0; exit 130' INT TERM

# The tests create databases with hundreds of files each; to create them takes ext4 a tenth of the
# processors' time. Where the memory is not large enough, they are in the usual temporary folder.
memory=/dev/shm
free=$(df --output=avail -BM "$memory" 2>/dev/null | tail -1 | tr -dc 0-9)
available=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo 2>/dev/null)
if [ "${free:-0}" -ge 10240 ] && [ "${available:-0}" -ge 14336 ]; then
  scratch=$(mktemp -d "$memory/lg.XXXX") && chmod 755 "$scratch" && export TMPDIR=$scratch
fi

# With COVER=FILE the tests, and the processes that they start, write which statements of the product they
# execute; go tool cover reads the file.
if [ -n "${COVER:-}" ]; then
  export GOCOVERDIR=$output/processes
  mkdir "$GOCOVERDIR"
fi

# stage NAME COMMAND...: its output is printed when it fails.
stage() {
  local name=$1 start=$SECONDS
  shift
  if "$@" >"$output/$name" 2>&1; then
    printf '%-10s ok    %4d s\n' "$name" $((SECONDS - start))
  else
    cat "$output/$name"
    printf '%-10s FAIL  %4d s\n' "$name" $((SECONDS - start))
    echo "$name" >>"$output/failed"
  fi
}

# shown NAME COMMAND...: its output is printed as it comes: it takes minutes.
shown() {
  local name=$1 start=$SECONDS result=ok
  shift
  "$@" || { result=FAIL; echo "$name" >>"$output/failed"; }
  printf '%-10s %-4s  %4d s\n' "$name" $result $((SECONDS - start))
}

module() { (cd "test/$1" && go test -count=1 -timeout 40m ./...); }

# sharded runs the tests of the store of points and of its users, in their short form, on a ClickHouse of two
# shards.
sharded() {
  LIVEGRAPH_TEST=short LIVEGRAPH_TEST_SHARDS=2 go_tests -p 2 ./storage/clickhouse/... ./consumers/points ./consumers/rollups \
    ./consumers/maintenance ./consumers/audit ./internal/services/backup ./test/contract
}

# packages lists the packages that start whole systems, or all others. The contract tests take longest
# and wait most, so they come first.
packages() {
  local systems='test/(contract|chaos)$|consumers/(points|commands|embeddings)$|storage/(clickhouse|kafka)$|internal/(embedded|app/cli)$'
  local all
  all=$(go list ./... | grep -vE '/test/(browser|e2e|scale)$')
  if [ "$1" = systems ]; then
    grep 'test/contract$' <<<"$all"
    grep -E "$systems" <<<"$all" | grep -v 'test/contract$'
  else
    grep -vE "$systems" <<<"$all"
  fi
}

# The linter vets, and nobody debugs these binaries: both take a minute and more of all packages.
flags=(-count=1 -vet=off -ldflags=-w)

go_tests() { go test "${flags[@]}" -timeout 60m -parallel 4 "$@"; }

# With coverage, go test prints the list of packages after each result.
unlisted() { sed -u 's/ of statements in .*//'; }

# package_tests systems|others AT_ONCE.
package_tests() {
  local cover=()
  if [ -n "${COVER:-}" ]; then
    cover=(-coverprofile="$output/cover.$1" -coverpkg="$(go list ./... | grep -v /test/ | paste -sd,)")
  fi
  go_tests -p "$2" "${cover[@]}" $(packages "$1") | unlisted
}

# Lists the packages with their tests, which compiles them, but links nothing.
compile() { nice -n 19 go list -test -export -f '' ./...; }

{
  stage page nice -n 19 make -s page-test
  GOGC=400 stage compile compile
  GOGC=400 stage lint nice -n 19 make -s "$([ "$suite" = all ] && echo lint || echo lint-quick)" &
  shown packages package_tests others 2
  wait
} &
beside=$!
shown e2e go_tests ./test/e2e
{
  stage browser go test -count=1 -timeout 60m ./test/browser &
  [ "$suite" = all ] || wait # in its long form, PromQL waits more than it computes
  stage promql module promql
  wait
} &
later=$!
shown systems package_tests systems 3
wait $beside $later
if [ -n "${COVER:-}" ]; then
  go tool covdata textfmt -i="$GOCOVERDIR" -o "$output/cover.processes"
  { echo 'mode: set'; tail -qn +2 "$output"/cover.*; } >"$COVER"
fi
if [ "$suite" = all ]; then
  stage shards sharded &
  for name in grafana helm prometheus influx otel; do stage $name module $name; done
  wait
  stage scale go_tests ./test/scale
fi

printf '%-10s       %4d s\n' total $((SECONDS - began))
if [ -s "$output/failed" ]; then
  echo "failed: $(tr '\n' ' ' <"$output/failed")" >&2
  exit 1
fi
