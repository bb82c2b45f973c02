package graphread

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/maypok86/otter/v2"

	"github.com/livegraph/livegraph/storage/postgres"
)

// rememberedTotals is how many totals a process remembers.
const rememberedTotals = 4096

// totals remembers how many rows pass a filter as of a sequence of the workspace: pages
// of one list are counted once.
type totals = otter.Cache[string, counted]

func newTotals() *totals {
	return otter.Must(&otter.Options[string, counted]{MaximumSize: rememberedTotals})
}

type counted struct {
	sequence, total int64
	parts           *parted // nil: it was counted in one
}

// knownTotal returns the total if it need not be counted: that of types is maintained,
// that of other filters may be remembered.
func (l *lister) knownTotal(ctx context.Context) (total int64, known bool, err error) {
	if l.filter.others() {
		sequence, err := l.sequence(ctx)
		if err != nil || sequence == 0 {
			return 0, false, err
		}
		key := l.key()
		c, remembered := l.totals.GetIfPresent(key)
		if !remembered || c.sequence == sequence {
			return c.total, remembered, nil
		}
		return l.recount(ctx, key, c, sequence)
	}
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	w.Add("kind = ?", int16(l.kind))
	if labels := l.filter.labels(); labels != nil {
		w.Add("label = ANY(?)", labels)
	}
	total, err = l.number(ctx, `SELECT COALESCE(sum(standing), 0)::bigint FROM graph_totals WHERE `+w.Text(), w)
	return total, true, err
}

// count counts what passes the filter, and remembers it.
func (l *lister) count(ctx context.Context) (int64, error) {
	total, err := l.rows(ctx, stretch{})
	if err != nil {
		return 0, err
	}
	sequence, err := l.sequence(ctx)
	if err == nil && sequence > 0 {
		l.totals.Set(l.key(), counted{sequence: sequence, total: int64(total)})
	}
	return int64(total), err
}

// broadly is how many times as many rows as a filter may find to be carried out whole
// are expected where it is not tried: estimates of properties are rough.
const broadly = 5

// countBroad counts what passes the filter if many rows are expected to.
func (l *lister) countBroad(ctx context.Context) (total int64, counted bool, err error) {
	w := l.where()
	l.filter.apply(w)
	var plans []struct {
		Plan struct {
			Rows float64 `json:"Plan Rows"`
		}
	}
	var text []byte
	query := `EXPLAIN (FORMAT JSON) SELECT id FROM ` + l.table + ` WHERE ` + w.Text()
	if err := l.tx.QueryRow(ctx, query, postgres.Planned(w.Args)...).Scan(&text); err != nil {
		return 0, false, err
	}
	if err := json.Unmarshal(text, &plans); err != nil {
		return 0, false, fmt.Errorf("reading a plan: %w", err)
	}
	if len(plans) == 0 || plans[0].Plan.Rows <= float64(broadly*l.bounds.few) {
		return 0, false, nil
	}
	total, err = l.count(ctx)
	return total, true, err
}

// sequence is that of the workspace's newest change, 0 before the first.
func (l *lister) sequence(ctx context.Context) (int64, error) {
	w := &postgres.Where{}
	w.Add("workspace_id = ?", l.workspace)
	return l.number(ctx, `SELECT COALESCE((SELECT sequence FROM graph_heads WHERE `+w.Text()+`), 0)`, w)
}

// key names the filter and the workspace.
func (l *lister) key() string {
	w := l.where()
	l.filter.apply(w)
	key, err := json.Marshal([]any{l.table, w.Text(), w.Args}, jsontext.AllowInvalidUTF8(true))
	if err != nil { // texts, ids and times can be written
		panic(err)
	}
	return string(key)
}
