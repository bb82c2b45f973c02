// Package promql tests what deploy/ holds for Prometheus and Grafana with
// Prometheus' own parser and engine: every expression reads only metrics and
// labels that docs/metrics.md has (which test/monitoring holds against a running
// server), every alert fires when it should and only then.
//
// It is its own module, so that Prometheus does not become a dependency of
// Livegraph.
package promql
