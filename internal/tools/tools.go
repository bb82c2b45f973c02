//go:build tools

// Package tools has a go.mod of its own for what builds and checks Livegraph
// but is no part of it: buf, protoc-gen-go, golangci-lint, licences.
// The Makefile builds them into bin/tools.
package tools
