package load

import (
	"context"
	"fmt"
	"net/http"
)

// retire removes a source from the current ones and reduces it to a digest of its rows. One of
// three sources is deleted.
func (t *tenant) retire(ctx context.Context, stores Stores, s *source) error {
	delete(t.sources.current, s.format)
	series, err := readSeries(ctx, stores, t.uuid, s.id)
	if err != nil {
		return err
	}
	retired := &retiredSource{
		id: s.id, format: s.format, series: series, removed: (t.load.round/sourceRounds+len(t.sources.retired))%3 == 0,
	}
	if retired.removed {
		a, err := t.load.client.doUntilAnswered(ctx, call{
			key: t.admin, method: http.MethodDelete, path: "/api/live-data/sources/" + s.id.String(),
		})
		switch {
		case err != nil:
			return err
		case a.Status != http.StatusNoContent && a.Status != http.StatusNotFound: // an earlier attempt has done it
			return fmt.Errorf("%w: deleting source %s: %d %s", errRefused, s.id, a.Status, a.Error.Message)
		}
	} else if retired.digest, err = retired.read(ctx, stores); err != nil {
		return err
	}
	t.sources.retired = append(t.sources.retired, retired)
	if n := len(t.sources.retired) - maxRetired*len(formats); n > 0 {
		t.sources.retired = t.sources.retired[n:]
	}
	return nil
}

// read returns the digest of the source's rows.
func (s *retiredSource) read(ctx context.Context, stores Stores) (digest, error) {
	each, err := readDigests(ctx, stores, s.series)
	return s.sum(each), err
}

// sum adds up the digests of the source's series.
func (s *retiredSource) sum(each map[uint64]digest) (sum digest) {
	for _, one := range s.series {
		sum.Rows, sum.Hash = sum.Rows+each[one.id].Rows, sum.Hash+each[one.id].Hash
	}
	return sum
}

// readDigests returns the digest of the rows of each series that has rows.
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

// checkRetired compares the retired sources with their digests: no row may have been added, removed
// or changed.
func (t *tenant) checkRetired(ctx context.Context, stores Stores) (found []Violation, err error) {
	var series []seriesRow
	for _, old := range t.sources.retired {
		series = append(series, old.series...)
	}
	each, err := readDigests(ctx, stores, series)
	if err != nil {
		return nil, err
	}
	for _, old := range t.sources.retired {
		if old.removed && !old.settled {
			old.settled = true // its deletion is still pending: it is checked the next time
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
