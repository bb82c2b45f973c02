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

// A statement that deletes rows is a mutation: ClickHouse queues it, and it stays
// queued anyone who waits for it, behind merges and other mutations. A second one for the
// same rows would only make the queue longer. So each bears a mark, nobody waits for the
// statement itself, and who wants rows deleted waits for the mutations of ours that are
// queued, in another process or after a restart, too, before there is another.

const (
	// mutationMark begins the mark of each of our mutations.
	mutationMark = "livegraph:"
	// How often an unfinished mutation is looked at.
	firstMutationLook = 5 * time.Millisecond
	lastMutationLook  = time.Second
)

// deleteWhere deletes rows if there are any: to look is cheap, to delete rewrites
// a mask in every part, and a replay repeats deletions that were done long ago.
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
	_, _ = sum.Write([]byte(table + " " + condition)) // it never fails
	return mutationMark + hex.EncodeToString(sum.Sum(nil))
}

// mutate deletes rows and waits until that is done.
func (db *DB) mutate(ctx context.Context, table, condition string) error {
	mark := markOf(table, condition)
	queued := ch.Context(ctx, ch.WithSettings(ch.Settings{"lightweight_deletes_sync": 0}))
	if err := db.conn.Exec(queued, "DELETE FROM "+table+" WHERE ("+condition+") AND '"+mark+"' != ''"); err != nil {
		return fmt.Errorf("deleting from %s: %w", table, err)
	}
	_, err := db.awaitMutations(ctx, table, mark)
	return err
}

// awaitMutations waits until no mutation with such a mark is unfinished, and reports whether
// one was.
func (db *DB) awaitMutations(ctx context.Context, table, mark string) (waited bool, err error) {
	for look := firstMutationLook; ; look = min(2*look, lastMutationLook) {
		unfinished, problem, err := db.unfinished(ctx, table, mark)
		if err != nil || unfinished == 0 {
			return waited, err
		}
		waited = true
		if !sleep.For(ctx, look) {
			return waited, fmt.Errorf(
				"waiting for a deletion from %s, which goes on (ClickHouse says %q): %w", table, problem, ctx.Err(),
			)
		}
	}
}

// unfinished counts unfinished mutations with such a mark, and returns why the last try of one
// failed; empty: none did.
func (db *DB) unfinished(ctx context.Context, table, mark string) (count uint64, problem string, err error) {
	err = db.conn.QueryRow(ctx, `SELECT count(), anyLast(latest_fail_reason) FROM system.mutations
		WHERE database = currentDatabase() AND table = '`+
		table+`' AND NOT is_done AND position(command, '`+mark+`') > 0`).Scan(&count, &problem)
	if err != nil {
		return 0, "", fmt.Errorf("looking at the deletions from %s: %w", table, err)
	}
	return count, problem, nil
}
