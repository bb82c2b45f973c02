#!/usr/bin/env bash
# Runs every fuzz target for the given time (default 30s), one after another.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-30s}
grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9_]+' . | while IFS=: read -r file _ name; do
	package=$(dirname "$file")
	target=${name#func }
	echo "== $package $target for $time"
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$package" </dev/null
done
