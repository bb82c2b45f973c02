package remotewrite

import (
	"encoding/binary"
	"math"

	"github.com/livegraph/livegraph/ingest/block"
	"github.com/livegraph/livegraph/ingest/parse/protobuf"
	"github.com/livegraph/livegraph/ingest/parse/scan"
	"github.com/livegraph/livegraph/internal/exemplar"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// The protobuf tags of the fields of Exemplar. The labels are those of a TimeSeries of the version.
const (
	seriesExemplar    = 3<<3 | protobuf.Bytes // of TimeSeries
	seriesExemplarV2  = 4<<3 | protobuf.Bytes
	exemplarLabel     = 1<<3 | protobuf.Bytes
	exemplarRefs      = 1<<3 | protobuf.Bytes // packed
	exemplarRef       = 1<<3 | protobuf.Varint
	exemplarValue     = 2<<3 | protobuf.Fixed64
	exemplarTimestamp = 3<<3 | protobuf.Varint
)

// exemplars parses the exemplars in the TimeSeries b and adds them to the batch. tag is that of an exemplar in the
// version, and from the index of the first one. It returns false if the request is refused.
func (p *Parser) exemplars(b []byte, from int, tag byte, label int32) bool {
	for i := from; i < len(b); {
		if b[i] != tag {
			i = protobuf.SkipField(b, i) // has been validated
			continue
		}
		start, end := protobuf.BytesField(b, i+1)
		if !p.exemplar(b[start:end], tag == seriesExemplarV2, label) {
			return false
		}
		i = end
	}
	return true
}

// exemplar parses an Exemplar and adds it to the batch. One without a time is dropped.
func (p *Parser) exemplar(message []byte, version2 bool, label int32) bool {
	e := &p.batch.Exemplars
	if e.Full() {
		p.err = fault.Field(fault.Invalid, "body", block.TooManyExemplars()).With("limit", block.MaxExemplars)
		return false
	}
	labels, value, ms := e.Labels(), 0.0, int64(0)
	p.exemplarRefs = p.exemplarRefs[:0]
	for i := 0; i < len(message); {
		f, next := protobuf.Next(message, i)
		if i = next; i == scan.Failed {
			return false
		}
		switch {
		case f.Tag == exemplarValue:
			value = math.Float64frombits(f.Value)
		case f.Tag == exemplarTimestamp:
			ms = int64(f.Value)
		case version2:
			if !p.readExemplarRefs(&f) {
				return false
			}
		case f.Tag == exemplarLabel:
			name, text, ok := readLabel(f.Bytes, 0)
			if !ok {
				return false
			}
			labels = append(labels, exemplar.Label{Name: name, Value: text})
		}
	}
	if len(p.exemplarRefs)%2 != 0 {
		p.failRefs("exemplars.labels_refs")
		return false
	}
	for i := 0; i < len(p.exemplarRefs); i += 2 {
		name, text := p.text(p.exemplarRefs[i]), p.text(p.exemplarRefs[i+1])
		labels = append(labels, exemplar.Label{Name: scan.View(name), Value: scan.View(text)})
	}
	us := int64(-1)
	if ms > 0 && ms <= p.batch.LatestUS/1000 {
		us = ms * 1000
	}
	p.batch.AddExemplar(label, us, value, labels)
	return true
}

// readExemplarRefs adds the references in a field of an Exemplar of version 2.
func (p *Parser) readExemplarRefs(f *protobuf.Field) bool {
	refs := f.Bytes
	switch f.Tag {
	case exemplarRef:
		refs = binary.AppendUvarint(nil, f.Value)
	case exemplarRefs:
	default:
		return true
	}
	for i := 0; i < len(refs); {
		ref, end := protobuf.Uvarint(refs, i)
		if end == scan.Failed {
			return false
		}
		if ref >= uint64(len(p.symbols)) {
			p.failRefs("exemplars.labels_refs")
			return false
		}
		p.exemplarRefs = append(p.exemplarRefs, uint32(ref))
		i = end
	}
	return true
}
