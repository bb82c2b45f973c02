package registry

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// maxGeneration is the last generation: versions are read as signed numbers too.
const maxGeneration = 1<<15 - 1

// Generation says which generation the records of a partition belong to from an
// offset on. Versions are made of both (pointblock.Version), so that they keep
// rising when offsets begin again or a series moves to another partition.
type Generation struct {
	Partition  int32
	Generation uint16
	FromOffset int64
	TopicID    [16]byte
	Route      int64 // it is for records of this route and later ones
	Reason     string
}

// Generations are all generations of one topic.
type Generations []Generation

// At returns the generation of the record at an offset of a topic of that id, which was
// sent by a route: the highest that begins at or before it, of that route or an earlier
// one. A record of an earlier route than the topic itself, which was on its way when the
// topic was created again, has the lowest. There is none for a partition that was never
// seen.
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

// ResolveGenerations compares what the log says of a topic with what is recorded
// and records new generations where the meaning of offsets has changed: the topic
// was created again, its partition count changed, or a partition's offsets went
// backwards. With the first two a new route begins. It gives all generations and those
// that are new. Processes take
// turns, so that all agree; observe is called in the turn, after the watermarks
// are read, because only then an end below a watermark proves anything.
//
// Offsets that went backwards take the partition's watermark down with them.
func (db *Store) ResolveGenerations(
	ctx context.Context, topic string, observe func(context.Context) (postgres.LogState, error),
) (all Generations, raised []Generation, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx, `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.generations.' || $1, 0))`, topic,
		); err != nil {
			return fmt.Errorf("waiting for the turn to record generations: %w", err)
		}
		if all, err = ReadGenerations(ctx, tx, topic); err != nil {
			return err
		}
		var seen postgres.LogState
		watermarks, err := allWatermarks(ctx, tx)
		if err != nil {
			return err
		}
		if seen, err = observe(ctx); err != nil {
			return fmt.Errorf("observing topic %s: %w", topic, err)
		}
		if raised, err = nextGenerations(all, watermarks[seen.TopicID], seen); err != nil {
			return err
		}
		route, err := nextRoute(ctx, tx, topic, seen)
		if err != nil {
			return err
		}
		for i := range raised {
			raised[i].Route = route
			if err := recordGeneration(ctx, tx, topic, raised[i]); err != nil {
				return err
			}
		}
		all = append(all, raised...)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return all, raised, nil
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

// recordGeneration writes a new generation and takes the watermark of its
// partition down to where it begins; there is none above unless offsets restarted.
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
		return fmt.Errorf("taking the watermark of partition %d down: %w", g.Partition, err)
	}
	return nil
}

// nextGenerations decides which generations begin, given those recorded, the
// watermarks under the topic's id, and what the log says.
func nextGenerations(recorded Generations, watermarks map[int32]int64, seen postgres.LogState) ([]Generation, error) {
	top, known := uint16(0), map[int32]bool{} // the highest generation; partitions recorded under this topic id
	for _, g := range recorded {
		top = max(top, g.Generation)
		if g.TopicID == seen.TopicID {
			known[g.Partition] = true
		}
	}
	var reason string // for all partitions together
	switch {
	case top == 0:
		reason = "first seen"
	case len(known) == 0:
		reason = "topic created again"
	case len(known) < len(seen.Partitions):
		reason = fmt.Sprintf("%d partitions instead of %d", len(seen.Partitions), len(known))
	}
	var raised []Generation
	for i, p := range seen.Partitions {
		g := Generation{Partition: int32(i), Generation: top + 1, TopicID: seen.TopicID, Reason: reason}
		switch watermark, ok := watermarks[int32(i)]; {
		case known[int32(i)] && p.ReplacedFrom >= 0:
			g.FromOffset, g.Reason = p.ReplacedFrom, "records were replaced"
		case ok && watermark > p.End:
			g.FromOffset, g.Reason = p.Start, fmt.Sprintf(
				"offsets went backwards: %d was stored and the end is %d", watermark, p.End,
			)
		case reason == "":
			continue // as it was
		case known[int32(i)]:
			g.FromOffset = p.End // what is there keeps its version
		}
		raised = append(raised, g)
	}
	if len(raised) > 0 && top >= maxGeneration {
		return nil, fmt.Errorf("the topic has been through all %d generations", maxGeneration)
	}
	return raised, nil
}
