package ingest

import (
	"slices"

	"github.com/livegraph/livegraph/ingest/parse/lineprotocol"
	"github.com/livegraph/livegraph/ingest/parse/remotewrite"
)

// Format is how a request's body writes its points.
type Format uint8

// The formats.
const (
	JSON        Format = iota // rows or series in one object
	NDJSON                    // a row or a series a line
	Lines                     // the line protocol of InfluxDB
	RemoteWrite               // the remote write of Prometheus, 1.0
)

var formatNames = [...]string{JSON: "json", NDJSON: "ndjson", Lines: "lines", RemoteWrite: "remote_write"}

// String names the format.
func (f Format) String() string {
	if int(f) >= len(formatNames) {
		return "unknown"
	}
	return formatNames[f]
}

// createsSources reports the formats whose clients know nothing of sources: in
// these a name that no source has is that of a new one.
func (f Format) createsSources() bool { return f == Lines || f == RemoteWrite }

// LinePrecisions lists the units in which timestamps of Lines may be, as clients
// of InfluxDB name them.
func LinePrecisions() []string { return lineprotocol.Precisions() }

// RemoteWriteTypes lists the media types of RemoteWrite.
func RemoteWriteTypes() []string { return slices.Clone(remotewrite.MediaTypes) }
