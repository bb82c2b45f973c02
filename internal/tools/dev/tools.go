//go:build tools

// Package dev has a separate go.mod for air, with which `make dev` rebuilds and restarts the
// server when its sources change.
package dev
