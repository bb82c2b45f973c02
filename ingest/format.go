package ingest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/livegraph/livegraph/internal/platform/fault"
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

// parse reads the batch's body. The error is one of the whole request; what is
// wrong with single points is in the batch's tally.
func (b *batch) parse(maxPoints int) error {
	switch b.format {
	case JSON:
		return b.parseJSON(maxPoints)
	case NDJSON:
		return b.parseNDJSON(maxPoints)
	case RemoteWrite:
		return b.parseRemoteWrite(maxPoints)
	case Lines:
		return b.parseLines(maxPoints)
	default:
		return fault.Wrap(fmt.Errorf("points in the format %s", b.format), fault.Internal, "")
	}
}

// listName names what holds the points, for an error about all of them.
func (b *batch) listName() string {
	if b.format == JSON {
		return fieldNames[b.list]
	}
	return "body"
}

// rejections tells of the points that were rejected, in formats that have lines
// by these. The tally's indexes are then where a line begins in the body, and
// counted only here, or the number of those before it.
func (b *batch) rejections() []Rejection {
	list := b.rejected.list()
	if b.format != Lines && b.format != NDJSON {
		return list
	}
	for i := range list {
		line := 1 + list[i].Index
		if b.format == Lines {
			line = 1 + bytes.Count(b.body[:list[i].Index], []byte{'\n'})
		}
		list[i].Index, list[i].Line = line-1, &line
	}
	return list
}

// linePrecisions are the units in which timestamps of Lines may be.
var linePrecisions = []string{"n", "ns", "u", "us", "µs", "ms", "s", "m", "h"}

// LinePrecisions lists the units in which timestamps of Lines may be, as clients
// of InfluxDB name them.
func LinePrecisions() []string { return slices.Clone(linePrecisions) }
