package livedata

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/uuid"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/clickhouse"
)

// pointRows is a series, or a group of them, with its points in a query's answer.
type pointRows struct {
	SourceID   *uuid.UUID        `json:"sourceId"`
	SourceName *string           `json:"sourceName"`
	Metric     *string           `json:"metric"`
	Kind       string            `json:"kind"`
	Unit       *string           `json:"unit"`
	Tags       map[string]string `json:"tags"`
	Columns    []string          `json:"columns"`
	Points     cells             `json:"points"`
}

func kindName(kind pointblock.Kind) string {
	if kind == pointblock.KindString {
		return "string"
	}
	return "number"
}

func (r *run) answer() []pointRows {
	rows := make([]pointRows, len(r.groups))
	columns := r.q.columns()
	for i, g := range r.groups {
		rows[i] = pointRows{
			SourceID: g.source, SourceName: g.sourceName, Metric: g.metric, Kind: kindName(g.kind), Unit: g.unit,
			Tags: g.tags, Columns: columns, Points: cells{points: r.points[i], epoch: r.q.epoch},
		}
	}
	return rows
}

// cells writes points as [[timestamp, value, …], …].
type cells struct {
	points *clickhouse.Points
	epoch  string
}

// MarshalJSONTo writes the points in one go: there can be a million of them.
func (c cells) MarshalJSONTo(enc *jsontext.Encoder) error {
	const typicalRow = 40 // bytes
	if c.points == nil {
		return enc.WriteValue(jsontext.Value("[]"))
	}
	out := make([]byte, 0, 2+typicalRow*len(c.points.TS))
	out = append(out, '[')
	for i, us := range c.points.TS {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, '[')
		out = appendTimestamp(out, us, c.epoch)
		for _, column := range c.points.Columns {
			out = append(out, ',')
			out = appendCell(out, column, i)
		}
		out = append(out, ']')
	}
	return enc.WriteValue(append(out, ']'))
}

func appendCell(dst []byte, column clickhouse.Column, i int) []byte {
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
