package promstore

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

const (
	// MaxExemplars is the maximum number of exemplars of a query.
	MaxExemplars = 20_000
	// exemplarSamples is the number of samples whose memory an exemplar takes.
	exemplarSamples = 16
)

// exemplarSizes are the numbers of exemplars up to which a query is read; see readSizes.
var exemplarSizes = []int{1000, MaxExemplars}

// Exemplars are the exemplars of a series, by time.
type Exemplars struct {
	Labels labels.Labels
	List   []timeseries.Exemplar // with times in microseconds
}

// Exemplars returns the exemplars, from mint to maxt in milliseconds, both inclusive, of the series that match all
// matchers of any of the selectors. Series without exemplars are left out; the others are sorted by their labels. The
// caller must call release after it has written them.
func (q *Query) Exemplars(
	ctx context.Context, selectors [][]*labels.Matcher, mint, maxt int64,
) (found []Exemplars, release func(), err error) {
	var special []*series
	seen := map[uint64]bool{}
	for _, matchers := range selectors {
		list, err := q.selectSeries(ctx, matchers)
		if err != nil {
			return nil, nil, err
		}
		for _, s := range list {
			if s.registered.Kind == pointblock.KindSpecial && !seen[s.registered.ID] {
				seen[s.registered.ID] = true
				special = append(special, s)
			}
		}
	}
	byID, err := q.readExemplars(ctx, special, mint, maxt)
	if err != nil {
		q.release()
		return nil, nil, err
	}
	byLabels := map[string]*Exemplars{} // several series can have the same labels
	for _, s := range special {
		if list := byID[s.registered.ID]; len(list) > 0 {
			key := string(s.labels.Bytes(nil))
			if byLabels[key] == nil {
				byLabels[key] = &Exemplars{Labels: s.labels}
			}
			byLabels[key].List = append(byLabels[key].List, list...)
		}
	}
	for x := range maps.Values(byLabels) {
		slices.SortStableFunc(x.List, func(a, b timeseries.Exemplar) int { return cmp.Compare(a.TS, b.TS) })
		found = append(found, *x)
	}
	slices.SortFunc(found, func(a, b Exemplars) int { return labels.Compare(a.Labels, b.Labels) })
	return found, q.release, nil
}

// readExemplars returns the exemplars of series of special values.
func (q *Query) readExemplars(
	ctx context.Context, list []*series, mint, maxt int64,
) (map[uint64][]timeseries.Exemplar, error) {
	if len(list) == 0 {
		return nil, nil
	}
	raw, err := q.rawQuery(ctx, list, mint, maxt)
	if err != nil {
		return nil, err
	}
	for _, size := range exemplarSizes {
		share, err := q.store.Reserve(int64(size) * exemplarSamples)
		if err != nil {
			return nil, err
		}
		found, more, err := q.store.Points.Exemplars(ctx, timeseries.ExemplarQuery{
			Series: raw.Strings, Range: raw.Range, Limit: size,
		})
		if err != nil || more {
			share.Release()
		}
		if err != nil {
			return nil, fmt.Errorf("reading exemplars: %w", err)
		}
		if !more {
			q.shares = append(q.shares, share)
			return found, nil
		}
	}
	return nil, fault.Newf(
		fault.Invalid, "The query finds more than %d exemplars: ask for a shorter range, or fewer series", MaxExemplars,
	).With("limit", MaxExemplars)
}
