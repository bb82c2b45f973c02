//go:build tools

// Package release has a separate go.mod for goreleaser and cyclonedx-gomod, which build
// releases and require other versions of dependencies than the other tools.
package release
