package remotewrite

import (
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/fieldpath"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// The protobuf tags of the fields that the parser reads of io.prometheus.write.v2.Request, the message of
// Prometheus' remote write 2.0 (https://prometheus.io/docs/specs/prw/remote_write_spec_2_0/). Its samples
// are those of 1.0.
const (
	seriesLabelRefs   = 1<<3 | protobuf.Bytes // packed, as senders write them
	seriesLabelRef    = 1<<3 | protobuf.Varint
	seriesHistogramV2 = 3<<3 | protobuf.Bytes
	seriesMetadata    = 5<<3 | protobuf.Bytes
)

// Limits of a request. A request can refer to a long symbol many times, and an empty symbol has two bytes.
const (
	// maxLabelBytes is the maximum size of the labels of all TimeSeries in version 1.
	maxLabelBytes = 16 << 20
	maxSymbols    = 1_000_000
)

// symbol is a string of the symbol table: its first byte in the body and the byte after its last.
type symbol struct{ from, end int32 }

// ParseVersion2 is Parse for remote write 2.0. A TimeSeries that refers to a symbol that does not exist is
// Malformed. Too many symbols, or too long labels, are Invalid.
func (p *Parser) ParseVersion2(b *block.Batch, maxPoints int) error {
	p.begin(b, maxPoints, "a Request of Prometheus' remote write 2.0")
	if err := p.readSymbols(); err != nil {
		return err
	}
	for i := 0; i < len(p.b); { // readSymbols found that it is a message
		next := protobuf.SkipField(p.b, i)
		if p.b[i] == requestTimeSeriesV2 {
			from, _ := protobuf.BytesField(p.b, i+1)
			if !p.timeSeriesV2(from, next) {
				return p.parseError()
			}
			p.index++
		}
		i = next
	}
	return nil
}

// readSymbols reads the symbol table, which protobuf allows after the TimeSeries that refer to it.
func (p *Parser) readSymbols() error {
	for i := 0; i < len(p.b); {
		tag := p.b[i]
		if tag == requestSymbols {
			from, end := protobuf.BytesField(p.b, i+1)
			if end == scan.Failed {
				return p.parseError()
			}
			if len(p.symbols) == maxSymbols {
				return fault.Field(fault.Invalid, "body", fmt.Sprintf("must hold at most %d symbols in one request", maxSymbols)).
					With("limit", maxSymbols)
			}
			p.symbols = append(p.symbols, symbol{int32(from), int32(end)})
			i = end
			continue
		}
		if i = protobuf.SkipField(p.b, i); i == scan.Failed {
			return p.parseError()
		}
		if tag == requestTimeSeries {
			return otherMessage("1.0", Message1)
		}
	}
	return nil
}

// timeSeriesV2 parses the TimeSeries of version 2 at b[i:end] and appends its samples directly to the
// batch's columns.
func (p *Parser) timeSeriesV2(i, end int) bool {
	from := p.beginSeries()
	var metadata []byte
	p.refs = p.refs[:0]
	body, exemplars := p.b[:end], end
	for i < end {
		var start int
		switch body[i] {
		case seriesSample, seriesHistogramV2:
			isHistogram := body[i] == seriesHistogramV2
			start, i = protobuf.BytesField(body, i+1)
			if i == scan.Failed || !p.point(body[:i], start, from, isHistogram) {
				return false
			}
			continue
		case seriesLabelRefs:
			start, i = protobuf.BytesField(body, i+1)
			if i == scan.Failed || !p.readRefs(body[:i], start) {
				return false
			}
			continue
		case seriesLabelRef:
			if i = p.readRef(body, i+1); i == scan.Failed {
				return false
			}
			continue
		case seriesMetadata:
			if start, i = protobuf.BytesField(body, i+1); i == scan.Failed {
				return false
			}
			metadata = body[start:i]
			continue
		case seriesExemplarV2:
			exemplars = min(exemplars, i)
		}
		if i = protobuf.SkipField(body, i); i == scan.Failed {
			return false
		}
	}
	if len(p.refs)%2 != 0 {
		p.failRefs("labels_refs")
		return false
	}
	p.readMetadataV2(metadata)
	if len(p.batch.Numbers.Times) == from && exemplars == end { // only metadata
		return true
	}
	raw, ok := p.writeLabels()
	if !ok {
		return false
	}
	index, ok := p.addSeries(from, raw)
	return ok && (exemplars == end || p.exemplars(body, exemplars, seriesExemplarV2, index))
}

// readRefs parses packed references to symbols.
func (p *Parser) readRefs(b []byte, i int) bool {
	for i < len(b) {
		if i = p.readRef(b, i); i == scan.Failed {
			return false
		}
	}
	return true
}

// readRef parses the reference to a symbol at b[i] and returns the index of its end, or scan.Failed.
func (p *Parser) readRef(b []byte, i int) int {
	ref, end := protobuf.Uvarint(b, i)
	if end == scan.Failed {
		return scan.Failed
	}
	if ref >= uint64(len(p.symbols)) {
		p.failRefs("labels_refs")
		return scan.Failed
	}
	p.refs = append(p.refs, uint32(ref))
	return end
}

func (p *Parser) failRefs(member string) {
	p.err = fault.Field(
		fault.Malformed, fieldpath.Index("timeseries", p.index)+"."+member, "must be pairs of indexes of symbols",
	)
}

// writeLabels returns the labels that p.refs refers to as Label messages of version 1, by which the cache
// knows the series of both versions.
func (p *Parser) writeLabels() (raw []byte, ok bool) {
	b := p.batch
	from := len(b.Unescaped)
	for i := 0; i < len(p.refs); i += 2 {
		name, value := p.text(p.refs[i]), p.text(p.refs[i+1])
		size := fieldSize(name) + fieldSize(value)
		if p.labelBytes += size; p.labelBytes > maxLabelBytes {
			p.err = fault.Field(fault.Invalid, "body", fmt.Sprintf(
				"must hold at most %d bytes of labels in one request, where each series has its own", maxLabelBytes,
			)).With("limit", maxLabelBytes)
			return nil, false
		}
		b.Unescaped = binary.AppendUvarint(append(b.Unescaped, seriesLabel), uint64(size))
		b.Unescaped = appendField(b.Unescaped, labelName, name)
		b.Unescaped = appendField(b.Unescaped, labelValue, value)
	}
	return b.Unescaped[from:len(b.Unescaped):len(b.Unescaped)], true
}

// text returns the bytes of a symbol.
func (p *Parser) text(ref uint32) []byte {
	s := p.symbols[ref]
	return p.b[s.from:s.end]
}

// fieldSize returns the size of a field that appendField appends.
func fieldSize(text []byte) int { return 1 + protowire.SizeBytes(len(text)) }

func appendField(b []byte, tag byte, text []byte) []byte {
	return protowire.AppendBytes(append(b, tag), text)
}

// emptied returns list without its elements, or nil if it is so large that few requests need it.
func emptied[T any](list []T) []T {
	const maxKept = 1 << 16
	if cap(list) > maxKept {
		return nil
	}
	return list[:0]
}
