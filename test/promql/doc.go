// Package promql tests the files for Prometheus and Grafana in deploy/ with Prometheus's own parser
// and engine: every expression reads only metrics and labels that docs/metrics.md lists
// (test/monitoring compares that page with a running server), and every alert fires for its fault and
// only then.
//
// It also compares the API of Prometheus that Livegraph has with Prometheus itself: with its engine over its
// database, and with its client of remote read; and it runs the examples of docs/promql.md. The queries are random
// ones, systematic ones with all functions and operators, those of Prometheus' own tests, and, if the file is given,
// those of its compliance suite.
//
// It is a separate module, so that the database and the clients of Prometheus are not dependencies of
// Livegraph.
package promql
