// Package metricmetadata has what clients send of metrics beside their points.
package metricmetadata

import "github.com/google/uuid"

// Metadata is what is known of a metric.
type Metadata struct {
	Metric string
	Type   string // one of Types
	Help   string
	Unit   string // empty: unknown
}

// OfWorkspace is the metadata of a workspace's metric.
type OfWorkspace struct {
	Workspace uuid.UUID
	Metadata
}

// Types are the types of metrics of Prometheus, at the numbers that they have in remote write.
var Types = [...]string{
	"unknown", "counter", "gauge", "histogram", "gaugehistogram", "summary", "info", "stateset",
}

// TypeOf returns the type with a number, "unknown" if there is none.
func TypeOf(number uint64) string {
	if number >= uint64(len(Types)) {
		number = 0
	}
	return Types[number]
}
