package load

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// fenceInterval is the interval at which the fences are read: an offset that a stale consumer
// lowers is corrected moments later, with the next batch of the true owner.
const fenceInterval = 20 * time.Millisecond

// selectFences reads the tables that contain the consumed offset of each partition. No offset may
// decrease while the log keeps its records: a consumer that lowers one believes that it owns a
// partition that another consumer has taken over.
const selectFences = `SELECT 'command_offsets', topic_id, partition, next_offset FROM command_offsets
	UNION ALL SELECT 'watermarks', topic_id, partition, next_offset FROM watermarks`

// fenceKey identifies a partition in one of the tables.
type fenceKey struct {
	table     string
	topic     [16]byte
	partition int32
}

// fenceOffsets contains the offsets that were read last.
type fenceOffsets map[fenceKey]int64

// WatchOffsets polls the consumed offsets until ctx ends, while the load runs. Check returns the
// offsets that decreased as violations.
func (l *Load) WatchOffsets(ctx context.Context, stores Stores) {
	seen := fenceOffsets{}
	for sleep(ctx, fenceInterval) {
		now, err := readFences(ctx, stores)
		if err != nil {
			continue // Postgres is unavailable, or ctx has ended
		}
		for _, v := range seen.follow(now) {
			l.findings.add(v.Invariant, v.What, "%s", v.Evidence)
		}
	}
}

func readFences(ctx context.Context, stores Stores) (fenceOffsets, error) {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows, err := stores.Postgres.Query(ctx, selectFences)
	if err != nil {
		return nil, err
	}
	var (
		all   = fenceOffsets{}
		key   fenceKey
		topic []byte
		next  int64
	)
	_, err = pgx.ForEachRow(rows, []any{&key.table, &topic, &key.partition, &next}, func() error {
		key.topic = [16]byte(topic)
		all[key] = next
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// follow records the current offsets, and returns those that decreased.
func (m fenceOffsets) follow(now fenceOffsets) (found []Violation) {
	for key, next := range now {
		if previous := m[key]; next < previous {
			found = append(found, Violation{9, "a consumer has taken back how far a partition is", fmt.Sprintf(
				"%s of topic %x, partition %d: %d after %d", key.table, key.topic, key.partition, next, previous)})
		}
		m[key] = next
	}
	return found
}
