// Package otel sends metrics of the SDKs of OpenTelemetry in Go and Python, and of its collector, to Livegraph, as
// docs/opentelemetry.md describes, and reads them back. It is a separate module, so that the collector is not a
// dependency of Livegraph.
package otel
