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

// To count what passes a broad filter can take half a second, and a graph that is
// worked on changes more often than that. So what passes is counted by the time of its
// creation, which never changes, in stretches that hold about as many rows each. After
// a change the journal says which resources it touched, and only the stretches of
// those are counted again. It needs no look at what the resources were before.
const (
	partsKept    = 5 * time.Minute // then the stretches may no longer hold about as many rows each
	mostChanges  = 256             // changes that are looked through
	mostBytes    = 1 << 20         // of these changes together
	mostRecounts = 4               // stretches that are counted again, one of some hundred each
)

// parted is a total by stretches.
type parted struct {
	since  time.Time   // when all of them were counted
	times  []time.Time // where one ends and the next begins
	totals []int64     // one more than there are times
}

// part returns the stretch of a time of creation, as width_bucket does.
func (p *parted) part(created time.Time) int {
	return sort.Search(len(p.times), func(i int) bool { return p.times[i].After(created) })
}

// recount brings a remembered total up to the workspace's present sequence. known is
// false if that has to be counted as if it was not remembered.
func (l *lister) recount(
	ctx context.Context, key string, c counted, sequence int64,
) (total int64, known bool, err error) {
	if c.total <= int64(l.bounds.few) || c.sequence > sequence {
		return 0, false, nil
	}
	next := counted{sequence: sequence}
	if next.parts, err = l.partsSince(ctx, c, sequence); err == nil && next.parts == nil {
		next.parts, err = l.countParts(ctx)
	}
	if err != nil || next.parts == nil {
		return 0, false, err
	}
	for _, n := range next.parts.totals {
		next.total += n
	}
	l.totals.Set(key, next)
	return next.total, true, nil
}

// partsSince counts the stretches again in which something was touched since the total
// was counted; nil: all are to be counted.
func (l *lister) partsSince(ctx context.Context, c counted, sequence int64) (*parted, error) {
	if c.parts == nil || time.Since(c.parts.since) >= partsKept {
		return nil, nil
	}
	touched, few, err := l.touched(ctx, c, sequence)
	if err != nil || !few {
		return nil, err
	}
	return l.recountParts(ctx, c.parts, touched)
}

// touched returns the stretches of the resources that were touched since the total was
// counted; few is false if they are too many to tell, or to count again.
func (l *lister) touched(ctx context.Context, c counted, sequence int64) (parts []int, few bool, err error) {
	if sequence-c.sequence > mostChanges {
		return nil, false, nil
	}
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	w.Add("sequence > ?", c.sequence)
	w.Add("sequence <= ?", sequence)
	bytes, err := l.number(ctx, `SELECT COALESCE(sum(octet_length(change)), 0)::bigint FROM journal WHERE `+w.Text(), w)
	if err != nil || bytes > mostBytes {
		return nil, false, err
	}
	rows, err := l.tx.Query(ctx, `SELECT change FROM journal WHERE `+w.Text(), postgres.Planned(w.Args)...)
	if err != nil {
		return nil, false, err
	}
	changes, err := pgx.CollectRows(rows, pgx.RowTo[[]byte])
	if err != nil {
		return nil, false, err
	}
	if int64(len(changes)) != sequence-c.sequence { // of a graph that came with a backup without its journal
		return nil, false, nil
	}
	for _, change := range changes {
		created, all, err := l.createdBy(change)
		if err != nil || !all {
			return nil, false, err
		}
		for _, at := range created {
			if part := c.parts.part(at); !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
		if len(parts) > mostRecounts {
			return nil, false, nil
		}
	}
	return parts, true, nil
}

// createdBy returns when the listed resources were created that a change touched; all is
// false if it does not name all of them.
func (l *lister) createdBy(change []byte) (created []time.Time, all bool, err error) {
	c, err := graphrecord.DecodeChange(change)
	if err != nil {
		return nil, false, fmt.Errorf("reading the journal: %w", err)
	}
	for _, s := range c.Steps {
		switch {
		case s.Cascade != nil && l.kind == edges.kind: // says which edges, and not when they were created
			return nil, false, nil
		case s.Node != nil && l.kind == nodes.kind:
			created = append(created, s.Node.CreatedAt)
		case s.Edge != nil && l.kind == edges.kind:
			created = append(created, s.Edge.CreatedAt)
		}
	}
	return created, true, nil
}

// countParts counts what passes the filter by stretches; nil: there are none yet.
func (l *lister) countParts(ctx context.Context) (*parted, error) {
	times, err := l.times(ctx)
	if err != nil || len(times) == 0 {
		return nil, err
	}
	w := l.where()
	l.filter.apply(w)
	conditions := w.Text()
	rows, err := l.tx.Query(
		ctx, fmt.Sprintf(`SELECT width_bucket(created_at, %s::timestamptz[]), count(*) FROM %s WHERE %s GROUP BY 1`,
			w.Arg(times), l.table, conditions), postgres.Planned(w.Args)...,
	)
	if err != nil {
		return nil, err
	}
	p := &parted{since: time.Now(), times: times, totals: make([]int64, len(times)+1)}
	var (
		part  int
		count int64
	)
	_, err = pgx.ForEachRow(rows, []any{&part, &count}, func() error { p.totals[part] = count; return nil })
	return p, err
}

// recountParts counts some of the stretches again.
func (l *lister) recountParts(ctx context.Context, old *parted, parts []int) (*parted, error) {
	p := &parted{since: old.since, times: old.times, totals: slices.Clone(old.totals)}
	for _, part := range parts {
		w := l.where()
		l.filter.apply(w)
		if part > 0 {
			w.Add("created_at >= ?", p.times[part-1])
		}
		if part < len(p.times) {
			w.Add("created_at < ?", p.times[part])
		}
		total, err := l.number(ctx, fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s`, l.table, w.Text()), w)
		if err != nil {
			return nil, err
		}
		p.totals[part] = total
	}
	return p, nil
}

// times are those between stretches that hold about as many rows of the table each, as
// Postgres' statistics have them; none: it has none.
func (l *lister) times(ctx context.Context) (times []time.Time, err error) {
	if l.bounds.times != nil {
		return l.bounds.times, nil
	}
	err = l.tx.QueryRow(ctx, `SELECT histogram_bounds::text::timestamptz[] FROM pg_stats
		WHERE schemaname = current_schema() AND tablename = $1 AND attname = 'created_at' AND histogram_bounds IS NOT NULL
		UNION ALL SELECT '{}' LIMIT 1`, l.table).Scan(&times)
	return times, err
}
