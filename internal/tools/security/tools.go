//go:build tools

// Package security has a separate go.mod for gitleaks and govulncheck, which require
// other versions of dependencies than the other tools.
package security
