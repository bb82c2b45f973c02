//go:build tools

// Package release has a go.mod of its own for goreleaser and cyclonedx-gomod, which build
// releases and need other versions of what the other tools need too.
package release
