package pointblock

import (
	"fmt"

	"github.com/google/uuid"
)

// WorkspaceOf returns the workspace of a record, and looks at nothing else in it: who
// reads a topic for some workspaces passes over the records of the others with it.
func WorkspaceOf(value []byte) (uuid.UUID, error) {
	var workspace []byte
	for b := value; len(b) > 0; {
		tag, payload, _, rest, err := next(b)
		if err != nil {
			return uuid.Nil, fmt.Errorf("pointblock: %w", err)
		}
		b = rest
		if tag == recordWorkspace {
			workspace = payload // as with any field that is there again, the last one counts
		}
	}
	if len(workspace) != uuidBytes {
		return uuid.Nil, fmt.Errorf("pointblock: %w", errIDLength("workspace id", workspace))
	}
	return uuid.UUID(workspace), nil
}

// Select is Decode for a reader that wants some of the series. Each is shown to
// wants with its identity alone; those that it does not want are not in the Record,
// and nobody looks at their points. What is in the Record is checked as by Decode.
func Select(value []byte, into *Record, wants func(*Span) bool) error {
	workspace, err := WorkspaceOf(value)
	if err != nil {
		return err
	}
	into.Workspace, into.ReceivedAtUS = workspace, 0
	into.Spans, into.Deletions = into.Spans[:0], into.Deletions[:0]
	for b, series := value, 0; len(b) > 0; {
		tag, payload, bits, rest, err := next(b)
		if err != nil {
			return fmt.Errorf("pointblock: %w", err)
		}
		b = rest
		switch tag {
		case recordReceivedAt:
			into.ReceivedAtUS = int64(bits)
		case recordSeries:
			if err := into.selectSpan(payload, wants); err != nil {
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
	if _, twice := into.seen.repeated(into.Spans); twice {
		return fmt.Errorf("pointblock: a series is in the record twice")
	}
	return nil
}

// selectSpan adds a series if it is wanted.
func (r *Record) selectSpan(b []byte, wants func(*Span) bool) error {
	r.Spans = append(r.Spans, Span{})
	span := &r.Spans[len(r.Spans)-1]
	if err := readSpan(b, span); err != nil {
		return err
	}
	if !wants(span) {
		*span = Span{} // it must not keep the record's bytes
		r.Spans = r.Spans[:len(r.Spans)-1]
		return nil
	}
	return span.checkPoints()
}
