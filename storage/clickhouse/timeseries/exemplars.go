package timeseries

import (
	"context"
	"fmt"

	ch "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/livegraph/livegraph/storage/clickhouse"
	"github.com/livegraph/livegraph/storage/clickhouse/native"
)

// ExemplarQuery selects the stored exemplars of series.
type ExemplarQuery struct {
	Series []uint64
	Range  Range
	Limit  int // maximum number of exemplars in all
}

// Exemplar is an exemplar of a series.
type Exemplar struct {
	TS     int64  // microseconds since the Unix epoch
	Labels string // a JSON object, sorted by name
	Value  float64
}

// exemplarColumns are the columns of the result of a statement of Exemplars.
var exemplarColumns = []ch.ColumnNameAndType{
	{Name: "id", Type: "UInt64"}, {Name: "us", Type: "Int64"}, {Name: "labels", Type: "String"},
	{Name: "value", Type: "Float64"},
}

// Exemplars returns the exemplars of each series by time, and those of one time by their labels. It reports whether
// there are more than the limit. Series without exemplars are left out.
func (r *Reader) Exemplars(
	ctx context.Context, q ExemplarQuery,
) (found map[uint64][]Exemplar, more bool, err error) {
	found = map[uint64][]Exemplar{}
	if len(q.Series) == 0 {
		return found, false, nil
	}
	if err := q.Range.applyHidden(q.Range.FromUS, q.Series); err != nil {
		return found, false, err
	}
	statement := fmt.Sprintf(`
		SELECT series AS id, toUnixTimestamp64Micro(ts) AS us, labels, value FROM %s FINAL
		PREWHERE series IN (%s) AND %s%s ORDER BY series, ts, labels LIMIT %d`,
		clickhouse.TableExemplars, clickhouse.IDArray(q.Series), q.Range.where(q.Series), q.Range.hiddenCondition("WHERE"),
		q.Limit+1)
	rows := 0
	err = r.db.QueryBlocks(ctx, clickhouse.OpExemplars, statement, q.Range.parameters(), exemplarColumns,
		func(b *native.Block) error {
			series, times, values := b.UInt64(0), b.Int64(1), b.Float64(3)
			for i, id := range series {
				if rows++; rows > q.Limit {
					more = true
					return nil
				}
				found[id] = append(found[id], Exemplar{TS: times[i], Labels: b.String(2, i), Value: values[i]})
			}
			return nil
		})
	return found, more, err
}
