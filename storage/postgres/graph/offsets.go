package graphstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CommandOffset is the change of a partition's fence after the log was compared with it.
type CommandOffset struct {
	Partition int32
	Was, Next int64 // Was is -1 for a partition without a fence
	Reason    string
}

// ResolveCommandOffsets compares the log of the commands topic with the fence. The fence of a
// partition without one is set to the start of the log. A partition whose log ends below the
// fence, or whose records were replaced, has lost records, and the records at their offsets
// are new: the fence is set back, after the state is confirmed. ResolveCommandOffsets returns
// the fence of each partition, and the changes.
//
// It must run before records are produced to a log that may have lost its end. Otherwise the
// new records would be skipped as already decided. Processes run it one at a time, under an
// advisory lock. It calls observe with the lock held, after it reads the offsets.
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
		changes := resolveOffsets(seen, all[seen.TopicID])
		if seen.Confirm != nil && slices.ContainsFunc(changes, CommandOffset.setsBack) {
			if seen, err = seen.Confirm(ctx); err != nil {
				return fmt.Errorf("confirming the state of the topic of the commands: %w", err)
			}
			changes = resolveOffsets(seen, all[seen.TopicID])
		}
		for _, change := range changes {
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

// resolveOffsets returns the fences of all partitions.
func resolveOffsets(log postgres.LogState, known map[int32]int64) []CommandOffset {
	changes := make([]CommandOffset, len(log.Partitions))
	for i, p := range log.Partitions {
		changes[i] = resolveOffset(int32(i), p, known)
	}
	return changes
}

// setsBack reports whether a fence is lower than before.
func (o CommandOffset) setsBack() bool { return o.Next < o.Was }

// resolveOffset returns the fence of one partition.
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

// AllCommandOffsets returns the next offset to decide, by topic id and partition.
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
