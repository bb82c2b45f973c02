package graphread

import (
	"context"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Counting the rows that pass a broad filter can take half a second, and a graph in use changes
// more often than that. So the rows are counted by their creation time, which never changes, in
// histogram buckets with about the same number of rows. After a change, the journal has the
// resources that it touched, and only the buckets of these are counted again. The previous state
// of the resources is not needed.
const (
	maxBucketAge   = 5 * time.Minute // after that the buckets may differ too much in size
	maxChanges     = 256             // maximum number of changes that are examined
	maxChangeBytes = 1 << 20         // maximum size of these changes together
	maxRecounts    = 4               // maximum number of buckets counted again, of about a hundred
)

// bucketedTotal is a total by histogram buckets.
type bucketedTotal struct {
	since  time.Time   // when all buckets were counted
	times  []time.Time // bounds between the buckets
	totals []int64     // one per bucket: one more than times
}

// bucket returns the index of the bucket of a creation time, as width_bucket does.
func (p *bucketedTotal) bucket(created time.Time) int {
	return sort.Search(len(p.times), func(i int) bool { return p.times[i].After(created) })
}

// recount updates a cached total to the workspace's current sequence. known is false if the cached
// total cannot be used and the rows must be counted as if there was none.
func (l *lister) recount(
	ctx context.Context, key string, c cachedTotal, sequence int64,
) (total int64, known bool, err error) {
	if c.total <= int64(l.limits.maxSmallResult) || c.sequence > sequence {
		return 0, false, nil
	}
	next := cachedTotal{sequence: sequence}
	if next.buckets, err = l.bucketsSince(ctx, c, sequence); err == nil && next.buckets == nil {
		next.buckets, err = l.countBuckets(ctx)
	}
	if err != nil || next.buckets == nil {
		return 0, false, err
	}
	for _, n := range next.buckets.totals {
		next.total += n
	}
	l.totals.Set(key, next)
	return next.total, true, nil
}

// bucketsSince counts the buckets again that have resources touched since the total was counted. It
// returns nil if all buckets must be counted.
func (l *lister) bucketsSince(ctx context.Context, c cachedTotal, sequence int64) (*bucketedTotal, error) {
	if c.buckets == nil || time.Since(c.buckets.since) >= maxBucketAge {
		return nil, nil
	}
	touched, ok, err := l.touchedBuckets(ctx, c, sequence)
	if err != nil || !ok {
		return nil, err
	}
	return l.recountBuckets(ctx, c.buckets, touched)
}

// touchedBuckets returns the buckets of the resources that were touched since the total was counted.
// ok is false if the buckets cannot be determined, or are too many to count again.
func (l *lister) touchedBuckets(
	ctx context.Context, c cachedTotal, sequence int64,
) (buckets []int, ok bool, err error) {
	if sequence-c.sequence > maxChanges {
		return nil, false, nil
	}
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	w.Add("sequence > ?", c.sequence)
	w.Add("sequence <= ?", sequence)
	bytes, err := l.queryNumber(
		ctx, `SELECT COALESCE(sum(octet_length(change)), 0)::bigint FROM journal WHERE `+w.Text(), w,
	)
	if err != nil || bytes > maxChangeBytes {
		return nil, false, err
	}
	rows, err := l.tx.Query(ctx, `SELECT change FROM journal WHERE `+w.Text(), postgres.WithCustomPlan(w.Args)...)
	if err != nil {
		return nil, false, err
	}
	changes, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, false, err
	}
	if int64(len(changes)) != sequence-c.sequence { // the graph was restored from a backup without its journal
		return nil, false, nil
	}
	for _, change := range changes {
		created, all, err := l.creationTimes(change)
		if err != nil || !all {
			return nil, false, err
		}
		for _, createdAt := range created {
			if bucket := c.buckets.bucket(createdAt); !slices.Contains(buckets, bucket) {
				buckets = append(buckets, bucket)
			}
		}
		if len(buckets) > maxRecounts {
			return nil, false, nil
		}
	}
	return buckets, true, nil
}

// creationTimes returns the creation times of the resources of the list's kind that a change
// touched. all is false if the change does not contain all of them.
func (l *lister) creationTimes(change []byte) (created []time.Time, all bool, err error) {
	c, err := graphrecord.DecodeChange(change)
	if err != nil {
		return nil, false, fmt.Errorf("reading the journal: %w", err)
	}
	for _, s := range c.Steps {
		switch {
		case s.Cascade != nil && l.kind == edges.kind: // it has the ids of the edges, without creation times
			return nil, false, nil
		case s.Node != nil && l.kind == nodes.kind:
			created = append(created, s.Node.CreatedAt)
		case s.Edge != nil && l.kind == edges.kind:
			created = append(created, s.Edge.CreatedAt)
		}
	}
	return created, true, nil
}

// countBuckets counts the rows that pass the filter by buckets. It returns nil if there are no
// bounds of buckets yet.
func (l *lister) countBuckets(ctx context.Context) (*bucketedTotal, error) {
	times, err := l.bucketTimes(ctx)
	if err != nil || len(times) == 0 {
		return nil, err
	}
	w := l.liveWhere()
	l.filter.apply(w)
	conditions := w.Text()
	rows, err := l.tx.Query(
		ctx, fmt.Sprintf(`SELECT width_bucket(created_at, %s::timestamptz[]), count(*) FROM %s WHERE %s GROUP BY 1`,
			w.Arg(times), l.table, conditions), postgres.WithCustomPlan(w.Args)...,
	)
	if err != nil {
		return nil, err
	}
	p := &bucketedTotal{since: time.Now(), times: times, totals: make([]int64, len(times)+1)}
	var (
		bucket int
		count  int64
	)
	_, err = pgx.ForEachRow(rows, []any{&bucket, &count}, func() error { p.totals[bucket] = count; return nil })
	return p, err
}

// recountBuckets counts some of the buckets again.
func (l *lister) recountBuckets(ctx context.Context, old *bucketedTotal, buckets []int) (*bucketedTotal, error) {
	p := &bucketedTotal{since: old.since, times: old.times, totals: slices.Clone(old.totals)}
	for _, bucket := range buckets {
		w := l.liveWhere()
		l.filter.apply(w)
		if bucket > 0 {
			w.Add("created_at >= ?", p.times[bucket-1])
		}
		if bucket < len(p.times) {
			w.Add("created_at < ?", p.times[bucket])
		}
		total, err := l.queryNumber(ctx, fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s`, l.table, w.Text()), w)
		if err != nil {
			return nil, err
		}
		p.totals[bucket] = total
	}
	return p, nil
}

// bucketTimes returns the bounds between buckets with about the same number of rows of the table,
// from the statistics of Postgres. It returns none if there are no statistics.
func (l *lister) bucketTimes(ctx context.Context) (bucketTimes []time.Time, err error) {
	if l.limits.bucketTimes != nil {
		return l.limits.bucketTimes, nil
	}
	err = l.tx.QueryRow(ctx, `SELECT histogram_bounds::text::timestamptz[] FROM pg_stats
		WHERE schemaname = current_schema() AND tablename = $1 AND attname = 'created_at' AND histogram_bounds IS NOT NULL
		UNION ALL SELECT '{}' LIMIT 1`, l.table).Scan(&bucketTimes)
	return bucketTimes, err
}
