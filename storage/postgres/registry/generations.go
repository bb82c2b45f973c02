package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// maxGeneration is the last generation: versions are read as signed numbers too.
const maxGeneration = 1<<15 - 1

// Generation is the generation of the records of a partition from an offset on. The
// version of a record consists of its generation and offset (pointblock.Version), so that
// versions keep rising when offsets restart or a series moves to another partition.
type Generation struct {
	Partition  int32
	Generation uint16
	FromOffset int64
	TopicID    [16]byte
	Route      int64 // the generation applies to records of this route and later ones
	Reason     string
}

// Generations are all generations of one topic.
type Generations []Generation

// At returns the generation of the record at an offset of the topic with that id that was
// sent by a route: the highest generation of that route or an earlier one that begins at
// or before the offset. A record of an earlier route than the topic's first one, which was
// in flight when the topic was created again, has the lowest generation. At returns false
// for a partition that was never observed.
func (gs Generations) At(topicID [16]byte, partition int32, offset, route int64) (uint16, bool) {
	found, lowest := uint16(0), uint16(0)
	for i := range gs {
		g := &gs[i]
		if g.TopicID != topicID || g.Partition != partition || g.FromOffset > offset {
			continue
		}
		if lowest == 0 || g.Generation < lowest {
			lowest = g.Generation
		}
		if g.Route <= route && g.Generation > found {
			found = g.Generation
		}
	}
	if found == 0 {
		found = lowest
	}
	return found, found > 0
}

// ResolveGenerations compares the observed state of a topic with the recorded generations
// and records new ones where the meaning of offsets has changed: the topic was created
// again, its partition count changed, records were replaced, or a partition's offsets went
// backwards. The first two also start a new route. It returns all generations, and those
// that it added. An advisory lock serializes processes, so that all agree. observe is
// called under the lock and after the watermarks are read, because only then an end offset
// below a watermark proves that offsets went backwards.
//
// It lowers the watermark of a partition whose offsets went backwards, after the state is confirmed.
func (db *Store) ResolveGenerations(
	ctx context.Context, topic string, observe func(context.Context) (postgres.LogState, error),
) (all Generations, added []Generation, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx, `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.generations.' || $1, 0))`, topic,
		); err != nil {
			return fmt.Errorf("locking the generations: %w", err)
		}
		if all, err = ReadGenerations(ctx, tx, topic); err != nil {
			return err
		}
		var observed postgres.LogState
		watermarks, err := allWatermarks(ctx, tx)
		if err != nil {
			return err
		}
		if observed, err = observe(ctx); err != nil {
			return fmt.Errorf("observing topic %s: %w", topic, err)
		}
		if added, err = nextGenerations(all, watermarks[observed.TopicID], observed); err != nil {
			return err
		}
		if observed.Confirm != nil && lower(watermarks[observed.TopicID], added) {
			if observed, err = observed.Confirm(ctx); err != nil {
				return fmt.Errorf("confirming the state of topic %s: %w", topic, err)
			}
			if added, err = nextGenerations(all, watermarks[observed.TopicID], observed); err != nil {
				return err
			}
		}
		route, err := nextRoute(ctx, tx, topic, observed)
		if err != nil {
			return err
		}
		for i := range added {
			added[i].Route = route
			if err := recordGeneration(ctx, tx, topic, added[i]); err != nil {
				return err
			}
		}
		all = append(all, added...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return all, added, nil
}

// Generations returns all generations of a topic.
func (db *Store) Generations(ctx context.Context, topic string) (Generations, error) {
	all, err := ReadGenerations(ctx, db.pool, topic)
	return all, postgres.Classify(err)
}

const selectGenerations = `SELECT partition, generation, from_offset, topic_id, route, reason
	FROM topic_generations WHERE topic = $1 ORDER BY generation, partition`

// ReadGenerations reads the generations of a topic, oldest first.
func ReadGenerations(ctx context.Context, q postgres.Querier, topic string) (Generations, error) {
	rows, err := q.Query(ctx, selectGenerations, topic)
	if err != nil {
		return nil, fmt.Errorf("reading generations: %w", err)
	}
	return collectGenerations(rows)
}

func collectGenerations(rows pgx.Rows) (Generations, error) {
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Generation, error) {
		var g Generation
		var generation int32
		var id []byte
		err := row.Scan(&g.Partition, &generation, &g.FromOffset, &id, &g.Route, &g.Reason)
		g.Generation = uint16(generation)
		copy(g.TopicID[:], id)
		return g, err
	})
	if err != nil {
		return nil, fmt.Errorf("reading generations: %w", err)
	}
	return all, nil
}

// recordGeneration writes a new generation and lowers the watermark of its partition to
// the start of the generation. The watermark is only higher if offsets restarted.
func recordGeneration(ctx context.Context, tx pgx.Tx, topic string, g Generation) error {
	_, err := tx.Exec(
		ctx, `INSERT INTO topic_generations (topic, partition, generation, from_offset, topic_id, route, reason)
		VALUES ($1, $2, $3, $4, $5, $6, $7)`, topic, g.Partition, int32(g.Generation), g.FromOffset, g.TopicID[:], g.Route,
		g.Reason,
	)
	if err != nil {
		return fmt.Errorf("recording generation %d of partition %d: %w", g.Generation, g.Partition, err)
	}
	_, err = tx.Exec(ctx, `UPDATE watermarks SET next_offset = LEAST(next_offset, $3), updated_at = now()
		WHERE topic_id = $1 AND partition = $2`, g.TopicID[:], g.Partition, g.FromOffset)
	if err != nil {
		return fmt.Errorf("lowering the watermark of partition %d: %w", g.Partition, err)
	}
	return nil
}

// lower reports whether generations begin below the watermarks of their partitions.
func lower(watermarks map[int32]int64, added []Generation) bool {
	return slices.ContainsFunc(added, func(g Generation) bool { return g.FromOffset < watermarks[g.Partition] })
}

// nextGenerations returns the generations to add, given the recorded ones, the watermarks
// of the topic's id, and the observed state of the topic.
func nextGenerations(
	recorded Generations, watermarks map[int32]int64, observed postgres.LogState,
) ([]Generation, error) {
	highest, known := uint16(0), map[int32]bool{} // the highest generation; partitions recorded under this topic id
	for _, g := range recorded {
		highest = max(highest, g.Generation)
		if g.TopicID == observed.TopicID {
			known[g.Partition] = true
		}
	}
	var reason string // for all partitions together
	switch {
	case highest == 0:
		reason = "first seen"
	case len(known) == 0:
		reason = "topic created again"
	case len(known) < len(observed.Partitions):
		reason = fmt.Sprintf("%d partitions instead of %d", len(observed.Partitions), len(known))
	}
	var added []Generation
	for i, p := range observed.Partitions {
		g := Generation{Partition: int32(i), Generation: highest + 1, TopicID: observed.TopicID, Reason: reason}
		switch watermark, ok := watermarks[int32(i)]; {
		case known[int32(i)] && p.ReplacedFrom >= 0:
			g.FromOffset, g.Reason = p.ReplacedFrom, "records were replaced"
		case ok && watermark > p.End:
			g.FromOffset, g.Reason = p.Start, fmt.Sprintf(
				"offsets went backwards: %d was stored and the end is %d", watermark, p.End,
			)
		case reason == "":
			continue // unchanged
		case known[int32(i)]:
			g.FromOffset = p.End // existing records keep their version
		}
		added = append(added, g)
	}
	if len(added) > 0 && highest >= maxGeneration {
		return nil, fmt.Errorf("the topic has used all %d generations", maxGeneration)
	}
	return added, nil
}
