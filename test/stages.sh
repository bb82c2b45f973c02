#!/usr/bin/env bash
# Runs the stages of make test, or with "all" those of make test-all, and prints how long each
# took. The linter, the page's tests and the browser run beside the Go tests, which wait for a third
# of their time; in make test-all, the browser runs in all its sizes afterwards.
set -uo pipefail
cd "$(dirname "$0")/.."
suite=${1:-short}
export LIVEGRAPH_TEST=$suite
output=$(mktemp -d)
began=$SECONDS
trap 'rm -rf "$output"' EXIT
trap 'trap - TERM; kill 0; exit 130' INT TERM

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

module() { (cd "test/$1" && go test -count=1 -timeout 20m ./...); }

# The packages that start whole systems come first: they take longest.
packages() {
  local all slow='test/e2e$|test/contract$|test/chaos$|consumers/points$|consumers/commands$'
  all=$(go list ./... | grep -v /test/browser)
  grep -E "$slow" <<<"$all"
  grep -vE "$slow" <<<"$all"
}

# The linter vets, and nobody debugs these binaries: both take a minute and more of all packages.
flags=(-count=1 -vet=off -ldflags=-w)

browser() { stage browser go test -count=1 -timeout 20m ./test/browser; }

{
  stage lint make -s lint
  stage page make -s page-test
  [ "$suite" = all ] || browser
} &
beside=$!
if [ "$suite" = all ]; then
  shown go go test "${flags[@]}" -timeout 60m -p 2 -parallel 4 $(packages)
else
  shown go go test "${flags[@]}" -timeout 30m -p 4 -parallel 4 $(packages)
fi
stage promql module promql
wait $beside
if [ "$suite" = all ]; then
  browser
  for name in grafana prometheus influx; do stage $name module $name; done
fi

printf '%-10s       %4d s\n' total $((SECONDS - began))
if [ -s "$output/failed" ]; then
  echo "failed: $(tr '\n' ' ' <"$output/failed")" >&2
  exit 1
fi
