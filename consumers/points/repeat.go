package points

import (
	"context"
	"time"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/postgres"
)

const (
	defaultRepeatAfter = 2 * time.Minute
	// repeatReach is how far back a process that starts repeats deletions, for
	// those that nobody repeated in time.
	repeatReach = time.Hour
	// repeatsPerAge is how often it is looked whether deletions have come of age.
	repeatsPerAge = 4
)

// repeatDeletions does every deletion once more when it is old enough that no
// insert from before it can be under way, until ctx is done. A process that died
// may have left an insert in ClickHouse that ended after the deletion.
func (c *Consumer) repeatDeletions(ctx context.Context) {
	age := c.deps.Config.RepeatAfter
	if age <= 0 {
		age = defaultRepeatAfter
	}
	after := time.Now().Add(-repeatReach)
	tick := time.NewTicker(age / repeatsPerAge)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		aged, upTo, err := c.deps.Registry.AgedTombstones(ctx, after, age)
		if err == nil {
			err = c.repeat(ctx, aged)
		}
		switch {
		case err == nil:
			after = upTo
		case ctx.Err() == nil:
			c.logger.Warn("deletions could not be repeated; they are tried again", "error", err)
		}
	}
}

func (c *Consumer) repeat(ctx context.Context, tombstones []postgres.Tombstone) error {
	deletions := deletionsOf(tombstones)
	for i := range deletions {
		deletions[i].Forget = deletions[i].WholeSource
	}
	return c.deps.Points.Delete(ctx, deletions...)
}

func deletionsOf(tombstones []postgres.Tombstone) []clickhouse.Deletion {
	deletions := make([]clickhouse.Deletion, len(tombstones))
	for i, t := range tombstones {
		deletions[i] = deletionOf(t)
	}
	return deletions
}
