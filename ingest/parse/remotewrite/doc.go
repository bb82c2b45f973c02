// Package remotewrite parses points in the remote write formats 1.0 and 2.0 of Prometheus and caches
// the series of their label sets, which both versions share.
//
// A body that is not a message of its version is Malformed. A body of the other version is
// UnsupportedMedia. More points than the limit are Invalid. For all other errors, single samples are
// rejected:
//
//	a native histogram that is not valid        time: before 1970, over a day ahead
//	                                            labels: twice, more than 64, not UTF-8
//	metric, label and value as in all formats   source: job/instance cannot name one
//
// A request without samples is accepted, because Prometheus sends requests with only metadata or exemplars. Exemplars
// whose labels are too long or not valid, and those without a time or over a day ahead, are dropped, as by Prometheus.
package remotewrite
