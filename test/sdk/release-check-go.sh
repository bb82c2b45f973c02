#!/usr/bin/env bash
# Checks the module of sdk/go, packs it as the proxy of modules does, and builds and runs a new program with it.
# Usage: release-check-go.sh VERSION.
set -euo pipefail
version=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
module=github.com/livegraph/livegraph/sdk/go
scratch=$(mktemp -d)
trap 'chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

cd "$root/sdk/go"
grep -qx "const Version = \"$version\"" version.go || { echo "version.go has another version than $version" >&2; exit 1; }
cmp -s LICENSE "$root/LICENSE" || { echo "LICENSE differs from that of the repository" >&2; exit 1; }
! grep -q '^replace' go.mod || { echo "go.mod has a replace directive" >&2; exit 1; }
[ -z "$(gofmt -l .)" ] || { echo "gofmt would change $(gofmt -l .)" >&2; exit 1; }
go mod tidy -diff
go vet ./...

# The files of a proxy of modules, in which this version is the only one.
proxy=$scratch/proxy/$module/@v
mkdir -p "$proxy"
echo "v$version" >"$proxy/list"
printf '{"Version":"v%s","Time":"2026-01-01T00:00:00Z"}\n' "$version" >"$proxy/v$version.info"
cp go.mod "$proxy/v$version.mod"
git ls-files . | python3 -c '
import sys, zipfile
with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for name in sys.stdin.read().split("\n")[:-1]:
        archive.write(name, f"{sys.argv[2]}/{name}")
' "$proxy/v$version.zip" "$module@v$version"

mkdir "$scratch/program"
cd "$scratch/program"
cat >main.go <<'GO'
package main

import (
	"context"
	"errors"
	"fmt"
	"log"

	livegraph "github.com/livegraph/livegraph/sdk/go"
)

func main() {
	client, err := livegraph.New("http://127.0.0.1:9", "lg_test_x", livegraph.WithRetry(livegraph.Retry{MaxAttempts: 1}))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Account(context.Background())
	var transport *livegraph.TransportError
	if !errors.As(err, &transport) || transport.Sent {
		log.Fatal("a server answered: ", err)
	}
	fmt.Println(livegraph.Version)
}
GO
export GOPROXY=file://$scratch/proxy GONOSUMDB='*' GOFLAGS=-mod=mod GOMODCACHE=$scratch/modules GOWORK=off
go mod init program 2>/dev/null
go get "$module@v$version" 2>/dev/null
[ "$(go run .)" = "$version" ]
[ "$(go list -m all | wc -l)" = 2 ] || { echo "the module has dependencies" >&2; go list -m all >&2; exit 1; }
echo "sdk/go can be published with the tag sdk/go/v$version"
