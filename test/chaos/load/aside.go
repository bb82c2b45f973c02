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
		a, err := t.load.client.reach(ctx, call{key: t.admin, method: http.MethodDelete, path: "/api/live-data/sources/" + s.id.String()})
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

// read gives what the rows of the source come to.
func (old *aside) read(ctx context.Context, stores Stores) (sum digest, err error) {
	for _, one := range old.series {
		var rows []digest
		err := stores.ClickHouse.Select(ctx, &rows, `SELECT count() AS rows, sum(cityHash64(series, ts, value, version)) AS hash
			FROM `+one.table()+` FINAL WHERE series = ?`, one.id)
		if err != nil {
			return sum, fmt.Errorf("reading a source that was put aside: %w", err)
		}
		sum.Rows, sum.Hash = sum.Rows+rows[0].Rows, sum.Hash+rows[0].Hash
	}
	return sum, nil
}

// checkAside holds what was put aside in former rounds against what its rows come to
// now: nothing may have come, gone or changed.
func (t *tenant) checkAside(ctx context.Context, stores Stores) (found []Violation, err error) {
	for _, old := range t.shelf.aside {
		if old.removed && !old.settled {
			old.settled = true // its deletion is on its way: the next time
			continue
		}
		now, err := old.read(ctx, stores)
		switch {
		case err != nil:
			return found, err
		case old.removed && now.Rows > 0:
			found = append(found, Violation{2, "points of a deleted source stand", fmt.Sprintf("source %s: %d", old.id, now.Rows)})
		case !old.removed && now != old.digest:
			found = append(found, Violation{1, "points changed that nobody wrote", fmt.Sprintf("source %s: %+v, before %+v", old.id, now, old.digest)})
		}
	}
	return found, nil
}
