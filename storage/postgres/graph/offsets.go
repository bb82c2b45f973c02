package graphstore

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CommandOffset says that the fence of a partition was set because the log is not
// what it was.
type CommandOffset struct {
	Partition int32
	Was, Next int64 // Was is -1 for a partition that is seen for the first time
	Reason    string
}

// ResolveCommandOffsets compares what the log says of the commands' topic with how
// far it is decided. A partition of a topic that was not seen before begins at the
// log's start. One whose log ends below where it is decided, or whose records were
// replaced, has lost records, and what comes at their offsets is new: the fence goes
// back. It gives how far each partition is decided, and what was set.
//
// It has to be done before anything is produced to a log that may have lost its end,
// or the new records would be taken for decided ones. Processes take turns; observe
// is called in the turn, after the offsets are read.
func (db *Store) ResolveCommandOffsets(
	ctx context.Context, observe func(context.Context) (postgres.LogState, error),
) (next map[int32]int64, set []CommandOffset, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		next, set = map[int32]int64{}, nil
		if _, err := tx.Exec(
			ctx, `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.command_offsets', 0))`,
		); err != nil {
			return fmt.Errorf("waiting for the turn to resolve offsets: %w", err)
		}
		all, err := AllCommandOffsets(ctx, tx)
		if err != nil {
			return err
		}
		seen, err := observe(ctx)
		if err != nil {
			return fmt.Errorf("observing the topic of the commands: %w", err)
		}
		for i, p := range seen.Partitions {
			change := resolveOffset(int32(i), p, all[seen.TopicID])
			next[change.Partition] = change.Next
			if change.Was == change.Next {
				continue
			}
			set = append(set, change)
			_, err := tx.Exec(ctx, `INSERT INTO command_offsets (topic_id, partition, next_offset) VALUES ($1, $2, $3)
				ON CONFLICT (topic_id, partition) DO UPDATE SET next_offset = excluded.next_offset, updated_at = now()`,
				seen.TopicID[:], change.Partition, change.Next)
			if err != nil {
				return fmt.Errorf("setting the offset of partition %d: %w", change.Partition, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return next, set, nil
}

// resolveOffset decides where one partition is.
func resolveOffset(partition int32, log postgres.LogPartition, known map[int32]int64) CommandOffset {
	was, ok := known[partition]
	switch {
	case !ok:
		return CommandOffset{Partition: partition, Was: -1, Next: log.Start, Reason: "first seen"}
	case log.ReplacedFrom >= 0 && log.ReplacedFrom < was:
		return CommandOffset{Partition: partition, Was: was, Next: log.ReplacedFrom, Reason: "records were replaced"}
	case log.End < was:
		return CommandOffset{Partition: partition, Was: was, Next: log.End, Reason: "the log lost its end"}
	}
	return CommandOffset{Partition: partition, Was: was, Next: was}
}

// AllCommandOffsets returns the offset that is decided next, by topic id and partition.
func AllCommandOffsets(ctx context.Context, q postgres.Querier) (map[[16]byte]map[int32]int64, error) {
	rows, err := q.Query(ctx, `SELECT topic_id, partition, next_offset FROM command_offsets`)
	if err != nil {
		return nil, fmt.Errorf("reading the offsets of the commands: %w", err)
	}
	all := map[[16]byte]map[int32]int64{}
	var id []byte
	var partition int32
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&id, &partition, &next}, func() error {
		key := [16]byte(id)
		if all[key] == nil {
			all[key] = map[int32]int64{}
		}
		all[key][partition] = next
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the offsets of the commands: %w", err)
	}
	return all, nil
}
