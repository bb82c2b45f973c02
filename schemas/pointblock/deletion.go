package pointblock

import (
	"errors"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// EncodeDeletions returns the value of a record of deletions. All deletions must be of one source and
// fit into one record, which is written to the source's partition (see Partition) with the source as
// key. The deletion of a whole workspace is written to every partition with the workspace as key.
func EncodeDeletions(workspace uuid.UUID, receivedAtUS int64, deletions []Deletion) []byte {
	dst := appendHeader(nil, workspace, receivedAtUS)
	var inner []byte
	for i := range deletions {
		d := &deletions[i]
		if d.WholeWorkspace {
			dst = appendField(dst, recordDeletion, []byte{deletionWholeWorkspace, 1})
			continue
		}
		inner = appendField(inner[:0], deletionSource, d.Source[:])
		if d.HasMetric {
			inner = appendString(append(inner, deletionMetric), d.Metric)
		}
		if d.HasFrom {
			inner = protowire.AppendVarint(append(inner, deletionFrom), uint64(d.FromUS))
		}
		if d.HasTo {
			inner = protowire.AppendVarint(append(inner, deletionTo), uint64(d.ToUS))
		}
		if d.WholeSource {
			inner = append(inner, deletionWholeSource, 1)
		}
		dst = appendField(dst, recordDeletion, inner)
	}
	return dst
}

// decodeDeletion decodes and validates one deletion.
func decodeDeletion(b []byte) (Deletion, error) {
	var d Deletion
	var source []byte
	for len(b) > 0 {
		tag, payload, bits, rest, err := nextField(b)
		if err != nil {
			return d, err
		}
		b = rest
		switch tag {
		case deletionSource:
			source = payload
		case deletionMetric:
			if d.Metric, d.HasMetric = string(payload), true; !utf8.Valid(payload) {
				return d, errors.New("metric is not UTF-8")
			}
		case deletionFrom:
			d.FromUS, d.HasFrom = int64(bits), true
		case deletionTo:
			d.ToUS, d.HasTo = int64(bits), true
		case deletionWholeSource:
			d.WholeSource = bits != 0
		case deletionWholeWorkspace:
			d.WholeWorkspace = bits != 0
		}
	}
	switch {
	case d.WholeWorkspace:
		if len(source) > 0 || d.WholeSource || d.HasMetric || d.HasFrom || d.HasTo {
			return d, errors.New("the deletion of a whole workspace must not have bounds")
		}
		return d, nil
	case len(source) != uuidBytes:
		return d, errIDLength("source id", source)
	case d.WholeSource && (d.HasMetric || d.HasFrom || d.HasTo):
		return d, errors.New("the deletion of a whole source must not have bounds")
	case d.HasFrom && d.HasTo && d.FromUS > d.ToUS:
		return d, errors.New("the end is before the start")
	}
	d.Source = uuid.UUID(source)
	return d, nil
}
