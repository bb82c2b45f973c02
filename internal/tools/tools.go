//go:build tools

// Package tools has a separate go.mod for the tools that build and check Livegraph
// but are not part of it: buf, protoc-gen-go, golangci-lint, licences.
// The Makefile builds them into bin/tools.
package tools
