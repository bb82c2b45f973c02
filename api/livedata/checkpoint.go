package livedata

import (
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
)

// checkpoint says which records of the log an ingest request became. A query
// that carries it waits until all of them are visible.
type checkpoint struct {
	workspace uuid.UUID
	topic     [16]byte // the id of topic points: offsets mean nothing in another one
	positions []pointblock.Position
}

const checkpointVersion = 1

// sealer makes and opens the tokens of this group.
type sealer struct{ token.Sealer }

// encodeCheckpoint gives the checkpoint's token: a version, workspace, topic id,
// then for each partition its number and the highest offset, as varints.
func (s *sealer) encodeCheckpoint(c checkpoint) string {
	highest := map[int32]int64{}
	for _, p := range c.positions {
		highest[p.Partition] = max(highest[p.Partition], p.Offset)
	}
	payload := []byte{checkpointVersion}
	payload = append(payload, c.workspace[:]...)
	payload = append(payload, c.topic[:]...)
	for _, p := range sortedPositions(highest) {
		payload = binary.AppendUvarint(payload, uint64(p.Partition))
		payload = binary.AppendUvarint(payload, uint64(p.Offset))
	}
	return s.Seal(token.ForCheckpoint, payload)
}

func sortedPositions(offsets map[int32]int64) []pointblock.Position {
	list := make([]pointblock.Position, 0, len(offsets))
	for partition, offset := range offsets {
		list = append(list, pointblock.Position{Partition: partition, Offset: offset})
	}
	slices.SortFunc(list, func(a, b pointblock.Position) int { return cmp.Compare(a.Partition, b.Partition) })
	return list
}

// decodeCheckpoint reads a token. One that is not ours, or of another workspace,
// is Malformed; the two look alike.
func (s *sealer) decodeCheckpoint(text string, workspace uuid.UUID) (checkpoint, error) {
	bad := fault.Field(fault.Malformed, "checkpoint", "is not a checkpoint of this workspace")
	payload, ok := s.Open(token.ForCheckpoint, text)
	const head = 1 + 16 + 16
	if !ok || len(payload) < head || payload[0] != checkpointVersion {
		return checkpoint{}, bad
	}
	c := checkpoint{workspace: uuid.UUID(payload[1:17]), topic: [16]byte(payload[17:33])}
	if c.workspace != workspace {
		return checkpoint{}, bad
	}
	for rest := payload[head:]; len(rest) > 0; {
		partition, n := binary.Uvarint(rest)
		if n <= 0 {
			return checkpoint{}, bad
		}
		offset, m := binary.Uvarint(rest[n:])
		if m <= 0 {
			return checkpoint{}, bad
		}
		c.positions = append(c.positions, pointblock.Position{Partition: int32(partition), Offset: int64(offset)})
		rest = rest[n+m:]
	}
	return c, nil
}
