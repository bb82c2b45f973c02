package livedata

import (
	"bufio"
	"math"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse/timeseries"
)

// groupHead is a series, or a group of them, without its points in a query's answer.
type groupHead struct {
	SourceID   *uuid.UUID        `json:"sourceId"`
	SourceName *string           `json:"sourceName"`
	Metric     *string           `json:"metric"`
	Kind       string            `json:"kind"`
	Unit       *string           `json:"unit"`
	Tags       map[string]string `json:"tags"`
	Columns    []string          `json:"columns"`
}

func kindName(kind pointblock.Kind) string {
	if kind == pointblock.KindString {
		return "string"
	}
	return "number"
}

// writeAnswer answers with the groups and their points. There can be a million of
// them, so they are written as they go and never stand in memory as JSON.
func (r *run) writeAnswer(w http.ResponseWriter, request *http.Request) error {
	columns := r.q.columns()
	var parts []part
	for i, g := range r.groups {
		head, err := json.Marshal(groupHead{
			SourceID: g.source, SourceName: g.sourceName, Metric: g.metric, Kind: kindName(g.kind), Unit: g.unit,
			Tags: g.tags, Columns: columns,
		}, json.Deterministic(true))
		if err != nil {
			return err
		}
		before := make([]byte, 0, len(head)+16)
		if i > 0 {
			before = append(before, ',')
		}
		before = append(before, head[:len(head)-1]...) // without its brace
		parts = append(parts, partsOf(r.points[i], append(before, `,"points":[`...), []byte("]}"))...)
	}
	reply.StreamList(w, request, r.meta, func(out *bufio.Writer) { r.writeParts(out, parts) })
	return nil
}

func appendCell(dst []byte, column timeseries.Column, i int) []byte {
	if column.Texts != nil {
		if text := column.Texts[i]; text != nil {
			dst, _ = jsontext.AppendQuote(dst, *text) // what is stored is valid UTF-8
			return dst
		}
		return append(dst, "null"...)
	}
	return appendNumber(dst, column.Numbers[i])
}

// appendNumber appends the shortest decimal that reads back as the same number,
// null for what is no number.
func appendNumber(dst []byte, value float64) []byte {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return append(dst, "null"...)
	}
	format := byte('f')
	if size := math.Abs(value); size != 0 && (size < 1e-6 || size >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, value, format, -1, 64)
}
