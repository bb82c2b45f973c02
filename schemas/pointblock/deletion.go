package pointblock

import (
	"errors"
	"unicode/utf8"

	"github.com/google/uuid"
	"google.golang.org/protobuf/encoding/protowire"
)

// EncodeDeletions returns the value of a record of deletions. It belongs to the
// partition of their source (see Partition), with the source as key; so they are
// deletions of one source, and few enough for a record. That of a whole workspace
// belongs to every partition, with the workspace as key.
func EncodeDeletions(workspace uuid.UUID, receivedAtUS int64, deletions []Deletion) []byte {
	dst := appendHead(nil, workspace, receivedAtUS)
	var inner []byte
	for i := range deletions {
		d := &deletions[i]
		if d.WholeWorkspace {
			dst = appendField(dst, recordDeletion, []byte{deletionTenant, 1})
			continue
		}
		inner = appendField(inner[:0], deletionSource, d.Source[:])
		if d.HasMetric {
			inner = appendText(append(inner, deletionMetric), d.Metric)
		}
		if d.HasFrom {
			inner = protowire.AppendVarint(append(inner, deletionFrom), uint64(d.FromUS))
		}
		if d.HasTo {
			inner = protowire.AppendVarint(append(inner, deletionTo), uint64(d.ToUS))
		}
		if d.WholeSource {
			inner = append(inner, deletionWhole, 1)
		}
		dst = appendField(dst, recordDeletion, inner)
	}
	return dst
}

// decodeDeletion reads and checks one deletion.
func decodeDeletion(b []byte) (Deletion, error) {
	var d Deletion
	var source []byte
	for len(b) > 0 {
		tag, payload, bits, rest, err := next(b)
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
		case deletionWhole:
			d.WholeSource = bits != 0
		case deletionTenant:
			d.WholeWorkspace = bits != 0
		}
	}
	switch {
	case d.WholeWorkspace:
		if len(source) > 0 || d.WholeSource || d.HasMetric || d.HasFrom || d.HasTo {
			return d, errors.New("a whole workspace is deleted, and yet there are bounds")
		}
		return d, nil
	case len(source) != uuidBytes:
		return d, errIDLength("source id", source)
	case d.WholeSource && (d.HasMetric || d.HasFrom || d.HasTo):
		return d, errors.New("a whole source is deleted, and yet there are bounds")
	case d.HasFrom && d.HasTo && d.FromUS > d.ToUS:
		return d, errors.New("the end is before the beginning")
	}
	d.Source = uuid.UUID(source)
	return d, nil
}
