#!/usr/bin/env bash
# Runs every fuzz target for the given time (default 1m), one after another; with a
# second argument only those whose name or folder matches it.
#
# With KEEP=n the inputs that found new paths are kept in the target's corpus
# (testdata/fuzz), from where every run of the tests tries them: up to n in all, those of
# at most 2 KiB, by their hash.
set -euo pipefail
cd "$(dirname "$0")/.."
time=${1:-1m}
only=${2:-.}

# keep copies from Go's cache, where the fuzzer puts what found something new.
keep() {
	local package=$1 target=$2 corpus=$1/testdata/fuzz/$2 cache
	cache=$(go env GOCACHE)/fuzz/$(go list -C "$package")/$target
	[ -d "$cache" ] || return 0
	mkdir -p "$corpus"
	local have
	have=$(find "$corpus" -type f | wc -l)
	find "$cache" -type f -size -2049c -print 2>/dev/null | sort | while read -r input; do
		[ -e "$corpus/$(basename "$input")" ] && continue
		[ "$have" -lt "$KEEP" ] || break
		cp "$input" "$corpus/"
		have=$((have + 1))
	done
}

grep -rn --include='*_test.go' -oE '^func Fuzz[A-Za-z0-9_]+' . | sort | while IFS=: read -r file _ name; do
	package=$(dirname "$file")
	target=${name#func }
	[[ "$package $target" =~ $only ]] || continue
	echo "== $package $target for $time"
	# From its folder, because sdk/go is a module of its own.
	go test -C "$package" -run '^$' -fuzz "^$target\$" -fuzztime "$time" . </dev/null
	if [ -n "${KEEP:-}" ]; then keep "$package" "$target"; fi
done
