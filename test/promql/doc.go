// Package promql tests the files for Prometheus and Grafana in deploy/ with Prometheus's own parser
// and engine: every expression reads only metrics and labels that docs/metrics.md lists
// (test/monitoring compares that page with a running server), and every alert fires for its fault and
// only then.
//
// It is a separate module, so that Prometheus is not a dependency of Livegraph.
package promql
