//go:build tools

// Package secrets has a go.mod of its own for gitleaks, which needs other versions of
// what golangci-lint needs too.
package secrets
