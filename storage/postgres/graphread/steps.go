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

// filterSmall counts and sorts all rows that pass the filter, and returns their number and the ids
// of the page. If more than maxSmallResult rows pass, it returns a count above that and no ids.
func (l *lister) filterSmall(ctx context.Context, s pageRange) (count int64, ids []uuid.UUID, err error) {
	w := l.liveWhere()
	l.apply(w, &s)
	conditions := w.Text()
	page := &postgres.Where{Args: w.Args}
	page.Conditions = []string{"true"}
	l.addAfter(page, &s)
	query := fmt.Sprintf(`WITH hits AS MATERIALIZED (SELECT %s, changed_by FROM %s WHERE %s LIMIT %d),
		counted AS (SELECT count(*) AS n FROM hits)
		SELECT n, CASE WHEN n > %d THEN '{}' ELSE ARRAY(SELECT id FROM hits WHERE %s ORDER BY %s OFFSET %s LIMIT %s) END
		FROM counted`,
		s.order.columns(), l.table, conditions, l.limits.maxSmallResult+1, l.limits.maxSmallResult,
		page.Text(), s.order.orderBy(false), page.Arg(s.skip), page.Arg(s.need))
	err = l.tx.QueryRow(ctx, query, postgres.WithCustomPlan(page.Args)...).Scan(&count, &ids)
	return count, ids, err
}

// readIndexed reads a page of all rows from the index of a field. A page in the second half is read
// backwards from the end.
func (l *lister) readIndexed(ctx context.Context, s pageRange, total int) ([]uuid.UUID, error) {
	by, skip, need := s.order, s.skip, s.need
	if fromEnd := total - skip - need; s.after == nil && fromEnd < skip {
		by, skip, need = by.reversed(), max(fromEnd, 0), min(need, total-skip)
	}
	w := l.liveWhere()
	l.addAfter(w, &s)
	ids, err := l.queryIDs(ctx, fmt.Sprintf(`SELECT id FROM %s WHERE %s ORDER BY %s OFFSET %s LIMIT %s`,
		l.table, w.Text(), by.orderBy(false), w.Arg(skip), w.Arg(need)), w)
	if by[0].Descending != s.order[0].Descending {
		slices.Reverse(ids)
	}
	return ids, err
}

// readOrdered reads a page of a range, one value of a coarse field after the other.
func (l *lister) readOrdered(ctx context.Context, s pageRange) (ids []uuid.UUID, err error) {
	lead := s.order[0]
	if len(s.order) <= 2 || !sortFields[lead.Field].coarse {
		return l.readRange(ctx, s)
	}
	value, err := l.nextValue(ctx, lead, s.after, nil)
	skip := s.skip
	for tried := 0; err == nil && value != nil && len(ids) < s.need; tried++ {
		if tried == l.limits.maxValues {
			return l.readRange(ctx, s) // there are too many values
		}
		part := pageRange{
			equal: append(slices.Clone(s.equal), equality{lead.Field, value}), order: s.order[1:],
			skip: skip, need: s.need - len(ids),
		}
		if s.after != nil && value == sortFields[lead.Field].value(s.after) {
			part.after = s.after
		}
		found, passed, err := l.readValue(ctx, part)
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

// nextBound returns the bound of the next page: the sequence when the first page was read. Without
// it, an item that a change moves could be returned twice or never, and reading pages in the order
// of changes would not end during writes.
func (l *lister) nextBound(ctx context.Context, by order, after *Position) (int64, error) {
	if after != nil || !by.isMutable() {
		return l.bound, nil
	}
	return l.sequence(ctx)
}

// addAfter adds the conditions that rows come after the position of the range and were not changed
// after the bound. The first page has no bound, because nothing is newer than a sequence that is
// read in the same transaction.
func (l *lister) addAfter(w *postgres.Where, s *pageRange) {
	s.order.addAfter(w, s.after)
	if l.bound > 0 {
		w.Add("changed_by <= ?", l.bound)
	}
}

// readValue reads a page of the rows with one value, and returns how many of them were skipped. If
// all of them are skipped, they are only counted. A page in the second half is read backwards from
// the end.
func (l *lister) readValue(ctx context.Context, s pageRange) (ids []uuid.UUID, passed int, err error) {
	if s.skip == 0 {
		ids, err = l.readOrdered(ctx, s)
		return ids, 0, err
	}
	count, err := l.countRange(ctx, s)
	if err != nil || count <= s.skip {
		return nil, count, err
	}
	passed = s.skip
	fromEnd := max(count-s.skip-s.need, 0)
	if fromEnd >= s.skip {
		ids, err = l.readOrdered(ctx, s)
		return ids, passed, err
	}
	s.order, s.need, s.skip = s.order.reversed(), min(s.need, count-s.skip), fromEnd
	ids, err = l.readOrdered(ctx, s)
	slices.Reverse(ids)
	return ids, passed, err
}

// nextValue returns the first value of a coarse field, beginning at the value of the position from
// or after afterValue if these are not nil. It returns nil if there is none.
func (l *lister) nextValue(
	ctx context.Context, lead Order, from *Position, afterValue any,
) (value any, err error) {
	w := l.liveWhere()
	f := sortFields[lead.Field]
	if from != nil {
		w.Add(f.column+" "+sign(lead)+"= ?", f.value(from))
	}
	if afterValue != nil {
		w.Add(f.column+" "+sign(lead)+" ?", afterValue)
	}
	if labels := l.filter.labels(); labels != nil && f.column == l.label {
		w.Add(f.column+" = ANY(?)", labels)
	}
	query := fmt.Sprintf(
		`SELECT %s FROM %s WHERE %s ORDER BY %s LIMIT 1`, f.column, l.table, w.Text(), order{lead}.orderBy(false),
	)
	err = l.tx.QueryRow(ctx, query, postgres.WithCustomPlan(w.Args)...).Scan(&value)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	return value, err
}

// readRange reads a page of a range with the first step that succeeds.
func (l *lister) readRange(ctx context.Context, s pageRange) ([]uuid.UUID, error) {
	ids, err := l.scanWindow(ctx, s)
	if ids != nil || err != nil {
		return ids, err
	}
	if len(s.equal) > 0 { // otherwise list has tried it
		count, ids, err := l.filterSmall(ctx, s)
		if err != nil || count <= int64(l.limits.maxSmallResult) {
			return ids, err
		}
	}
	return l.filterAndSort(ctx, s)
}

// scanWindow filters the first rows in the order of the range. It returns nil if the page is not
// among them.
func (l *lister) scanWindow(ctx context.Context, s pageRange) ([]uuid.UUID, error) {
	if s.skip > l.limits.windowRows {
		return nil, nil
	}
	inner := l.liveWhere()
	l.addAfter(inner, &s)
	l.filter.addSortBounds(inner, s.order[0])
	outer := &postgres.Where{Args: inner.Args, Conditions: []string{"true"}}
	l.apply(outer, &s)
	ids, err := l.queryIDs(
		ctx,
		fmt.Sprintf(
			`SELECT id FROM (SELECT * FROM %s WHERE %s ORDER BY %s LIMIT %d) w WHERE %s ORDER BY %s OFFSET %s LIMIT %s`,
			l.table, inner.Text(), s.order.orderBy(false), l.limits.windowRows, outer.Text(), s.order.orderBy(false),
			outer.Arg(s.skip), outer.Arg(s.need),
		), outer,
	)
	if len(ids) < s.need {
		return nil, err
	}
	return ids, err
}

// filterAndSort reads a page by sorting all rows that pass the filter.
func (l *lister) filterAndSort(ctx context.Context, s pageRange) ([]uuid.UUID, error) {
	w := l.liveWhere()
	l.apply(w, &s)
	l.addAfter(w, &s)
	return l.queryIDs(ctx, fmt.Sprintf(`SELECT id FROM %s WHERE %s ORDER BY %s OFFSET %s LIMIT %s`,
		l.table, w.Text(), s.order.orderBy(true), w.Arg(s.skip), w.Arg(s.need)), w)
}

// countRange counts the rows of a range that pass the filter.
func (l *lister) countRange(ctx context.Context, s pageRange) (int, error) {
	w := l.liveWhere()
	l.apply(w, &s)
	n, err := l.queryNumber(ctx, fmt.Sprintf(`SELECT count(*) FROM %s WHERE %s`, l.table, w.Text()), w)
	return int(n), err
}
