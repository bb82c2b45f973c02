package graphstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// ClaimCommands sets the owner of partitions of the commands topic, and returns the next
// offset to decide of each. The previous owner can no longer commit, because the fence
// compares the owner.
func (db *Store) ClaimCommands(
	ctx context.Context, topicID [16]byte, partitions []int32, owner uuid.UUID,
) (map[int32]int64, error) {
	rows, err := db.pool.Query(ctx, `UPDATE command_offsets SET owner = $3, updated_at = now()
		WHERE topic_id = $1 AND partition = ANY($2) RETURNING partition, next_offset`, topicID[:], partitions, owner)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("claiming partitions of the commands: %w", err))
	}
	next := make(map[int32]int64, len(partitions))
	var partition int32
	var nextOffset int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &nextOffset}, func() error {
		next[partition] = nextOffset
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("claiming partitions of the commands: %w", err))
	}
	return next, nil
}

func fenceArgs(g Group) []any {
	partitions, from, to := make([]int32, len(g.Offsets)), make([]int64, len(g.Offsets)), make([]int64, len(g.Offsets))
	held := make([]bool, len(g.Offsets))
	for i, o := range g.Offsets {
		partitions[i], from[i], to[i], held[i] = o.Partition, o.From, o.To, o.Held
	}
	return []any{g.TopicID[:], partitions, from, to, held, ownerOf(g)}
}

func ownerOf(g Group) *uuid.UUID {
	if g.Owner == uuid.Nil {
		return nil
	}
	return &g.Owner
}

// MoveFence moves the fence of a group that was begun without offsets. It is called right
// before Commit, because other transactions decide records of the same partition until then.
// The error is a *StaleOffsets if the fence is not at the From offsets of g.
func (tx *Tx) MoveFence(g Group) error {
	tag, err := tx.conn.Exec(tx.ctx, moveFence, fenceArgs(g)...)
	if err != nil {
		return postgres.Classify(fmt.Errorf("moving the fence: %w", err))
	}
	if tag.RowsAffected() != int64(len(g.Offsets)) {
		return postgres.Classify(tx.stale(g))
	}
	return nil
}

// stale rolls the group back and returns a *StaleOffsets with the current offsets.
func (tx *Tx) stale(g Group) error {
	partitions := make([]int32, len(g.Offsets))
	for i, o := range g.Offsets {
		partitions[i] = o.Partition
	}
	if _, err := tx.conn.Exec(tx.ctx, "rollback"); err != nil {
		return fmt.Errorf("rolling a group back: %w", err)
	}
	rows, err := tx.conn.Query(
		tx.ctx, `SELECT partition, next_offset, owner IS NOT DISTINCT FROM $3::uuid FROM command_offsets
		WHERE topic_id = $1 AND partition = ANY($2)`, g.TopicID[:], partitions, ownerOf(g),
	)
	if err != nil {
		return fmt.Errorf("reading the fence: %w", err)
	}
	stale := &StaleOffsets{Next: map[int32]int64{}, Owned: true}
	var partition int32
	var nextOffset int64
	var owned bool
	_, err = pgx.ForEachRow(rows, []any{&partition, &nextOffset, &owned}, func() error {
		stale.Next[partition] = nextOffset
		stale.Owned = stale.Owned && owned
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the fence: %w", err)
	}
	return stale
}

// checkEdgeLimit returns ErrManyEdges if a node has more edges than Group.CascadeEdges.
func (s *State) checkEdgeLimit(node uuid.UUID) error {
	if s.tx.maxCascadeEdges == 0 {
		return nil
	}
	var tooMany bool
	err := s.tx.conn.QueryRow(s.tx.ctx, `SELECT count(*) > $3 FROM (
		SELECT FROM edges e WHERE e.workspace_id = $1 AND e.source_id = $2 AND NOT e.deleted
		UNION ALL SELECT FROM edges e WHERE e.workspace_id = $1 AND e.target_id = $2 AND NOT e.deleted
		UNION ALL SELECT FROM edges e WHERE e.workspace_id = $1 AND e.taken_node = $2 AND e.deleted LIMIT $3 + 1) e`,
		s.workspace, node, s.tx.maxCascadeEdges).Scan(&tooMany)
	if err != nil {
		return fmt.Errorf("counting the edges of a node: %w", err)
	}
	if tooMany {
		return ErrManyEdges
	}
	return nil
}
