package graphread

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/maypok86/otter/v2"

	"github.com/livegraph/livegraph/storage/postgres"
)

// maxCachedTotals is the maximum number of cached totals of a process.
const maxCachedTotals = 4096

// totalCache has the number of rows that pass a filter as of a sequence of the workspace, so that
// the rows are counted once for all pages of a list.
type totalCache = otter.Cache[string, cachedTotal]

func newTotalCache() *totalCache {
	return otter.Must(&otter.Options[string, cachedTotal]{MaximumSize: maxCachedTotals})
}

type cachedTotal struct {
	sequence, total int64
	buckets         *bucketedTotal // nil: it was counted without buckets
}

// knownTotal returns the total if the rows need not be counted: totals by type are maintained in
// graph_totals, those of other filters may be cached.
func (l *lister) knownTotal(ctx context.Context) (total int64, known bool, err error) {
	if l.filter.hasOtherConditions() {
		sequence, err := l.sequence(ctx)
		if err != nil || sequence == 0 {
			return 0, false, err
		}
		key := l.cacheKey()
		c, cached := l.totals.GetIfPresent(key)
		if !cached || c.sequence == sequence {
			return c.total, cached, nil
		}
		return l.recount(ctx, key, c, sequence)
	}
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	w.Add("kind = ?", int16(l.kind))
	if labels := l.filter.labels(); labels != nil {
		w.Add("label = ANY(?)", labels)
	}
	total, err = l.queryNumber(ctx, `SELECT COALESCE(sum(standing), 0)::bigint FROM graph_totals WHERE `+w.Text(), w)
	return total, true, err
}

// countTotal counts the rows that pass the filter, and caches the total.
func (l *lister) countTotal(ctx context.Context) (int64, error) {
	total, err := l.countRange(ctx, pageRange{})
	if err != nil {
		return 0, err
	}
	sequence, err := l.sequence(ctx)
	if err == nil && sequence > 0 {
		l.totals.Set(l.cacheKey(), cachedTotal{sequence: sequence, total: int64(total)})
	}
	return int64(total), err
}

// broadFactor is the factor by which the estimated number of rows must exceed maxSmallResult for
// them to be counted at once. Estimates for properties are inaccurate.
const broadFactor = 5

// countBroad counts the rows that pass the filter if the planner expects many.
func (l *lister) countBroad(ctx context.Context) (total int64, counted bool, err error) {
	w := l.liveWhere()
	l.filter.apply(w)
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	var text []byte
	query := `EXPLAIN (FORMAT JSON) SELECT id FROM ` + l.table + ` WHERE ` + w.Text()
	if err := l.tx.QueryRow(ctx, query, postgres.WithCustomPlan(w.Args)...).Scan(&text); err != nil {
		return 0, false, err
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		return 0, false, fmt.Errorf("reading a plan: %w", err)
	}
	if len(plans) == 0 || plans[0].Plan.Rows <= float64(broadFactor*l.limits.maxSmallResult) {
		return 0, false, nil
	}
	total, err = l.countTotal(ctx)
	return total, true, err
}

// sequence returns the sequence of the workspace's newest change, or 0 if there is none.
func (l *lister) sequence(ctx context.Context) (int64, error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	return l.queryNumber(ctx, `SELECT COALESCE((SELECT sequence FROM graph_heads WHERE `+w.Text()+`), 0)`, w)
}

// cacheKey returns a key of the filter and the workspace.
func (l *lister) cacheKey() string {
	w := l.liveWhere()
	l.filter.apply(w)
	key, err := json.Marshal([]any{l.table, w.Text(), w.Args}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // texts, ids and times can always be encoded
		panic(err)
	}
	return string(key)
}
