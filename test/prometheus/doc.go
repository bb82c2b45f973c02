// Package prometheus runs a real Prometheus, built from its module, that scrapes
// Livegraph and sends what it has scraped to it by remote write, as
// docs/formats.md tells a user to set it up. It is its own module, so that
// Prometheus is no dependency of Livegraph.
package prometheus
