package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// Watermarks returns, by partition, the offset below which every record of the
// topic is visible in ClickHouse or dead-lettered.
func (db *Store) Watermarks(ctx context.Context, topicID [16]byte) (map[int32]int64, error) {
	rows, err := db.pool.Query(ctx, `SELECT partition, next_offset FROM watermarks WHERE topic_id = $1`, topicID[:])
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading watermarks: %w", err))
	}
	marks := map[int32]int64{}
	var partition int32
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &next}, func() error {
		marks[partition] = next
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading watermarks: %w", err))
	}
	return marks, nil
}

// AdvanceWatermarks raises watermarks. It does not lower a watermark that is higher.
func (db *Store) AdvanceWatermarks(ctx context.Context, topicID [16]byte, next map[int32]int64) error {
	if len(next) == 0 {
		return nil
	}
	partitions := slices.Sorted(maps.Keys(next)) // the same order in all processes avoids deadlocks
	offsets := make([]int64, len(partitions))
	for i, p := range partitions {
		offsets[i] = next[p]
	}
	_, err := db.pool.Exec(ctx, `INSERT INTO watermarks AS w (topic_id, partition, next_offset)
		SELECT $1, p, o FROM unnest($2::int[], $3::bigint[]) AS t (p, o)
		ON CONFLICT (topic_id, partition) DO UPDATE
		SET next_offset = excluded.next_offset, updated_at = now() WHERE w.next_offset < excluded.next_offset`,
		topicID[:], partitions, offsets)
	if err != nil {
		return postgres.Classify(fmt.Errorf("advancing watermarks: %w", err))
	}
	return nil
}

// allWatermarks reads the watermarks of every topic id.
func allWatermarks(ctx context.Context, q postgres.Querier) (map[[16]byte]map[int32]int64, error) {
	rows, err := q.Query(ctx, `SELECT topic_id, partition, next_offset FROM watermarks`)
	if err != nil {
		return nil, fmt.Errorf("reading watermarks: %w", err)
	}
	marks := map[[16]byte]map[int32]int64{}
	var id []byte
	var partition int32
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&id, &partition, &next}, func() error {
		key := [16]byte(id)
		if marks[key] == nil {
			marks[key] = map[int32]int64{}
		}
		marks[key][partition] = next
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading watermarks: %w", err)
	}
	return marks, nil
}
