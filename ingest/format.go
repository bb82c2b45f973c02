package ingest

import (
	"slices"

	"github.com/livegraph/livegraph/ingest/parse/lineprotocol"
	"github.com/livegraph/livegraph/ingest/parse/remotewrite"
)

// Format is the wire format of a request's body.
type Format uint8

// The formats.
const (
	JSON        Format = iota // rows or series in one object
	NDJSON                    // one row or series per line
	Lines                     // InfluxDB line protocol
	RemoteWrite               // Prometheus remote write 1.0
	OTLP                      // metrics of OpenTelemetry in protobuf
	OTLPJSON                  // the same in JSON
)

var formatNames = [...]string{
	JSON: "json", NDJSON: "ndjson", Lines: "lines", RemoteWrite: "remote_write", OTLP: "otlp", OTLPJSON: "otlp_json",
}

// String returns the name of the format.
func (f Format) String() string {
	if int(f) >= len(formatNames) {
		return "unknown"
	}
	return formatNames[f]
}

// createsSources reports whether an unknown source name in this format creates a source. That is so in formats whose
// clients cannot create sources themselves.
func (f Format) createsSources() bool {
	return f == Lines || f == RemoteWrite || f == OTLP || f == OTLPJSON
}

// mayBeEmpty reports whether a request without points is accepted. Prometheus also sends requests with only metadata or
// stale markers, and OpenTelemetry's protocol requires it.
func (f Format) mayBeEmpty() bool { return f == RemoteWrite || f == OTLP || f == OTLPJSON }

// LinePrecisions returns the timestamp precisions of Lines, as clients of InfluxDB name them.
func LinePrecisions() []string { return lineprotocol.Precisions() }

// RemoteWriteTypes returns the media types of RemoteWrite.
func RemoteWriteTypes() []string { return slices.Clone(remotewrite.MediaTypes) }
