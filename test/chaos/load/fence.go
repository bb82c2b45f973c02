package load

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// fenceEvery is how often it is looked how far partitions are: a stale consumer that
// moves one back is put right by the true one at its next group, moments later.
const fenceEvery = 20 * time.Millisecond

// selectFences reads the tables that report how far a partition is consumed. Nothing may
// take one back while the log keeps what it has: who does believes to own a partition
// that somebody else has gone on with.
const selectFences = `SELECT 'command_offsets', topic_id, partition, next_offset FROM command_offsets
	UNION ALL SELECT 'watermarks', topic_id, partition, next_offset FROM watermarks`

// place is a partition in one of the fences.
type place struct {
	table     string
	topic     [16]byte
	partition int32
}

// marks are how far partitions were when they were looked at last.
type marks map[place]int64

// WatchFences looks until ctx ends, while the load runs, whether a consumer has taken
// back how far a partition is. Check gives what was seen.
func (l *Load) WatchFences(ctx context.Context, stores Stores) {
	seen := marks{}
	for rest(ctx, fenceEvery) {
		now, err := readFences(ctx, stores)
		if err != nil {
			continue // Postgres is unavailable, or ctx has ended
		}
		for _, v := range seen.follow(now) {
			l.wrong.add(v.Invariant, v.What, "%s", v.Evidence)
		}
	}
}

func readFences(ctx context.Context, stores Stores) (marks, error) {
	const limit = time.Second
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows, err := stores.Postgres.Query(ctx, selectFences)
	if err != nil {
		return nil, err
	}
	var (
		all   = marks{}
		at    place
		topic []byte
		next  int64
	)
	_, err = pgx.ForEachRow(rows, []any{&at.table, &topic, &at.partition, &next}, func() error {
		at.topic = [16]byte(topic)
		all[at] = next
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// follow takes up how far partitions are now, and says which have gone back.
func (m marks) follow(now marks) (found []Violation) {
	for at, next := range now {
		if was := m[at]; next < was {
			found = append(found, Violation{9, "a consumer has taken back how far a partition is", fmt.Sprintf(
				"%s of topic %x, partition %d: %d after %d", at.table, at.topic, at.partition, next, was)})
		}
		m[at] = next
	}
	return found
}
