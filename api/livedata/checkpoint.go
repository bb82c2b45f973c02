package livedata

import (
	"cmp"
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/token"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

// checkpoint says which records of the log an ingest request became. A query
// that carries it waits until all of them are visible.
type checkpoint struct {
	workspace uuid.UUID
	topic     [16]byte // the id of topic points: offsets mean nothing in another one
	positions []pointblock.Position
}

// Versions of the token. The first has the highest offset of each partition alone.
const (
	checkpointVersion1 = 1
	checkpointVersion  = 2
)

// sealer makes and opens the tokens of this group.
type sealer struct{ token.Sealer }

// encodeCheckpoint returns the checkpoint's token: a version, workspace, topic id,
// then for each partition its number, how many records are there, and their offsets,
// each as what it is more than the one before, all as varints.
func (s *sealer) encodeCheckpoint(c checkpoint) string {
	payload := []byte{checkpointVersion}
	payload = append(payload, c.workspace[:]...)
	payload = append(payload, c.topic[:]...)
	for rest := sortedPositions(c.positions); len(rest) > 0; {
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

// decodeCheckpoint reads a token. One that is not ours, or of another workspace,
// is Malformed; the two look alike.
func (s *sealer) decodeCheckpoint(text string, workspace uuid.UUID) (checkpoint, error) {
	bad := fault.Field(fault.Malformed, "checkpoint", "is not a checkpoint of this workspace")
	payload, ok := s.Open(token.ForCheckpoint, text)
	const head = 1 + 16 + 16
	if !ok || len(payload) < head || payload[0] != checkpointVersion && payload[0] != checkpointVersion1 {
		return checkpoint{}, bad
	}
	c := checkpoint{workspace: uuid.UUID(payload[1:17]), topic: [16]byte(payload[17:33])}
	if c.workspace != workspace {
		return checkpoint{}, bad
	}
	r := varints{rest: payload[head:]}
	for len(r.rest) > 0 && !r.failed {
		partition, n := r.next(), uint64(1)
		if payload[0] != checkpointVersion1 {
			n = r.next()
		}
		offset := int64(0)
		for ; n > 0 && !r.failed; n-- {
			offset += int64(r.next())
			c.positions = append(c.positions, pointblock.Position{Partition: int32(partition), Offset: offset})
		}
	}
	if r.failed {
		return checkpoint{}, bad
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

// deadLetteredHeader says how many records of the checkpoint were put aside, where an
// answer has no envelope, too.
const deadLetteredHeader = "X-Livegraph-Dead-Lettered"

// deadRecordStore knows which records of the log were put aside.
type deadRecordStore interface {
	DeadRecords(ctx context.Context, topicID [16]byte, records []postgres.LogPosition) (int64, error)
}

// awaitCheckpoint returns when the points of the checkpoint, if there is one, are
// visible, and returns how many of its records never will be, because they were put
// among the dead letters.
func (a *api) awaitCheckpoint(ctx context.Context, workspace uuid.UUID, token string) (dead int64, err error) {
	if token == "" {
		return 0, nil
	}
	c, err := a.sealer.decodeCheckpoint(token, workspace)
	if err != nil {
		return 0, err
	}
	topic := a.TopicID()
	if c.topic != topic {
		return 0, fault.Field(
			fault.Malformed, "checkpoint", "is of a log that is no longer there: its points cannot be waited for",
		)
	}
	ctx, cancel := context.WithTimeout(ctx, a.CheckpointWait)
	defer cancel()
	a.waiting.Add(1)
	defer a.waiting.Add(-1)
	err = a.watch.wait(ctx, topic, c.positions)
	if fault.Is(err, fault.Timeout) {
		a.overdue.Add(1)
		return 0, fault.New(fault.Timeout, "The points of the checkpoint are not visible yet").
			With("checkpoint", token).After(time.Second).Because(err)
	}
	if err != nil {
		return 0, err
	}
	places := make([]postgres.LogPosition, len(c.positions))
	for i, p := range c.positions {
		places[i] = postgres.LogPosition{Partition: p.Partition, Offset: p.Offset}
	}
	return a.Dead.DeadRecords(ctx, topic, places)
}
