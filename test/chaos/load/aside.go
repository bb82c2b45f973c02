package load

import (
	"context"
	"fmt"
	"net/http"
)

// putAside has nothing more written to a source and reduces it to what its rows come
// to. Of three sources one is deleted.
func (t *tenant) putAside(ctx context.Context, stores Stores, s *source) error {
	delete(t.shelf.current, s.format)
	series, err := readSeries(ctx, stores, t.uuid, s.id)
	if err != nil {
		return err
	}
	old := &aside{id: s.id, format: s.format, series: series, removed: (t.load.round/keepRounds+len(t.shelf.aside))%3 == 0}
	if old.removed {
		a, err := t.load.client.reach(ctx, call{
			key: t.admin, method: http.MethodDelete, path: "/api/live-data/sources/" + s.id.String(),
		})
		switch {
		case err != nil:
			return err
		case a.Status != http.StatusNoContent && a.Status != http.StatusNotFound: // a try of before has done it
			return fmt.Errorf("%w: deleting source %s: %d %s", errRefused, s.id, a.Status, a.Error.Message)
		}
	} else if old.digest, err = old.read(ctx, stores); err != nil {
		return err
	}
	t.shelf.aside = append(t.shelf.aside, old)
	if n := len(t.shelf.aside) - keptAside*len(formats); n > 0 {
		t.shelf.aside = t.shelf.aside[n:]
	}
	return nil
}

// read returns what the rows of the source come to.
func (old *aside) read(ctx context.Context, stores Stores) (digest, error) {
	each, err := readDigests(ctx, stores, old.series)
	return old.sum(each), err
}

// sum adds up what the rows of its series come to.
func (old *aside) sum(each map[uint64]digest) (sum digest) {
	for _, one := range old.series {
		sum.Rows, sum.Hash = sum.Rows+each[one.id].Rows, sum.Hash+each[one.id].Hash
	}
	return sum
}

// readDigests returns what the rows of each series come to; of one that has none nothing.
func readDigests(ctx context.Context, stores Stores, series []seriesRow) (map[uint64]digest, error) {
	each := map[uint64]digest{}
	tables, _ := byTable(series)
	for table, ids := range tables {
		var rows []struct {
			Series uint64 `ch:"series"`
			Rows   uint64 `ch:"rows"`
			Hash   uint64 `ch:"hash"`
		}
		err := stores.ClickHouse.Select(
			ctx, &rows, `SELECT series, count() AS rows, sum(cityHash64(series, ts, value, version)) AS hash
			FROM `+table+` FINAL WHERE series IN (?) GROUP BY series`, ids,
		)
		if err != nil {
			return nil, fmt.Errorf("reading sources that were put aside: %w", err)
		}
		for _, row := range rows {
			each[row.Series] = digest{row.Rows, row.Hash}
		}
	}
	return each, nil
}

// checkAside holds what was put aside in former rounds against what its rows come to
// now: nothing may have come, gone or changed.
func (t *tenant) checkAside(ctx context.Context, stores Stores) (found []Violation, err error) {
	var series []seriesRow
	for _, old := range t.shelf.aside {
		series = append(series, old.series...)
	}
	each, err := readDigests(ctx, stores, series)
	if err != nil {
		return nil, err
	}
	for _, old := range t.shelf.aside {
		if old.removed && !old.settled {
			old.settled = true // its deletion is on its way: the next time
			continue
		}
		switch now := old.sum(each); {
		case old.removed && now.Rows > 0:
			found = append(found, Violation{
				2, "points of a deleted source stand", fmt.Sprintf("source %s: %d", old.id, now.Rows),
			})
		case !old.removed && now != old.digest:
			found = append(found, Violation{1, "points changed that nobody wrote", fmt.Sprintf(
				"source %s: %+v, before %+v", old.id, now, old.digest,
			)})
		}
	}
	return found, nil
}
