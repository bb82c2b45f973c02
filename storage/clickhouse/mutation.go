package clickhouse

import (
	"context"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/internal/platform/sleep"
)

// A statement that deletes rows is a mutation. ClickHouse queues it behind merges and other
// mutations, and it stays queued even if the client stops waiting. A second mutation for the
// same rows would only make the queue longer. Each mutation therefore contains a mark, and
// the statement itself does not wait. Before a caller adds a mutation, it waits for all
// queued mutations with a mark of Livegraph, including those of other processes and those
// from before a restart.

const (
	// mutationMark is the prefix of the mark of every mutation of Livegraph.
	mutationMark = "livegraph:"
	// Interval at which an unfinished mutation is polled.
	minMutationPoll = 5 * time.Millisecond
	maxMutationPoll = time.Second
)

// deleteWhere deletes rows if there are any. The check is cheap, whereas a deletion rewrites
// a mask in every part, and a replay repeats deletions that were executed long ago.
func (db *DB) deleteWhere(ctx context.Context, table, condition string) error {
	for {
		found, err := db.anyRow(ctx, table+" WHERE "+condition)
		if err != nil {
			return fmt.Errorf("looking for rows to delete in %s: %w", table, err)
		}
		if !found {
			return nil
		}
		waited, err := db.awaitMutations(ctx, table, mutationMark)
		if err != nil {
			return err
		}
		if !waited {
			return db.mutate(ctx, table, condition)
		}
	}
}

// markOf returns the mark of the mutation of a condition.
func markOf(table, condition string) string {
	sum := fnv.New128a()
	_, _ = sum.Write([]byte(table + " " + condition)) // never fails
	return mutationMark + hex.EncodeToString(sum.Sum(nil))
}

// mutate deletes rows and waits until the mutation is finished.
func (db *DB) mutate(ctx context.Context, table, condition string) error {
	mark := markOf(table, condition)
	queued := ch.Context(ctx, ch.WithSettings(ch.Settings{"lightweight_deletes_sync": 0}))
	statement := "DELETE FROM " + db.layout.Stored(table) + " WHERE (" + condition + ") AND '" + mark + "' != ''"
	if err := db.conn.Exec(queued, statement); err != nil {
		return fmt.Errorf("deleting from %s: %w", table, err)
	}
	_, err := db.awaitMutations(ctx, table, mark)
	return err
}

// awaitMutations waits until no mutation with a mark is unfinished. It reports whether it had
// to wait.
func (db *DB) awaitMutations(ctx context.Context, table, mark string) (waited bool, err error) {
	for interval := minMutationPoll; ; interval = min(2*interval, maxMutationPoll) {
		unfinished, problem, err := db.unfinished(ctx, table, mark)
		if err != nil || unfinished == 0 {
			return waited, err
		}
		waited = true
		if !sleep.For(ctx, interval) {
			return waited, fmt.Errorf(
				"waiting for a deletion from %s, which goes on (ClickHouse says %q): %w", table, problem, ctx.Err(),
			)
		}
	}
}

// unfinished returns the number of unfinished mutations with a mark, and the reason of the
// last failed attempt of one of them, empty if there is none.
func (db *DB) unfinished(ctx context.Context, table, mark string) (count uint64, problem string, err error) {
	err = db.conn.QueryRow(ctx, `SELECT count(), anyLast(latest_fail_reason) FROM `+db.layout.systemOfAll("mutations")+`
		WHERE database = `+db.layout.Database()+` AND table = '`+
		db.layout.StoredName(table)+`' AND NOT is_done AND position(command, '`+mark+`') > 0`).Scan(&count, &problem)
	if err != nil {
		return 0, "", fmt.Errorf("looking at the deletions from %s: %w", table, err)
	}
	return count, problem, nil
}
