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
	JSON         Format = iota // rows or series in one object
	NDJSON                     // one row or series per line
	Lines                      // InfluxDB line protocol
	RemoteWrite                // Prometheus remote write 1.0
	RemoteWrite2               // Prometheus remote write 2.0
	OTLP                       // metrics of OpenTelemetry in protobuf
	OTLPJSON                   // the same in JSON
)

var formatNames = [...]string{
	JSON: "json", NDJSON: "ndjson", Lines: "lines", RemoteWrite: "remote_write", RemoteWrite2: "remote_write_2",
	OTLP: "otlp", OTLPJSON: "otlp_json",
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
	return f == Lines || f.IsRemoteWrite() || f == OTLP || f == OTLPJSON
}

// mayBeEmpty reports whether a request without points is accepted. Prometheus also sends requests with only metadata or
// stale markers, and OpenTelemetry's protocol requires it.
func (f Format) mayBeEmpty() bool {
	return f.IsRemoteWrite() || f == OTLP || f == OTLPJSON
}

// IsRemoteWrite reports whether f is a version of Prometheus' remote write.
func (f Format) IsRemoteWrite() bool { return f == RemoteWrite || f == RemoteWrite2 }

// LinePrecisions returns the timestamp precisions of Lines, as clients of InfluxDB name them.
func LinePrecisions() []string { return lineprotocol.Precisions() }

// RemoteWriteFormat returns the format of a message of Prometheus' remote write, such as
// "prometheus.WriteRequest"; empty: 1.0. It returns false if there is no such message.
func RemoteWriteFormat(message string) (Format, bool) {
	switch message {
	case "", remotewrite.Message1:
		return RemoteWrite, true
	case remotewrite.Message2:
		return RemoteWrite2, true
	}
	return 0, false
}

// RemoteWriteTypes returns the media types of RemoteWrite and RemoteWrite2.
func RemoteWriteTypes() []string { return slices.Clone(remotewrite.MediaTypes) }
