package graphstore

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// ClaimCommands makes the owner the one who decides partitions of the commands' topic, and
// returns how far they are decided. From then on anyone who decided them before can commit
// nothing: their fence is not its own any more.
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
	var at int64
	_, err = pgx.ForEachRow(rows, []any{&partition, &at}, func() error {
		next[partition] = at
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

// MoveFence moves the fence of a group that BeginGraph was given without offsets, right
// before Commit: meanwhile others decide records of the same partition. The error is a
// *StaleOffsets if the fence is not where it is said to be.
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

// stale rolls the group back and says where its partitions are.
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
	var at int64
	var owned bool
	_, err = pgx.ForEachRow(rows, []any{&partition, &at, &owned}, func() error {
		stale.Next[partition] = at
		stale.Owned = stale.Owned && owned
		return nil
	})
	if err != nil {
		return fmt.Errorf("reading the fence: %w", err)
	}
	return stale
}

// checkEdges fails with ErrManyEdges if a node has too many edges for this group.
func (s *State) checkEdges(node uuid.UUID) error {
	if s.tx.most == 0 {
		return nil
	}
	var many bool
	err := s.tx.conn.QueryRow(s.tx.ctx, `SELECT count(*) > $3 FROM (
		SELECT FROM edges e WHERE e.workspace_id = $1 AND e.source_id = $2 AND NOT e.deleted
		UNION ALL SELECT FROM edges e WHERE e.workspace_id = $1 AND e.target_id = $2 AND NOT e.deleted
		UNION ALL SELECT FROM edges e WHERE e.workspace_id = $1 AND e.taken_node = $2 AND e.deleted LIMIT $3 + 1) e`,
		s.workspace, node, s.tx.most).Scan(&many)
	if err != nil {
		return fmt.Errorf("counting the edges of a node: %w", err)
	}
	if many {
		return ErrManyEdges
	}
	return nil
}
