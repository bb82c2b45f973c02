package registry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres"
)

// lockRoutes has processes take turns. What follows in the transaction sees what those
// before have done.
const lockRoutes = `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.routes.' || $1, 0))`

// dropRouteLeases drops what has run out, and what the holder lets go of.
const dropRouteLeases = `DELETE FROM route_leases
	WHERE topic = $1 AND (until <= clock_timestamp() OR holder = $2 AND $3::bigint = 0)`

// holdRoute takes or renews a lease of the newest route, unless the holder still goes
// by an earlier one or another has a lease of an earlier one.
const holdRoute = `WITH newest AS (
		SELECT route, topic_id, partitions FROM topic_routes WHERE topic = $1 ORDER BY route DESC LIMIT 1
	), held AS (
		INSERT INTO route_leases (topic, holder, route, until)
		SELECT $1, $2, n.route, now() + make_interval(secs => $4) FROM newest n
		WHERE $3::bigint IN (0, n.route) AND NOT EXISTS (
			SELECT FROM route_leases o
			WHERE o.topic = $1 AND o.holder <> $2 AND o.route < n.route AND o.until > clock_timestamp())
		ON CONFLICT (topic, holder) DO UPDATE SET route = excluded.route, until = excluded.until
		RETURNING route
	)
	SELECT n.route, n.topic_id, n.partitions, EXISTS (SELECT FROM held) FROM newest n`

// HoldRoute leases the newest route of a topic to the holder, who then sends by it for
// as long as given, and returns that route. using is the number of the route that the
// holder goes by, 0 when it goes by none: a lease of an earlier route it must stop using
// before it says 0. Nothing is leased while the holder goes by an earlier route, or
// anybody else may: held is false then. At any time at most one route has leases that
// have not run out. It is NotFound while the topic has no route.
func (db *Store) HoldRoute(
	ctx context.Context, topic string, holder uuid.UUID, using int64, hold time.Duration,
) (newest pointblock.Route, held bool, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(lockRoutes, topic)
		batch.Queue(dropRouteLeases, topic, holder, using)
		batch.Queue(holdRoute, topic, holder, using, hold.Seconds()).QueryRow(func(row pgx.Row) error {
			var id []byte
			err := row.Scan(&newest.Number, &id, &newest.Partitions, &held)
			copy(newest.TopicID[:], id)
			return err
		})
		return tx.SendBatch(ctx, batch).Close()
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return pointblock.Route{}, false, fault.Newf(fault.NotFound, "topic %s has no route yet", topic)
	}
	if err != nil {
		return pointblock.Route{}, false, postgres.Classify(fmt.Errorf("leasing a route: %w", err))
	}
	return newest, held, nil
}

// LeaveRoute releases the holder's lease.
func (db *Store) LeaveRoute(ctx context.Context, topic string, holder uuid.UUID) error {
	if _, err := db.pool.Exec(
		ctx, `DELETE FROM route_leases WHERE topic = $1 AND holder = $2`, topic, holder,
	); err != nil {
		return postgres.Classify(fmt.Errorf("giving a route back: %w", err))
	}
	return nil
}

// PartitionCounts returns how many partitions a topic of that id had under each route, the
// earliest first.
func (db *Store) PartitionCounts(ctx context.Context, topic string, id [16]byte) ([]int32, error) {
	rows, err := db.pool.Query(
		ctx, `SELECT partitions FROM topic_routes WHERE topic = $1 AND topic_id = $2 ORDER BY route`, topic, id[:],
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the routes of topic %s: %w", topic, err))
	}
	counts, err := pgx.CollectRows(rows, pgx.RowTo[int32])
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the routes of topic %s: %w", topic, err))
	}
	return counts, nil
}

// nextRoute returns the number of the newest route of a topic, after it has recorded one
// for what the log says if that is new: another topic id, or more partitions.
func nextRoute(ctx context.Context, tx pgx.Tx, topic string, seen postgres.LogState) (int64, error) {
	rows, err := tx.Query(
		ctx, `SELECT route, topic_id, partitions FROM topic_routes WHERE topic = $1 ORDER BY route`, topic,
	)
	if err != nil {
		return 0, fmt.Errorf("reading routes: %w", err)
	}
	var (
		number, newest int64
		id             []byte
		partitions     int32
		most           int32 // partitions that the topic of this id has had; 0: it is not known
	)
	_, err = pgx.ForEachRow(rows, []any{&number, &id, &partitions}, func() error {
		if newest = number; [16]byte(id) == seen.TopicID {
			most = max(most, partitions)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading routes: %w", err)
	}
	if len(seen.Partitions) <= int(most) { // a broker that lags behind says fewer
		return newest, nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO topic_routes (topic, route, topic_id, partitions) VALUES ($1, $2, $3, $4)`,
		topic, newest+1, seen.TopicID[:], len(seen.Partitions))
	if err != nil {
		return 0, fmt.Errorf("recording route %d: %w", newest+1, err)
	}
	return newest + 1, nil
}
