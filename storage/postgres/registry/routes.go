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

// lockRoutes serializes transactions on the routes of a topic. The statements after it see
// the changes of earlier transactions.
const lockRoutes = `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.routes.' || $1, 0))`

// dropRouteLeases deletes expired leases, and the holder's lease if it uses no route ($3 is 0).
const dropRouteLeases = `DELETE FROM route_leases
	WHERE topic = $1 AND (until <= clock_timestamp() OR holder = $2 AND $3::bigint = 0)`

// leaseRoute acquires or renews a lease of the newest route, unless the holder still uses
// an earlier route or another holder has a lease of an earlier one.
const leaseRoute = `WITH newest AS (
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

// LeaseRoute leases the newest route of a topic to the holder for duration, and returns that
// route. The holder sends by a route only while it has its lease. current is the number of
// the route that the holder uses, or 0 if it uses none. Before the holder passes 0 it must
// stop using its route. leased is false, and nothing is leased, while the holder uses an
// earlier route or another holder may use one. At any time at most one route has leases
// that have not expired. LeaseRoute returns fault.NotFound if the topic has no route yet.
func (db *Store) LeaseRoute(
	ctx context.Context, topic string, holder uuid.UUID, current int64, duration time.Duration,
) (newest pointblock.Route, leased bool, err error) {
	err = db.root.InTx(ctx, func(tx pgx.Tx) error {
		batch := &pgx.Batch{}
		batch.Queue(lockRoutes, topic)
		batch.Queue(dropRouteLeases, topic, holder, current)
		batch.Queue(leaseRoute, topic, holder, current, duration.Seconds()).QueryRow(func(row pgx.Row) error {
			var id []byte
			err := row.Scan(&newest.Number, &id, &newest.Partitions, &leased)
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
	return newest, leased, nil
}

// ReleaseRoute releases the holder's lease.
func (db *Store) ReleaseRoute(ctx context.Context, topic string, holder uuid.UUID) error {
	if _, err := db.pool.Exec(
		ctx, `DELETE FROM route_leases WHERE topic = $1 AND holder = $2`, topic, holder,
	); err != nil {
		return postgres.Classify(fmt.Errorf("releasing a route: %w", err))
	}
	return nil
}

// PartitionCounts returns the number of partitions that the topic with that id had under
// each of its routes, earliest route first.
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

// nextRoute returns the number of the newest route of a topic. It first records a new
// route if the observed topic has another id or more partitions.
func nextRoute(ctx context.Context, tx pgx.Tx, topic string, observed postgres.LogState) (int64, error) {
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
		maxPartitions  int32 // of the recorded routes of this topic id; 0: it has none
	)
	_, err = pgx.ForEachRow(rows, []any{&number, &id, &partitions}, func() error {
		if newest = number; [16]byte(id) == observed.TopicID {
			maxPartitions = max(maxPartitions, partitions)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading routes: %w", err)
	}
	if len(observed.Partitions) <= int(maxPartitions) { // a broker that lags behind reports fewer
		return newest, nil
	}
	_, err = tx.Exec(ctx, `INSERT INTO topic_routes (topic, route, topic_id, partitions) VALUES ($1, $2, $3, $4)`,
		topic, newest+1, observed.TopicID[:], len(observed.Partitions))
	if err != nil {
		return 0, fmt.Errorf("recording route %d: %w", newest+1, err)
	}
	return newest + 1, nil
}
