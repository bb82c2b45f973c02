// Package checkpoint encodes the log positions of a request's records as a signed token. A
// client passes the token to a query to read its own writes.
package checkpoint

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// Checkpoint contains the log positions of the records of an ingest request. A query with a
// checkpoint waits until all of them are visible.
type Checkpoint struct {
	Workspace uuid.UUID
	Topic     [16]byte // the id of topic points: offsets are only valid in this topic
	Positions []pointblock.Position
}

// Versions of the token. Version 1 contains only the highest offset of each partition.
const (
	version1       = 1
	currentVersion = 2
)

// Encode returns the token of a checkpoint: the version, workspace and topic id, then for each
// partition its number, the number of its records, and their delta-encoded offsets, all as
// varints.
func Encode(s *token.Sealer, c Checkpoint) string {
	payload := []byte{currentVersion}
	payload = append(payload, c.Workspace[:]...)
	payload = append(payload, c.Topic[:]...)
	for remaining := sortedPositions(c.Positions); len(remaining) > 0; {
		n := 1
		for n < len(remaining) && remaining[n].Partition == remaining[0].Partition {
			n++
		}
		payload = binary.AppendUvarint(payload, uint64(remaining[0].Partition))
		payload = binary.AppendUvarint(payload, uint64(n))
		previous := int64(0)
		for _, p := range remaining[:n] {
			payload = binary.AppendUvarint(payload, uint64(p.Offset-previous))
			previous = p.Offset
		}
		remaining = remaining[n:]
	}
	return s.Seal(token.ForCheckpoint, payload)
}

// sortedPositions returns the distinct positions, sorted by partition and offset.
func sortedPositions(positions []pointblock.Position) []pointblock.Position {
	list := slices.Clone(positions)
	slices.SortFunc(list, func(a, b pointblock.Position) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return slices.Compact(list)
}

// Decode decodes a token. It returns the same Malformed error for an invalid token and for a
// token of another workspace.
func Decode(s *token.Sealer, text string, workspace uuid.UUID) (Checkpoint, error) {
	bad := fault.Field(fault.Malformed, "checkpoint", "is not a checkpoint of this workspace")
	payload, ok := s.Open(token.ForCheckpoint, text)
	const headBytes = 1 + 16 + 16
	if !ok || len(payload) < headBytes || payload[0] != currentVersion && payload[0] != version1 {
		return Checkpoint{}, bad
	}
	c := Checkpoint{Workspace: uuid.UUID(payload[1:17]), Topic: [16]byte(payload[17:33])}
	if c.Workspace != workspace {
		return Checkpoint{}, bad
	}
	r := varintReader{remaining: payload[headBytes:]}
	for len(r.remaining) > 0 && !r.failed {
		partition, n := r.next(), uint64(1)
		if payload[0] != version1 {
			n = r.next()
		}
		offset := int64(0)
		for ; n > 0 && !r.failed; n-- {
			offset += int64(r.next())
			c.Positions = append(c.Positions, pointblock.Position{Partition: int32(partition), Offset: offset})
		}
	}
	if r.failed {
		return Checkpoint{}, bad
	}
	return c, nil
}

// varintReader reads consecutive varints.
type varintReader struct {
	remaining []byte
	failed    bool
}

func (r *varintReader) next() uint64 {
	value, n := binary.Uvarint(r.remaining)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.remaining = r.remaining[n:]
	return value
}
