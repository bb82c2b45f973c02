// Package influx writes to a running Livegraph with the clients that people have for
// InfluxDB: its Go client, its two Python clients, and Telegraf with the output of
// docs/formats.md. A module of its own keeps them and what they need out of
// Livegraph's.
package influx
