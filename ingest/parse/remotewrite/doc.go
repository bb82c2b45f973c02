// Package remotewrite parses points in the remote write 1.0 format of Prometheus and caches the
// series of its label sets.
//
// A body that is not a WriteRequest is Malformed. A body of version 2 is UnsupportedMedia. More
// points than the limit are Invalid. For all other errors, single samples are rejected:
//
//	a native histogram                          time: before 1970, over a day ahead
//	                                            labels: twice, more than 64, not UTF-8
//	metric, label and value as in all formats   source: job/instance cannot name one
//
// A request without samples is accepted, because Prometheus sends requests with only metadata.
package remotewrite
