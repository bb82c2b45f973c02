package remotewrite

import (
	"strings"

	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/metricmetadata"
)

// The protobuf tags of the fields of MetricMetadata in version 1, and of Metadata in version 2, where texts are
// symbols.
const (
	metadataType    = 1<<3 | protobuf.Varint // of both versions
	metadataMetric  = 2<<3 | protobuf.Bytes
	metadataHelp    = 4<<3 | protobuf.Bytes
	metadataUnit    = 5<<3 | protobuf.Bytes
	metadataHelpRef = 3<<3 | protobuf.Varint
	metadataUnitRef = 4<<3 | protobuf.Varint
)

// readMetadata adds a MetricMetadata to the batch.
func (p *Parser) readMetadata(b []byte) {
	m, ok := parseMetadata(b, func(m *metricmetadata.Metadata, f *protobuf.Field) {
		switch f.Tag {
		case metadataMetric:
			m.Metric = scan.View(f.Bytes)
		case metadataHelp:
			m.Help = scan.View(f.Bytes)
		case metadataUnit:
			m.Unit = scan.View(f.Bytes)
		}
	})
	if ok {
		p.batch.AddMetadata(&m)
	}
}

// readMetadataV2 adds the Metadata of the current TimeSeries to the batch.
func (p *Parser) readMetadataV2(b []byte) {
	if len(b) == 0 {
		return
	}
	m, ok := parseMetadata(b, func(m *metricmetadata.Metadata, f *protobuf.Field) {
		switch f.Tag {
		case metadataHelpRef:
			m.Help = p.symbolAt(f.Value)
		case metadataUnitRef:
			m.Unit = p.symbolAt(f.Value)
		}
	})
	if !ok {
		return
	}
	for i := 0; i < len(p.refs); i += 2 {
		if string(p.text(p.refs[i])) == metricName {
			m.Metric = familyOf(scan.View(p.text(p.refs[i+1])), m.Type)
		}
	}
	p.batch.AddMetadata(&m)
}

// parseMetadata returns the metadata in a message of either version. set sets the field that differs. ok is false
// if the message is not valid: it is ignored, because metadata never is a reason to refuse samples.
func parseMetadata(
	b []byte, set func(m *metricmetadata.Metadata, f *protobuf.Field),
) (m metricmetadata.Metadata, ok bool) {
	m.Type = metricmetadata.TypeOf(0)
	for i := 0; i < len(b); {
		f, next := protobuf.Next(b, i)
		if next == scan.Failed {
			return m, false
		}
		if f.Tag == metadataType {
			m.Type = metricmetadata.TypeOf(f.Value)
		} else {
			set(&m, &f)
		}
		i = next
	}
	return m, true
}

// symbolAt returns a symbol, empty if there is none.
func (p *Parser) symbolAt(ref uint64) string {
	if ref >= uint64(len(p.symbols)) {
		return ""
	}
	return scan.View(p.text(uint32(ref)))
}

// familyOf returns the name by which Prometheus describes a series: that of a histogram or summary without the
// suffix of the series.
func familyOf(metric, kind string) string {
	switch kind {
	case "histogram", "gaugehistogram", "summary":
		for _, suffix := range []string{"_bucket", "_count", "_sum", "_gcount", "_gsum"} {
			if family, ok := strings.CutSuffix(metric, suffix); ok {
				return family
			}
		}
	}
	return metric
}
