package clickhouse

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ClickHouse/ch-go/proto"
	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/google/uuid"
)

// block is some rows of a table, as ClickHouse's format Native has them:
// https://clickhouse.com/docs/interfaces/formats/Native. Texts of low cardinality are
// plain texts there.
type block struct {
	names   []string
	columns []column
}

// column is a column of a block.
type column interface {
	target() any // where a row's value is scanned to
	keep()       // what was scanned
	last() any   // the value that was scanned last
	data() proto.Column
	fill(to driver.BatchColumn) error
}

func newBlock(columns []ch.ColumnNameAndType) *block {
	b := &block{}
	for _, c := range columns {
		b.names = append(b.names, c.Name)
		b.columns = append(b.columns, columnOf(c.Type))
	}
	return b
}

// columnOf makes a column of a type of our tables.
func columnOf(kind string) column {
	switch {
	case kind == "UInt64":
		return &columnFor[uint64]{values: new(proto.ColUInt64)}
	case kind == "UInt32":
		return &columnFor[uint32]{values: new(proto.ColUInt32)}
	case kind == "UInt16":
		return &columnFor[uint16]{values: new(proto.ColUInt16)}
	case kind == "UInt8":
		return &columnFor[uint8]{values: new(proto.ColUInt8)}
	case kind == "Int64":
		return &columnFor[int64]{values: new(proto.ColInt64)}
	case kind == "Float64":
		return &columnFor[float64]{values: new(proto.ColFloat64)}
	case kind == "UUID":
		return &columnFor[uuid.UUID]{values: new(proto.ColUUID)}
	case strings.HasPrefix(kind, "DateTime64(6"):
		return &columnFor[time.Time]{
			values: new(proto.ColDateTime64).WithPrecision(proto.PrecisionMicro).WithLocation(time.UTC),
		}
	case strings.HasPrefix(kind, "Map("):
		return &mapColumn{values: proto.NewMap[string, string](new(proto.ColStr), new(proto.ColStr))}
	default: // String, and LowCardinality(String)
		return &columnFor[string]{values: new(proto.ColStr)}
	}
}

// columnFor is a column of one type of values.
type columnFor[T any] struct {
	scanned T
	values  proto.ColumnOf[T]
}

func (c *columnFor[T]) target() any        { return &c.scanned }
func (c *columnFor[T]) keep()              { c.values.Append(c.scanned) }
func (c *columnFor[T]) last() any          { return c.scanned }
func (c *columnFor[T]) data() proto.Column { return c.values }

func (c *columnFor[T]) fill(to driver.BatchColumn) error {
	values := make([]T, c.values.Rows())
	for i := range values {
		values[i] = c.values.Row(i)
	}
	return to.Append(values)
}

func (b *block) rows() int { return b.columns[0].data().Rows() }

func (b *block) targets() []any {
	all := make([]any, len(b.columns))
	for i, c := range b.columns {
		all[i] = c.target()
	}
	return all
}

// keep takes up the row that was scanned into the targets.
func (b *block) keep() {
	for _, c := range b.columns {
		c.keep()
	}
}

// last returns the value of a column in the row that was scanned last.
func (b *block) last(name string) any { return b.columns[slices.Index(b.names, name)].last() }

// write writes the block.
func (b *block) write(w io.Writer) error {
	input := make([]proto.InputColumn, len(b.columns))
	for i, c := range b.columns {
		input[i] = proto.InputColumn{Name: b.names[i], Data: c.data()}
	}
	var buffer proto.Buffer
	if err := (proto.Block{Columns: len(input), Rows: b.rows()}).EncodeRawBlock(&buffer, 0, input); err != nil {
		return fmt.Errorf("writing rows: %w", err)
	}
	_, err := w.Write(buffer.Buf)
	return err
}

// fill puts the rows into an insert.
func (b *block) fill(batch driver.Batch) error {
	for i, c := range b.columns {
		if err := c.fill(batch.Column(i)); err != nil {
			return fmt.Errorf("column %s: %w", b.names[i], err)
		}
	}
	return nil
}

// blockReader reads blocks one after the other.
type blockReader struct {
	from    *proto.Reader
	columns []ch.ColumnNameAndType
}

func newBlockReader(r io.Reader, columns []ch.ColumnNameAndType) *blockReader {
	return &blockReader{from: proto.NewReader(r), columns: columns}
}

// next returns the next block, io.EOF behind the last one.
func (r *blockReader) next() (*block, error) {
	b := newBlock(r.columns)
	results := make(proto.Results, len(b.columns))
	for i, c := range b.columns {
		results[i] = proto.ResultColumn{Name: b.names[i], Data: c.data()}
	}
	var head proto.Block
	err := head.DecodeRawBlock(r.from, 0, results)
	if errors.Is(err, io.EOF) && head.Columns == 0 {
		return nil, io.EOF
	}
	if err != nil {
		return nil, fmt.Errorf("reading rows: %w", err)
	}
	return b, nil
}
