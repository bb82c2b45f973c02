// Package remotewrite reads points from the remote write 1.0 of Prometheus, and remembers what
// its label sets were resolved to.
//
// A body that is not a WriteRequest is Malformed, one of version 2 UnsupportedMedia, more points
// than the limit are Invalid. Anything else is rejected by sample:
//
//	value: NaN, infinite                        time: before 1970, over a day ahead
//	a native histogram                          labels: twice, more than 64, not UTF-8
//	metric, label and value as in all formats   source: job/instance cannot name one
//
// A request without samples is accepted: Prometheus sends metadata and stale markers alone.
package remotewrite
