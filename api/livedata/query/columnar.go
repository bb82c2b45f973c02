package query

import (
	"math"
	"net/http"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/livegraph/livegraph/api/columns"
	"github.com/livegraph/livegraph/api/livedata/value"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

const (
	// batchRows is the number of rows of a record batch.
	batchRows = 64 << 10
	// textSuffix is appended to the name of a column of values for the values of string series.
	textSuffix = ".text"
)

// writeColumns responds with the same rows and columns as CSV, as record batches.
func (r *run) writeColumns(w http.ResponseWriter, request *http.Request) error {
	table, err := newColumnTable(r.groups, r.q.columns()[1:])
	if err != nil {
		return err
	}
	r.writeRowsHeader(w, request)
	out := r.q.format.NewWriter(w, table.schema)
	for merged := newMerge(r.points, r.q.descending); ; {
		batch := table.fill(merged, r.points)
		if batch == nil {
			break
		}
		err := out.Write(batch)
		batch.Release()
		if err != nil {
			return nil //nolint:nilerr // the client is gone: nothing to do
		}
	}
	_ = out.Close() // fails only if the client is gone
	return nil
}

// columnTable builds record batches of an answer.
type columnTable struct {
	schema     *arrow.Schema
	identities []*columns.Dictionary // of the groups

	// Of the batch that is filled:
	ts      *array.TimestampBuilder
	groups  []int32
	numbers []*array.Float64Builder
	texts   []*array.StringBuilder // as many as numbers if there are strings, otherwise none
}

// newColumnTable returns a table with the columns of CSV. A column of values has numbers; if a
// group has strings, it is followed by a column with them.
func newColumnTable(groups []*group, names []string) (*columnTable, error) {
	tags, err := tagColumns(groups)
	if err != nil {
		return nil, err
	}
	t := &columnTable{ts: array.NewTimestampBuilder(memory.DefaultAllocator, columns.TimestampType)}
	hasText := slices.ContainsFunc(groups, func(g *group) bool { return g.kind == pointblock.KindString })
	fields := []arrow.Field{{Name: "timestamp", Type: columns.TimestampType}}
	identity := func(name string, text func(g *group) (string, bool)) {
		fields = append(fields, arrow.Field{Name: name, Type: columns.DictionaryType, Nullable: true})
		t.identities = append(t.identities, columns.NewDictionary(len(groups), func(i int) (string, bool) {
			return text(groups[i])
		}))
	}
	identity("sourceId", func(g *group) (string, bool) {
		if g.source == nil {
			return "", false
		}
		return g.source.String(), true
	})
	identity("sourceName", func(g *group) (string, bool) { return optional(g.sourceName) })
	identity("metric", func(g *group) (string, bool) { return optional(g.metric) })
	identity("kind", func(g *group) (string, bool) { return value.KindName(g.kind), true })
	identity("unit", func(g *group) (string, bool) { return optional(g.unit) })
	for _, tag := range tags {
		identity("tag."+tag, func(g *group) (string, bool) { text, has := g.tags[tag]; return text, has })
	}
	for _, name := range names {
		fields = append(fields, arrow.Field{Name: name, Type: arrow.PrimitiveTypes.Float64, Nullable: true})
		t.numbers = append(t.numbers, array.NewFloat64Builder(memory.DefaultAllocator))
		if hasText {
			fields = append(fields, arrow.Field{Name: name + textSuffix, Type: arrow.BinaryTypes.String, Nullable: true})
			t.texts = append(t.texts, array.NewStringBuilder(memory.DefaultAllocator))
		}
	}
	t.schema = arrow.NewSchema(fields, nil)
	return t, nil
}

func optional(text *string) (string, bool) {
	if text == nil {
		return "", false
	}
	return *text, true
}

// fill returns the batch of the next rows, nil at the end.
func (t *columnTable) fill(merged *merge, points []*timeseries.Points) arrow.RecordBatch {
	t.groups = t.groups[:0]
	for len(t.groups) < batchRows && merged.next() {
		rows := points[merged.group]
		t.ts.Append(arrow.Timestamp(rows.TS[merged.row]))
		t.groups = append(t.groups, int32(merged.group))
		for i := range rows.Columns {
			t.appendValue(i, &rows.Columns[i], merged.row)
		}
	}
	if len(t.groups) == 0 {
		return nil
	}
	arrays := make([]arrow.Array, 0, t.schema.NumFields())
	arrays = append(arrays, t.ts.NewArray())
	for _, identity := range t.identities {
		arrays = append(arrays, identity.Rows(t.groups))
	}
	for i := range t.numbers {
		arrays = append(arrays, t.numbers[i].NewArray())
		if len(t.texts) > 0 {
			arrays = append(arrays, t.texts[i].NewArray())
		}
	}
	return columns.NewBatch(t.schema, arrays)
}

// appendValue appends a value to the column of numbers or of strings, and null to the other.
func (t *columnTable) appendValue(i int, column *timeseries.Column, row int) {
	if column.Strings == nil && !math.IsNaN(column.Numbers[row]) {
		t.numbers[i].Append(column.Numbers[row])
	} else {
		t.numbers[i].AppendNull()
	}
	if len(t.texts) == 0 {
		return
	}
	if column.Strings != nil && column.Strings[row] != nil {
		t.texts[i].Append(*column.Strings[row])
	} else {
		t.texts[i].AppendNull()
	}
}
