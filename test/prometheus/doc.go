// Package prometheus runs a Prometheus, built from its module, that scrapes Livegraph and sends the
// samples to it by remote write, as docs/formats.md describes, and the tests of the Prometheus project for
// receivers. It is a separate module, so that Prometheus is not a dependency of Livegraph.
package prometheus
