package graphread

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// whole carries the filter out, unless more rows pass than few: then count is above
// that and there are no ids.
func (l *lister) whole(ctx context.Context, s stretch) (count int64, ids []uuid.UUID, err error) {
	w := l.where()
	l.apply(w, &s)
	conditions := w.Text()
	page := &postgres.Where{Args: w.Args}
	page.Conditions = []string{"true"}
	l.after(page, &s)
	query := fmt.Sprintf(`WITH hits AS MATERIALIZED (SELECT %s, changed_by FROM %s WHERE %s LIMIT %d),
		counted AS (SELECT count(*) AS n FROM hits)
		SELECT n, CASE WHEN n > %d THEN '{}' ELSE ARRAY(SELECT id FROM hits WHERE %s ORDER BY %s OFFSET %s LIMIT %s) END
		FROM counted`,
		s.order.columns(), l.table, conditions, l.bounds.few+1, l.bounds.few,
		page.Text(), s.order.by(false), page.Arg(s.skip), page.Arg(s.need))
	err = l.tx.QueryRow(ctx, query, postgres.Planned(page.Args)...).Scan(&count, &ids)
	return count, ids, err
}

// indexed reads a page of all rows from the index of a field. Beyond the middle it
// comes from the end.
func (l *lister) indexed(ctx context.Context, s stretch, total int) ([]uuid.UUID, error) {
	by, skip, need := s.order, s.skip, s.need
	if back := total - skip - need; s.after == nil && back < skip {
		by, skip, need = by.reversed(), max(back, 0), min(need, total-skip)
	}
	w := l.where()
	l.after(w, &s)
	ids, err := l.ids(ctx, fmt.Sprintf(`SELECT id FROM %s WHERE %s ORDER BY %s OFFSET %s LIMIT %s`,
		l.table, w.Text(), by.by(false), w.Arg(skip), w.Arg(need)), w)
	if by[0].Descending != s.order[0].Descending {
		slices.Reverse(ids)
	}
	return ids, err
}

// sorted reads a page of a stretch, from one value of a coarse field to the next.
func (l *lister) sorted(ctx context.Context, s stretch) (ids []uuid.UUID, err error) {
	lead := s.order[0]
	if len(s.order) <= 2 || !sortFields[lead.Field].coarse {
		return l.leaf(ctx, s)
	}
	value, err := l.nextValue(ctx, lead, s.after, nil)
	skip := s.skip
	for tried := 0; err == nil && value != nil && len(ids) < s.need; tried++ {
		if tried == l.bounds.values {
			return l.leaf(ctx, s) // too many values
		}
		part := stretch{
			equal: append(slices.Clone(s.equal), equality{lead.Field, value}), order: s.order[1:],
			skip: skip, need: s.need - len(ids),
		}
		if s.after != nil && value == sortFields[lead.Field].of(s.after) {
			part.after = s.after
		}
		found, passed, err := l.part(ctx, part)
		if err != nil {
			return nil, err
		}
		ids, skip = append(ids, found...), skip-passed
		value, err = l.nextValue(ctx, lead, nil, value)
		if err != nil {
			return nil, err
		}
	}
	return ids, err
}

// nextBound returns the bound of the page that follows: the sequence as of the walk's
// first page. An item that a change moves would be shown once more, or never, and a walk in
// the order of changes would not end while others write.
func (l *lister) nextBound(ctx context.Context, by order, after *Position) (int64, error) {
	if after != nil || !by.isMutable() {
		return l.bound, nil
	}
	return l.sequence(ctx)
}

// after keeps what comes after the stretch's position and within the bound of the walk.
// The first page has none: nothing is beyond a sequence that is read at the same moment.
func (l *lister) after(w *postgres.Where, s *stretch) {
	s.order.after(w, s.after)
	if l.bound > 0 {
		w.Add("changed_by <= ?", l.bound)
	}
}

// part reads a page of the stretch of one value, and gives how many of its rows were
// passed over for skip. A stretch that is passed over whole is counted only, and one
// whose second half is meant is read from its end.
func (l *lister) part(ctx context.Context, s stretch) (ids []uuid.UUID, passed int, err error) {
	if s.skip == 0 {
		ids, err = l.sorted(ctx, s)
		return ids, 0, err
	}
	count, err := l.rows(ctx, s)
	if err != nil || count <= s.skip {
		return nil, count, err
	}
	passed = s.skip
	back := max(count-s.skip-s.need, 0)
	if back >= s.skip {
		ids, err = l.sorted(ctx, s)
		return ids, passed, err
	}
	s.order, s.need, s.skip = s.order.reversed(), min(s.need, count-s.skip), back
	ids, err = l.sorted(ctx, s)
	slices.Reverse(ids)
	return ids, passed, err
}

// nextValue returns the first value of a coarse field, from the one of a position on
// or behind another value; nil: there is none.
func (l *lister) nextValue(
	ctx context.Context, lead Order, from *Position, behind any,
) (value any, err error) {
	w := l.where()
	f := sortFields[lead.Field]
	if from != nil {
		w.Add(f.column+" "+sign(lead)+"= ?", f.of(from))
	}
	if behind != nil {
		w.Add(f.column+" "+sign(lead)+" ?", behind)
	}
	if labels := l.filter.labels(); labels != nil && f.column == l.label {
		w.Add(f.column+" = ANY(?)", labels)
	}
	query := fmt.Sprintf(
		`SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT 1`, f.column, l.table, w.Text(), order{lead}.by(false),
	)
	err = l.tx.QueryRow(ctx, query, postgres.Planned(w.Args)...).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// leaf reads a page of a stretch by the first step that has it.
func (l *lister) leaf(ctx context.Context, s stretch) ([]uuid.UUID, error) {
	ids, err := l.window(ctx, s)
	if ids != nil || err != nil {
		return ids, err
	}
	if len(s.equal) > 0 { // else it was tried before
		count, ids, err := l.whole(ctx, s)
		if err != nil || count <= int64(l.bounds.few) {
			return ids, err
		}
	}
	return l.all(ctx, s)
}

// window looks at some rows in the order of the stretch; nil: the page is not among
// them.
func (l *lister) window(ctx context.Context, s stretch) ([]uuid.UUID, error) {
	if s.skip > l.bounds.window {
		return nil, nil
	}
	inner := l.where()
	l.after(inner, &s)
	l.filter.bound(inner, s.order[0])
	outer := &postgres.Where{Args: inner.Args, Conditions: []string{"true"}}
	l.apply(outer, &s)
	ids, err := l.ids(
		ctx,
		fmt.Sprintf(
			`SELECT id FROM (SELECT * FROM %s WHERE %s ORDER BY %s LIMIT %d) w WHERE %s ORDER BY %s OFFSET %s LIMIT %s`,
			l.table, inner.Text(), s.order.by(false), l.bounds.window, outer.Text(), s.order.by(false), outer.Arg(s.skip),
			outer.Arg(s.need),
		), outer,
	)
	if len(ids) < s.need {
		return nil, err
	}
	return ids, err
}

// all carries the filter out and sorts what it finds.
func (l *lister) all(ctx context.Context, s stretch) ([]uuid.UUID, error) {
	w := l.where()
	l.apply(w, &s)
	l.after(w, &s)
	return l.ids(ctx, fmt.Sprintf(`SELECT id FROM %s WHERE %s ORDER BY %s OFFSET %s LIMIT %s`,
		l.table, w.Text(), s.order.by(true), w.Arg(s.skip), w.Arg(s.need)), w)
}

// rows counts a stretch.
func (l *lister) rows(ctx context.Context, s stretch) (int, error) {
	w := l.where()
	l.apply(w, &s)
	n, err := l.number(ctx, fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s`, l.table, w.Text()), w)
	return int(n), err
}
