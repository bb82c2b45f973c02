package pointblock

import (
	"fmt"

	"github.com/google/uuid"
)

// WorkspaceOf returns the workspace of a record without decoding other fields. Readers that need only
// some workspaces use it to skip the records of others.
func WorkspaceOf(value []byte) (uuid.UUID, error) {
	var workspace []byte
	for b := value; len(b) > 0; {
		tag, payload, _, rest, err := nextField(b)
		if err != nil {
			return uuid.Nil, fmt.Errorf("pointblock: %w", err)
		}
		b = rest
		if tag == recordWorkspace {
			workspace = payload // as for any repeated scalar field, the last one is valid
		}
	}
	if len(workspace) != uuidBytes {
		return uuid.Nil, fmt.Errorf("pointblock: %w", errIDLength("workspace id", workspace))
	}
	return uuid.UUID(workspace), nil
}

// Select decodes a record like Decode, but only the series for which match returns true. match is called
// with the identity of each series. The points of other series are not decoded or validated. The
// content of the Record is validated as by Decode.
func Select(value []byte, into *Record, match func(*Span) bool) error {
	workspace, err := WorkspaceOf(value)
	if err != nil {
		return err
	}
	into.begin(value)
	into.Workspace = workspace
	for b, series := value, 0; len(b) > 0; {
		tag, payload, bits, rest, err := nextField(b)
		if err != nil {
			return fmt.Errorf("pointblock: %w", err)
		}
		b = rest
		switch tag {
		case recordReceivedAt:
			into.ReceivedAtUS = int64(bits)
		case recordSeries:
			if err := into.selectSpan(payload, len(value)-len(b)-len(payload), match); err != nil {
				return fmt.Errorf("pointblock: series[%d]: %w", series, err)
			}
			series++
		case recordDeletion:
			d, err := decodeDeletion(payload)
			if err != nil {
				return fmt.Errorf("pointblock: deletions[%d]: %w", len(into.Deletions), err)
			}
			into.Deletions = append(into.Deletions, d)
		}
	}
	if _, duplicate := into.seen.findDuplicate(into.Spans); duplicate {
		return fmt.Errorf("pointblock: a series is in the record twice")
	}
	return nil
}

// selectSpan decodes the series at an offset of the value and adds it if it matches.
func (r *Record) selectSpan(message []byte, offset int, match func(*Span) bool) error {
	r.Spans = append(r.Spans, Span{})
	span := &r.Spans[len(r.Spans)-1]
	if err := span.read(r.content, message, offset); err != nil {
		return err
	}
	if !match(span) {
		r.Spans = r.Spans[:len(r.Spans)-1]
		return nil
	}
	return span.checkPoints()
}
