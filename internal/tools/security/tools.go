//go:build tools

// Package security has a go.mod of its own for gitleaks and govulncheck, which need
// other versions of what the tools beside it need too.
package security
