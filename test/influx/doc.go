// Package influx writes to a running Livegraph with common InfluxDB clients: the Go client, both
// Python clients, and Telegraf with the output in docs/formats.md. It is a separate module, so that
// their dependencies are not dependencies of Livegraph.
package influx
