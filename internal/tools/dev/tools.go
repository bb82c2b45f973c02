//go:build tools

// Package dev has a go.mod of its own for air, which `make dev` rebuilds and restarts the
// server with when its sources change.
package dev
