// Package checkpoint encodes which records of the log a request became, as the signed token
// that clients hand to a query to read what they wrote.
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

// Checkpoint says which records of the log an ingest request became. A query
// that carries it waits until all of them are visible.
type Checkpoint struct {
	Workspace uuid.UUID
	Topic     [16]byte // the id of topic points: offsets mean nothing in another one
	Positions []pointblock.Position
}

// Versions of the token. The first has the highest offset of each partition alone.
const (
	version1       = 1
	currentVersion = 2
)

// Encode returns the checkpoint's token: a version, workspace, topic id,
// then for each partition its number, how many records are there, and their offsets,
// each as what it is more than the one before, all as varints.
func Encode(s *token.Sealer, c Checkpoint) string {
	payload := []byte{currentVersion}
	payload = append(payload, c.Workspace[:]...)
	payload = append(payload, c.Topic[:]...)
	for rest := sortedPositions(c.Positions); len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Partition == rest[0].Partition {
			n++
		}
		payload = binary.AppendUvarint(payload, uint64(rest[0].Partition))
		payload = binary.AppendUvarint(payload, uint64(n))
		before := int64(0)
		for _, p := range rest[:n] {
			payload = binary.AppendUvarint(payload, uint64(p.Offset-before))
			before = p.Offset
		}
		rest = rest[n:]
	}
	return s.Seal(token.ForCheckpoint, payload)
}

// sortedPositions returns each position once, by partition and offset.
func sortedPositions(positions []pointblock.Position) []pointblock.Position {
	list := slices.Clone(positions)
	slices.SortFunc(list, func(a, b pointblock.Position) int {
		return cmp.Or(cmp.Compare(a.Partition, b.Partition), cmp.Compare(a.Offset, b.Offset))
	})
	return slices.Compact(list)
}

// Decode reads a token. One that is not ours, or of another workspace,
// is Malformed; the two look alike.
func Decode(s *token.Sealer, text string, workspace uuid.UUID) (Checkpoint, error) {
	bad := fault.Field(fault.Malformed, "checkpoint", "is not a checkpoint of this workspace")
	payload, ok := s.Open(token.ForCheckpoint, text)
	const head = 1 + 16 + 16
	if !ok || len(payload) < head || payload[0] != currentVersion && payload[0] != version1 {
		return Checkpoint{}, bad
	}
	c := Checkpoint{Workspace: uuid.UUID(payload[1:17]), Topic: [16]byte(payload[17:33])}
	if c.Workspace != workspace {
		return Checkpoint{}, bad
	}
	r := varints{rest: payload[head:]}
	for len(r.rest) > 0 && !r.failed {
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

// varints reads one after the other.
type varints struct {
	rest   []byte
	failed bool
}

func (r *varints) next() uint64 {
	value, n := binary.Uvarint(r.rest)
	if n <= 0 {
		r.failed = true
		return 0
	}
	r.rest = r.rest[n:]
	return value
}
